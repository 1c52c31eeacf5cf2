/* SPDX-License-Identifier: BSD-3-Clause */
/* The executor: runs a plan, to its end or as far as it goes without waiting. */
#ifndef ENGINE_HOST_EXECUTOR_H
#define ENGINE_HOST_EXECUTOR_H

#include "engine/host/host.h"

/* A plan being run for one collective. Plain memory of the caller's. */
typedef struct executor {
    engine_comm_t *comm;
    const plan_t *plan;
    kernel_fold_t fold;
    dtype_t dtype;
    size_t element;
    unsigned char *space[3]; /* by plan_space_t: PLAN_SEND, PLAN_RECV, PLAN_TMP */
    bool streams;            /* the result goes past the caches */
    unsigned parity;
    uint32_t swap; /* 1: the windows of ranks 0 and 1 stand for each other */
    uint64_t base;
    uint64_t sequence_tag; /* of this collective's messages, without receiver and sender */
    size_t step;
    uint32_t awaited;              /* ranks below it have been heard in the AWAIT for all under way */
    transport_request_t *requests; /* plan->nmessages */
    size_t started;
    size_t completed; /* the first so many are done */
} executor_t;

/* Begins: takes the communicator's next ticks. tmp is scratch of plan->tmp_bytes. Ends with
   executor_end, whatever happened. */
mpinpu_status_t executor_begin(executor_t *executor, engine_comm_t *comm, const plan_t *plan,
                               const collective_t *collective, void *tmp);

/* Goes on: MPINPU_OK at the plan's end; MPINPU_IN_PROGRESS where it would have to wait (only when not `blocking`). */
mpinpu_status_t executor_advance(executor_t *executor, bool blocking);

/* Whether it waits for this rank; see stall.h. */
bool executor_awaits(const engine_comm_t *comm, const void *executor, uint32_t rank);

void executor_end(executor_t *executor);

#endif
