/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiler as mpiP or Score-P: defines MPI_X, counts, calls PMPI_X, and prints the counts of rank 0 when the
   program ends. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PROFILER
#define PROFILER "profiler"
#endif

static int allreduces;
static int scatters;
static int block_scatters;

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    allreduces++;
    return PMPI_Allreduce(send, recv, count, datatype, op, comm);
}

int MPI_Reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    scatters++;
    return PMPI_Reduce_scatter(send, recv, counts, datatype, op, comm);
}

int MPI_Reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    block_scatters++;
    return PMPI_Reduce_scatter_block(send, recv, count, datatype, op, comm);
}

/* A destructor, so that two profilers need no chain of MPI_Finalize. */
__attribute__((destructor)) static void print_counts(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");

    if (rank != NULL && strcmp(rank, "0") == 0) {
        printf("%s: %d %d %d\n", PROFILER, allreduces, scatters, block_scatters);
        fflush(stdout);
    }
}
