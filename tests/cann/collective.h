/* SPDX-License-Identifier: BSD-3-Clause */
/* One collective on its way, between hccl_collective.c (issued) and hccl_run.c (done). */
#ifndef TESTS_CANN_COLLECTIVE_H
#define TESTS_CANN_COLLECTIVE_H

#include "tests/cann/communicator.h"

typedef struct collective {
    standin_task_t task; /* first: a task of a stream is one */
    communicator_t *communicator;
    const char *function; /* under which faults can be asked for when it is done */
    operation_t operation;
    char *send;
    char *recv;
    size_t element; /* bytes */
    size_t send_bytes;
    size_t recv_bytes;
    uint64_t counts[RANKS_MAX]; /* of the blocks of a reduce-scatter, elements */
    uint64_t places[RANKS_MAX];
    uint64_t number; /* of the communicator's collectives */
    uint64_t turn;   /* of the device's */
} collective_t;

/* What follows from the operation and the number of ranks: sizes of the buffers, blocks. */
void collective_extend(collective_t *collective, uint32_t ranks);

/* A place in the order of all collectives of a device, which is the order of issue. */
uint64_t collective_turn_take(int device);

int collective_run(standin_task_t *task, standin_stream_t *stream);
void collective_release(standin_task_t *task);

#endif
