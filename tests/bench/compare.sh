#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench/compare on made-up measurements: medians, ratios, their mean, the CSV file; and runs that fail.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
compare=$here/../../bench/compare
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
    echo "FAIL: $*"
    cat "$work/out" "$work/err"
    failed=1
}

# A launcher that runs the program once, and a program whose latencies depend on the side and the number of the run.
cat >"$work/launch" <<'EOF'
#!/bin/bash
[ "$1 $2" = "-np 3" ] || exit 9
shift 2
exec "$@"
EOF
cat >"$work/program" <<'EOF'
#!/bin/bash
count=$(cat "$COUNTER-$FACTOR" 2>/dev/null || echo 0)
echo $((count + 1)) >"$COUNTER-$FACTOR"
[ "$count" != "${FAIL_AT-}" ] || { echo "it went wrong"; exit 4; }
drift=(30 10 20)
echo "# OSU MPI Something Latency Test"
echo "# Size          Avg Latency(us)"
echo "4        $((FACTOR * drift[count]))"
[ "$count" != "${SHORT_AT-}" ] || exit 0
echo "1048576  $((FACTOR * drift[count] * 3)).50   1.00  Pass"
EOF
chmod +x "$work/launch" "$work/program"

run() {
    rm -f "$work"/counter-*
    COUNTER=$work/counter timeout 60 "$compare" --mpirun "$work/launch" -np 3 --rounds 3 --csv "$work/csv" \
        --raw "$work/raw" "$@" "$work/program" >"$work/out" 2>"$work/err"
}

run --side 'one FACTOR=4' --side 'two FACTOR=1' || fail "two sides: status $?"
# Medians 80 and 20; 240.5 and 60.5.
grep -qE '^4 +80\.00 +20\.00 +4\.00 +\(4\.00\.\.4\.00\)$' "$work/out" || fail "the row of size 4"
grep -qE '^1048576 +240\.50 +60\.50 +3\.98 +\(3\.95\.\.3\.98\)$' "$work/out" || fail "the row of size 1048576"
grep -qE '^# geometric mean of one/two: 3\.99; two is slower at 0 of 2 sizes$' "$work/out" || fail "the mean"
[ "$(head -n 2 "$work/csv")" = "size,one_us,two_us,ratio_two,min_two,max_two
4,80.000,20.000,4.000,4.000,4.000" ] || fail "the CSV file: $(cat "$work/csv")"
[ "$(wc -l <"$work/raw")" -eq 13 ] || fail "the raw file: $(cat "$work/raw")"

run --side 'one FACTOR=2' --side 'two FACTOR=1' --side 'three FACTOR=4' || fail "three sides: status $?"
grep -qE '^4 +40\.00 +20\.00 +80\.00 +2\.00 .* 0\.50 ' "$work/out" || fail "three sides"

run --bare-env FACTOR=3 --env FACTOR=1 --preload /dev/null || fail "bare and preloaded: status $?"
grep -qE '^4 +60\.00 +20\.00 +3\.00 ' "$work/out" || fail "bare and preloaded"

FAIL_AT=1 run --side 'one FACTOR=2' --side 'two FACTOR=1'
[ $? -eq 1 ] || fail "a failing run has status 1"
grep -q 'one failed in round 2 with status 4\|two failed in round 2 with status 4' "$work/err" || fail "says who failed"
grep -q 'it went wrong' "$work/err" || fail "shows what it said"

SHORT_AT=2 run --side 'one FACTOR=2' --side 'two FACTOR=1' && fail "a missing row goes unseen"

run --side 'one FACTOR=2' --nonsense
[ $? -eq 2 ] || fail "an unknown option has status 2"
exit $failed
