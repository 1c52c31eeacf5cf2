#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that computes while a nonblocking collective is outstanding: the library's thread moves that on, where there is
# to be one, and nobody does where there is not (computing.c).
# Closes trap 3.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

computing() {
    local options=()
    while [ "$1" = -x ]; do
        options+=(-x "$2")
        shift 2
    done
    job_run -t 60 ${options[@]+"${options[@]}"} "$1" "$2" computing "$3" "$4" "$job_dir/file-$RANDOM"
}

cpus=$(nproc)
crowd=$((cpus + 1))
if [ "$cpus" -ge 2 ]; then
    for mode in windows copying messages; do
        computing 2 $mode thread waits
    done
    computing 2 windows thread persists
    computing 2 windows thread forks
    computing -x MPINPU_PROGRESS=off 2 windows none waits
    computing -x MPINPU_PROGRESS=off 2 messages none waits
    computing -x "MPINPU_PROGRESS_CPUS=cpus:0-$((cpus - 1))" 2 windows thread waits
    computing -x "MPINPU_PROGRESS_CPUS=cpus:0-$((cpus - 1))" 2 messages thread waits
fi
computing $crowd windows none waits
computing -x MPINPU_PROGRESS=on $crowd windows thread waits

# A process that ends with one outstanding is an error for mpirun, but no crash.
for mode in windows messages; do
    for where in auto "cpus:0-$((cpus - 1))"; do
        job_mode_arguments $mode
        job_arguments+=(-x MPINPU_PROGRESS=on -x "MPINPU_PROGRESS_CPUS=$where")
        job_mpirun -t 30 -n -w -s any "computing exits, $mode, $where" -np 2 "$job_programs/computing" thread exits x
        if grep -iE 'signal [0-9]|terminate called|assert' "$job_dir/err"; then
            job_fail "a crash at the end"
        fi
    done
done
job_mode_arguments windows
job_arguments+=(-x MPINPU_PROGRESS=on -x MPINPU_PROGRESS_CPUS=cpus:3-x)
job_mpirun -t 30 -n -w "computing, a list that is none" -np 2 "$job_programs/computing" thread waits "$job_dir/file"
grep -q 'MPINPU_PROGRESS_CPUS=cpus:3-x is not a list of CPUs' "$job_dir/err" || job_fail "says what is wrong with a list"
job_end
