#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each intercepted function by each of its names, from C, Fortran and Python; the report has every call, once.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in 1 2 3; do
    # The functions of the loaded MPI alone, then with those that the library adds.
    job_run "$ranks" bare names
    bare=$(job_count names-found functions)
    lacks=()
    nm -D "$(ldd "$job_programs/names" | awk '$1 ~ /^libmpi\.so/ { print $3 }')" | grep -qw MPI_Allreduce_c ||
        lacks=(-x NAMES_LACKS_LARGE=1)
    job_run ${lacks[@]+"${lacks[@]}"} "$ranks" windows names
    if [ -z "${JOB_BARE:-}" ] && [ "$(job_count names-found functions)" -lt 38 ]; then
        job_fail "names: $(job_count names-found functions) functions are there, bare $bare, and 38 should be"
    fi
done
job_end
