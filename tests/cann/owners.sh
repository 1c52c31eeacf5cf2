#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# More ranks than NPUs, on the stand-in for CANN: which ranks drive one, right numbers for all, the same bits whatever the
# layout, hosts without NPUs, faults of an owner that all of its group hear of, and nothing left behind.
# Closes traps 5, 6, 12 where ranks share an NPU.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

as_server=$(cd "$srcdir" && pwd)/tests/cann/as_server.sh
export ASCEND_HOME_PATH=$PWD/tests/cann/cann-8.2.RC1 CANN_LEAKS=$job_dir/leaks CANN_SERVER="server$$" CANN_DELAY=20
unset ASCEND_RT_VISIBLE_DEVICES "${!HCCL_@}"
export HCCL_IF_BASE_PORT=61000 # ports that the kernel gives to nobody, of which nothing is said
passed=(-x ASCEND_HOME_PATH -x CANN_LEAKS -x CANN_SERVER -x CANN_DELAY)
npu="engine on NPUs: hccl"

# owners_run OWNERS [options of job_run] RANKS MODE DEVICES PROGRAM ARGUMENT... : so many processes make an HCCL
# communicator (-: any number), the NPUs do the calls, and no process leaves something or makes a call that is refused.
owners_run() {
    local owners=$1 options=() p calls drive dirty label
    shift
    while [ "${1#-}" != "$1" ]; do
        options+=("$1")
        case $1 in -x | -t | -s)
            options+=("$2")
            shift
            ;;
        esac
        shift
    done
    for p in "${passed[@]}"; do
        [ "$p" = -x ] || options+=(-x "$p=${!p}")
    done
    label="$1 ranks, $2, NPUs $3, ${*:4}"
    [[ $4 == /* ]] || set -- "${@:1:3}" "$job_programs/$4" "${@:5}"
    rm -f "$CANN_LEAKS"
    touch "$CANN_LEAKS"
    job_run -x MPINPU_ENGINE=hccl "${options[@]}" "$1" "$2" "$as_server" "${@:3}" || return
    calls=$(job_report_reason "$npu")
    drive=$(grep -cE ' HcclCommInitRootInfo(Config)?=[1-9]' "$CANN_LEAKS")
    dirty=$(grep -vcE ' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=0 refused=0;' "$CANN_LEAKS")
    if [ "$owners" != - ] && [ "$drive" -ne "$owners" ]; then
        job_fail "$label: $drive processes drive an NPU, $owners expected"
    elif [ "$owners" = 0 ] && [ "$calls" -ne 0 ]; then
        job_fail "$label: the NPUs did $calls calls, and nobody drives one"
    elif [ "$owners" != 0 ] && [ "$calls" -eq 0 ]; then
        job_fail "$label: the NPUs did nothing"
    elif [ "$dirty" -ne 0 ]; then
        job_fail "$label: $dirty processes left something or made a wrong call"
        cut -c1-200 "$CANN_LEAKS"
    else
        job_ok "$label: $drive NPUs, $calls calls"
    fi
}

# Right numbers: owners, ranks, layout, devices of each host. That servers bring unequal numbers is warned of.
while read -r owners ranks mode devices more; do
    warns=()
    [[ $devices != *,* ]] || warns=(-w)
    # shellcheck disable=SC2086 # the words of `more`
    owners_run "$owners" ${warns[@]+"${warns[@]}"} -t 120 -x MPINPU_HCCL_AFTER=0 "$ranks" "$mode" "$devices" \
        values sizes zeros $more
done <<'TABLE'
1 2 windows 1
2 3 windows 2 table
1 4 windows 1
2 4 windows 2
4 6 windows 4
4 8 windows 4
8 12 windows 8
2 4 messages 2
2 4 hosts2 1
4 8 hosts4 2 table
2 6 round2 1
3 8 hosts3 1
2 6 hosts3 2,0
2 6 hosts3 2,- table
5 9 hosts3 -,2,3
2 7 round3 0,2,0
2 6 hosts3+messages 2,-
TABLE
owners_run 2 -t 120 8 windows 2 values big
owners_run 2 -t 120 -x MPINPU_HCCL_CHUNK_BYTES=64K -x MPINPU_HCCL_DEPTH=2 6 hosts3 1 values big
owners_run 3 -w -t 120 -x MPINPU_HCCL_CHUNK_BYTES=100000 -x MPINPU_HCCL_DEPTH=7 -x MPINPU_FP64=exact 7 hosts4 1,2 values big
owners_run 2 -t 120 -x CANN_INTEGERS=saturate 4 windows 2 values table zeros

# The rules leave devices out: 910A takes 2 of 3, and all ranks of the third one's go to another.
owners_run 2 -t 120 -x CANN_SOC=Ascend910A 6 windows 3 values sizes zeros
owners_run 4 -t 120 -x CANN_SOC=Ascend910A 8 hosts4 2,3 values zeros

# Which devices: by the map, or by a list for all or for each rank.
owners_run 2 -x MPINPU_DEVICE_MAP=devices:5,2 4 windows 8 values zeros
owners_run 2 -x ASCEND_RT_VISIBLE_DEVICES=3,4 -x MPINPU_HCCL_AFTER=0 4 windows 8 values zeros
cat >"$job_dir/own_list" <<'OWN'
#!/bin/bash
ASCEND_RT_VISIBLE_DEVICES=$((7 - OMPI_COMM_WORLD_RANK)) exec "$@"
OWN
chmod +x "$job_dir/own_list"
owners_run 4 -x MPINPU_HCCL_AFTER=0 4 windows 8 "$job_dir/own_list" "$job_programs/values" zeros

# No NPU anywhere.
owners_run 0 -w 4 hosts2 -,0 values zeros

# The same bits whatever the layout.
first=''
while read -r owners ranks mode devices; do
    digest=none
    owners_run "$owners" -w -x MPINPU_REPRODUCIBLE=1 -t 120 "$ranks" "$mode" "$devices" bits digest &&
        digest=$(sed -n 's/^job-digest //p' "$job_dir/out")
    first=${first:-$digest}
    if [ "$digest" = none ] || [ "$digest" != "$first" ]; then
        job_fail "$ranks ranks, $mode, NPUs $devices: the digest $digest, $first before"
    else
        job_ok "$ranks ranks, $mode, NPUs $devices: the digest $digest"
    fi
done <<'TABLE'
6 6 windows 6
2 6 windows 2
4 6 windows 4
2 6 hosts3 1
3 6 round2 1,2
2 6 hosts3 -,2
TABLE

# Other communicators: many, of which some have no driver; and from threads.
owners_run - -w -t 120 -x MPINPU_HCCL_AFTER=1 6 windows 2 comms overlap 20
owners_run - -w -t 120 -x MPINPU_HCCL_AFTER=1 6 hosts3 2,- comms overlap 21
owners_run - -w -t 120 -x MPINPU_HCCL_AFTER=0 4 windows 2 comms churn 60
owners_run - -w -t 180 -x MPINPU_HCCL_AFTER=0 -n 4 windows 2 threads

# Faults of owners. first: at the making of the communicator, the host CPUs do it all; later: an error on every rank.
faulty() {
    local when=$1 fault=$2 mode=$3 devices=$4 right errors code=${2#*:*:}
    rm -f "$CANN_LEAKS"
    job_mode_arguments "$mode"
    job_arguments+=("${passed[@]}" -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=1 -x MPINPU_HCCL_CHUNK_BYTES=64K
        -x "CANN_FAULT=$fault" -x CANN_HASTE=40)
    job_mpirun -n -w -t 60 "fault $fault, $mode, NPUs $devices" -np 6 ${job_wrapper[@]+"${job_wrapper[@]}"} \
        "$as_server" "$devices" "$PWD/tests/cann/faulty" || return
    right=$(grep -c ': right 12 errors 0$' "$job_dir/out")
    errors=$(grep -c ' errors 1$' "$job_dir/out")
    if [ "$when" = first ] && [ "$right" -ne 6 ]; then
        job_fail "fault $fault: the host CPUs did not take over on all ranks"
        cat "$job_dir/out" "$job_dir/err"
    elif [ "$when" = later ] && [ "$errors" -ne 6 ]; then
        job_fail "fault $fault: $errors of 6 ranks have an error"
        cat "$job_dir/out" "$job_dir/err"
    elif [ "$when" = later ] && [ "$(grep -c ": class MPI_ERR_OTHER: .*(${code%%:*}): " "$job_dir/out")" -ne 6 ]; then
        job_fail "fault $fault: an error has not the code in its text"
        cat "$job_dir/out"
    elif grep -qvE ' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=0 ' "$CANN_LEAKS"; then
        job_fail "fault $fault: something is left"
        cut -c1-200 "$CANN_LEAKS"
    else
        job_ok "fault $fault: $right right, $errors with an error"
    fi
}
for fault in aclrtSetDevice:1:507033 aclrtMallocHost:3:207001 HcclGetRootInfo:1:7 HcclCommInitRootInfo:1:15 HcclAllReduce:1:4; do
    faulty first "$fault" windows 2
done
# Owners are ranks 0 and 3; of hosts with 2 NPUs 0, 2, 3 and 5; where the second host has none 0 and 2.
for rank in 0 2 3 5; do
    faulty later "HcclAllReduce:15:4:$rank" hosts3 2
done
for fault in HcclAllReduce:15:4:3 aclrtMemcpyAsync:40:507000:0 HcclAllReduce.task:14:507018:3 aclrtMemcpyAsync:47:507000:3; do
    faulty later "$fault" windows 2
    faulty later "$fault" hosts3 1
done
faulty later HcclAllReduce:15:4:2 hosts3 2,-
faulty later HcclAllReduce.task:14:507018:0 hosts3 2,-

# Who is late is named, by the numbers of the communicator: it shares an NPU with one that drives it.
for layout in "4 2" "4 1"; do
    # shellcheck disable=SC2086 # two words
    set -- $layout
    job_mode_arguments windows
    job_arguments+=("${passed[@]}" -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=0 -x MPINPU_STALL_S=1)
    job_mpirun -n -w -t 30 "a late rank, $1 ranks, NPUs $2" -np "$1" "$as_server" "$2" "$PWD/tests/cann/faulty" late
    if [ "$(grep -c ' has waited ' "$job_dir/err")" -lt 1 ] ||
        grep ' has waited ' "$job_dir/err" | grep -vE ": MPI_[A-Za-z_]* of .* on MPI_COMM_WORLD \($1 ranks, .* on the NPUs has waited .*, for rank $(($1 - 1)) \("; then
        job_fail "a late rank, $1 ranks, NPUs $2: $(cat "$job_dir/err")"
    fi
done
job_end
