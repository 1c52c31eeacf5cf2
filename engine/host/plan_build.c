/* SPDX-License-Identifier: BSD-3-Clause */
/* The builder: appends steps to a plan. */
#include "engine/host/plan_build.h"

#include <stdlib.h>
#include <string.h>

enum { PLAN_FIRST_ROOM = 32 };

plan_ref_t plan_at(plan_space_t space, uint64_t offset)
{
    return (plan_ref_t){.offset = offset, .space = space};
}

plan_ref_t plan_window_at(uint32_t rank, uint64_t offset)
{
    return (plan_ref_t){.offset = offset, .rank = rank, .space = PLAN_WINDOW};
}

plan_ref_t plan_ref_add(plan_ref_t ref, uint64_t bytes)
{
    ref.offset += bytes;
    return ref;
}

plan_builder_t plan_builder(const plan_params_t *params, plan_t *plan)
{
    return (plan_builder_t){.params = params, .plan = plan, .status = MPINPU_OK};
}

static bool refs_equal(plan_ref_t a, plan_ref_t b)
{
    return a.space == b.space && a.rank == b.rank && a.offset == b.offset;
}

plan_ref_t plan_tmp_take(plan_builder_t *builder, uint64_t bytes)
{
    const uint64_t offset = builder->plan->tmp_bytes;

    builder->plan->tmp_bytes = plan_round_up(offset + bytes, PLAN_LINE);
    return plan_at(PLAN_TMP, offset);
}

static bool array_grow(plan_builder_t *builder, void **array, size_t used, size_t *room, size_t bytes)
{
    if (builder->status != MPINPU_OK) {
        return false;
    }
    if (used < *room) {
        return true;
    }
    const size_t more = *room == 0 ? PLAN_FIRST_ROOM : 2 * *room;
    void *grown = realloc(*array, more * bytes);
    if (grown == NULL) {
        builder->status = MPINPU_ERR_NO_MEMORY;
        return false;
    }
    *array = grown;
    *room = more;
    return true;
}

static void step_add(plan_builder_t *builder, const plan_step_t *step)
{
    plan_t *plan = builder->plan;
    void *steps = plan->steps;

    if (array_grow(builder, &steps, plan->nsteps, &plan->steps_room, sizeof(*step))) {
        plan->steps = steps;
        plan->steps[plan->nsteps++] = *step;
    }
}

static plan_step_t *step_last(const plan_builder_t *builder)
{
    const plan_t *plan = builder->plan;

    return plan->nsteps == 0 ? NULL : &plan->steps[plan->nsteps - 1];
}

void plan_copy(plan_builder_t *builder, plan_ref_t dst, plan_ref_t src, uint64_t length)
{
    plan_step_t *last = step_last(builder);

    if (length == 0 || refs_equal(dst, src)) {
        return;
    }
    if (last != NULL && last->kind == PLAN_COPY && refs_equal(plan_ref_add(last->dst, last->length), dst) &&
        refs_equal(plan_ref_add(last->src, last->length), src)) {
        last->length += length;
        return;
    }
    step_add(builder, &(plan_step_t){.kind = PLAN_COPY, .length = length, .dst = dst, .src = src});
}

void plan_publish(plan_builder_t *builder, uint64_t tick)
{
    step_add(builder, &(plan_step_t){.kind = PLAN_PUBLISH, .value = tick});
}

void plan_await(plan_builder_t *builder, uint32_t peer, uint64_t tick)
{
    step_add(builder, &(plan_step_t){.kind = PLAN_AWAIT, .peer = peer, .value = tick});
}

void plan_send(plan_builder_t *builder, uint32_t peer, plan_ref_t src, uint64_t length)
{
    step_add(builder, &(plan_step_t){.kind = PLAN_MESSAGE_SEND, .peer = peer, .length = length, .src = src});
    builder->plan->nmessages++;
}

void plan_receive(plan_builder_t *builder, uint32_t peer, plan_ref_t dst, uint64_t length)
{
    step_add(builder, &(plan_step_t){.kind = PLAN_MESSAGE_RECEIVE, .peer = peer, .length = length, .dst = dst});
    builder->plan->nmessages++;
}

void plan_complete(plan_builder_t *builder, uint64_t messages)
{
    if (messages > builder->completed) {
        builder->completed = messages;
        step_add(builder, &(plan_step_t){.kind = PLAN_COMPLETE, .value = messages});
    }
}

void plan_complete_all(plan_builder_t *builder)
{
    plan_complete(builder, builder->plan->nmessages);
}

void plan_source(plan_builder_t *builder, plan_ref_t src)
{
    plan_t *plan = builder->plan;
    void *refs = plan->refs;

    if (array_grow(builder, &refs, plan->nrefs, &plan->refs_room, sizeof(src))) {
        plan->refs = refs;
        plan->refs[plan->nrefs++] = src;
    }
}

void plan_fold(plan_builder_t *builder, plan_ref_t dst, uint64_t length)
{
    plan_t *plan = builder->plan;
    const size_t first = builder->folded;
    const size_t nsrc = plan->nrefs - first;

    if (builder->status != MPINPU_OK) {
        return;
    }
    if (length == 0 || nsrc == 1) {
        plan_ref_t src = plan->refs[first];
        plan->nrefs = first;
        plan_copy(builder, dst, src, length);
        return;
    }
    if (plan->nrefs > UINT32_MAX) {
        builder->status = MPINPU_ERR_NO_MEMORY;
        return;
    }
    builder->folded = plan->nrefs;
    step_add(builder,
             &(plan_step_t){
                 .kind = PLAN_FOLD, .length = length, .dst = dst, .first = (uint32_t)first, .nsrc = (uint32_t)nsrc});
}

mpinpu_status_t plan_make(const plan_algorithm_t *algorithm, const plan_params_t *params, plan_t *plan)
{
    plan_t made = {.algorithm = algorithm->name};

    if (!algorithm->serves(params)) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    const mpinpu_status_t status = algorithm->build(params, &made);
    if (status != MPINPU_OK) {
        plan_free(&made);
        return status;
    }
    *plan = made;
    return MPINPU_OK;
}

void plan_free(plan_t *plan)
{
    free(plan->steps);
    free(plan->refs);
    memset(plan, 0, sizeof(*plan));
}
