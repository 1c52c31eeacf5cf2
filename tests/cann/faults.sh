#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Each function of CANN that the engine calls fails once, at several of its calls, on all ranks and on one: the right
# numbers by another way, or an error on all ranks; no hang, nothing left. What the engine calls is read from the
# stand-in's account, so that none is forgotten. Then ranks that are late, and one that is killed.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

unset ASCEND_RT_VISIBLE_DEVICES "${!HCCL_@}"
export HCCL_IF_BASE_PORT=61000 # ports that the kernel gives to nobody, of which nothing is said
export ASCEND_HOME_PATH=$PWD/tests/cann/cann-8.2.RC1 CANN_LEAKS=$job_dir/leaks CANN_SERVER="server$$" CANN_DELAY=20
# A rank that does not come shows after 0.3 s; a lost one would after 170 s, which nothing may take.
export CANN_HASTE=400 HCCL_EXEC_TIMEOUT=68000
common=(--oversubscribe -x ASCEND_HOME_PATH -x CANN_LEAKS -x CANN_SERVER -x CANN_DELAY -x CANN_HASTE
    -x HCCL_EXEC_TIMEOUT -x "LD_PRELOAD=$job_library" -x MPINPU_ENGINE=hccl -x MPINPU_HCCL_CHUNK_BYTES=64K
    -x MPINPU_FP64=exact)
nothing=' device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 devices=0 '

# left LABEL PROCESSES [ALLOWED] : so many processes used CANN, and hold nothing, but lines that match ALLOWED may.
left() {
    local lines dirty
    lines=$(wc -l <"$CANN_LEAKS")
    dirty=$(grep -vE "$nothing" "$CANN_LEAKS" | grep -cvE "${3:-^$}")
    if [ "$lines" -ne "$2" ] || [ "$dirty" -ne 0 ]; then
        job_fail "$1: $lines processes used CANN ($2 expected), $dirty of them left something"
        cut -c1-200 "$CANN_LEAKS"
        return 1
    fi
}

# Faults on communicators, all in one job a CANN.
declare -A swept=()
for cann in 8.2.RC1 8.5.0; do
    rm -f "$CANN_LEAKS"
    ASCEND_HOME_PATH=$PWD/tests/cann/cann-$cann
    job_arguments=("${common[@]}" -x MPINPU_HCCL_AFTER=0)
    job_mpirun -n -w -t 60 "faults on communicators, CANN $cann" -np 3 "$PWD/tests/cann/sweep"
    left "CANN $cann" 3 && sed -n 's/^swept/ok: failed/p' "$job_dir/out"
    while read -r function; do
        swept[$function]=1
    done < <(sed -n 's/^swept \([^:]*\):.*/\1/p' "$job_dir/out")
    [ "$cann" != 8.2.RC1 ] || cp "$CANN_LEAKS" "$job_dir/called"
done
ASCEND_HOME_PATH=$PWD/tests/cann/cann-8.2.RC1

# The rest of what was called is for the start and the end of a process: a job each.
mapfile -t rest < <(sed 's/.*;//' "$job_dir/called" | tr ' ' '\n' | sed -n 's/=.*//p' | sort -u | while read -r function; do
    [ -n "${swept[$function]:-}" ] || echo "$function"
done)
[ ${#rest[@]} -gt 5 ] || job_fail "only ${rest[*]} are called at the start and at the end of a process"
for function in "${rest[@]}"; do
    code=507899 allowed='^$'
    [ "${function#Hccl}" = "$function" ] || code=19
    # What is not given back when giving it back fails, is left.
    case $function in *Destroy* | *Free* | *Reset*) allowed=. ;; esac
    for who in -1 1; do
        rm -f "$CANN_LEAKS"
        job_arguments=("${common[@]}" -x MPINPU_HCCL_AFTER=1 -x "CANN_FAULT=$function:1:$code:$who")
        job_mpirun -n -w -t 30 "fault $function:1:$code:$who" -np 2 "$PWD/tests/cann/faulty" || continue
        right=$(grep -c ': right 12 errors 0$' "$job_dir/out")
        errors=$(grep -c ' errors 1$' "$job_dir/out")
        if [ "$right" -ne 2 ] && [ "$errors" -ne 2 ]; then
            job_fail "fault $function:1:$code:$who: $right of 2 ranks are right to the end, $errors have an error"
            cat "$job_dir/out" "$job_dir/err"
        fi
        left "fault $function:1:$code:$who" 2 "$allowed"
    done
done

# A CANN that cannot end what runs on a device: the others hear of the failure all the same.
job_arguments=("${common[@]}" -x "ASCEND_HOME_PATH=$PWD/tests/cann/cann-7.0" -x MPINPU_HCCL_AFTER=1
    -x CANN_FAULT=HcclAllReduce:15:4:1)
job_mpirun -n -w -t 30 "a failure, CANN 7.0" -np 3 "$PWD/tests/cann/faulty"
[ "$(grep -c 'class MPI_ERR_OTHER: .*rank 1: HcclAllReduce failed' "$job_dir/out")" -eq 3 ] ||
    job_fail "a failure, CANN 7.0: not all ranks name it"

# Who is late is named, once.
job_arguments=("${common[@]}" -x MPINPU_HCCL_AFTER=0 -x MPINPU_STALL_S=1)
job_mpirun -n -w -t 30 "a late rank" -np 3 "$PWD/tests/cann/faulty" late
[ "$(grep -cE '^mpinpu.* on MPI_COMM_WORLD \(3 ranks, .* on the NPUs has waited .* s, since .*, for rank 2 \([^ ]+\); it waits on$' "$job_dir/err")" -eq 1 ] ||
    job_fail "a late rank: it is not named once: $(cat "$job_dir/err")"
grep -q ': right 12 errors 0$' "$job_dir/out" || job_fail "a late rank: $(cat "$job_dir/out")"

# A killed rank ends the job, with nothing left.
if job_isolate; then
    # shellcheck disable=SC2016 # for the inner shell
    job_around+=(sh -c 'left=$1; shift; "$@"; status=$?; sleep 0.5
        find /dev/shm -mindepth 1 ! -name "vader_segment*" >"$left"
        awk "NR > 1" /proc/sysvipc/shm >>"$left"; exit $status' sh "$job_dir/left")
    job_arguments=("${common[@]}" -x MPINPU_HCCL_AFTER=0)
    job_mpirun -n -w -s any -t 30 "a killed rank" -np 3 "$PWD/tests/cann/faulty" killed
    if [ ! -e "$job_dir/left" ] || [ -s "$job_dir/left" ]; then
        job_fail "a killed rank leaves behind: $(cat "$job_dir/left")"
    fi
else
    job_skip "a killed rank: no namespaces here"
fi
job_end
