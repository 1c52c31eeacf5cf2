#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What an Ascend host is set up like, on the stand-in for CANN: `mpinpu info` shows it, the start of a job warns of it once
# a host; variables of HCCL that are wrong, differ or are contrary to a setting; and the ways in which a device is chosen.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

export ASCEND_HOME_PATH=$PWD/tests/cann/cann-8.2.RC1 CANN_LEAKS=$job_dir/leaks CANN_SERVER="server$$" CANN_DELAY=20
unset ASCEND_RT_VISIBLE_DEVICES "${!HCCL_@}"
tool=$PWD/tools/mpinpu
as_server=$(cd "$srcdir" && pwd)/tests/cann/as_server.sh
npu="engine on NPUs: hccl"

# says LABEL TIMES PATTERN [FILE] : so many lines match
says() {
    local lines
    lines=$(grep -cE -- "$3" "${4:-$job_dir/err}")
    if [ "$lines" -eq "$2" ]; then
        job_ok "$1"
    else
        job_fail "$1: $lines lines match '$3', $2 expected"
        cat "${4:-$job_dir/err}"
    fi
}

# info VARIABLE=VALUE... : mpinpu info, with nothing on stderr
info() {
    if ! env "$@" "$tool" info >"$job_dir/info" 2>"$job_dir/err" || [ -s "$job_dir/err" ]; then
        job_fail "mpinpu info $*: failed, or said something on stderr"
        cat "$job_dir/err"
    fi
}

# --- mpinpu info ---
info HCCL_BUFFSIZE=0 HCCL_SOCKET_IFNAME==eth0 HCCL_OP_RETRY_PARAMS=x
says "info: why none can be used" 1 '^NPU +none can be used: HCCL_BUFFSIZE=0 is not a number from 1 up' "$job_dir/info"
says "info: version" 1 '^  version +8\.2\.RC1$' "$job_dir/info"
says "info: SoC" 1 '^  SoC +Ascend910B1$' "$job_dir/info"
says "info: devices" 1 '^  devices +8$' "$job_dir/info"
says "info: a library" 1 "^  libhccl.so +$ASCEND_HOME_PATH/lib64/libhccl.so\$" "$job_dir/info"
says "info: a function" 1 '^  HcclAllReduce +found$' "$job_dir/info"
says "info: a function that is missing" 1 '^  aclrtGetPrimaryCtxState +missing +done without; CANN has it since 8\.3$' "$job_dir/info"
says "info: each function" "$(grep -cE '^CANN_FUNCTION\(' "$srcdir/engine/hccl/cann_functions.def")" '^  (acl|Hccl)[A-Za-z]+ +(found|missing)' "$job_dir/info"
says "info: a wrong value" 1 '^  HCCL_BUFFSIZE +0 +\(environment\) +WRONG: must be a number from 1 up$' "$job_dir/info"
says "info: a right value" 1 '^  HCCL_SOCKET_IFNAME +=eth0 +\(environment\) +names of ' "$job_dir/info"
says "info: a default" 1 '^  HCCL_CONNECT_TIMEOUT +120 +\(default\) +a number from 120 to 7200$' "$job_dir/info"
says "info: a variable of another product" 1 '^  HCCL_OP_RETRY_PARAMS +x +\(environment\) +has no effect on Atlas A2 ' "$job_dir/info"
says "info: numbers of servers" 1 '^  servers +fastest where their number is a power of two' "$job_dir/info"
info HCCL_IF_BASE_PORT=61500
says "info: NPUs" 1 '^NPU +8 of Ascend910B1; the first rank here would drive number 0$' "$job_dir/info"
says "info: 32 ports from CANN 8.2 on" 1 '^  right +ports 61500-61531 are free$' "$job_dir/info"
info HCCL_IF_BASE_PORT=61500 CANN_VERSION=8.1.RC1
says "info: 16 ports before" 1 '^  right +ports 61500-61515 are free$' "$job_dir/info"
info CANN_SOC=Ascend910A
says "info: another product" 1 '^  together +1, 2, 4 or 8 devices a server' "$job_dir/info"
info CANN_DEVICES=0
says "info: no device" 1 '^NPU +none can be used: aclrtGetDeviceCount failed: .* look at npu-smi info' "$job_dir/info"

