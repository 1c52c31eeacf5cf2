/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark of MPI_Allreduce. */
#include "collective.h"

static void deal(int elements, int rank, int ranks, shape_t *shape)
{
    (void)rank;
    (void)ranks;
    shape->total = elements;
    shape->mine = elements;
    shape->mine_offset = 0;
}

static void call(const void *send, void *recv, const shape_t *shape, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    MPI_Allreduce(send, recv, shape->total, datatype, op, comm);
}

const collective_t collective = {"Allreduce", deal, call};
