#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The NPU engine in jobs, on the stand-in for CANN: right numbers by the NPUs, one conclusion on all ranks where some of
# them have none, faults, and nothing left behind.
# Closes traps 5, 6, 12 for the NPU engine.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

home=$PWD/tests/cann/cann-8.2.RC1
export ASCEND_HOME_PATH=$home CANN_LEAKS=$job_dir/leaks CANN_SERVER="server$$" CANN_DELAY=20
unset ASCEND_RT_VISIBLE_DEVICES "${!HCCL_@}"
export HCCL_IF_BASE_PORT=61000 # ports that the kernel gives to nobody, of which nothing is said
passed=(-x ASCEND_HOME_PATH -x CANN_LEAKS -x CANN_SERVER -x CANN_DELAY)
npu="engine on NPUs: hccl"

# npu_run [options of job_run] ... : with the stand-in.
npu_run() {
    local options=() p
    for p in "${passed[@]}"; do
        [ "$p" = -x ] || options+=(-x "$p=${!p}")
    done
    rm -f "$CANN_LEAKS"
    job_run "${options[@]}" "$@"
}

# tidy LABEL PROCESSES : so many processes used CANN and none holds anything or made a call that was refused.
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

# did LABEL some|none : what the report says of the NPUs.
did() {
    local calls
    calls=$(job_report_reason "$npu")
    if [ "$2" = some ] && [ "$calls" -eq 0 ]; then
        job_fail "$1: the NPUs did nothing"
    elif [ "$2" = none ] && [ "$calls" -ne 0 ]; then
        job_fail "$1: the NPUs did $calls calls"
    else
        job_ok "$1: the NPUs did $calls calls"
    fi
}

# stages LABEL some|none : whether the report has the time of the stages.
stages() {
    local timed
    timed=$(grep -cE '"stage": "(encode|to device|collective|to host|decode|waiting)", "nanoseconds": [1-9]' "$job_dir/report")
    if [ "$timed" -eq "$([ "$2" = some ] && echo 6 || echo 0)" ]; then
        job_ok "$1: $timed stages with a time"
    else
        job_fail "$1: $timed stages with a time"
        cat "$job_dir/report"
    fi
}

# Right numbers.
for ranks in 2 3 4 8; do
    table=(table)
    [ $((ranks % 2)) -eq 0 ] || table=()
    npu_run -t 180 -x MPINPU_HCCL_MIN_BYTES=0 -x MPINPU_HCCL_AFTER=0 "$ranks" windows values sizes zeros ${table[@]+"${table[@]}"}
    did "$ranks ranks" some
    tidy "$ranks ranks" "$ranks"
done
npu_run -x MPINPU_HCCL_MIN_BYTES=0 1 windows values table
npu_run -x MPINPU_ENGINE=hccl 2 windows values big
did "MPINPU_ENGINE=hccl" some
stages "MPINPU_ENGINE=hccl" some
npu_run -t 120 -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_CHUNK_BYTES=64K -x MPINPU_HCCL_DEPTH=2 2 messages values big
did "small chunks" some
npu_run -t 120 -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_CHUNK_BYTES=100000 -x MPINPU_HCCL_DEPTH=7 -x MPINPU_FP64=exact 3 windows values big
did "odd chunks, FP64=exact" some
npu_run -t 120 -x MPINPU_ENGINE=hccl 4 reproducible values table zeros
did "reproducible" some
npu_run -t 120 -x MPINPU_ENGINE=hccl -x CANN_INTEGERS=saturate 2 windows values table zeros
did "integers that do not wrap" some

# Below the size they stay on the host CPUs; without a size the model keeps host buffers of one server there.
npu_run -x MPINPU_HCCL_MIN_BYTES=4M 2 windows values sizes zeros
did "small vectors" none
npu_run -x MPINPU_HCCL_MIN_BYTES=4M 2 windows values big
did "large vectors" some
npu_run 2 windows values table big
did "auto, one server" none
stages "auto, one server" none

# Not for the NPUs, as told. (More ranks than NPUs: owners.sh.)
npu_run -x MPINPU_HCCL_MIN_BYTES=0 -x MPINPU_ENGINE=host 2 windows values zeros
did "MPINPU_ENGINE=host" none

# Other programs of the job tests: many communicators, threads.
npu_run -t 120 -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=1 4 windows comms overlap 20
tidy "many communicators" 4
npu_run -t 120 -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=0 -n 2 windows threads
tidy "threads" 2

