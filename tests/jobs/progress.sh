#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that waits inside a collective keeps the host MPI going.
# Closes trap 1.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in 2 3 4; do
    for mode in windows messages; do
        for what in isend issend window; do
            job_run -t 30 "$ranks" $mode progress $what
        done
    done
done
for what in isend issend window; do
    job_run -t 30 2 ucx progress $what
    # without the kernel's help every byte of the message needs the sender
    job_mode_arguments windows
    job_arguments+=(--mca btl_vader_single_copy_mechanism none --mca osc pt2pt)
    job_mpirun -t 30 "progress $what, 3 ranks, no single copy" -np 3 "$job_programs/progress" $what
    job_mode_arguments messages
    job_arguments+=(--mca btl "tcp,self" --mca osc pt2pt)
    job_mpirun -t 30 "progress $what, 2 ranks, host MPI over TCP" -np 2 "$job_programs/progress" $what
done
job_end
