#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI loaded RTLD_LOCAL, where RTLD_NEXT finds nothing: by a C program and by mpi4py. Trap 33.
. "${srcdir:=.}/tests/preload/preload.sh"

build "$CC" "$dir/local" local.c -D_GNU_SOURCE -ldl
build "$MPICC" "$dir/plugin.so" local.c -D_GNU_SOURCE -DPLUGIN -shared -fPIC
libmpi=$(ldd "$dir/plugin.so" | awk '$1 ~ /^libmpi\.so/ { print $3 }')

job 2 "$dir/local" plugin "$dir/plugin.so"
same "a plugin, bare" $'3 no core\n3 no core' "$out"
job 2 -x LD_PRELOAD="$library" "$dir/local" plugin "$dir/plugin.so"
same "a plugin, preloaded" $'3 core\n3 core' "$out"
same "a plugin, preloaded: nothing on stderr" "" "$err"
job 2 -x LD_PRELOAD="$library" "$dir/local" default "$libmpi"
same "dlsym from RTLD_DEFAULT, preloaded" $'3 core\n3 core' "$out"
same "dlsym from RTLD_DEFAULT: nothing on stderr" "" "$err"
job 2 -x LD_PRELOAD="$library" "$dir/local" handle "$libmpi"
same "dlsym from libmpi's own handle" $'3 no core\n3 no core' "$out"

if [ -z "$PYTHON" ]; then
    echo "skip: mpi4py is not here (Debian: python3-mpi4py)"
    finish
fi
cat >"$dir/sum.py" <<'END'
import sys
from array import array
from mpi4py import MPI
total = array("i", [0])
MPI.COMM_WORLD.Allreduce(array("i", [MPI.COMM_WORLD.Get_rank() + 1]), total)
maps = open("/proc/self/maps").read()
sys.stdout.write(f"{total[0]} {'core' if 'libmpinpu-openmpi.so' in maps else 'no core'}\n")
END
job 2 "$PYTHON" "$dir/sum.py"
same "mpi4py, bare" $'3 no core\n3 no core' "$out"
job 2 -x LD_PRELOAD="$library" "$PYTHON" "$dir/sum.py"
same "mpi4py, preloaded" $'3 core\n3 core' "$out"
same "mpi4py, preloaded: nothing on stderr" "" "$err"
finish
