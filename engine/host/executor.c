/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/executor.h"

#include "engine/host/stall.h"
#include "engine/host/stream.h"

#include <stdlib.h>
#include <string.h>

/* A tag is the number that the receiver gave the communicator, the low bits of the collective's sequence and the
   sender's rank. Numbers are not reused in the receiver, so only collectives of one communicator could meet there, and
   those are never 4096 apart. */
enum { TAG_ID_SHIFT = 32, TAG_SEQUENCE_SHIFT = 20, TAG_SEQUENCE_MASK = 0xfff };

/* Results of so many bytes go past the caches: with the input they fill a second-level cache of today's CPUs, and 1 to
   16 MiB were 5 to 25 % faster so, whether or not the program touches its buffers between calls. */
static const size_t stream_least = (size_t)1 << 20;
/* Bytes that are folded and then copied at a time: a few of the first-level cache's. */
static const size_t stream_part = 1024;

mpinpu_status_t executor_begin(executor_t *executor, engine_comm_t *comm, const plan_t *plan,
                               const collective_t *collective, void *tmp)
{
    *executor = (executor_t){
        .comm = comm,
        .plan = plan,
        .fold = kernel_fold_find(collective->dtype, collective->op),
        .dtype = collective->dtype,
        .element = dtype_size(collective->dtype),
        /* No step has PLAN_SEND as its destination. */
        .space = {[PLAN_SEND] = (unsigned char *)(uintptr_t)collective->send,
                  [PLAN_RECV] = collective->recv,
                  [PLAN_TMP] = tmp},
        .streams = collective_block(collective, comm->rank) * dtype_size(collective->dtype) >= stream_least,
        .parity = (unsigned)(comm->sequence & 1),
        .base = comm->base,
        .sequence_tag = (comm->sequence & TAG_SEQUENCE_MASK) << TAG_SEQUENCE_SHIFT,
    };
    if (plan->nmessages > 0) {
        executor->requests = calloc(plan->nmessages, sizeof *executor->requests);
        if (executor->requests == NULL) {
            return MPINPU_ERR_NO_MEMORY;
        }
    }
    /* Two ranks: what each wrote last is in the other's cache, and cheapest to write there. Both ranks have run the
       same plans, so both swap alike. */
    if (comm->size == 2) {
        executor->swap = comm->swapped[executor->parity];
        comm->swapped[executor->parity] ^= plan->crosses_once ? 1 : 0;
    }
    comm->base += plan->ticks;
    return MPINPU_OK;
}

void executor_end(executor_t *executor)
{
    if (executor->streams) {
        stream_end();
    }
    for (size_t m = executor->completed; m < executor->started; m++) {
        transport_request_cancel(executor->comm->engine->transport, &executor->requests[m]);
    }
    free(executor->requests);
    executor->requests = NULL;
}

static inline unsigned char *executor_address(const executor_t *executor, const plan_ref_t *ref)
{
    unsigned char *base = ref->space == PLAN_WINDOW
                              ? executor->comm->ranks[ref->rank ^ executor->swap].half[executor->parity]
                              : executor->space[ref->space];
    return base + ref->offset;
}

/* Bytes [at, at + bytes) of a fold. */
static void executor_fold(const executor_t *executor, const plan_step_t *fold, size_t at, size_t bytes)
{
    const void **sources = executor->comm->sources;
    const plan_ref_t *refs = executor->plan->refs + fold->first;

    for (uint32_t s = 0; s < fold->nsrc; s++) {
        sources[s] = executor_address(executor, &refs[s]) + at;
    }
    executor->fold(executor_address(executor, &fold->dst) + at, sources, fold->nsrc, bytes / executor->element);
}

/* Whether the step after this fold copies what it makes into the result, past the caches. */
static bool executor_fold_streams(const executor_t *executor, const plan_step_t *fold)
{
    const plan_step_t *copy = fold + 1;

    return executor->streams && executor->step + 1 < executor->plan->nsteps && copy->kind == PLAN_COPY &&
           copy->dst.space == PLAN_RECV && copy->src.space == fold->dst.space && copy->src.rank == fold->dst.rank &&
           copy->src.offset == fold->dst.offset && copy->length == fold->length && !dtype_padded(executor->dtype);
}

