#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers past 2 GiB; with JOB_LONG=1 also past 4 GiB, which takes 9 GB of memory and minutes.
# Closes trap 20.
. "${srcdir:=.}/tests/jobs/job.sh"

free=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
if [ "$free" -lt 8 ]; then
    job_skip "needs 8 GiB of free memory, there are $free"
    job_end
fi
for mode in windows messages; do
    job_run -t 120 2 $mode large blocks
done
job_run -t 120 2 windows large bytes
if [ -n "${JOB_LONG:-}" ] && [ "$free" -ge 14 ]; then
    for mode in windows messages; do
        for what in doubles bytes block; do
            job_run -t 300 2 $mode large $what
        done
    done
    job_run -t 300 3 windows large block
fi
job_end
