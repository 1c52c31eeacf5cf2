#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Buffers on NPUs, on the stand-in for CANN, whose memory the host cannot touch: send, receive, both, or another on each
# rank and in each call, in place too; with CANN that says of a pointer what it is and with such as does not; done by the
# NPUs, by the host CPUs, by the host MPI.
# Closes trap 5 for buffers on NPUs.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

export CANN_LEAKS=$job_dir/leaks CANN_SERVER="server$$" CANN_DELAY=20
unset ASCEND_RT_VISIBLE_DEVICES "${!HCCL_@}"
export HCCL_IF_BASE_PORT=61000 # ports that the kernel gives to nobody, of which nothing is said
npu="engine on NPUs: hccl"

# buffers_run CANN ENGINE PLACES [options of job_run] RANKS MODE PROGRAM ARGUMENT...
buffers_run() {
    local home=$PWD/tests/cann/cann-$1 engine=$2 places=$3 label options=() calls dirty library
    shift 3
    library=$home/lib64/libacl_rt.so
    [ -e "$library" ] || library=$home/lib64/libascendcl.so
    options=(-x "ASCEND_HOME_PATH=$home" -x "JOB_CANN_LIBRARY=$library" -x "JOB_PLACES=$places"
        -x "MPINPU_ENGINE=$engine" -x CANN_LEAKS="$CANN_LEAKS" -x CANN_SERVER="$CANN_SERVER" -x CANN_DELAY="$CANN_DELAY")
    label="${home##*/}, $engine, $places, $*"
    rm -f "$CANN_LEAKS"
    touch "$CANN_LEAKS"
    job_run "${options[@]}" "$@" || return
    calls=$(job_report_reason "$npu")
    # The program's own device stays with it.
    dirty=$(grep -vcE ' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=[01] refused=0;' "$CANN_LEAKS")
    if [ ! -s "$CANN_LEAKS" ] || [ "$dirty" -ne 0 ]; then
        job_fail "$label: $dirty processes left something or made a wrong call"
        cut -c1-200 "$CANN_LEAKS"
    elif [ "$engine" = hccl ] && [ "$calls" -eq 0 ]; then
        job_fail "$label: the NPUs did nothing"
    else
        job_ok "$label: the NPUs did $calls calls"
    fi
}

for cann in 7.0 8.2.RC1 8.5.0; do
    buffers_run $cann hccl mixed 3 windows values zeros
    buffers_run $cann host mixed -n 3 windows "$PWD/tests/cann/buffers"
done
buffers_run 7.0 hccl device -x MPINPU_HCCL_AFTER=0 2 windows values sizes zeros
buffers_run 8.5.0 host mixed 3 windows values zeros
buffers_run 8.2.RC1 hccl mixed 2 windows values table
buffers_run 8.2.RC1 host send 2 windows values sizes
buffers_run 8.2.RC1 host recv 2 messages values sizes
buffers_run 8.2.RC1 hccl mixed 4 hosts2 values zeros
buffers_run 8.2.RC1 auto device -n 2 windows "$PWD/tests/cann/buffers"
buffers_run 8.2.RC1 off mixed -n 3 windows "$PWD/tests/cann/buffers" blocking
# Where all have them on devices, HCCL gets them as they are: nothing is copied asynchronously, but for its trial.
for cann in 7.0 8.5.0; do
    for ranks in 2 4; do
        buffers_run $cann hccl device -n -x MPINPU_HCCL_AFTER=0 $ranks windows "$PWD/tests/cann/buffers" direct
        if grep -vq ' HcclAllReduce=[1-9]' "$CANN_LEAKS" || ! grep -q HcclReduceScatter= "$CANN_LEAKS" ||
            grep -Eq ' aclrtMemcpyAsync=([2-9][0-9]|[0-9]{3,})' "$CANN_LEAKS"; then
            job_fail "cann-$cann, $ranks ranks: the program's buffers were not used as they are"
            tr ' ' '\n' <"$CANN_LEAKS" | grep -E 'Memcpy|HcclA|HcclR'
        fi
        buffers_run $cann hccl mixed -n -x MPINPU_HCCL_AFTER=0 $ranks windows "$PWD/tests/cann/buffers" direct
    done
done
# Found by dlsym, past this library: CANN says what the pointers are.
buffers_run 8.2.RC1 auto device -x JOB_CANN=find 2 windows values zeros

# A copy fails: an error, no wrong number, no hang.
home=$PWD/tests/cann/cann-8.2.RC1
job_mode_arguments windows
job_arguments+=(-x "ASCEND_HOME_PATH=$home" -x "JOB_CANN_LIBRARY=$home/lib64/libascendcl.so" -x JOB_PLACES=device
    -x MPINPU_ENGINE=host -x CANN_SERVER -x CANN_FAULT=aclrtMemcpy:40:507011)
job_mpirun -n -w -s any "a copy fails" -np 2 "$PWD/tests/cann/buffers"
if grep -q "cannot be copied .* the host: aclrtMemcpy returns 507011" "$job_dir/err" ||
    grep -q "FAIL rank .: aclrtMemcpy: 507011" "$job_dir/err"; then
    job_ok "a copy fails: $(grep -m 1 507011 "$job_dir/err")"
else
    job_fail "a copy fails: nothing is said of it"
fi
job_end
