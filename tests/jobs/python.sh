#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mpi4py, which opens libmpi with RTLD_LOCAL: arrays.py.
# Closes trap 33 for jobs.
. "${srcdir:=.}/tests/jobs/job.sh"

if [ -z "$PYTHON" ] || ! "$PYTHON" -c 'import mpi4py, numpy' 2>/dev/null; then
    job_skip "no python3 with mpi4py and numpy (Debian: python3-mpi4py python3-numpy)"
    job_end
fi
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
# A virtual environment's python3 is a script or a link elsewhere; mpirun needs its full path.
python=$(command -v "$PYTHON")
arrays=$(realpath "$srcdir/tests/jobs/arrays.py")

for ranks in 1 2 3 5 8; do
    job_run "$ranks" windows "$python" "$arrays" collectives
done
job_run 3 messages "$python" "$arrays" collectives
for ranks in 1 3; do
    job_run "$ranks" windows "$python" "$arrays" requests
done
job_run 2 messages "$python" "$arrays" requests
job_run 2 ucx "$python" "$arrays" collectives
for mode in windows messages; do
    job_run 2 $mode "$python" "$arrays" training
    first=$(sed -n 's/^job-digest //p' "$job_dir/out")
    job_run 2 $mode "$python" "$arrays" training
    if [ "$first" = "$(sed -n 's/^job-digest //p' "$job_dir/out")" ]; then
        job_ok "training, $mode: the same weights in both runs"
    else
        job_fail "training, $mode: other weights in the second run"
    fi
done
job_run 3 windows "$python" "$arrays" training
job_end
