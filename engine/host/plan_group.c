/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling by messages. */
#include "engine/host/plan_group.h"

#include "engine/host/plan_algorithms.h"

/* From this many bytes a member on, the ring. */
static const uint64_t ring_member_bytes = PLAN_KIB(16);

static void swap_whole(plan_builder_t *builder, uint32_t peer, plan_ref_t inbox, plan_ref_t value, uint64_t length)
{
    plan_receive(builder, peer, inbox, length);
    plan_send(builder, peer, value, length);
    plan_complete_all(builder);
}

/* A member beside the power of two: its neighbour below works for it. */
static void double_outside(plan_builder_t *builder, uint32_t peer, plan_ref_t dst, plan_ref_t src, uint64_t length,
                           plan_ref_t scratch)
{
    const plan_ref_t inbox = builder->params->padded && dst.space == PLAN_RECV ? scratch : dst;

    plan_send(builder, peer, src, length);
    plan_complete_all(builder); /* src and the inbox may be the same memory */
    plan_receive(builder, peer, inbox, length);
    plan_complete_all(builder);
    plan_copy(builder, dst, inbox, length);
}

uint64_t plan_group_double_scratch(uint64_t length)
{
    return length;
}

void plan_group_double(plan_builder_t *builder, const plan_group_t *group, plan_ref_t dst, plan_ref_t src,
                       uint64_t length, plan_ref_t scratch)
{
    uint32_t core = 1;

    if (length == 0) {
        return;
    }
    while (core <= group->n / 2) {
        core *= 2;
    }
    /* The first 2 * pairs members form pairs, the lower one is in the core: every core member stands for members next
       to each other, so folding lower before upper is the order of members. */
    const uint32_t pairs = group->n - core;
    const bool paired = group->mine < 2 * pairs;
    const uint32_t mine = paired ? group->mine / 2 : group->mine - pairs;
    plan_ref_t value = src;

    if (paired && group->mine % 2 == 1) {
        double_outside(builder, plan_group_rank(group, group->mine - 1), dst, src, length, scratch);
        return;
    }
    if (paired) {
        plan_receive(builder, plan_group_rank(group, group->mine + 1), scratch, length);
        plan_complete_all(builder);
        plan_source(builder, value);
        plan_source(builder, scratch);
        plan_fold(builder, dst, length);
        value = dst;
    }
    for (uint32_t bit = 1; bit < core; bit *= 2) {
        const uint32_t other = mine ^ bit;
        const uint32_t index = other < pairs ? 2 * other : other + pairs;
        swap_whole(builder, plan_group_rank(group, index), scratch, value, length);
        plan_source(builder, mine < other ? value : scratch);
        plan_source(builder, mine < other ? scratch : value);
        plan_fold(builder, dst, length);
        value = dst;
    }
    plan_copy(builder, dst, value, length);
    if (paired) {
        plan_send(builder, plan_group_rank(group, group->mine + 1), dst, length);
        plan_complete_all(builder);
    }
}

static bool ring_is_better(const plan_group_t *group, uint64_t length)
{
    return length / group->n >= ring_member_bytes;
}

void plan_group_allreduce(plan_builder_t *builder, const plan_group_t *group, plan_ref_t dst, plan_ref_t src,
                          uint64_t length, plan_ref_t scratch)
{
    if (ring_is_better(group, length)) {
        plan_group_ring(builder, group, dst, src, length, scratch);
    } else {
        plan_group_double(builder, group, dst, src, length, scratch);
    }
}

uint64_t plan_group_allreduce_scratch(const plan_params_t *params, const plan_group_t *group, uint64_t length)
{
    const uint64_t ring = plan_group_ring_scratch(params, group, length);
    const uint64_t doubling = plan_min(length, group->n * ring_member_bytes);

    return ring > doubling ? ring : doubling;
}

bool plan_message_doubling_serves(const plan_params_t *params)
{
    return plan_is_allreduce(params) && !params->raw && params->layout.nranks > 1;
}

mpinpu_status_t plan_message_doubling_build(const plan_params_t *params, plan_t *plan)
{
    plan_builder_t builder = plan_builder(params, plan);
    const plan_group_t all = {.n = params->layout.nranks, .mine = params->me};
    const uint64_t bytes = plan_vector_bytes(params);
    const plan_ref_t scratch = plan_tmp_take(&builder, plan_group_double_scratch(bytes));

    plan_group_double(&builder, &all, plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, 0), bytes, scratch);
    return builder.status;
}
