#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nonblocking collectives go on while a rank is blocked in another MPI call, and wait for no rank where they may not.
# Closes traps 2, 3.
. "${srcdir:=.}/tests/jobs/job.sh"

for mode in windows messages; do
    for ranks in 2 3; do
        job_run -t 30 "$ranks" $mode blocked calls
        job_run -t 30 "$ranks" $mode blocked fresh fresh-beside
    done
    job_run -t 30 2 $mode blocked compute
    job_run -t 60 8 $mode blocked crowd
done
job_run -t 30 4 windows blocked fresh
job_run -t 60 5 windows blocked crowd
job_run -t 30 2 ucx blocked calls fresh
# Without the kernel's help every byte of a message needs both sides.
job_mode_arguments windows
job_arguments+=(--mca btl_vader_single_copy_mechanism none --mca osc pt2pt)
job_mpirun -t 30 "blocked calls, 3 ranks, no single copy" -np 3 "$job_programs/blocked" calls crowd
job_mode_arguments messages
job_arguments+=(--mca btl "tcp,self" --mca osc pt2pt)
job_mpirun -t 30 "blocked calls, 2 ranks, host MPI over TCP" -np 2 "$job_programs/blocked" calls
job_end
