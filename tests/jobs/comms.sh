#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Communicators: without leaks, in every kind and order; buffers that move; threads.
# Closes traps 26, 27, 39.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in $job_ranks; do
    job_run "$ranks" windows comms dup
    job_run "$ranks" windows comms kinds
    job_run "$ranks" windows comms overlap "$ranks"
done
for ranks in 2 3 5 8; do
    job_run "$ranks" messages comms dup
    job_run "$ranks" messages comms kinds
    job_run "$ranks" messages comms overlap 1$ranks
done
job_run 4 ucx comms overlap 20
for ranks in 2 3; do
    job_run "$ranks" windows remap
    job_run "$ranks" messages remap
done
job_run 2 ucx+messages remap
job_run 2 ucx remap

for mode in windows messages; do
    # the calls inside MPI_Finalize come after the counts were printed
    job_run -n 3 $mode comms finalize
    if [ "$(grep -c ': done' "$job_dir/out")" -ne 6 ]; then
        job_fail "a callback of MPI_COMM_SELF was not called"
    fi
    # both jobs write the report
    job_run -n 2 $mode comms spawn
done
# Where windows are small the library says that it does without.
job_run -w 3 windows comms many 800
for ranks in 4 8; do
    job_run -w -x MPINPU_WINDOW_BYTES=1M "$ranks" windows comms overlap 4$ranks
done

# Where runs are not alone on the machine, shared memory is not counted.
job_isolate || job_skip "no namespaces here: shared memory is not counted"
job_run -t 120 2 windows comms churn 10000
job_run -t 120 2 messages comms churn 10000
job_run -t 120 4 windows comms churn 10000
job_end
