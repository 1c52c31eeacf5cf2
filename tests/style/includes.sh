#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Includes run one way: shim -> mpi_compat -> engine -> transport. engine and transport do not know MPI; the benchmark
# programs know MPI and their own headers.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

# What a room may include: other rooms, and whether mpi.h.
declare -A rooms=(
    [transport]='transport'
    [engine]='engine transport'
    [mpi_compat]='mpi_compat engine transport'
    [shim]='shim mpi_compat engine transport'
    [tools]='tools mpi_compat engine transport'
)
status=0
complain() {
    echo "$1: includes $2, which its room may not"
    status=1
}

for room in transport engine mpi_compat shim tools; do
    while IFS=: read -r file line; do
        header=$(sed -E 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^>"]*)[>"].*/\1/' <<<"$line")
        case $header in
        mpi.h | mpi-ext.h | mpi_compat/mpinpu.h)
            case $room in engine | transport) complain "$file" "$header" ;; esac
            ;;
        shim/* | mpi_compat/* | engine/* | transport/* | tools/* | bench/* | tests/*)
            [[ " ${rooms[$room]} " == *" ${header%%/*} "* ]] || complain "$file" "$header"
            ;;
        ucp/* | uct/* | ucs/*)
            [ "$room" = transport ] || complain "$file" "$header"
            ;;
        esac
    done < <(grep -rE --include='*.[ch]' --include='*.def' '^[[:space:]]*#[[:space:]]*include' "$room")
done

while IFS=: read -r file line; do
    header=$(sed -E 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"]([^>"]*)[>"].*/\1/' <<<"$line")
    case $line in
    *'<mpi.h>'*) ;;
    *'"'*) [ -e "bench/$header" ] || complain "$file" "$header" ;;
    *'<'*/*) [[ $header == sys/* ]] || complain "$file" "$header" ;;
    esac
done < <(grep -rE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include' bench)
exit $status
