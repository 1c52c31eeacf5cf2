#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Right results of all three collectives: values.c.
# Closes traps 8, 9, 12, 13, 14, 15, 16.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in $job_ranks; do
    job_run "$ranks" windows values table sizes zeros
    job_run "$ranks" messages values table sizes zeros
done
job_run 3 ucx values table sizes zeros
job_run 2 ucx+messages values table sizes
job_run 4 reproducible values table sizes zeros
job_run 3 messages+reproducible values table sizes
for ranks in 2 3; do
    job_run "$ranks" windows values big
    job_run "$ranks" messages values big
done
job_run 8 windows values big
job_end
