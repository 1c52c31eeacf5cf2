#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers past 2 and 4 GiB: takes 9 GB of memory, and minutes. Only with JOB_LONG=1.
# Closes trap 20.
. "${srcdir:=.}/tests/jobs/job.sh"

free=$(awk '/^MemAvailable/ { print int($2 / 1048576) }' /proc/meminfo)
if [ -z "${JOB_LONG:-}" ]; then
    job_skip "takes 9 GB and minutes: run it with JOB_LONG=1"
elif [ "$free" -lt 14 ]; then
    job_skip "needs 14 GiB of free memory, there are $free"
else
    for mode in windows messages; do
        for what in doubles bytes block; do
            job_run -t 300 2 $mode large $what
        done
    done
    job_run -t 300 3 windows large block
fi
job_end
