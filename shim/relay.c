/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/relay.h"

#include <stdlib.h>
#include <string.h>

static const size_t piece_bytes = (size_t)256 << 10;

typedef struct relay {
    const operation_t *operation;
    const compat_messages_t *messages;
    size_t element;
    char *sum;             /* rank 0: a piece, */
    char *arrived;         /* another rank's, */
    MPI_Request *requests; /* and one for each rank */
} relay_t;

/* Elements [from, to) of the vector. */
typedef struct stretch {
    size_t from;
    size_t to;
} stretch_t;

/* What of a piece belongs to the result of a rank. */
static stretch_t stretch_of(const relay_t *relay, stretch_t piece, int rank)
{
    const collective_t *collective = &relay->operation->collective;
    const size_t start = collective_block_start(collective, (size_t)rank);
    const size_t end = start + collective_block(collective, (size_t)rank);
    stretch_t common = {.from = piece.from > start ? piece.from : start, .to = piece.to < end ? piece.to : end};

    common.to = common.to > common.from ? common.to : common.from;
    return common;
}

/* Where the result's element of that number in the vector goes. */
static char *result_at(const relay_t *relay, size_t at)
{
    const collective_t *collective = &relay->operation->collective;

    return (char *)collective->recv +
           (at - collective_block_start(collective, (size_t)relay->messages->rank)) * relay->element;
}

static int wait_all(const relay_t *relay, int code, int count, MPI_Request *requests)
{
    return code == MPI_SUCCESS ? relay->messages->wait(relay->messages->context, count, requests) : code;
}

/* Rank 0. */
static int piece_reduce(const relay_t *relay, stretch_t piece)
{
    const call_t *call = &relay->operation->call;
    const int count = (int)(piece.to - piece.from);
    int code = MPI_SUCCESS;

    memcpy(relay->sum, (const char *)relay->operation->collective.send + piece.from * relay->element,
           (size_t)count * relay->element);
    for (int r = 1; r < relay->messages->size && code == MPI_SUCCESS; r++) {
        MPI_Request request = MPI_REQUEST_NULL;
        code = compat_message_receive(relay->messages, r, relay->arrived, count, call->datatype, &request);
        code = wait_all(relay, code, 1, &request);
        if (code == MPI_SUCCESS) {
            code = PMPI_Reduce_local(relay->arrived, relay->sum, count, call->datatype, call->op);
        }
    }
    return code;
}

/* Rank 0: to each what of the piece is of its result. */
static int piece_return(const relay_t *relay, stretch_t piece)
{
    int code = MPI_SUCCESS;

    for (int r = 0; r < relay->messages->size && code == MPI_SUCCESS; r++) {
        const stretch_t part = stretch_of(relay, piece, r);
        const char *from = relay->sum + (part.from - piece.from) * relay->element;
        relay->requests[r] = MPI_REQUEST_NULL;
        if (r == 0) {
            memcpy(result_at(relay, part.from), from, (part.to - part.from) * relay->element);
        } else if (part.to > part.from) {
            code = compat_message_send(relay->messages, r, from, (int)(part.to - part.from),
                                       relay->operation->call.datatype, &relay->requests[r]);
        }
    }
    return wait_all(relay, code, relay->messages->size, relay->requests);
}

/* The other ranks: in place, what is overwritten has been sent. */
static int piece_give(const relay_t *relay, stretch_t piece)
{
    const MPI_Datatype datatype = relay->operation->call.datatype;
    const stretch_t part = stretch_of(relay, piece, relay->messages->rank);
    MPI_Request request = MPI_REQUEST_NULL;
    int code = compat_message_send(relay->messages, 0,
                                   (const char *)relay->operation->collective.send + piece.from * relay->element,
                                   (int)(piece.to - piece.from), datatype, &request);

    code = wait_all(relay, code, 1, &request);
    if (code == MPI_SUCCESS && part.to > part.from) {
        code = compat_message_receive(relay->messages, 0, result_at(relay, part.from), (int)(part.to - part.from),
                                      datatype, &request);
        code = wait_all(relay, code, 1, &request);
    }
    return code;
}

static int relay_pieces(const relay_t *relay)
{
    const size_t most = piece_bytes / relay->element;
    int code = MPI_SUCCESS;

    for (size_t at = 0; at < relay->operation->total && code == MPI_SUCCESS; at += most) {
        const size_t left = relay->operation->total - at;
        const stretch_t piece = {.from = at, .to = at + (left < most ? left : most)};
        if (relay->messages->rank == 0) {
            code = piece_reduce(relay, piece);
            code = code == MPI_SUCCESS ? piece_return(relay, piece) : code;
        } else {
            code = piece_give(relay, piece);
        }
    }
    return code;
}

static void relay_run(coroutine_t *coroutine, void *argument)
{
    operation_t *operation = argument;
    compat_messages_t *messages = operation->state->queue.messages;
    relay_t relay = {.operation = operation,
                     .messages = messages,
                     .element = dtype_size(operation->collective.dtype),
                     .sum = malloc(piece_bytes),
                     .arrived = malloc(piece_bytes),
                     .requests = malloc((size_t)messages->size * sizeof(MPI_Request))};
    engine_exchange_t exchange;
    const bool fine = relay.sum != NULL && relay.arrived != NULL && relay.requests != NULL;

    messages->context = coroutine;
    compat_exchange_init_messages(&exchange, messages);
    const mpinpu_status_t status = exchange.agree(exchange.context, fine ? MPINPU_OK : MPINPU_ERR_NO_MEMORY);
    operation->code = status == MPINPU_OK              ? relay_pieces(&relay)
                      : status == MPINPU_ERR_NO_MEMORY ? MPI_ERR_NO_MEM
                                                       : MPI_ERR_OTHER;
    free(relay.requests);
    free(relay.arrived);
    free(relay.sum);
}

coroutine_t *relay_new(operation_t *operation)
{
    return coroutine_new(relay_run, operation);
}
