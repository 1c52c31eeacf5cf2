#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Preloaded into a program that has nothing to do with MPI, the library changes nothing. Trap 32.
. "${srcdir:=.}/tests/preload/preload.sh"

# unchanged COMMAND... : same output, same exit status with the library and without
unchanged() {
    local bare_out bare_err bare_status
    run "$@"
    bare_out=$out bare_err=$err bare_status=$status
    run env LD_PRELOAD="$library" "$@"
    same "$*: output" "$bare_out" "$out"
    same "$*: errors" "$bare_err" "$err"
    same "$*: exit status" "$bare_status" "$status"
}

unchanged /bin/true
unchanged /bin/false
unchanged bash -c 'echo one; echo two >&2; (exit 3); sh -c "exit 4"; echo $?; exit 5'
unchanged sed -n 's/^#//p' "$sources/preload.sh"
unchanged sed --no-such-option
unchanged python3 -c 'import sys, threading, ctypes; print(sys.argv, threading.active_count()); sys.exit(6)'
unchanged "$MPIRUN" --version
unchanged "$MPIRUN" -np 2 /bin/echo hello
if command -v ssh >/dev/null; then
    unchanged ssh -V
else
    echo "skip: ssh is not here"
fi

build "$CC" "$dir/bystander" bystander.c
run "$dir/bystander"
same "a C program without the library" 0 "$status"
bare_out=$out
run env LD_PRELOAD="$library" "$dir/bystander"
same "a C program with it" 1 "$status"
same "a C program: errno, files, threads, what is loaded" "$bare_out" "$out$err"
[[ $out =~ ^errno\ 0,.*\ threads\ 1,\ MPI\ 0,\ core\ 0,\ UCX\ 0$ ]] || fail "a C program finds: $out"

needed=$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v '^ld-linux')
same "the library needs libc alone" libc.so.6 "$needed"
# frame_dummy of the compiler's own start files takes one entry of eight bytes.
constructors=$(readelf -SW "$library" | sed -n 's/.*\.init_array *INIT_ARRAY *[0-9a-f]* *[0-9a-f]* *\([0-9a-f]*\).*/\1/p')
same "the library has no constructor" 8 $((16#${constructors:-8}))
finish
