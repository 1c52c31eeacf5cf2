/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI library in name only, for contract.c. Its functions return their number when each argument arrived as
   contract.c passes it, else -1. MARKER is the symbol by which the library is to be known; INT_HANDLES makes its
   handles ints as MPICH's. */
#include "fake_mpi.h"

#ifdef MARKER
int MARKER = 1;
#endif

static int arrived(const void *send, void *recv, const void *counts, int count, handle_t type, handle_t op,
                   handle_t comm)
{
    return send == FAKE_SEND && recv == FAKE_RECV && (counts == FAKE_COUNTS || count == FAKE_COUNT) &&
           type == FAKE_TYPE && op == FAKE_OP && comm == FAKE_COMM;
}

int PMPI_Allreduce(const void *send, void *recv, int count, handle_t type, handle_t op, handle_t comm)
{
    return arrived(send, recv, 0, count, type, op, comm) ? 1 : -1;
}

int PMPI_Reduce_scatter(const void *send, void *recv, const int *counts, handle_t type, handle_t op, handle_t comm)
{
    return arrived(send, recv, counts, 0, type, op, comm) ? 2 : -1;
}

int PMPI_Reduce_scatter_block(const void *send, void *recv, int count, handle_t type, handle_t op, handle_t comm)
{
    return arrived(send, recv, 0, count, type, op, comm) ? 3 : -1;
}

#define ALIAS(NAME) extern __typeof(PMPI_##NAME) MPI_##NAME __attribute__((weak, alias("PMPI_" #NAME)))
ALIAS(Allreduce);
ALIAS(Reduce_scatter);
ALIAS(Reduce_scatter_block);
