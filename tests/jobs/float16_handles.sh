#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The handles of 16-bit floats, with the library and without it, from C and from C++: float16_handles.c.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in 1 2 5; do
    job_run "$ranks" bare float16_handles
    job_run "$ranks" windows float16_handles
    job_run "$ranks" messages float16_handles
done
job_run 3 reproducible float16_handles
if [ -x "$job_programs/float16_handles_cxx" ]; then
    job_run 3 bare float16_handles_cxx
    job_run 3 windows float16_handles_cxx
else
    job_skip "no C++ compiler"
fi
job_end
