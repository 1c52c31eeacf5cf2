#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The table of datatypes and ops: walk_reductions.c, and that it walks every datatype that the host's mpi.h declares.
# Closes traps 15, 16, 17.
. "${srcdir:=.}/tests/jobs/job.sh"

job_arguments=(--mca op ^avx)
job_mpirun -n -t 120 "walk over all datatypes and ops" -np 1 "$job_programs/walk_reductions"
tail -n 1 "$job_dir/out"

sed -n 's/^walked //p' "$job_dir/out" | sort >"$job_dir/walked"
echo '#include <mpi.h>' | "$MPICC" -E -dM -x c - |
    sed -n 's/^#define \(MPI_[A-Z0-9_]*\) OMPI_PREDEFINED_GLOBAL(MPI_Datatype.*/\1/p' |
    grep -vxE 'MPI_DATATYPE_NULL|MPI_UB|MPI_LB' | sort >"$job_dir/declared"
if [ ! -s "$job_dir/declared" ]; then
    job_fail "no datatype was found in mpi.h"
elif missing=$(comm -13 "$job_dir/walked" "$job_dir/declared") && [ -n "$missing" ]; then
    job_fail "datatypes of mpi.h that the walk leaves out: $missing"
else
    job_ok "all $(wc -l <"$job_dir/declared") datatypes of mpi.h were walked"
fi
job_end
