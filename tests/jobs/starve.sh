#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory runs out on one rank while a communicator's state is made: whichever call gets none, all ranks go one way, and
# the numbers are right. Closes trap 6.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

# starve RANK CALL MANY : sets $calls to how many there were.
starve() {
    job_mode_arguments windows
    job_arguments+=(-x "STARVE_RANK=$1" -x "STARVE_CALL=$2" -x "STARVE_MANY=$3")
    job_mpirun -n -w -t 30 "no memory at call $2 and $(($3 - 1)) more, rank $1" -np 3 "$job_programs/steady" 1
    calls=$(sed -n 's/^starve: \([0-9]*\) calls/\1/p' "$job_dir/err")
}

job_beside=$PWD/tests/jobs/starve.so
starve 1 100000 1
whole=${calls:-0}
[ "$whole" -gt 10 ] || job_fail "the core asked for memory $whole times: the test reaches nothing"
# What is asked for after the state is there belongs to single collectives, whose error is the program's.
for call in $(seq 0 18); do
    starve 1 "$call" 1
done
for call in 0 2 5 9 13; do
    starve 0 "$call" 1
    starve 1 "$call" 3
done
job_end
