#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI_THREAD_MULTIPLE, by blocking calls (threads.c) and by all kinds (threads_nonblocking.c), and fork after the first
# collective.
# Closes trap 37.
. "${srcdir:=.}/tests/jobs/job.sh"

# The library may leave MPI_THREAD_MULTIPLE to the host MPI, saying so: right results are what counts here.
for ranks in 2 3; do
    for mode in windows messages; do
        job_run -n "$ranks" $mode threads
        job_run "$ranks" $mode steady 11 fork
        job_run "$ranks" $mode threads_nonblocking
    done
done
job_run 4 windows threads_nonblocking 30
job_end
