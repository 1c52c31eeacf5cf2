#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Profilers above and below: each counts the calls that it counts without the library, and the library, where it does,
# counts each call of the program once. Trap 34.
. "${srcdir:=.}/tests/preload/preload.sh"

build "$MPICC" "$dir/calls" calls.c
build "$MPICC" "$dir/libabove.so" profiler.c -shared -fPIC '-DPROFILER="above"'
build "$MPICC" "$dir/libbelow.so" profiler.c -shared -fPIC '-DPROFILER="below"'
build "$MPICC" "$dir/calls-linked" calls.c -L"$dir" -Wl,--no-as-needed -lbelow -Wl,-rpath,"$dir"
build "$MPICC" "$dir/calls-static" calls.c -x c "$sources/profiler.c" '-DPROFILER="static"'

# counted LABEL PROGRAM PRELOADED [LINE]... : the lines are what the profilers print; the word US in PRELOADED is the
# library
counted() {
    local expected
    expected=$(printf '%s\n' right "${@:4}" | sort)
    local bare=${3//US/}
    job 2 -x LD_PRELOAD="${bare// /:}" "$dir/$2"
    same "$1, bare" "$expected" "$(sort <<<"$out")"
    job 2 -x LD_PRELOAD="${3//US/$library}" -x MPINPU_REPORT="json:$dir/report" "$dir/$2"
    same "$1, preloaded" "$expected" "$(sort <<<"$out")"
    same "$1: nothing on stderr" "" "$err"
    same "$1: the library's own count" 10 "$(sed -n 's/.*"by": "[^"]*", "calls": \([0-9]*\),.*/\1/p' "$dir/report" |
        awk '{ sum += $1 } END { print sum }')"
    rm -f "$dir/report"
}

counted "no profiler" calls US
counted "one above" calls "$dir/libabove.so US" "above: 5 3 2"
counted "one in the program" calls-static US "static: 5 3 2"
counted "one below, preloaded" calls "US $dir/libbelow.so" "below: 5 3 2"
counted "one below, linked" calls-linked US "below: 5 3 2"
counted "one above and one below" calls "$dir/libabove.so US $dir/libbelow.so" \
    "above: 5 3 2" "below: 0 0 0"
finish
