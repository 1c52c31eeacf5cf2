/* SPDX-License-Identifier: BSD-3-Clause */
/* The set-up of a communicator's state by a call that must not block. The engine's own set-up, which waits for
   exchanges, runs as a coroutine on a stack of its own: where it would wait, it is left, and gone on with once the host
   MPI has done the exchange. The exchanges are the host MPI's nonblocking collectives on a duplicate of the
   communicator, the twin, whose making is begun by the call itself: so they keep out of the order of the program's own
   collectives, which go on meanwhile. */
#ifndef SHIM_SETUP_H
#define SHIM_SETUP_H

#include "shim/process.h"

typedef struct setup setup_t;

/* Begins. Collective, without waiting. NULL: no memory, or the host MPI cannot. */
setup_t *setup_begin(comm_state_t *state, MPI_Comm comm);

/* Goes on as far as it gets without waiting, by calls of the host MPI. True: state->reason is set, and the set-up is
   freed. */
bool setup_step(setup_t *setup);

#endif
