#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers in NPU memory, on the stand-in for CANN, where the host that touches such memory faults: right numbers on each
# engine, with each CANN.
# Closes trap 5.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library
export CANN_LEAKS=$job_dir/leaks CANN_SERVER="server$$" CANN_DELAY=20 MPINPU_REPORT="json:$job_dir/report"
unset ASCEND_RT_VISIBLE_DEVICES "${!HCCL_@}"

# tidy LABEL RANKS : nobody holds anything, or made a call that was refused.
tidy() {
    local lines dirty
    lines=$(wc -l <"$CANN_LEAKS")
    dirty=$(grep -vcE ' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=0 refused=0;' "$CANN_LEAKS")
    if [ "$lines" -ne "$2" ] || [ "$dirty" -ne 0 ]; then
        job_fail "$1: $lines processes used CANN ($2 expected), $dirty of them left something or made a wrong call"
        cut -c1-200 "$CANN_LEAKS"
    else
        job_ok "$1: nothing is left"
    fi
}

# places CANN RANKS global|local [-x VARIABLE=VALUE]...
places() {
    local version=$1 ranks=$2 loaded=$3 label="$*"
    shift 3
    rm -f "$CANN_LEAKS" "$job_dir/report"
    job_limit 60 "$MPIRUN" --oversubscribe -np "$ranks" -x "LD_PRELOAD=$job_library" \
        -x "ASCEND_HOME_PATH=$PWD/tests/cann/cann-$version" -x CANN_LEAKS -x CANN_SERVER -x CANN_DELAY -x MPINPU_REPORT \
        "$@" tests/cann/places "$loaded"
    status=$?
    if [ "$status" -ne 0 ] || grep -q FAIL "$job_dir/out" ||
        [ "$(grep -cE 'rank [0-9]+: [0-9]+ calls right' "$job_dir/out")" -ne "$ranks" ]; then
        job_fail "$label: status $status"
        head -20 "$job_dir/out" "$job_dir/err"
    else
        job_ok "$label"
    fi
    tidy "$label" "$ranks"
}

# Each engine; without an engine all goes to the host MPI.
places 8.2.RC1 1 global
places 8.2.RC1 3 local -x MPINPU_ENGINE=host
places 8.2.RC1 3 local -x MPINPU_HCCL_AFTER=1 -x MPINPU_HCCL_MIN_BYTES=0
places 8.2.RC1 2 global -x MPINPU_MIN_BYTES=1G
# Each CANN; before 8.2 the allocations are seen as they are made.
places 7.0 2 global -x MPINPU_ENGINE=host
places 8.5.0 4 local -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=0
# More ranks than devices.
places 8.5.0 3 global -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=0 -x CANN_DEVICES=2

job_end
