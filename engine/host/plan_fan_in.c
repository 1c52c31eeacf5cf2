/* SPDX-License-Identifier: BSD-3-Clause */
/* Reduce to rank 0. The ranks of a host divide each chunk among themselves: each brings what the others are to fold
   into its window and folds its own slice from all windows. Rank 0 takes the slices of its host from the windows of who
   folded them; those of other hosts come by messages, and are folded in as the result is written. In round j a rank
   brings in chunk j, folds its slice of chunk j - 1, and rank 0 takes out chunk j - 2: as in plan_window.c a round
   waits for what was done a round ago, and a window holds three chunks.

   A result that is one left fold in rank order comes about on one host; of several, each rank sends what it has.

   Tick j + 1 says that round j is done. Nobody ends before all have begun: on rank 0's host a rank has awaited a tick
   of each of the others; with other hosts, each of their ranks sends something in the first chunk, then rank 0 answers
   them all by an empty message, and its own host by its tick. */
#include "engine/host/plan_algorithms.h"
#include "engine/host/plan_fan.h"

#include <stdlib.h>

/* Rank 0's tick behind the round in which it takes out the first chunk and answers. */
enum { ANSWERED = 3 };

typedef struct fan_in {
    fan_t fan;
    plan_ref_t inbox; /* rank 0: FAN_SLOTS chunks of each other host, */
    uint32_t *box;    /* and which of them a rank's host has; owned */
    uint32_t boxes;
    plan_ref_t aside;            /* a rank of another host: a chunk a slot, of which its slice is used */
    uint64_t started[FAN_SLOTS]; /* messages, up to those of the chunk in the slot */
} fan_in_t;

bool plan_fan_in_serves(const plan_params_t *params)
{
    return params->kind == COLLECTIVE_REDUCE;
}

/* Each rank's slice of the first chunk is sent though it be empty. */
static bool slice_is_sent(plan_range_t slice, uint64_t round)
{
    return slice.length > 0 || round == 0;
}

static void bring_in(fan_t *fan, uint64_t round)
{
    const uint64_t start = fan_chunk(fan, round).start;

    for (uint32_t i = 0; i < fan->nlocal; i++) {
        if (fan->local[i] != fan->me) {
            const plan_range_t slice = fan_slice(fan, fan->local[i], round);
            plan_copy(&fan->builder, plan_window_at(fan->me, fan_slot(fan, round) + slice.start),
                      plan_at(PLAN_SEND, start + slice.start), slice.length);
        }
    }
}

/* Where a rank leaves what its host's ranks have made of its slice: rank 0 in its result, others of its host in their
   windows, those of other hosts aside, from where it is sent. A rank alone on its host leaves its input where it is. */
static plan_ref_t folded_at(const fan_in_t *in, uint32_t rank, plan_range_t slice, uint64_t round)
{
    const fan_t *fan = &in->fan;
    const uint64_t at = fan_chunk(fan, round).start + slice.start;

    if (fan->nlocal == 1) {
        return plan_at(PLAN_SEND, at);
    }
    if (rank == 0) {
        return plan_at(PLAN_RECV, at);
    }
    return fan_remote(fan, rank) ? plan_ref_add(in->aside, round % FAN_SLOTS * plan_round_up(fan->chunk, PLAN_LINE))
                                 : plan_window_at(rank, fan_slot(fan, round) + slice.start);
}

static void fold_slice(fan_in_t *in, uint64_t round)
{
    fan_t *fan = &in->fan;
    plan_builder_t *builder = &fan->builder;
    const plan_range_t slice = fan_slice(fan, fan->me, round);
    const plan_ref_t result = folded_at(in, fan->me, slice, round);

    if (fan_remote(fan, fan->me)) {
        plan_complete(builder, in->started[round % FAN_SLOTS]); /* what is in the place of the result */
    }
    if (fan->nlocal > 1 && slice.length > 0) {
        for (uint32_t i = 0; i < fan->nlocal; i++) {
            const uint32_t rank = fan->local[i];
            plan_source(builder, rank == fan->me ? plan_at(PLAN_SEND, fan_chunk(fan, round).start + slice.start)
                                                 : plan_window_at(rank, fan_slot(fan, round) + slice.start));
        }
        plan_fold(builder, result, slice.length);
    }
    if (fan_remote(fan, fan->me)) {
        if (slice_is_sent(slice, round)) {
            plan_send(builder, 0, result, slice.length);
        }
        in->started[round % FAN_SLOTS] = builder->plan->nmessages;
    }
}

static plan_ref_t inbox_at(const fan_in_t *in, uint32_t box, uint64_t round)
{
    return plan_ref_add(in->inbox,
                        ((uint64_t)box * FAN_SLOTS + round % FAN_SLOTS) * plan_round_up(in->fan.chunk, PLAN_LINE));
}