# One rank without CANN, or that sees no device: others drive theirs for it. With another CANN: all use the host CPUs.
preload=(env "LD_PRELOAD=$job_library" JOB_PRELOADED=1 "MPINPU_REPORT=json:$job_dir/report" MPINPU_HCCL_MIN_BYTES=0
    MPINPU_HCCL_AFTER=0)
for rank in 0 1 2; do
    for lack in ASCEND_HOME_PATH=/nowhere CANN_STUB=1 CANN_DEVICES=0 CANN_VERSION=8.3.RC1 HCCL_BUFFSIZE=17; do
        expected=some
        case $lack in CANN_VERSION=* | HCCL_*) expected=none ;; esac
        contexts=()
        for r in 0 1 2; do
            other=()
            # shellcheck disable=SC2206 # the words of an option
            [ "$r" -ne "$rank" ] || other=($lack)
            contexts+=(: -np 1 "${preload[@]}" ${other[@]+"${other[@]}"} "$job_programs/values" zeros)
        done
        job_arguments=(--oversubscribe "${passed[@]}")
        job_mpirun "$lack on rank $rank of 3" "${contexts[@]:1}"
        did "$lack on rank $rank of 3" "$expected"
    done
done

# Faults. first: at the making of the communicator, so the host CPUs do it all; later: an error on
# every rank; either: one of the two.
faulty() {
    local when=$1 fault=$2 right errors code=${2#*:*:}
    shift 2
    rm -f "$CANN_LEAKS"
    # A lost peer would show after 46 s, which no fault may take.
    job_arguments=(--oversubscribe "${passed[@]}" -x "LD_PRELOAD=$job_library" -x MPINPU_ENGINE=hccl
        -x MPINPU_HCCL_AFTER=1 -x MPINPU_HCCL_CHUNK_BYTES=64K -x "CANN_FAULT=$fault" -x CANN_HASTE=40 "$@")
    job_mpirun -n -w -t 40 "fault $fault" -np 3 "$PWD/tests/cann/faulty" || return
    right=$(grep -c ': right 12 errors 0$' "$job_dir/out")
    errors=$(grep -c ' errors 1$' "$job_dir/out")
    if [ "$when" = first ] && [ "$right" -ne 3 ]; then
        job_fail "fault $fault: the host CPUs did not take over on all ranks"
        cat "$job_dir/out" "$job_dir/err"
    elif [ "$when" = later ] && [ "$errors" -ne 3 ]; then
        job_fail "fault $fault: $errors of 3 ranks have an error"
        cat "$job_dir/out" "$job_dir/err"
    elif [ "$when" = either ] && [ "$right" -ne 3 ] && [ "$errors" -ne 3 ]; then
        job_fail "fault $fault: $right of 3 ranks are right to the end, $errors have an error"
        cat "$job_dir/out" "$job_dir/err"
    elif [ "$errors" -ne 0 ] && [ "$(grep -c ": class MPI_ERR_OTHER: .*(${code%%:*}): " "$job_dir/out")" -eq 0 ]; then
        job_fail "fault $fault: no error has the code in its text"
        cat "$job_dir/out"
    elif grep -qvE ' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=0 ' "$CANN_LEAKS"; then
        job_fail "fault $fault: something is left"
        cut -c1-200 "$CANN_LEAKS"
    else
        job_ok "fault $fault: $right right, $errors with an error"
    fi
}
for fault in aclInit:1:500000 aclrtGetDeviceCount:1:507000 aclrtSetDevice:1:507033 aclrtCreateStream:2:207005 \
    aclrtMallocHost:3:207001 aclrtMalloc:2:207001 aclrtCreateEvent:1:207007 HcclGetRootInfo:1:7:0 \
    HcclCommInitRootInfo:1:15 HcclAllReduce:1:4 HcclReduceScatter:1:5 HcclReduceScatterV:1:5 aclrtMemcpyAsync:1:507000 \
    HcclAllReduce.task:1:507018 aclrtRecordEvent:1:507000; do
    faulty first "$fault" # on all ranks
    [ "$fault" = HcclGetRootInfo:1:7:0 ] || faulty first "$fault:1"
done
for fault in HcclAllReduce:15:4:1 HcclReduceScatter:3:4:2 aclrtMemcpyAsync:40:507000:0 HcclAllReduce.task:14:507018:1; do
    faulty later "$fault"
done
# How often a rank asks is a matter of time: before the end of the trial or behind it.
faulty either aclrtQueryEventStatus:200:507000:2
job_end
