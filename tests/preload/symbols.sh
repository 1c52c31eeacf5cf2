#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The libraries export what they must and nothing else. Trap 35.
. "${srcdir:=.}/tests/preload/preload.sh"

# The names, those of a version with it; the version's own name is no function.
exported() {
    nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort
}

# What must be there, written out in another way than the build does it.
names=$(
    for kind in Allreduce Reduce_scatter Reduce_scatter_block; do
        for suffix in '' _c; do
            some=${suffix:+@MPINPU} # not seen by dlsym, since only some MPIs have it
            lower=${kind,}
            echo "MPI_$kind$suffix$some MPI_I$lower$suffix$some MPI_${kind}_init$suffix@MPINPU"
        done
        echo "MPIX_${kind}_init@MPINPU"
    done | tr ' ' '\n' | sed 'p; s/^/P/'
    printf '%s\n' {,P}MPI_{Start,Startall,Request_free,Init,Init_thread}
    # CANN's, which only some programs have.
    printf '%s@MPINPU\n' aclrt{Malloc,MallocAlign32,MallocCached,MallocWithCfg,ReserveMemAddress,Free,ReleaseMemAddress}
    echo madvise
    echo mremap
)
same "libmpinpu.so exports each name as MPI_X and as PMPI_X, and two of libc" "$(sort <<<"$names")" "$(exported "$library")"
same "the core exports its one entry" mpinpu_core_open "$(exported "$core")"
finish
