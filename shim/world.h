/* SPDX-License-Identifier: BSD-3-Clause */
/* What all processes of MPI_COMM_WORLD settle when MPI starts: a communicator of this library's for messages at any
   time, and whether their settings are the same, so that each knows what the others do with a call without asking. */
#ifndef SHIM_WORLD_H
#define SHIM_WORLD_H

#include "shim/host_calls.h"

int core_init(PARAMETERS_INIT(int));
int core_init_thread(PARAMETERS_INIT_THREAD(int));

/* A tag of process.world.comm that this process has not yet given to anything that lives. */
int world_tag_take(void);

#endif
