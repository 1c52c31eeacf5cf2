#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The same bits: on all ranks, in every run, and where it is asked for, on every path. Special floats as bare Open MPI has
# them; integers that wrap.
# Closes traps 10, 17.
. "${srcdir:=.}/tests/jobs/job.sh"

# digest_of RANKS MODE WHAT : runs, and leaves the digest in $digest.
digest_of() {
    digest=none
    job_run "$1" "$2" bits "$3" && digest=$(sed -n 's/^job-digest //p' "$job_dir/out")
}

# digests_equal RANKS MODE MODE WHAT
digests_equal() {
    local first
    digest_of "$1" "$2" "$4"
    first=$digest
    digest_of "$1" "$3" "$4"
    if [ "$first" = none ] || [ "$first" != "$digest" ]; then
        job_fail "$1 ranks: $2 gives the digest $first, $3 gives $digest"
    else
        job_ok "$1 ranks: $2 and $3 give the same bits"
    fi
}

for ranks in 2 3 4 5 8; do
    digests_equal "$ranks" windows windows digest
    digests_equal "$ranks" windows copying digest
    digests_equal "$ranks" messages messages digest
    [ -n "${JOB_BARE:-}" ] || digests_equal "$ranks" reproducible messages+reproducible reproducible
done

# Which operand comes out of MIN(NaN, x) and MIN(0.0, -0.0) depends on their order, in Open MPI too, and the order in a
# reduction is free. So each result must be what bare Open MPI gives for one order or the other: `bits special` has all
# pairs of 11 values, and says for each index of each length what came out.
cat >"$job_dir/orders" <<'AWK'
/^special/ {
    op = $3; length_ = $5; pair = $7 % 121; turned = pair % 11 * 11 + int(pair / 11)
    for (column = 8; column <= 9; column++) {
        if (FNR == NR) {
            # long vectors are done in pieces, in another order each
            if (length_ <= 121) bare[op, pair, column] = $column
            continue
        }
        checked++
        if ($column != bare[op, pair, column] && $column != bare[op, turned, column]) {
            print "op " op ", values " int(pair / 11) " and " pair % 11 ", length " length_ ": got " $column \
                ", bare Open MPI " bare[op, pair, column] ", in the other order " bare[op, turned, column]
            wrong = 1
        }
    }
}
END { exit wrong || checked == 0 }
AWK

for mode in windows messages; do
    job_run 2 bare bits special
    grep '^special' "$job_dir/out" >"$job_dir/bare"
    job_run 2 "$mode" bits special
    if awk -F '[ :]+' -f "$job_dir/orders" "$job_dir/bare" "$job_dir/out" >"$job_dir/wrong"; then
        job_ok "special floats, $mode: as bare Open MPI has them"
    else
        job_fail "special floats, $mode: not as bare Open MPI has them (op 0 is MIN, 1 MAX, 2 SUM)"
        head -n 20 "$job_dir/wrong"
    fi
    job_run 2 "$mode" bits wrap
    job_run 5 "$mode" bits wrap
done
job_end
