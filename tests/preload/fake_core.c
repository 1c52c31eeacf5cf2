/* SPDX-License-Identifier: BSD-3-Clause */
/* A core for contract.c: serves each function by the real one and adds 10 to what it returns. FAKE_CORE=decline in the
   environment makes it decline; FAKE_CORE=slow makes it take so long that whoever calls meanwhile must wait. */
#define _DEFAULT_SOURCE
#include "shim/core.h"

#include "fake_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const core_table_t *real;

static int allreduce(const void *send, void *recv, int count, handle_t type, handle_t op, handle_t comm)
{
    return 10 + ((__typeof(&MPI_Allreduce))real->entry[CORE_Allreduce])(send, recv, count, type, op, comm);
}

static int reduce_scatter(const void *send, void *recv, const int *counts, handle_t type, handle_t op, handle_t comm)
{
    return 10 + ((__typeof(&MPI_Reduce_scatter))real->entry[CORE_Reduce_scatter])(send, recv, counts, type, op, comm);
}

static int reduce_scatter_block(const void *send, void *recv, int count, handle_t type, handle_t op, handle_t comm)
{
    return 10 + ((__typeof(&MPI_Reduce_scatter_block))real->entry[CORE_Reduce_scatter_block])(send, recv, count, type,
                                                                                              op, comm);
}

int mpinpu_core_open(const core_table_t *real_table, core_table_t *served)
{
    const char *mode = getenv("FAKE_CORE");

    if (real != NULL || real_table->abi != MPINPU_CORE_ABI || real_table->functions != CORE_FUNCTION_COUNT ||
        served->abi != MPINPU_CORE_ABI || served->functions != CORE_FUNCTION_COUNT) {
        puts("opened a second time, or by a stranger");
        abort();
    }
    real = real_table;
    if (mode != NULL && strcmp(mode, "slow") == 0) {
        usleep(50000);
    }
    served->entry[CORE_Allreduce] = (core_entry_t)allreduce;
    served->entry[CORE_Reduce_scatter] = (core_entry_t)reduce_scatter;
    served->entry[CORE_Reduce_scatter_block] = (core_entry_t)reduce_scatter_block;
    return mode != NULL && strcmp(mode, "decline") == 0;
}
