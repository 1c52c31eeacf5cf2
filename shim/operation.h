/* SPDX-License-Identifier: BSD-3-Clause */
/* A nonblocking collective, from its issue until its request is gone. */
#ifndef SHIM_OPERATION_H
#define SHIM_OPERATION_H

#include "shim/device_buffers.h"

typedef struct operation {
    struct operation *next; /* in its queue */
    comm_state_t *state;
    call_t call; /* as it came; its counts are a copy */
    collective_t collective;
    size_t total; /* elements of the whole input */
    uint64_t issued;
    uint64_t number;             /* of observe_started */
    device_buffers_t *device;    /* where buffers are on an NPU: owned */
    engine_prepared_t *prepared; /* persistent: owned */
    bool begun;
    reason_t reason;               /* once begun: who does it */
    mpinpu_status_t status;        /* the engine's */
    int code;                      /* once completed: what MPI_Wait returns */
    struct persistent *persistent; /* whose it is; NULL: of one call */
    MPI_Request request;           /* what the program holds, else: a generalised request of the host MPI */
    struct coroutine *relay;       /* where neither an engine nor the host MPI can do it */
    int counts[];
} operation_t;

/* Copies what the caller may change after the call. NULL: no memory. */
operation_t *operation_new(const call_t *call, comm_state_t *state, const collective_t *collective, size_t total);

/* Tells of its issue; only where process.observed. */
void operation_observe(operation_t *operation);

/* Whether beginning and advancing it takes no call of the host MPI. */
bool operation_aside(const operation_t *operation);

/* Begins, when all before it on the communicator have ended. */
void operation_begin(operation_t *operation);

/* Goes on. True: it has ended. */
bool operation_advance(operation_t *operation);

/* Completes the request; the operation may be gone, or started again, on return. */
void operation_complete(operation_t *operation);

/* The nonblocking function of the host MPI that the call is of, on the communicator given. */
int operation_real(const call_t *call, MPI_Comm comm, MPI_Request *request);

#endif
