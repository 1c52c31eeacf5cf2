#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks that differ: in the alignment of their buffers (all runs of steady), in a setting, in what UCX can do on them. All
# ranks take the same way; that is said once, by rank 0, with the cause.
# Closes traps 5, 6, 7.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

# A command that sets up one rank's environment: "env A=B" or a script. ranks_with LABEL SETUP... : one rank each.
preload=(env "LD_PRELOAD=$job_library" JOB_PRELOADED=1 "MPINPU_REPORT=json:$job_dir/report")
ranks_with() {
    local label=$1 contexts=() setup
    shift
    for setup in "$@"; do
        # shellcheck disable=SC2206 # the words of a setup
        contexts+=(: -np 1 $setup "${preload[@]}" "$job_programs/steady" 2)
    done
    job_arguments=(--oversubscribe)
    job_mpirun -n -w "$label" "${contexts[@]:1}"
}

# said_once LABEL REASON LINES TEXT... : the calls went to the host MPI for that reason, and so many lines say so (one from
# rank 0 of each communicator that has the cause), each with these texts.
said_once() {
    local label=$1 reason=$2 expected=$3 text lines
    shift 3
    grep -E '^mpinpu(\[[0-9]+\])?: ' "$job_dir/err" >"$job_dir/said"
    lines=$(wc -l <"$job_dir/said")
    if [ "$(job_report_reason "$reason")" -eq 0 ]; then
        job_fail "$label: the report knows no call that went to the host MPI because of: $reason"
        cat "$job_dir/report"
        return
    fi
    if [ "$lines" -ne "$expected" ]; then
        job_fail "$label: said in $lines lines, not in $expected"
        cat "$job_dir/said"
        return
    fi
    for text in "$@"; do
        if grep -qv -e "$text" "$job_dir/said"; then
            job_fail "$label: what is said does not name $text"
            cat "$job_dir/said"
            return
        fi
    done
    job_ok "$label: $(cat "$job_dir/said")"
}

# Settings that must be equal. The world has the difference; the other half of the ranks has none (steady uses both).
while read -r name value other; do
    label="$name=$value on rank 1, $other elsewhere"
    ranks_with "$label" "env MPINPU_$name=$other" "env MPINPU_$name=$value"
    said_once "$label, 2 ranks" "settings differ among the ranks" 1 "MPINPU_$name" "rank 1"
    ranks_with "$label" "env MPINPU_$name=$other" "env MPINPU_$name=$value" "env MPINPU_$name=$other"
    said_once "$label, 3 ranks" "settings differ among the ranks" 1 "MPINPU_$name" "rank 1"
    if [ "$other" != off ] && [ "$(job_report_reason engine)" -eq 0 ]; then
        job_fail "$label: the communicator of ranks 0 and 2 does not use the engine"
    fi
done <<'EOT'
WINDOWS off on
WINDOW_BYTES 32M 64M
REPRODUCIBLE on off
MIN_BYTES 1000 0
ENGINE off auto
ENGINE auto off
EOT

# Settings that may differ.
ranks_with "MPINPU_REPORT and MPINPU_LOG differ" env "env MPINPU_LOG=info" env
if [ "$(job_report_reason engine)" -eq 0 ]; then
    job_fail "MPINPU_LOG differs: the engine did nothing"
else
    job_ok "MPINPU_LOG differs: the engine is used all the same"
fi

# UCX works on all ranks but one.
for broken in 0 1 2; do
    setups=(env env env)
    setups[broken]="env UCX_TLS=nonsense"
    ranks_with "UCX fails on rank $broken" "${setups[@]}"
    # ranks 0 and 2 have a communicator of their own, whose rank 0 is rank 2
    said_once "UCX fails on rank $broken" "engine not available on this communicator" $((broken == 1 ? 1 : 2)) \
        'rank [0-2]: ucp_init'
    if ! grep -q "^mpinpu\[0\]: .* 3 ranks .*rank $broken: " "$job_dir/said"; then
        job_fail "UCX fails on rank $broken: rank 0 does not name rank $broken"
    fi
done
# UCX cannot be had on one rank: its library is damaged, or lacks a function.
mkdir -p "$job_dir/damaged" "$job_dir/old"
echo >"$job_dir/damaged/libucp.so.0"
echo 'void ucp_cleanup(void) {} void ucp_cleanup(void);' >"$job_dir/old.c"
$MPICC -w -shared -fPIC -Wl,-soname,libucp.so.0 -o "$job_dir/old/libucp.so.0" "$job_dir/old.c" || job_fail "no stub of libucp"
for broken in 0 1 2; do
    for kind in damaged old; do
        setups=(env env env)
        setups[broken]="env LD_LIBRARY_PATH=$job_dir/$kind"
        ranks_with "libucp is $kind on rank $broken" "${setups[@]}"
        said_once "libucp is $kind on rank $broken" "engine not available on this communicator" \
            $((broken == 1 ? 1 : 2)) 'rank [0-2]: .*libucp.so.0'
    done
done
# UCX works but has no way to the other ranks: on all, on one.
for windows in on off; do
    alone="env UCX_TLS=self MPINPU_WINDOWS=$windows"
    others="env MPINPU_WINDOWS=$windows"
    ranks_with "UCX reaches no other process, windows $windows" "$alone" "$alone" "$alone"
    said_once "UCX reaches no other process, windows $windows" "engine not available on this communicator" 2 \
        'rank [0-2]: to rank [0-2]: .*Destination is unreachable'
    for broken in 0 1 2; do
        setups=("$others" "$others" "$others")
        setups[broken]=$alone
        ranks_with "UCX reaches no other process from rank $broken, windows $windows" "${setups[@]}"
    done
done
# Many communicators are no reason to say it many times.
contexts=(-np 1 "${preload[@]}" UCX_TLS=nonsense "$job_programs/comms" overlap 5 :
    -np 2 "${preload[@]}" "$job_programs/comms" overlap 5)
job_arguments=(--oversubscribe)
job_mpirun -n -w "UCX fails on rank 0, many communicators" "${contexts[@]}"
lines=$(grep -cE '^mpinpu(\[[0-9]+\])?: ' "$job_dir/err")
if [ "$lines" -gt 3 ]; then
    job_fail "UCX fails on rank 0, many communicators: said $lines times"
fi

# Shared memory works on all ranks but one: no windows, but the engine does without.
if unshare --mount --propagation private true 2>/dev/null; then
    cat >"$job_dir/small" <<'SCRIPT'
#!/bin/sh
mount -t tmpfs -o size=64k none /dev/shm || exit 90
exec "$@"
SCRIPT
    chmod +x "$job_dir/small"
    for broken in 0 1; do
        setups=(env env env)
        setups[broken]="unshare --mount --propagation private $job_dir/small"
        ranks_with "64 KiB of /dev/shm on rank $broken" "${setups[@]}"
    done
else
    job_skip "no mount namespaces here"
fi
job_end
