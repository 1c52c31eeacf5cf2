/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that has waited for longer than MPINPU_STALL_S says so, once: in which collective, and for whom. */
#ifndef SHIM_STALL_H
#define SHIM_STALL_H

#include "shim/process.h"

/* Names a communicator for people. True: by the name that the host MPI has of it; false: by its number, or in words
   where it is gone. */
bool comm_name_text(MPI_Comm comm, char *text, size_t bytes);

/* Of a collective under way: engine_watch_t's. */
bool stall_say(const engine_stall_t *stall);

/* Between these the calling thread sets a communicator up: what it waits for is the host MPI's, which calls back here
   while it waits. */
void stall_setup_begin(const comm_state_t *state, MPI_Comm comm);
void stall_setup_end(void);

#endif
