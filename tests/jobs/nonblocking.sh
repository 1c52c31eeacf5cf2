#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Nonblocking and persistent collectives: their results, however they are completed (nonblocking.c), their requests
# (requests.c), and ten thousand steps of everything at random (mixture.c).
# Closes traps 21, 22, 23, 24, 25.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in 1 2 3; do
    job_run "$ranks" windows nonblocking values
done
job_run 4 messages nonblocking values
job_run 2 windows nonblocking big
job_run 3 messages nonblocking big
for mode in windows messages; do
    job_run 4 $mode requests many order handles
    job_run 2 $mode requests many cancelled
done
for seed in 1 2; do
    job_run 2 windows mixture $seed
    job_run 4 windows mixture $seed
done
job_run 3 messages mixture 3
job_run 3 windows requests persistent
if [ -z "${JOB_BARE:-}" ]; then
    # Bare Open MPI 4.1 crashes where a communicator is freed that has collectives outstanding.
    persistent=$(job_report_reason persistent)
    for ranks in 1 2 3; do
        job_run "$ranks" windows requests freed
    done
    job_run 2 messages requests freed
    if [ "$persistent" -eq 0 ]; then
        job_run 3 windows requests persistent-freed
    fi
fi
job_end
