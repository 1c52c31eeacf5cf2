#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How libmpinpu.so finds the MPI library and its core, and what it does where either is missing: with an MPI library and
# a core in name only, so that every case can be made.
. "${srcdir:=.}/tests/preload/preload.sh"

include=(-I "$srcdir" -I "$sources")

# mpi FOLDER [FLAG]... : an MPI library of its own, and a program that is linked to it
mpi() {
    local folder=$dir/$1
    shift
    mkdir -p "$folder"
    build "$CC" "$folder/libfakempi.so" fake_mpi.c -shared -fPIC "${include[@]}" "$@"
    build "$CC" "$folder/program" contract.c "${include[@]}" -pthread "$@" -L"$folder" -lfakempi -Wl,-rpath,"$folder"
}
mpi openmpi -DMARKER=ompi_mpi_comm_world
mpi mpich -DMARKER=MPII_Version_string -DINT_HANDLES
mpi unknown
program=$dir/openmpi/program

# layout NAME : a folder with a copy of libmpinpu.so, alone
layout() {
    mkdir -p "$dir/$1/mpinpu"
    cp "$library" "$dir/$1/"
    preload=$dir/$1/libmpinpu.so
    core=$dir/$1/mpinpu/libmpinpu-openmpi.so
}

# What each MPI has, then what some have, as fake_mpi.h numbers them; by both names.
every="1 2 3 4 5 6"
some="11 12 13 21 22 23 31 32 33 34 35 36 41 42 43"
straight="$every $some $every $some errno 77"
# The core adds 100, but MPI_Ireduce_scatter, 5, it leaves to the MPI library.
served="101 102 103 104 5 106 111 112 113 121 122 123 131 132 133 134 135 136 141 142 143"
served="$served $served errno 77"

run "$program"
same "bare" "$straight" "$out$err"

layout alone
run env LD_PRELOAD="$preload" "$program"
same "no core: straight through" "$straight" "$out"
like "no core: one line" "^mpinpu: no core for Open MPI \($core is not there\)" "$err"
for rank in OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK SLURM_PROCID; do
    # It may be missing on one rank alone.
    run env LD_PRELOAD="$preload" $rank=3 "$program"
    like "no core, $rank=3: one line" '^mpinpu: no core for Open MPI' "$err"
    run env LD_PRELOAD="$preload" $rank=3 "$dir/mpich/program"
    same "MPICH, $rank=3: silence" "$straight" "$out$err"
    run env LD_PRELOAD="$preload" $rank=0 "$program"
    like "no core, $rank=0: one line" '^mpinpu: no core' "$err"
done
run env LD_PRELOAD="$preload" "$program" threads
same "no core, threads: straight through" "$straight" "$out"
like "no core, threads: one line" '^mpinpu: no core' "$err"
run env LD_PRELOAD="$preload" "$dir/mpich/program"
same "MPICH: straight through" "$straight" "$out"
like "MPICH: one line" '^mpinpu: no core for MPICH' "$err"
run env LD_PRELOAD="$preload" "$dir/unknown/program"
same "an unknown MPI: straight through" "$straight" "$out"
like "an unknown MPI: one line" "^mpinpu: no core for an MPI library that is not known \(.*/libfakempi.so\)" "$err"

layout whole
build "$CC" "$core" fake_core.c -shared -fPIC "${include[@]}" -L"$dir/openmpi" -Wl,--no-as-needed -lfakempi
run env LD_PRELOAD="$preload" "$program"
same "with a core: served, and nothing is said" "$served" "$out$err"
run env LD_PRELOAD="$preload" "$program" fork
same "with a core, after a fork" "$served"$'\n'"$served" "$out$err"
run env LD_PRELOAD="$preload" FAKE_CORE=decline "$program"
same "a core that declines: straight through" "$straight" "$out$err"
run env LD_PRELOAD="$preload" FAKE_CORE=slow "$program" threads
same "with a core, first calls at once from eight threads" "$served" "$out$err"
run env -C "$dir/whole" LD_PRELOAD=./libmpinpu.so "$program" chdir
same "preloaded by a relative path, and the folder left" "$served" "$out$err"
run env LD_LIBRARY_PATH="$dir/whole" LD_PRELOAD=libmpinpu.so "$program"
same "preloaded by its name alone" "$served" "$out$err"

layout broken
echo "not a library" >"$core"
run env LD_PRELOAD="$preload" "$program"
same "a core that does not load: straight through" "$straight" "$out"
like "a core that does not load: one line" "^mpinpu: the core for Open MPI does not load \(.*$core" "$err"
# It may be so on one rank only, whose peers then wait for it: that rank says it, whichever it is.
run env LD_PRELOAD="$preload" OMPI_COMM_WORLD_RANK=3 "$program"
like "a core that does not load on rank 3: one line" "^mpinpu: the core for Open MPI does not load" "$err"

