#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Fortran's three interfaces; the report after Fortran's MPI_Finalize.
# Closes trap 30.
. "${srcdir:=.}/tests/jobs/job.sh"

for interface in mpif_h use_mpi use_mpi_f08; do
    if [ ! -x "$job_programs/fortran_$interface" ]; then
        job_skip "fortran_$interface is not built (Debian: gfortran)"
        continue
    fi
    for ranks in $job_ranks; do
        job_run "$ranks" windows fortran_$interface
    done
    job_run 3 messages fortran_$interface
    job_run 1 windows fortran_requests_$interface
    job_run 3 windows fortran_requests_$interface
    job_run 2 messages fortran_requests_$interface
    job_run 2 ucx fortran_$interface
done
job_end
