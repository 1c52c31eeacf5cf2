#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the library loads leaves the process as the program made it: signal handlers, signal stack, environment, libc's code.
# Closes trap 36, beside places.sh.
. "${srcdir:=.}/tests/jobs/job.sh"

for mode in windows messages ucx; do
    job_run 2 "$mode" signals
done
job_end