# A file that is cut off, as a full disk leaves it, anywhere.
layout cut
whole_core=$dir/whole/mpinpu/libmpinpu-openmpi.so
whole=$(stat -c %s "$whole_core")
for part in 0 1 2 10 25 40 50 60 75 90 99; do
    head -c $((whole * part / 100)) "$whole_core" >"$core"
    run env LD_PRELOAD="$preload" "$program"
    same "a core cut off at $part %: straight through" "$straight" "$out"
    like "a core cut off at $part %: one line" "^mpinpu: the core for Open MPI does not load \(.*$core" "$err"
done

layout stranger
build "$CC" "$core" fake_core.c -shared -fPIC "${include[@]}"
run env LD_PRELOAD="$preload" "$program"
same "a core that is bound to no MPI: straight through" "$straight" "$out"
like "a core that is bound to no MPI: one line" "is not made for .*/openmpi/libfakempi.so" "$err"
mkdir -p "$dir/other"
build "$CC" "$dir/other/libothermpi.so" fake_mpi.c -shared -fPIC "${include[@]}" -DMARKER=ompi_mpi_comm_world
build "$CC" "$core" fake_core.c -shared -fPIC "${include[@]}" -L"$dir/other" -Wl,--no-as-needed -lothermpi \
    -Wl,-rpath,"$dir/other"
run env LD_PRELOAD="$preload" "$program"
same "a core that brings another MPI: straight through" "$straight" "$out"
like "a core that brings another MPI: one line" "is not made for .*/openmpi/libfakempi.so" "$err"

# What only some MPIs have: dlsym finds what the MPI library has, and nothing where it has none; who calls what is not
# there is told so, unless the core answers it.
preload=$dir/whole/libmpinpu.so
run env LD_PRELOAD="$preload" "$program" look
same "dlsym of what only some MPIs have: the MPI library's" "$some " "$out$err"
mkdir -p "$dir/old"
build "$CC" "$dir/old/libfakempi.so" fake_mpi.c -shared -fPIC "${include[@]}" -DMARKER=ompi_mpi_comm_world
build "$CC" "$dir/old/program" contract.c "${include[@]}" -pthread -Wl,-z,lazy -L"$dir/old" -lfakempi \
    -Wl,-rpath,"$dir/old"
build "$CC" "$dir/old/libfakempi.so" fake_mpi.c -shared -fPIC "${include[@]}" -DMARKER=ompi_mpi_comm_world -DOLD
old=$dir/old/program
run "$old" every
same "an old MPI, bare: what each MPI has" "$every $every " "$out$err"
run "$old" look
same "an old MPI, bare: dlsym" "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 " "$out$err"
run "$old" large
bare_status=$status
# preloaded to an old MPI, by the layout NAME
old_mpi() {
    local preload=$dir/$1/libmpinpu.so each=$2
    run env LD_PRELOAD="$preload" "$old" every
    same "an old MPI, $1: what each MPI has" "$each $each " "$out"
    run env LD_PRELOAD="$preload" "$old" look
    same "an old MPI, $1: dlsym" "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 " "$out"
    run env LD_PRELOAD="$preload" "$old" large
    same "an old MPI, $1: what it lacks: the exit status is the dynamic linker's" "$bare_status" "$status"
    like "an old MPI, $1: what it lacks: one line" '^mpinpu: symbol lookup error: .*PMPI_Allreduce_c' \
        "$(grep -v 'no core for Open MPI' "$dir/err")"
}
old_mpi alone "$every"
old_mpi whole "101 102 103 104 5 106"
run env LD_PRELOAD="$preload" "$old" persistent
same "an old MPI: what the core answers and the MPI library lacks" "511 " "$out$err"

# The program has found its MPI library when it was linked; when it runs, nothing is in there.
mkdir -p "$dir/gone"
build "$CC" "$dir/gone/libfakempi.so" fake_mpi.c -shared -fPIC "${include[@]}"
build "$CC" "$dir/gone/program" contract.c "${include[@]}" -pthread -Wl,-z,lazy -L"$dir/gone" -Wl,--no-as-needed \
    -lfakempi -Wl,-rpath,"$dir/gone"
echo 'extern int nothing; int nothing;' | $CC -shared -fPIC -o "$dir/gone/libfakempi.so" -x c -
run "$dir/gone/program"
bare_status=$status
run env LD_PRELOAD="$dir/whole/libmpinpu.so" "$dir/gone/program"
same "no MPI functions: the exit status is the dynamic linker's" "$bare_status" "$status"
like "no MPI functions: one line" '^mpinpu: symbol lookup error: .*MPI_Allreduce' "$err"
finish