/* Rank 0: what other hosts have made of a chunk. */
static void receive_chunk(fan_in_t *in, uint64_t round)
{
    fan_t *fan = &in->fan;

    for (uint32_t rank = 0; rank < fan->n && fan->hosts; rank++) {
        const plan_range_t slice = fan_slice(fan, rank, round);
        if (fan_remote(fan, rank) && slice_is_sent(slice, round)) {
            plan_receive(&fan->builder, rank, plan_ref_add(inbox_at(in, in->box[rank], round), slice.start),
                         slice.length);
        }
    }
    in->started[round % FAN_SLOTS] = fan->builder.plan->nmessages;
}

/* Rank 0. */
static void take_out(fan_in_t *in, uint64_t round)
{
    fan_t *fan = &in->fan;
    plan_builder_t *builder = &fan->builder;

    plan_complete(builder, in->started[round % FAN_SLOTS]);
    for (uint32_t i = 0; i < fan->nlocal; i++) {
        const plan_range_t slice = fan_slice(fan, fan->local[i], round);
        if (slice.length == 0) {
            continue;
        }
        plan_source(builder, folded_at(in, fan->local[i], slice, round));
        for (uint32_t box = 0; box < in->boxes; box++) {
            plan_source(builder, plan_ref_add(inbox_at(in, box, round), slice.start));
        }
        plan_fold(builder, plan_at(PLAN_RECV, fan_chunk(fan, round).start + slice.start), slice.length);
    }
    for (uint32_t rank = 1; rank < fan->n && round == 0; rank++) {
        if (fan_remote(fan, rank)) {
            plan_send(builder, rank, plan_at(PLAN_TMP, 0), 0);
        }
    }
}

/* Whether any other rank waits for this one's tick: in the round of that number, or for the answer. */
static bool tick_is_awaited(const fan_t *fan, uint64_t tick)
{
    if (fan->nlocal == 1) {
        return false;
    }
    if (fan->me == 0) {
        return tick <= fan->rounds || (fan->hosts && tick == ANSWERED);
    }
    return tick <= fan->rounds + (fan_remote(fan, fan->me) ? 0 : 1);
}

static void run_rounds(fan_in_t *in)
{
    fan_t *fan = &in->fan;
    plan_builder_t *builder = &fan->builder;
    const uint64_t last = fan->rounds + (fan->me == 0 ? 1 : 0); /* rank 0 takes out the last chunk */

    if (fan_remote(fan, fan->me)) {
        plan_receive(builder, 0, plan_at(PLAN_TMP, 0), 0); /* the answer */
    }
    for (uint64_t round = 0; round <= last; round++) {
        if (round < fan->rounds) {
            bring_in(fan, round);
            if (fan->me == 0) {
                receive_chunk(in, round);
            }
        }
        if (round > 0) {
            fan_await_local(fan, round);
        }
        if (round > 0 && round <= fan->rounds) {
            fold_slice(in, round - 1);
        }
        if (round > 1 && fan->me == 0) {
            take_out(in, round - 2);
        }
        if (tick_is_awaited(fan, round + 1)) {
            plan_publish(builder, round + 1);
        }
    }
    if (fan->hosts && fan->me != 0 && !fan_remote(fan, fan->me) && fan->rounds < ANSWERED) {
        plan_await(builder, 0, ANSWERED);
    }
    plan_complete_all(builder);
    builder->plan->ticks = fan->rounds + 2;
}

/* Numbers the other hosts. */
static void boxes_open(fan_in_t *in)
{
    fan_t *fan = &in->fan;

    for (uint32_t rank = 0; rank < fan->n; rank++) {
        if (fan_remote(fan, rank) && fan->index[rank] == 0) {
            in->box[fan_host(fan, rank)] = in->boxes++;
        }
    }
    /* From hosts to ranks, from behind: a host's number is no larger than its ranks'. */
    for (uint32_t rank = fan->n; rank-- > 0;) {
        in->box[rank] = in->box[fan_host(fan, rank)];
    }
    in->inbox = plan_tmp_take(&fan->builder, (uint64_t)in->boxes * FAN_SLOTS * plan_round_up(fan->chunk, PLAN_LINE));
}

mpinpu_status_t plan_fan_in_build(const plan_params_t *params, plan_t *plan)
{
    const bool alone = !fan_windows_serve(params) || (params->raw && params->layout.nhosts > 1);
    fan_in_t in = {.box = calloc(params->layout.nranks, sizeof(*in.box))};
    mpinpu_status_t status = in.box != NULL ? fan_open(params, plan, alone, &in.fan) : MPINPU_ERR_NO_MEMORY;

    if (status != MPINPU_OK) {
        free(in.box);
        return status;
    }
    if (params->me == 0) {
        boxes_open(&in);
    } else if (fan_remote(&in.fan, params->me) && in.fan.nlocal > 1) {
        in.aside = plan_tmp_take(&in.fan.builder, FAN_SLOTS * plan_round_up(in.fan.chunk, PLAN_LINE));
    }
    run_rounds(&in);
    status = in.fan.builder.status;
    fan_close(&in.fan);
    free(in.box);
    return status;
}
