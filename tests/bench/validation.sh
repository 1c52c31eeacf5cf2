#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The benchmark's -c passes right results of every type and op, and finds one wrong byte, one byte written too far, and
# a result left from an earlier call.
set -u
build=$PWD
spoiler=$build/tests/bench/wrong_result.so
# shellcheck source=/dev/null # written by make
. "$build/tests/jobs/job.env"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset LD_PRELOAD
failed=0
output=$(mktemp) || exit 99
trap 'rm -f "$output"' EXIT

# expect STATUS SPOIL RANKS PROGRAM ARGUMENTS
expect() {
    local wanted=$1 spoil=$2 ranks=$3 program=$4 status=0
    shift 4
    timeout -k 5 60 "$MPIRUN" --oversubscribe -np "$ranks" env LD_PRELOAD="$spoiler" SPOIL="$spoil" \
        "$build/bench/$program" "$@" >"$output" 2>&1 || status=$?
    if [ "$status" -ne "$wanted" ]; then
        echo "FAIL: $program $* on $ranks ranks, spoilt: $spoil: status $status, not $wanted"
        cat "$output"
        failed=1
    fi
    if [ "$wanted" -eq 1 ] && ! grep -q ' Fail$' "$output"; then
        echo "FAIL: $program $*, spoilt: $spoil: no row says Fail"
        failed=1
    fi
}

for type in char short int long uint8 uint16 uint32 uint64 float double complex double_complex; do
    expect 0 nothing 3 allreduce -c -m 1:4K -i 10 -x 1 -T $type
done
for op in sum prod min max land lor lxor band bor bxor; do
    # Open MPI's vector code saturates sums of 16 bits; these stay small.
    expect 0 nothing 4 reduce_scatter -c -m 2:1K -i 5 -x 1 -T short -o $op
done
expect 0 nothing 3 reduce_scatter_block -c -m 4:4K -i 5 -x 1 --in-place
expect 0 nothing 3 reduce_scatter -c -m 4:4K -i 5 -x 1 --in-place
expect 0 nothing 2 allreduce -c -m 4:4K -i 5 -x 1 --in-place -b -f -t 0.01
for program in allreduce reduce_scatter reduce_scatter_block; do
    expect 1 last 2 $program -c -m 64:4K -i 100 -x 1
    expect 1 behind 2 $program -c -m 64:4K -i 100 -x 1
done
expect 1 stale 2 allreduce -c -m 64:4K -i 100 -x 1
expect 2 nothing 1 allreduce -T nonsense
expect 2 nothing 1 allreduce -T float -o band
expect 2 nothing 1 allreduce -m 8:4
expect 2 nothing 1 allreduce surplus
exit $failed
