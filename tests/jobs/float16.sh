#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# 16-bit floats with the library and without it: float16.c.
# Closes trap 17 for 16-bit floats.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in 1 2 3 4 8; do
    job_run -n "$ranks" bare float16
    job_run "$ranks" windows float16
    job_run "$ranks" messages float16
done
job_run 3 reproducible float16
job_end