/* The same of a fold and of the copy after it. */
static void executor_fold_copy(const executor_t *executor, const plan_step_t *fold, size_t at, size_t bytes)
{
    executor_fold(executor, fold, at, bytes);
    stream_copy(executor_address(executor, &fold[1].dst) + at, executor_address(executor, &fold->dst) + at, bytes);
}

/* A fold and the copy after it as one, in parts so short that the copy still finds them at the CPU, and from several
   places in turn, as stream_copy does. */
static void executor_fold_stream(const executor_t *executor, const plan_step_t *fold)
{
    const size_t part = stream_part / executor->element * executor->element;
    const size_t lane = fold->length / STREAM_LANES / part * part;

    for (size_t at = 0; at < lane; at += part) {
        for (size_t l = 0; l < STREAM_LANES; l++) {
            executor_fold_copy(executor, fold, l * lane + at, part);
        }
    }
    for (size_t at = STREAM_LANES * lane; at < fold->length; at += part) {
        executor_fold_copy(executor, fold, at, fold->length - at < part ? fold->length - at : part);
    }
}

static void executor_copy(executor_t *executor, const plan_step_t *step)
{
    unsigned char *dst = executor_address(executor, &step->dst);
    const unsigned char *src = executor_address(executor, &step->src);

    if (step->dst.space == PLAN_RECV && dtype_padded(executor->dtype)) {
        kernel_copy(executor->dtype, dst, src, step->length / executor->element);
    } else if (step->dst.space == PLAN_RECV && executor->streams) {
        stream_copy(dst, src, step->length);
    } else if (dst != src) {
        memcpy(dst, src, step->length);
    }
}

/* Whether rank's counter has come to `tick`. */
static inline bool executor_heard(const executor_t *executor, uint32_t rank, uint64_t tick)
{
    const region_head_t *head = executor->comm->ranks[rank].region;

    /* Acquire: what the peer stored before it published is visible to the steps that follow. */
    return atomic_load_explicit(&head->counter, memory_order_acquire) >= tick;
}

static bool executor_awaits_done(executor_t *executor, const plan_step_t *step)
{
    uint64_t tick = executor->base + step->value;

    if (step->peer != PLAN_ALL_RANKS) {
        return executor_heard(executor, step->peer, tick);
    }
    for (; executor->awaited < executor->comm->size; executor->awaited++) {
        if (executor->awaited != executor->comm->rank && !executor_heard(executor, executor->awaited, tick)) {
            return false;
        }
    }
    executor->awaited = 0;
    return true;
}

static mpinpu_status_t executor_messages_done(executor_t *executor, const plan_step_t *step)
{
    while (executor->completed < step->value) {
        mpinpu_status_t status =
            transport_request_test(executor->comm->engine->transport, &executor->requests[executor->completed]);
        if (status == MPINPU_IN_PROGRESS) {
            transport_progress(executor->comm->engine->transport);
            status =
                transport_request_test(executor->comm->engine->transport, &executor->requests[executor->completed]);
        }
        if (status != MPINPU_OK) {
            return status;
        }
        executor->completed++;
    }
    /* Acquire: pairs with the release of those whose messages these were. */
    atomic_thread_fence(memory_order_acquire);
    return MPINPU_OK;
}

static uint64_t executor_tag(const executor_t *executor, uint32_t from, uint32_t to)
{
    return (uint64_t)executor->comm->ranks[to].id << TAG_ID_SHIFT | executor->sequence_tag | from;
}

