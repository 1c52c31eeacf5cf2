/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans by messages in which every rank sends to every other.

   message_direct: each rank gets its block from all others and folds it once; for an allreduce it then sends the result
   to all. message_gather: each rank gets the whole vector from all others and folds it.
   Rank r sends to r + 1, r + 2, ... so that the messages of a moment go to different ranks, and waits for the partners
   of distance d - PLAN_MESSAGES_IN_FLIGHT before it starts with those of d: all ranks pass the distances in the same
   order, so the one that is furthest behind can always go on. */
#include "engine/host/plan_algorithms.h"

typedef struct exchange {
    plan_builder_t *builder;
    uint64_t sent_before[PLAN_MESSAGES_IN_FLIGHT]; /* messages started up to each of the last distances */
    bool with_empty; /* messages of no bytes are sent too: they tell that the sender has begun */
} exchange_t;

/* Distance `distance` of an exchange: receives from below, sends to above. */
static void exchange_pair(exchange_t *exchange, uint32_t distance, plan_ref_t in, uint64_t in_length, plan_ref_t out,
                          uint64_t out_length)
{
    plan_builder_t *builder = exchange->builder;
    const uint32_t n = builder->params->layout.nranks;
    const uint32_t me = builder->params->me;
    uint64_t *mark = &exchange->sent_before[distance % PLAN_MESSAGES_IN_FLIGHT];

    if (distance > PLAN_MESSAGES_IN_FLIGHT) {
        plan_complete(builder, *mark);
    }
    if (in_length > 0 || exchange->with_empty) {
        plan_receive(builder, (me + n - distance) % n, in, in_length);
    }
    if (out_length > 0 || exchange->with_empty) {
        plan_send(builder, (me + distance) % n, out, out_length);
    }
    *mark = builder->plan->nmessages;
}

/* What each rank folds: its block, or with `whole` the whole vector. */
static plan_range_t part_of(const plan_blocks_t *blocks, bool whole, uint32_t rank)
{
    return whole ? (plan_range_t){.start = 0, .length = blocks->total} : plan_block(blocks, rank);
}

/* Every rank gets its part from all others and folds it into PLAN_RECV. */
static void exchange_and_fold(plan_builder_t *builder, const plan_blocks_t *blocks, bool whole)
{
    const plan_params_t *params = builder->params;
    const uint32_t n = params->layout.nranks;
    const uint32_t me = params->me;
    const plan_range_t mine = part_of(blocks, whole, me);
    const uint64_t stride = plan_round_up(mine.length, PLAN_LINE);
    const plan_ref_t inbox = plan_tmp_take(builder, (n - 1) * stride);
    exchange_t exchange = {.builder = builder, .with_empty = !plan_is_allreduce(params)};

    for (uint32_t distance = 1; distance < n; distance++) {
        const plan_range_t part = part_of(blocks, whole, (me + distance) % n);
        exchange_pair(&exchange, distance, plan_ref_add(inbox, (distance - 1) * stride), mine.length,
                      plan_at(PLAN_SEND, part.start), part.length);
    }
    /* In place, results may only be written when all input has been sent. */
    plan_complete_all(builder);

    plan_ref_t own = plan_at(PLAN_SEND, mine.start);
    const uint64_t output = plan_result_offset(params, mine);
    if (params->in_place && mine.start != output && mine.start < output + mine.length) {
        own = plan_tmp_take(builder, mine.length);
        plan_copy(builder, own, plan_at(PLAN_SEND, mine.start), mine.length);
    }
    for (uint32_t rank = 0; rank < n; rank++) {
        const uint64_t distance = (me + n - rank) % n;
        plan_source(builder, rank == me ? own : plan_ref_add(inbox, (distance - 1) * stride));
    }
    plan_fold(builder, plan_at(PLAN_RECV, output), mine.length);
}

/* Every rank sends its slice of PLAN_RECV to all others. */
static void exchange_results(plan_builder_t *builder, const plan_blocks_t *blocks)
{
    const plan_params_t *params = builder->params;
    const uint32_t n = params->layout.nranks;
    const uint32_t me = params->me;
    const plan_range_t mine = plan_block(blocks, me);
    const plan_ref_t inbox = params->padded ? plan_tmp_take(builder, blocks->total) : plan_at(PLAN_RECV, 0);
    exchange_t exchange = {.builder = builder};

    for (uint32_t distance = 1; distance < n; distance++) {
        const plan_range_t part = plan_block(blocks, (me + n - distance) % n);
        exchange_pair(&exchange, distance, plan_ref_add(inbox, part.start), part.length, plan_at(PLAN_RECV, mine.start),
                      mine.length);
    }
    plan_complete_all(builder);
    if (params->padded) {
        const uint64_t end = mine.start + mine.length;
        plan_copy(builder, plan_at(PLAN_RECV, 0), inbox, mine.start);
        plan_copy(builder, plan_at(PLAN_RECV, end), plan_ref_add(inbox, end), blocks->total - end);
    }
}

static mpinpu_status_t exchange_build(const plan_params_t *params, plan_t *plan, bool whole)
{
    plan_builder_t builder = plan_builder(params, plan);
    plan_blocks_t blocks;
    const mpinpu_status_t status = plan_blocks_open(params, &blocks);

    if (status != MPINPU_OK) {
        return status;
    }
    exchange_and_fold(&builder, &blocks, whole);
    if (plan_is_allreduce(params) && !whole) {
        exchange_results(&builder, &blocks);
    }
    plan_blocks_close(&blocks);
    return builder.status;
}

bool plan_message_direct_serves(const plan_params_t *params)
{
    return !plan_is_rooted(params);
}

mpinpu_status_t plan_message_direct_build(const plan_params_t *params, plan_t *plan)
{
    return exchange_build(params, plan, false);
}

bool plan_message_gather_serves(const plan_params_t *params)
{
    return plan_is_allreduce(params);
}

mpinpu_status_t plan_message_gather_build(const plan_params_t *params, plan_t *plan)
{
    return exchange_build(params, plan, true);
}
