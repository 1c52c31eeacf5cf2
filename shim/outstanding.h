/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking collectives under way. The host MPI calls outstanding_progress in everything that waits, which lets the
   first of each communicator's queue go on. One thread at a time does so; who issues a collective never waits for it.
 */
#ifndef SHIM_OUTSTANDING_H
#define SHIM_OUTSTANDING_H

#include "shim/operation.h"

/* Makes sure that the host MPI drives what is outstanding. False: it cannot. Any thread. */
bool outstanding_open(void);

/* Begins the set-up of a communicator's state: collective, without waiting. False: no memory. */
bool outstanding_set_up(comm_state_t *state, MPI_Comm comm);

/* Puts an operation behind the others of its communicator, and lets it go as far as it can. Any thread. */
void outstanding_issue(operation_t *operation);

/* Whether the thread is the engine's own, which may not call MPI. */
bool outstanding_aside(void);

/* Waits until the communicator is set up and nothing is outstanding on it, for a blocking collective comes after all
   that was issued before. */
void outstanding_settle(comm_state_t *state);

/* A blocking call has found that the set-up of the communicator failed: it comes at the same place on all ranks, so
   what comes after it is left to the host MPI. Nothing is outstanding. */
void outstanding_relay_end(comm_state_t *state);

/* The communicator is being freed: its state ends, once what is outstanding has. */
void outstanding_leave(comm_state_t *state);

/* The state outlives its communicator as long as it is kept, once for each time. */
void outstanding_keep(comm_state_t *state);
void outstanding_unkeep(comm_state_t *state);

/* Whether the communicator has anything of that. */
static inline bool outstanding_any(const comm_state_t *state)
{
    /* Acquire: what the operations wrote is visible to who finds none. */
    return atomic_load_explicit(&state->queue.count, memory_order_acquire) != 0;
}

#endif
