#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each chip of the product table with several releases of CANN, on the stand-in, which has rules of its own: right numbers
# by the NPUs, no call that chip or release refuse, and the sentence where devices are left out or none can serve.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

as_server=$(cd "$srcdir" && pwd)/tests/cann/as_server.sh
export CANN_LEAKS=$job_dir/leaks CANN_SERVER="server$$" CANN_DELAY=20
unset ASCEND_RT_VISIBLE_DEVICES ASCEND_TOOLKIT_HOME CANN_SOC CANN_VERSION "${!HCCL_@}"
export HCCL_IF_BASE_PORT=61000 # ports that the kernel gives to nobody, of which nothing is said
npu="engine on NPUs: hccl"
log=()

# chip_run [options of job_run] SOC RELEASE RANKS MODE DEVICES PROGRAM ARGUMENT...
chip_run() {
    local options=()
    while [ "${1#-}" != "$1" ]; do
        options+=("$1")
        shift
    done
    local soc=$1 release=$2 ranks=$3 mode=$4 devices=$5
    shift 5
    rm -f "$CANN_LEAKS"
    touch "$CANN_LEAKS"
    job_run ${options[@]+"${options[@]}"} ${log[@]+"${log[@]}"} -t 120 -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=0 -x CANN_SOC="$soc" \
        -x ASCEND_HOME_PATH="$PWD/tests/cann/cann-$release" "$ranks" "$mode" "$as_server" "$devices" \
        "$job_programs/$1" "${@:2}"
}

# clean LABEL : no process left something or made a call that was refused.
clean() {
    local dirty
    dirty=$(grep -vcE ' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=0 refused=0;' "$CANN_LEAKS")
    if [ "$dirty" -ne 0 ]; then
        job_fail "$1: $dirty processes left something or made a wrong call"
        cut -c1-200 "$CANN_LEAKS"
        return 1
    fi
}

# Types and ops: some on the NPUs as they are or encoded, the rest on the host CPUs. vector: whether HcclReduceScatterV is
# called.
while read -r soc release vector tests; do
    label="$soc, CANN $release"
    # shellcheck disable=SC2086 # the words of `tests`
    chip_run "$soc" "$release" 2 windows 8 values zeros $tests || continue
    clean "$label" || continue
    calls=$(job_report_reason "$npu")
    host=$(job_report_reason engine)
    called=$(grep -c ' HcclReduceScatterV=[1-9]' "$CANN_LEAKS")
    if [ "$calls" -eq 0 ] || { [ -n "$tests" ] && [ "$host" -eq 0 ]; }; then
        job_fail "$label: the NPUs did $calls calls, the host CPUs $host"
    elif { [ "$vector" = none ] && [ "$called" -ne 0 ]; } || { [ "$vector" = some ] && [ "$called" -ne 2 ]; }; then
        job_fail "$label: $called processes called HcclReduceScatterV"
    else
        job_ok "$label: the NPUs did $calls calls, the host CPUs $host"
    fi
done <<'TABLE'
Ascend910A 7.0 none table
Ascend910A 8.5.0 none
Ascend910B 8.1.RC1 none
Ascend910B1 8.0.0 none
Ascend910B1 8.1.RC1 some
Ascend910B1 8.5.0 some
Ascend910_9391 8.5.0 some table
Ascend310P3 8.5.0 any
Ascend950PR 8.5.0 some table
TABLE

# said LABEL DRIVEN TEXT : so many NPUs are driven, and that is said.
said() {
    local driven
    driven=$(grep -cE ' HcclCommInitRootInfo(Config)?=[1-9]' "$CANN_LEAKS")
    if [ "$driven" -ne "$2" ]; then
        job_fail "$1: $driven NPUs are driven, $2 expected"
    elif ! grep -qF -e "$3" "$job_dir/err"; then
        job_fail "$1: nothing says: $3"
        cat "$job_dir/err"
    else
        job_ok "$1: $2 NPUs, and it is said why"
    fi
}

log=(-x MPINPU_LOG=info) # who serves a communicator, and which devices are left out
# Numbers and groups of devices: chip, release, ranks, layout, devices of each host, how many are driven, what is said.
while IFS='|' read -r soc release ranks mode devices driven text; do
    chip_run -w "$soc" "$release" "$ranks" "$mode" "$devices" values zeros || continue
    clean "$soc" && said "$soc, $ranks ranks, $mode, NPUs $devices" "$driven" "$text"
done <<'TABLE'
Ascend910A|8.2.RC1|3|windows|3|2|2 of 3 devices are used: Atlas training series takes 1, 2, 4 or 8 devices a server
Ascend910A|7.0|7|windows|7|4|4 of 7 devices are used: Atlas training series takes 1, 2, 4 or 8 devices a server
Ascend910A|8.5.0|5|hosts3|3,2|4|4 of 5 devices are used: Atlas training series takes 1, 2, 4 or 8 devices a server
Ascend910B1|8.2.RC1|4|hosts3|3,1|4|the servers bring from 1 to 3 devices: Atlas A2 training series is slow where the numbers are unequal
Ascend310P3|8.5.0|4|hosts2|2|2|2 of 4 devices are used: Atlas 300I Duo takes 1 to 32 devices of one server
Ascend310B1|8.2.RC1|2|windows|2|0|rank 0: the SoC Ascend310B1 is of Atlas 200I A2, which has no HCCL
Ascend610|8.5.0|2|windows|2|0|rank 0: the SoC Ascend610 is of no product that is known here
TABLE
job_end
