#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI_THREAD_MULTIPLE, and fork after the first collective.
# Closes what part of trap 37 belongs to blocking calls.
. "${srcdir:=.}/tests/jobs/job.sh"

# The library may leave MPI_THREAD_MULTIPLE to the host MPI, saying so: right results are what counts here.
for ranks in 2 3; do
    for mode in windows messages; do
        job_run -n "$ranks" $mode threads
        job_run "$ranks" $mode steady 11 fork
    done
done
job_end
