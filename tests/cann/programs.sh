#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The programs of the job tests with the NPU engine, on the stand-in for CANN: communicators, errors, bits, Fortran, Python,
# threads, other ranks than NPUs, several hosts. engine.sh and owners.sh have the values.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

as_server=$(cd "$srcdir" && pwd)/tests/cann/as_server.sh
export ASCEND_HOME_PATH=$PWD/tests/cann/cann-8.2.RC1 CANN_LEAKS=$job_dir/leaks CANN_SERVER="server$$" CANN_DELAY=20
unset ASCEND_RT_VISIBLE_DEVICES ASCEND_TOOLKIT_HOME "${!HCCL_@}"
export HCCL_IF_BASE_PORT=61000 # ports that the kernel gives to nobody, of which nothing is said
npu="engine on NPUs: hccl"

# program [options of job_run] RANKS MODE DEVICES PROGRAM ARGUMENT... : right, by NPUs, and nothing is left.
program() {
    local options=() dirty label
    while [ "${1#-}" != "$1" ]; do
        options+=("$1")
        shift
    done
    label="$1 ranks, $2, NPUs $3, $(basename "$4") ${*:5}"
    [[ $4 == /* ]] || set -- "${@:1:3}" "$job_programs/$4" "${@:5}"
    rm -f "$CANN_LEAKS"
    touch "$CANN_LEAKS"
    job_run ${options[@]+"${options[@]}"} -t 120 -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=0 "$1" "$2" "$as_server" \
        "${@:3}" || return
    dirty=$(grep -vcE ' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=0 refused=0;' "$CANN_LEAKS")
    if [ "$dirty" -ne 0 ] || [ "$(job_report_reason "$npu")" -eq 0 ]; then
        job_fail "$label: the NPUs did $(job_report_reason "$npu") calls, $dirty processes left something or made a wrong call"
        cut -c1-200 "$CANN_LEAKS"
        return 1
    fi
    job_ok "$label: the NPUs did $(job_report_reason "$npu") calls"
}

program -w 4 windows 4 comms dup
program -w 4 windows 2 comms kinds
program -w 5 hosts2 1 comms kinds
program 2 windows 2 remap
program 3 windows 2 steady 5
program 3 windows 3 float16
program 3 windows 2 bits wrap
# Sums of floats have the same bits in each call only where that is asked for: the A2 does not promise it by itself.
program 6 hosts2+reproducible 2 bits digest
program -n 3 windows 3 comms finalize

# The same answers as bare Open MPI to what is wrong.
job_run -n 3 bare errors "$job_dir/bare" walk arguments
program -n 3 windows 2 errors "$job_dir/npu" walk arguments
for rank in 0 1 2; do
    if cmp -s "$job_dir/bare.$rank" "$job_dir/npu.$rank"; then
        job_ok "rank $rank: every answer as bare Open MPI has it"
    else
        job_fail "rank $rank does not see what bare Open MPI says"
        diff "$job_dir/bare.$rank" "$job_dir/npu.$rank" | head -n 20
    fi
done

for interface in mpif_h use_mpi use_mpi_f08; do
    if [ -x "$job_programs/fortran_$interface" ]; then
        program 3 windows 2 fortran_$interface
    else
        job_skip "fortran_$interface is not built (Debian: gfortran)"
    fi
done
if [ -n "$PYTHON" ] && "$PYTHON" -c 'import mpi4py, numpy' 2>/dev/null; then
    export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
    python=$(realpath "$(command -v "$PYTHON")")
    program 3 windows 2 "$python" "$(realpath "$srcdir/tests/jobs/arrays.py")" collectives
    program 2 windows 2 "$python" "$(realpath "$srcdir/tests/jobs/arrays.py")" training
else
    job_skip "no python3 with mpi4py and numpy (Debian: python3-mpi4py python3-numpy)"
fi
program -n 2 hosts1 1 threads
job_end
