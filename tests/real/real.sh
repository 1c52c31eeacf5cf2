#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests with programs from Debian packages: each is run bare and preloaded, and must print the same numbers;
# the report must show that the engine did its calls. MPINPU_TEST_INSTALL=1 lets a test install what it misses.
: "${srcdir:=.}"
install=${MPINPU_TEST_INSTALL:-}
# shellcheck source=tests/jobs/job.sh
. "$srcdir/tests/jobs/job.sh"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
real_work=$job_dir/work
mkdir -p "$real_work"

# real_needs PACKAGE COMMAND : the package is installed, or the test ends as skipped.
real_needs() {
    if ! command -v "$2" >/dev/null && [ -n "$install" ]; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$1" >/dev/null 2>&1
    fi
    if ! command -v "$2" >/dev/null; then
        job_skip "no $2 here (Debian: $1)"
        job_end
    fi
}

# real_same RANKS LEAST COMMAND... : runs it in $real_work bare, with windows and with messages, its input $real_work/stdin
# where there is one; what the function `numbers` makes of its output must be the same each time, and something. The
# engine must have done at least LEAST calls, and the host MPI none that the engine could have done.
real_same() {
    local ranks=$1 least=$2 mode calls reason
    shift 2
    local around=()
    if [ -e "$real_work/stdin" ]; then
        around=(sh -c "exec \"\$@\" <'$real_work/stdin'" sh)
    fi
    for mode in bare windows messages; do
        job_mode_arguments "$mode"
        job_around=(${around[@]+"${around[@]}"})
        job_mpirun -t 120 -n "$(basename "$1"), $ranks ranks, $mode" -wdir "$real_work" -np "$ranks" "$@" || continue
        numbers <"$job_dir/out" >"$job_dir/numbers-$mode"
        if [ ! -s "$job_dir/numbers-$mode" ]; then
            job_fail "$(basename "$1"), $ranks ranks, $mode: prints no numbers"
            tail -n 20 "$job_dir/out"
            continue
        fi
        if [ "$mode" = bare ] || [ -n "${JOB_BARE:-}" ]; then
            continue
        fi
        if cmp -s "$job_dir/numbers-bare" "$job_dir/numbers-$mode"; then
            job_ok "the same $(wc -l <"$job_dir/numbers-bare") lines as bare"
        else
            job_fail "$(basename "$1"), $ranks ranks, $mode: other numbers than bare"
            diff "$job_dir/numbers-bare" "$job_dir/numbers-$mode" | head -n 20
        fi
        calls=$(job_report_reason engine)
        if [ "$calls" -lt "$least" ]; then
            job_fail "the engine did $calls calls, expected at least $least"
            cat "$job_dir/report"
        else
            job_ok "the engine did $calls calls, the host MPI $(awk '/"by": "host_mpi"/ {
                sub(/.*"calls": /, ""); sum += $0 + 0 } END { print sum + 0 }' "$job_dir/report")"
        fi
        for reason in "engine not available in this process" "engine not available on this communicator" \
            "settings differ among the ranks" "op and datatype not supported by the engine"; do
            if [ "$(job_report_reason "$reason")" -ne 0 ]; then
                job_fail "calls went to the host MPI because of: $reason"
            fi
        done
    done
    job_around=()
}
