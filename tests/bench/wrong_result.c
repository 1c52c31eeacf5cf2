/* SPDX-License-Identifier: BSD-3-Clause */
/* Preloaded, this spoils the results of the collectives: what it does is named by SPOIL. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int spoils(const char *what)
{
    const char *wanted = getenv("SPOIL");

    return wanted != NULL && strcmp(wanted, what) == 0;
}

/* Spoils a result of `count` elements: its last byte, one behind it, or all by leaving an older result in place. */
static int spoil(void *recv, int count, MPI_Datatype datatype, int status)
{
    static int calls;
    int bytes;

    PMPI_Type_size(datatype, &bytes);
    if (spoils("last") && ++calls == 300) {
        ((char *)recv)[(size_t)count * (size_t)bytes - 1] ^= 1;
    }
    if (spoils("behind") && ++calls == 300) {
        ((char *)recv)[(size_t)count * (size_t)bytes] ^= 1;
    }
    return status;
}

int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    static int calls;

    if (spoils("stale") && ++calls > 300) {
        return MPI_SUCCESS;
    }
    return spoil(recv, count, datatype, PMPI_Allreduce(send, recv, count, datatype, op, comm));
}

int MPI_Reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    return spoil(recv, count, datatype, PMPI_Reduce_scatter_block(send, recv, count, datatype, op, comm));
}

int MPI_Reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    int rank;

    PMPI_Comm_rank(comm, &rank);
    return spoil(recv, counts[rank], datatype, PMPI_Reduce_scatter(send, recv, counts, datatype, op, comm));
}
