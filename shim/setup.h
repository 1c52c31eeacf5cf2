/* SPDX-License-Identifier: BSD-3-Clause */
/* The set-up of a communicator's state by a call that must not block: the engine's own set-up as a coroutine. Its
   exchanges are messages on a communicator of this library's, since they come at any time, and the program's own
   collectives go on meanwhile, in another order on other ranks. The tags of these messages are all that travels on the
   program's communicator, by one nonblocking collective that the call itself issues.

   Where the set-up fails, what was issued meanwhile cannot go to the host MPI any more, whose collectives must be
   issued in the same order on all ranks: relay.c does it. */
#ifndef SHIM_SETUP_H
#define SHIM_SETUP_H

#include "shim/coroutine.h"
#include "shim/process.h"

/* Begins: makes state->queue.messages. Collective, without waiting. NULL: no memory, or the host MPI fails. */
coroutine_t *setup_new(comm_state_t *state, MPI_Comm comm);

#endif
