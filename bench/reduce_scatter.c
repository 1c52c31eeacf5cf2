/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark of MPI_Reduce_scatter. The size is that of the whole vector; the first ranks get one element more
   where the ranks do not divide it, as in osu_reduce_scatter. */
#include "collective.h"

static void deal(int elements, int rank, int ranks, shape_t *shape)
{
    int offset = 0;

    for (int i = 0; i < ranks; i++) {
        shape->counts[i] = elements / ranks + (i < elements % ranks);
        if (i == rank) {
            shape->mine = shape->counts[i];
            shape->mine_offset = offset;
        }
        offset += shape->counts[i];
    }
    shape->total = elements;
}

static void call(const void *send, void *recv, const shape_t *shape, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    MPI_Reduce_scatter(send, recv, shape->counts, datatype, op, comm);
}

const collective_t collective = {"Reduce_scatter", deal, call};
