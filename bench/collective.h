/* SPDX-License-Identifier: BSD-3-Clause */
/* The one thing that differs between the benchmark programs: which collective is called, and how a vector of so many
   elements is dealt out to the ranks. allreduce.c, reduce_scatter.c and reduce_scatter_block.c each define one. */
#ifndef BENCH_COLLECTIVE_H
#define BENCH_COLLECTIVE_H

#include <mpi.h>

/* How one vector is dealt out. Counts are in elements. */
typedef struct shape {
    int total;       /* of the input vector, on every rank */
    int mine;        /* of this rank's result */
    int mine_offset; /* where in the vector this rank's result lies */
    int *counts;     /* one a rank; used by reduce_scatter alone. Room for all ranks, owned by the caller */
} shape_t;

typedef struct collective {
    const char *title; /* for the header, "Allreduce" */
    /* Fills in `shape` for a vector of about `elements` (at least 1): total may be less where the collective needs
       equal blocks. */
    void (*deal)(int elements, int rank, int ranks, shape_t *shape);
    /* Calls MPI once. */
    void (*call)(const void *send, void *recv, const shape_t *shape, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm);
} collective_t;

extern const collective_t collective;

#endif
