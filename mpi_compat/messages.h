/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages among the ranks of a communicator that do not travel on it, but on one of this library's: so they meet
   neither the program's messages nor its collectives, whatever the order of those. And an exchange by such messages,
   for who may not wait in MPI. */
#ifndef MPI_COMPAT_MESSAGES_H
#define MPI_COMPAT_MESSAGES_H

#include "engine/engine.h"

#include <mpi.h>

typedef struct compat_messages {
    MPI_Comm comm; /* that they travel on */
    int rank;      /* of the communicator that they serve */
    int size;
    int *place; /* by its ranks: the rank in comm, */
    int *tag;   /* and the tag of what that rank receives, which it has given to nothing else */
    /* Waits for the requests, which become MPI_REQUEST_NULL, and returns what PMPI_Waitall would. */
    int (*wait)(void *context, int count, MPI_Request *requests);
    void *context;
} compat_messages_t;

/* Those of a communicator, or part of one, whose ranks are all in `comm`; tags and wait are to be filled in. NULL: no
   memory. Freed by compat_messages_free. */
compat_messages_t *compat_messages_new(MPI_Comm served, MPI_Comm comm);
void compat_messages_free(compat_messages_t *messages);

/* To and from a rank; MPI's error codes. Messages between two ranks are received in the order in which they were sent.
 */
int compat_message_send(const compat_messages_t *messages, int to, const void *data, int count, MPI_Datatype datatype,
                        MPI_Request *request);
int compat_message_receive(const compat_messages_t *messages, int from, void *data, int count, MPI_Datatype datatype,
                           MPI_Request *request);

/* Fills `exchange`, which needs `messages` as long as it is used: allgather and agree. */
void compat_exchange_init_messages(engine_exchange_t *exchange, const compat_messages_t *messages);

#endif
