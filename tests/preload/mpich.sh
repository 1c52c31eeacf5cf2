#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A program of an MPI for which there is no core: one line a job, and right results. Trap 32.
. "${srcdir:=.}/tests/preload/preload.sh"

[ -n "$MPICC_MPICH" ] || skip "MPICH is not here (Debian: libmpich-dev, mpich)"
launcher=$(dirname "$MPICC_MPICH")/mpirun.mpich
[ -x "$launcher" ] || launcher=$(dirname "$MPICC_MPICH")/mpiexec.hydra
[ -x "$launcher" ] || skip "MPICH's mpirun is not here (Debian: mpich)"

build "$MPICC_MPICH" "$dir/calls" calls.c
run "$launcher" -np 3 "$dir/calls"
same "bare" "right" "$out$err"
run "$launcher" -genv LD_PRELOAD "$library" -np 3 "$dir/calls"
same "preloaded: exit status" 0 "$status"
same "preloaded: output" "right" "$out"
like "preloaded: one line" '^mpinpu: no core for MPICH .*go straight through$' "$err"
run env LD_PRELOAD="$library" "$dir/calls"
same "without a launcher: output" "right" "$out"
like "without a launcher: one line" '^mpinpu: no core for MPICH ' "$err"
run env LD_PRELOAD="$library" "$launcher" -np 2 "$dir/calls"
same "preloaded into the launcher too: output" "right" "$out"
like "preloaded into the launcher too: one line" '^mpinpu: no core for MPICH ' "$err"
finish