static mpinpu_status_t executor_message(executor_t *executor, const plan_step_t *step)
{
    engine_comm_t *comm = executor->comm;
    transport_request_t *request = &executor->requests[executor->started];
    mpinpu_status_t status;

    if (step->kind == PLAN_MESSAGE_SEND) {
        /* Release: who has this message may reuse what I have read of its window. */
        atomic_thread_fence(memory_order_release);
        status = transport_send(comm->engine->transport, comm->ranks[step->peer].peer,
                                executor_tag(executor, comm->rank, step->peer), executor_address(executor, &step->src),
                                step->length, request);
    } else {
        status = transport_receive(comm->engine->transport, executor_tag(executor, step->peer, comm->rank),
                                   executor_address(executor, &step->dst), step->length, request);
    }
    if (status == MPINPU_OK) {
        executor->started++;
    }
    return status;
}

/* One step: MPINPU_IN_PROGRESS when it has to wait. */
static mpinpu_status_t executor_step(executor_t *executor, const plan_step_t *step)
{
    switch ((plan_step_kind_t)step->kind) {
    case PLAN_COPY:
        executor_copy(executor, step);
        return MPINPU_OK;
    case PLAN_FOLD:
        if (executor_fold_streams(executor, step)) {
            executor_fold_stream(executor, step);
            executor->step++;
        } else {
            executor_fold(executor, step, 0, step->length);
        }
        return MPINPU_OK;
    case PLAN_PUBLISH:
        /* Release: all stores of the steps before are visible to who reads this value. */
        atomic_store_explicit(&executor->comm->ranks[executor->comm->rank].region->counter,
                              executor->base + step->value, memory_order_release);
        return MPINPU_OK;
    case PLAN_AWAIT:
        return executor_awaits_done(executor, step) ? MPINPU_OK : MPINPU_IN_PROGRESS;
    case PLAN_MESSAGE_SEND:
    case PLAN_MESSAGE_RECEIVE:
        return executor_message(executor, step);
    case PLAN_COMPLETE:
        return executor_messages_done(executor, step);
    }
    return MPINPU_ERR_INVALID;
}

/* Whether a message of the first `most` with this rank is not done. */
static bool executor_message_awaits(const executor_t *executor, uint64_t most, uint32_t rank)
{
    const plan_step_t *step = executor->plan->steps;

    for (size_t m = 0; m < most && m < executor->started; step++) {
        if (step->kind != PLAN_MESSAGE_SEND && step->kind != PLAN_MESSAGE_RECEIVE) {
            continue;
        }
        if (m >= executor->completed && step->peer == rank && !transport_request_done(&executor->requests[m])) {
            return true;
        }
        m++;
    }
    return false;
}

bool executor_awaits(const engine_comm_t *comm, const void *waiter, uint32_t rank)
{
    const executor_t *executor = waiter;
    const plan_step_t *step = &executor->plan->steps[executor->step];

    (void)comm;
    if (executor->step == executor->plan->nsteps) {
        return false;
    }
    if (step->kind == PLAN_COMPLETE) {
        return executor_message_awaits(executor, step->value, rank);
    }
    return step->kind == PLAN_AWAIT && (step->peer == PLAN_ALL_RANKS || step->peer == rank) &&
           !executor_heard(executor, rank, executor->base + step->value);
}

mpinpu_status_t executor_advance(executor_t *executor, bool blocking)
{
    const plan_t *plan = executor->plan;

    while (executor->step < plan->nsteps) {
        const plan_step_t *step = &plan->steps[executor->step];
        mpinpu_status_t status = executor_step(executor, step);

        if (status == MPINPU_IN_PROGRESS && blocking) {
            wait_t wait = {0};
            do {
                if (wait_step(executor->comm->engine, &wait)) {
                    stall_look(executor->comm, &wait, executor_awaits, executor);
                }
                status = executor_step(executor, step);
            } while (status == MPINPU_IN_PROGRESS);
            wait_end(executor->comm, &wait);
        }
        if (status != MPINPU_OK) {
            if (executor->streams) {
                stream_end(); /* another thread may go on */
            }
            return status;
        }
        executor->step++;
    }
    return MPINPU_OK;
}
