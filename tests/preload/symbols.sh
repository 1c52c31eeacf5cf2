#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The libraries export what they must and nothing else. Trap 35.
. "${srcdir:=.}/tests/preload/preload.sh"

exported() {
    nm -D --defined-only "$1" | awk '{ print $3 }' | sort
}

# The rows read in another way than the build does it: by the preprocessor.
rows=$(printf '%s\n' '#define FUNCTION(NAME, words) MPI_##NAME PMPI_##NAME' '#include "shim/functions.def"' \
    '#define INTERPOSED(NAME) NAME' '#include "shim/interposed.def"' |
    $CC -E -P -I "$srcdir" - | tr -s ' ' '\n' | grep . | sort)
same "libmpinpu.so exports MPI_X and PMPI_X of functions.def, and interposed.def" "$rows" "$(exported "$library")"
for name in Allreduce Reduce_scatter Reduce_scatter_block; do
    case $rows in
    *MPI_$name*PMPI_$name*) ;;
    *) fail "functions.def lacks $name" ;;
    esac
done
same "the core exports its one entry" mpinpu_core_open "$(exported "$core")"
finish
