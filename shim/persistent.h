/* SPDX-License-Identifier: BSD-3-Clause */
/* The served persistent functions (MPI 4.0, sections 6.13.9 to 6.13.11, which Open MPI 4.1 has as MPIX_) and those of
   any persistent request. The request that the program holds is the host MPI's: a receive of nothing from this process
   itself, which a message completes when the collective has ended. */
#ifndef SHIM_PERSISTENT_H
#define SHIM_PERSISTENT_H

#include "shim/host_calls.h"

typedef struct persistent persistent_t;

int core_allreduce_init(PARAMETERS_PERSISTENT(int));
int core_reduce_scatter_init(PARAMETERS_PERSISTENT(const int *));
int core_reduce_scatter_block_init(PARAMETERS_PERSISTENT(int));
int core_start(PARAMETERS_START(int));
int core_startall(PARAMETERS_STARTALL(int));
int core_request_free(PARAMETERS_RELEASE(int));

/* The collective that was started has ended, with that MPI error code. By who holds the lock of what is outstanding. */
void persistent_complete(persistent_t *persistent, int code);

#endif
