/* SPDX-License-Identifier: BSD-3-Clause */
/* Long waits inside a collective: how long, and for whom. All of it is beside the fast path: nothing is done, and no
   clock is read, before a wait is long, or where comm->watch wants nothing. */
#ifndef ENGINE_HOST_STALL_H
#define ENGINE_HOST_STALL_H

#include "engine/host/wait.h"

/* Whether what waits still waits for this rank, another than comm->rank. */
typedef bool stall_awaits_t(const engine_comm_t *comm, const void *waiter, uint32_t rank);

/* To be called when wait_step has said that the wait is long. */
void stall_look(engine_comm_t *comm, wait_t *wait, stall_awaits_t *awaits, const void *waiter);

/* Tells comm->watch of a wait that has ended and was long. */
void stall_tell(const engine_comm_t *comm, const wait_t *wait);

/* At the end of each wait. */
static inline void wait_end(const engine_comm_t *comm, const wait_t *wait)
{
    if (__builtin_expect(wait->began != 0, 0)) {
        stall_tell(comm, wait);
    }
}

void stall_free(engine_comm_t *comm);

#endif
