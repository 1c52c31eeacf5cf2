/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engine needs of the host MPI: an exchange of bytes among the ranks of a communicator. */
#ifndef MPI_COMPAT_EXCHANGE_H
#define MPI_COMPAT_EXCHANGE_H

#include "engine/engine.h"

#include <mpi.h>

/* Fills `exchange` for an intracommunicator; *comm must outlive its use. Its allgather is the host MPI's own on that
   communicator: collective there, in the order of the application's collectives. */
mpinpu_status_t compat_exchange_init(engine_exchange_t *exchange, const MPI_Comm *comm);

/* Whether the handle is a communicator that the host MPI would accept; raises no error (MPI_COMM_NULL, a freed one:
 * no). */
bool compat_comm_valid(MPI_Comm comm);

/* Whether all processes of an intracommunicator are in this process's MPI_COMM_WORLD. All its ranks get the same
   answer: with processes of two jobs each of them sees the other's. Local. Communicators of more than 4096 ranks are
   taken for such, since the host MPI compares every rank with every other. */
bool compat_comm_within_world(MPI_Comm comm);

#endif
