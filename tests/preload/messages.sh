#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What the library says on stderr in a job: wrong settings once, a report that cannot be written, and nothing else.
. "${srcdir:=.}/tests/preload/preload.sh"

build "$MPICC" "$dir/calls" calls.c
build "$MPICC" "$dir/outside" outside.c

# said LABEL EXPECTED [NAME=VALUE]... : stderr of three ranks that have these variables
said() {
    local label=$1 expected=$2 variable options=()
    shift 2
    for variable in "$@"; do
        options+=(-x "$variable")
    done
    job 3 -x LD_PRELOAD="$library" "${options[@]+"${options[@]}"}" "$dir/calls"
    same "$label: stderr" "$expected" "${err//mpinpu\[0\]: /mpinpu: }"
    same "$label: results" right "$out"
    same "$label: exit status" 0 "$status"
}
said "no setting" ""
said "settings that are right" "" MPINPU_ENGINE=host MPINPU_WINDOWS=0 MPINPU_MIN_BYTES=1K MPINPU_LOG=warn
said "a wrong choice" "mpinpu: MPINPU_ENGINE=hots is not auto, host, hccl or off; using auto" MPINPU_ENGINE=hots
said "a wrong size" \
    "mpinpu: MPINPU_WINDOW_BYTES=5 is not a number of bytes from 1M to 1T (K, M, G or T may follow it); using 64M" \
    MPINPU_WINDOW_BYTES=5
said "an unknown name" "mpinpu: there is no setting MPINPU_REPROT; did you mean MPINPU_REPORT?" MPINPU_REPROT=summary
said "a report that cannot be written" \
    "mpinpu: MPINPU_REPORT=json:/nonexistent/r: the report is not written: No such file or directory" \
    MPINPU_REPORT=json:/nonexistent/r

run env LD_PRELOAD="$library" "$MPIRUN" --oversubscribe -np 2 "$dir/calls"
same "preloaded into mpirun as well" right "$out$err"

# A call outside of MPI_Init and MPI_Finalize: the host MPI says what it says without the library.
for when in before after; do
    run "$dir/outside" $when
    bare=$(sed -n '/^\*\*\*/p' "$dir/err") bare_status=$status
    run env LD_PRELOAD="$library" "$dir/outside" $when
    same "a call $when: the host MPI's words" "$bare" "$(sed -n '/^\*\*\*/p' "$dir/err")"
    same "a call $when: exit status" "$bare_status" "$status"
    [ "$bare_status" -ne 0 ] || fail "a call $when is an error without the library"
    ! grep '^mpinpu' "$dir/err" || fail "a call $when: the library speaks too"
done
finish
