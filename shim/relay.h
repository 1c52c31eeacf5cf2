/* SPDX-License-Identifier: BSD-3-Clause */
/* Nonblocking collectives of a communicator whose set-up has failed, as a coroutine: by messages to rank 0 and back,
   with the host MPI's own arithmetic. Only for what was issued before the failure could be known; it is not fast. */
#ifndef SHIM_RELAY_H
#define SHIM_RELAY_H

#include "shim/coroutine.h"
#include "shim/operation.h"

/* Sets operation->code when it has ended. NULL: no memory. */
coroutine_t *relay_new(operation_t *operation);

#endif
