#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MUMPS (Fortran): the direct solver's own example, real and complex.
. "${srcdir:=.}/tests/real/real.sh"
real_needs mumps-test /usr/lib/mumps/dsimpletest

numbers() {
    # statistics of the factors, and the solution
    grep -E 'Solution is|ntries|INFOG|Norm|ERROR|RESIDUAL|NUMBER|[Mm]aximum|operations' | grep -viE 'time|space|memory'
}
cp /usr/lib/mumps/input_simpletest_real "$real_work/stdin"
for ranks in 2 3; do
    real_same $ranks 50 /usr/lib/mumps/dsimpletest
done
cp /usr/lib/mumps/input_simpletest_cmplx "$real_work/stdin"
real_same 2 50 /usr/lib/mumps/zsimpletest
job_end