# Reserved beside what is reserved already, as a whole line.
reserved=$(tr -d '\n' </proc/sys/net/ipv4/ip_local_reserved_ports 2>/dev/null)
if [ -z "$reserved" ] && [ -r /proc/sys/net/ipv4/ip_local_reserved_ports ]; then
    info HCCL_IF_BASE_PORT=41500
    says "info: to do now" 1 '^  to do +reserve them now, as root: sysctl -w net.ipv4.ip_local_reserved_ports=41500-41531$' "$job_dir/info"
    says "info: to do for ever" 1 '^  to do +.* /etc/sysctl.conf: net.ipv4.ip_local_reserved_ports = 41500-41531$' "$job_dir/info"
else
    job_skip "some ports are reserved on this machine, or it is not known which"
fi

# --- the start of a job ---
# job LABEL [VARIABLE=VALUE]... : 4 ranks, 2 hosts of 2; its words are in err
job() {
    local label=$1 options=()
    shift
    while [ $# -gt 0 ]; do
        options+=(-x "$1")
        shift
    done
    rm -f "$CANN_LEAKS"
    job_mode_arguments "${mode:-hosts2}"
    job_mpirun -w ${counts:+"$counts"} "$label" -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=0 "${options[@]}" -np "${ranks:-4}" \
        ${job_wrapper[@]+"${job_wrapper[@]}"} "$as_server" "${devices:-2}" "${program[@]}"
}
program=("$job_programs/values" zeros)

# npus LABEL some|none
npus() {
    local calls
    calls=$(job_report_reason "$npu")
    if [ "$([ "$calls" -gt 0 ] && echo some || echo none)" = "$2" ]; then
        job_ok "$1: the NPUs did $calls calls"
    else
        job_fail "$1: the NPUs did $calls calls, $2 expected"
        cat "$job_dir/err"
    fi
}

job "nothing to say" HCCL_IF_BASE_PORT=61500
says "nothing to say" 0 '^mpinpu'
npus "nothing to say" some
if [ -z "$reserved" ] && [ "$(awk '{ print ($1 <= 41500 && $2 >= 41531) ? 1 : 0 }' /proc/sys/net/ipv4/ip_local_port_range)" = 1 ]; then
    job "ports that are not reserved" HCCL_IF_BASE_PORT=41500
    for host in host0 host1; do
        says "ports: $host, once" 1 "^mpinpu\\[[0-9]\\]: host $host: ports 41500-41531 are not all reserved"
        says "ports: $host, the line" 1 "^mpinpu\\[[0-9]\\]: host $host: .*: sysctl -w net.ipv4.ip_local_reserved_ports=41500-41531\$"
    done
    # The kernel may have given one of them to a connection of mpirun's, which is then said too.
    sed -i '/cannot be bound/d' "$job_dir/err"
    says "ports: nothing else" 6 '^mpinpu'
    npus "ports that are not reserved" some
else
    job_skip "the ports of this machine are set up in another way than most"
fi

job "a wrong value" HCCL_IF_BASE_PORT=61500 HCCL_BUFFSIZE=0
says "a wrong value: once a host" 2 '^mpinpu\[[02]\]: HCCL_BUFFSIZE=0 is not a number from 1 up: HCCL does not start with it'
npus "a wrong value" none

# One rank's value is wrong: it drives nothing. One rank's differs: nobody does.
cat >"$job_dir/differ" <<'END'
#!/bin/bash
[ "$OMPI_COMM_WORLD_RANK" != "$DIFFERENT_RANK" ] || export "$DIFFERENT"
exec "$@"
END
chmod +x "$job_dir/differ"
program=("$job_dir/differ" "$job_programs/values" zeros)
job "a wrong value on rank 3" HCCL_IF_BASE_PORT=61500 DIFFERENT_RANK=3 DIFFERENT=HCCL_RDMA_TC=3
says "a wrong value on rank 3" 1 '^mpinpu\[0\]: rank 3 of a communicator of 4 drives no NPU: HCCL_RDMA_TC=3 is not a multiple of 4 from 0 to 255'
npus "a wrong value on rank 3" some
for different in HCCL_BUFFSIZE=17 HCCL_DETERMINISTIC=true HCCL_ALGO='level0:NA\;level1:ring' HCCL_RDMA_RETRY_CNT=3; do
    job "${different%%=*} on rank 2" HCCL_IF_BASE_PORT=61500 DIFFERENT_RANK=2 "DIFFERENT=${different/\\/}"
    says "${different%%=*} on rank 2" 1 "^mpinpu\\[0\\]: .*: ${different%%=*} differs between rank 0 and rank 2\$"
    npus "${different%%=*} on rank 2" none
done

# --- unequal numbers a server ---
program=("$job_programs/values" zeros)
devices=1,2 job "1 NPU and 2" HCCL_IF_BASE_PORT=61500
says "unequal numbers, once" 1 '^mpinpu\[0\]: the servers bring from 1 to 2 devices: Atlas A2 training series is slow where the numbers are unequal$'
says "unequal numbers, nothing else" 1 '^mpinpu'
npus "unequal numbers" some

# --- MPINPU_REPRODUCIBLE ---
# deterministic LABEL COMMUNICATORS : whether each of 2 owners was asked for that
deterministic() {
    says "$1: $2 processes ask for it" "$2" ' communicator\.deterministic=1' "$CANN_LEAKS"
}
mode=windows
ranks=2
program=("$job_programs/values" table)
job "not reproducible" HCCL_IF_BASE_PORT=61500
deterministic "not reproducible" 0
job "reproducible" HCCL_IF_BASE_PORT=61500 MPINPU_REPRODUCIBLE=1
deterministic "reproducible" 2
says "reproducible: by the configuration" 2 ' HcclCommInitRootInfoConfig=1' "$CANN_LEAKS"
says "reproducible: nothing to say" 0 '^mpinpu'
npus "reproducible" some
job "reproducible, CANN 7.0" HCCL_IF_BASE_PORT=61500 MPINPU_REPRODUCIBLE=1 "ASCEND_HOME_PATH=$PWD/tests/cann/cann-7.0"
deterministic "reproducible, CANN 7.0" 2
says "reproducible, CANN 7.0: by the variable" 2 ' HcclCommInitRootInfo=1' "$CANN_LEAKS"
job "reproducible, strict" HCCL_IF_BASE_PORT=61500 MPINPU_REPRODUCIBLE=1 HCCL_DETERMINISTIC=strict
deterministic "reproducible, strict" 2
says "reproducible, strict: nothing to say" 0 '^mpinpu'
job "reproducible, and not" HCCL_IF_BASE_PORT=61500 MPINPU_REPRODUCIBLE=1 HCCL_DETERMINISTIC=false
deterministic "reproducible, and not" 0
says "reproducible, and not" 1 '^mpinpu\[0\]: HCCL_DETERMINISTIC=false is contrary to MPINPU_REPRODUCIBLE=1, which wants true; sums of floats stay on the host CPUs$'
npus "reproducible, and not" some

# --- which device ---
program=("$job_programs/values" zeros)
devices=8
job "a map that is none" HCCL_IF_BASE_PORT=61500 MPINPU_DEVICE_MAP=devices:1,x
says "a map that is none" 1 '^mpinpu: MPINPU_DEVICE_MAP=devices:1,x is not auto or devices:LIST, LIST being numbers from 0 to 63, each once, such as 4,5,6,7; using auto$'
npus "a map that is none" some
job "a device that is not there" HCCL_IF_BASE_PORT=61500 MPINPU_DEVICE_MAP=devices:1,8
says "a device that is not there" 1 '^mpinpu\[0\]: rank 1 of a communicator of 2 drives no NPU: MPINPU_DEVICE_MAP gives it NPU number 8, and it may use numbers 0 to 7$'
for list in 5 3,6; do
    job "ASCEND_RT_VISIBLE_DEVICES=$list" HCCL_IF_BASE_PORT=61500 ASCEND_RT_VISIBLE_DEVICES=$list
    npus "ASCEND_RT_VISIBLE_DEVICES=$list" some
done
program=("$PWD/tests/cann/own_device" 0 1)
counts=-n job "who serves" HCCL_IF_BASE_PORT=61500 MPINPU_LOG=info
says "who serves" 1 '^mpinpu\[0\]: a communicator of 2 ranks is done by NPUs, wherever they can'
for own in "6 2" "0 1"; do
    # shellcheck disable=SC2206 # words
    program=("$PWD/tests/cann/own_device" $own)
    rm -f "$CANN_LEAKS"
    job_mode_arguments windows
    job_mpirun -n "a program that sets NPUs $own" -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_AFTER=0 \
        -x HCCL_IF_BASE_PORT=61500 -x "MPINPU_LOG=warn" -np 2 "$as_server" 8 "${program[@]}"
    npus "a program that sets NPUs $own" some
    says "a program that sets NPUs $own: nothing is left" 2 \
        ' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=0 refused=0;' "$CANN_LEAKS"
done
job_end
