/* SPDX-License-Identifier: BSD-3-Clause */
/* A core for contract.c: serves each function by the real one and adds 100 to what it returns, but MPI_Ireduce_scatter,
   which it leaves to the real one, and MPI_Allreduce_init, which it answers with 511 where there is no real one.
   FAKE_CORE=decline in the environment makes it decline; FAKE_CORE=slow makes it take so long that whoever calls
   meanwhile must wait. */
#define _DEFAULT_SOURCE
#include "shim/core.h"

#include "fake_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const core_table_t *real;

#define PASS_blocking
#define PASS_request , request
#define PASS_info    , info, request
#define SERVE(number, NAME, counts, mode)                                                                          \
    static int serve_##NAME(FAKE_PARAMETERS(counts, mode))                                                         \
    {                                                                                                              \
        return 100 + ((__typeof(&(NAME)))real->entry[CORE_##NAME])(send, recv, count, type, op, comm PASS_##mode); \
    }
FAKE_EVERY(SERVE)
FAKE_SOME(SERVE)

static int without_real(void)
{
    return 511;
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
#define SET(number, NAME, counts, mode) \
    served->entry[CORE_##NAME] = real->entry[CORE_##NAME] != NULL ? (core_entry_t)serve_##NAME : NULL;
    FAKE_EVERY(SET)
    FAKE_SOME(SET)
    served->entry[CORE_MPI_Ireduce_scatter] = NULL;
    if (real->entry[CORE_MPI_Allreduce_init] == NULL) {
        served->entry[CORE_MPI_Allreduce_init] = (core_entry_t)without_real;
    }
    return mode != NULL && strcmp(mode, "decline") == 0;
}
