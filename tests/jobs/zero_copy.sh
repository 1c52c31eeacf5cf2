#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers shared at their place: right results, and a program's memory that behaves as if they were not.
# Closes traps 13, 14, 39 for them.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in 2 3 4 7; do
    job_run "$ranks" windows zero_copy values
done
job_run -x MPINPU_ZEROCOPY=off 3 windows zero_copy values
job_run 2 messages zero_copy values
job_run 2 reproducible zero_copy values
for ranks in 2 3; do
    for case in kinds reader memory fork; do
        job_run "$ranks" windows zero_copy $case moved
    done
done
# Where it is switched off, or ranks share no windows, memory stays the program's own.
job_run -x MPINPU_ZEROCOPY=off 2 windows zero_copy kinds unmoved
job_run 2 messages zero_copy kinds unmoved
job_run 2 windows zero_copy many
job_run 3 windows zero_copy short

# Threads, with glibc's allocator and with one that hands pieces of what was shared to other threads.
for ranks in 2 3; do
    job_run "$ranks" windows zero_copy_threads
    job_run "$ranks" windows zero_copy_threads fork
done
other=$(find /usr/lib -name 'libjemalloc.so.2' 2>/dev/null | head -n 1)
if [ -n "$other" ]; then
    job_beside=$other
    for ranks in 2 3; do
        job_run "$ranks" windows zero_copy_threads
        job_run "$ranks" windows zero_copy_threads fork
    done
else
    job_skip "no jemalloc here (Debian: libjemalloc2)"
fi
job_end
