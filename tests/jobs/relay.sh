#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nonblocking collectives that come first on their communicator, where the ranks cannot set it up: UCX fails on one of
# them, or a setting differs. What was issued meanwhile is done all the same, by messages or by the host MPI.
# Closes trap 7 for them.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

preload=(env "LD_PRELOAD=$job_library" JOB_PRELOADED=1 "MPINPU_REPORT=json:$job_dir/report")
# ranks_with REASON "PROGRAM ARGUMENT..." SETUP... : a rank for each setup.
ranks_with() {
    local reason=$1 program=$2 contexts=() setup
    shift 2
    for setup in "$@"; do
        # shellcheck disable=SC2206 # the words of a setup, and of a program
        contexts+=(: -np 1 $setup "${preload[@]}" $job_programs/$program)
    done
    job_arguments=(--oversubscribe)
    job_mpirun -n -w "$program: $(printf '%s, ' "$@")" "${contexts[@]:1}"
    if [ "$(job_report_reason "$reason")" -eq 0 ]; then
        job_fail "the report knows no call because of: $reason"
        cat "$job_dir/report"
    fi
}

broken='env UCX_TLS=nonsense'
for program in "nonblocking values" "requests many order handles" "blocked fresh fresh-beside"; do
    ranks_with "engine not available on this communicator" "$program" env "$broken"
    ranks_with "engine not available on this communicator" "$program" env env "$broken"
done
differs="nonblocking, and settings differ or MPI_Init was not seen"
ranks_with "$differs" "nonblocking values" env 'env MPINPU_ENGINE=off'
ranks_with "$differs" "blocked fresh-beside" 'env MPINPU_WINDOWS=off' env env
job_end
