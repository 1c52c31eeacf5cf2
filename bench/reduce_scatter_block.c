/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark of MPI_Reduce_scatter_block. The size is that of the whole vector, rounded down to equal blocks of at
   least one element. */
#include "collective.h"

static void deal(int elements, int rank, int ranks, shape_t *shape)
{
    int block = elements / ranks > 0 ? elements / ranks : 1;

    shape->total = block * ranks;
    shape->mine = block;
    shape->mine_offset = block * rank;
}

static void call(const void *send, void *recv, const shape_t *shape, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    MPI_Reduce_scatter_block(send, recv, shape->mine, datatype, op, comm);
}

const collective_t collective = {"Reduce_scatter_block", deal, call};
