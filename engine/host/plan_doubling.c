/* SPDX-License-Identifier: BSD-3-Clause */
/* Recursive doubling through windows, for small vectors of many ranks on one host. A window has a slot for each round:
   slot 0 this rank's input (or that of its pair), slot i + 1 the fold of slot i with the partner's slot i. Tick i + 1
   says that slot i is there. */
#include "engine/host/plan_algorithms.h"

/* The largest power of two among n ranks, and how many rounds it takes. */
static uint32_t core_of(uint32_t n, uint32_t *rounds)
{
    uint32_t core = 1;

    *rounds = 0;
    while (core <= n / 2) {
        core *= 2;
        ++*rounds;
    }
    return core;
}

bool plan_doubling_serves(const plan_params_t *params)
{
    uint32_t rounds;

    if (params->layout.nhosts != 1 || params->layout.nranks < 2 || params->raw || !plan_is_allreduce(params)) {
        return false;
    }
    (void)core_of(params->layout.nranks, &rounds);
    return plan_round_up(plan_vector_bytes(params), PLAN_LINE) <= params->window_bytes / (rounds + 1);
}

mpinpu_status_t plan_doubling_build(const plan_params_t *params, plan_t *plan)
{
    const uint32_t n = params->layout.nranks;
    const uint32_t me = params->me;
    const uint64_t bytes = plan_vector_bytes(params);
    const uint64_t slot = plan_round_up(bytes, PLAN_LINE);
    plan_builder_t builder = plan_builder(params, plan);
    uint32_t rounds;
    /* The first 2 * pairs ranks form pairs, the lower one is in the core: folding lower before upper is rank order. */
    const uint32_t pairs = n - core_of(n, &rounds);
    const bool paired = me < 2 * pairs;
    const uint32_t mine = paired ? me / 2 : me - pairs;

    plan->ticks = rounds + 1;
    if (paired && me % 2 == 1) {
        plan_copy(&builder, plan_window_at(me, 0), plan_at(PLAN_SEND, 0), bytes);
        plan_publish(&builder, 1);
        plan_await(&builder, me - 1, rounds + 1);
        plan_copy(&builder, plan_at(PLAN_RECV, 0), plan_window_at(me - 1, rounds * slot), bytes);
        return builder.status;
    }
    if (paired) {
        plan_await(&builder, me + 1, 1);
        plan_source(&builder, plan_at(PLAN_SEND, 0));
        plan_source(&builder, plan_window_at(me + 1, 0));
        plan_fold(&builder, plan_window_at(me, 0), bytes);
    } else {
        plan_copy(&builder, plan_window_at(me, 0), plan_at(PLAN_SEND, 0), bytes);
    }
    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t other = mine ^ (uint32_t)1 << round;
        const uint32_t peer = other < pairs ? 2 * other : other + pairs;
        const bool last = round + 1 == rounds;
        plan_publish(&builder, round + 1);
        plan_await(&builder, peer, round + 1);
        plan_source(&builder, plan_window_at(mine < other ? me : peer, round * slot));
        plan_source(&builder, plan_window_at(mine < other ? peer : me, round * slot));
        plan_fold(&builder, last ? plan_at(PLAN_RECV, 0) : plan_window_at(me, (round + 1) * slot), bytes);
    }
    if (paired) {
        plan_copy(&builder, plan_window_at(me, rounds * slot), plan_at(PLAN_RECV, 0), bytes);
        plan_publish(&builder, rounds + 1);
    }
    return builder.status;
}
