/* SPDX-License-Identifier: BSD-3-Clause */
/* Broadcast from rank 0. Each host has a leader: rank 0, or the first rank of the host. Rank 0 sends each chunk to the
   other leaders. A leader puts it into its window, which holds FAN_SLOTS chunks, and the other ranks of the host copy
   it out; a leader alone on its host receives it where it belongs.

   Ticks of a leader: c + 1, chunk c is in its window. Of the others of its host: 1, I have begun, if that is told at
   all; then one for each chunk that has been copied. Nobody ends before all have begun: the leaders await their hosts
   and tell rank 0 by an empty message, and rank 0 sends and publishes nothing before it has heard from all. */
#include "engine/host/plan_algorithms.h"
#include "engine/host/plan_fan.h"

/* How far ahead of the copies a leader receives. */
enum { FAN_AHEAD = 2 };

typedef struct fan_out {
    fan_t fan;
    plan_ref_t aside; /* where no message may go to PLAN_RECV */
} fan_out_t;

bool plan_fan_out_serves(const plan_params_t *params)
{
    return params->kind == COLLECTIVE_BROADCAST;
}

static bool is_leader(const fan_t *fan, uint32_t rank)
{
    return fan->index[rank] == 0;
}

/* Whether it is told that a rank has begun; on one host a chunk that is copied tells it too. */
static bool begin_is_told(const fan_t *fan)
{
    return fan->hosts || fan->rounds <= FAN_SLOTS;
}

static uint64_t copied_tick(const fan_t *fan, uint64_t round)
{
    return round + 1 + (begin_is_told(fan) ? 1 : 0);
}

/* Where a leader of another host receives a chunk. */
static plan_ref_t chunk_place(const fan_out_t *out, uint64_t round)
{
    const fan_t *fan = &out->fan;

    if (fan->nlocal > 1) {
        return plan_window_at(fan->me, fan_slot(fan, round));
    }
    return fan->builder.params->padded ? plan_ref_add(out->aside, fan_slot(fan, round))
                                       : plan_at(PLAN_RECV, fan_chunk(fan, round).start);
}

/* The place of a chunk in the window is free: all have copied what was there. */
static void place_await(fan_t *fan, uint64_t round)
{
    if (round >= FAN_SLOTS) {
        fan_await_local(fan, copied_tick(fan, round - FAN_SLOTS));
    }
}

static void send_chunk(fan_t *fan, uint64_t round)
{
    const plan_range_t chunk = fan_chunk(fan, round);

    for (uint32_t rank = 1; rank < fan->n && fan->hosts; rank++) {
        if (fan_remote(fan, rank) && is_leader(fan, rank)) {
            plan_send(&fan->builder, rank, plan_at(PLAN_SEND, chunk.start), chunk.length);
        }
    }
}

static void root_run(fan_t *fan)
{
    plan_builder_t *builder = &fan->builder;

    for (uint32_t rank = 1; rank < fan->n && fan->hosts; rank++) {
        if (fan_remote(fan, rank) && is_leader(fan, rank)) {
            plan_receive(builder, rank, plan_at(PLAN_TMP, 0), 0);
        }
    }
    if (begin_is_told(fan)) {
        fan_await_local(fan, 1);
    }
    plan_complete_all(builder);
    for (uint64_t round = 0; round < fan->rounds; round++) {
        const plan_range_t chunk = fan_chunk(fan, round);
        send_chunk(fan, round);
        if (fan->nlocal > 1) {
            place_await(fan, round);
            plan_copy(builder, plan_window_at(0, fan_slot(fan, round)), plan_at(PLAN_SEND, chunk.start), chunk.length);
            plan_publish(builder, round + 1);
        }
        if (!builder->params->in_place) {
            plan_copy(builder, plan_at(PLAN_RECV, chunk.start), plan_at(PLAN_SEND, chunk.start), chunk.length);
        }
    }
    plan_complete_all(builder);
}

static void leader_receive(fan_out_t *out, uint64_t round)
{
    fan_t *fan = &out->fan;

    if (round < fan->rounds) {
        place_await(fan, round);
        plan_receive(&fan->builder, 0, chunk_place(out, round), fan_chunk(fan, round).length);
    }
}

static void leader_run(fan_out_t *out)
{
    fan_t *fan = &out->fan;
    plan_builder_t *builder = &fan->builder;

    if (fan->nlocal == 1 && builder->params->padded) {
        out->aside = plan_tmp_take(builder, FAN_SLOTS * fan->chunk);
    }
    fan_await_local(fan, 1);
    plan_send(builder, 0, plan_at(PLAN_TMP, 0), 0);
    for (uint64_t ahead = 0; ahead < FAN_AHEAD; ahead++) {
        leader_receive(out, ahead);
    }
    for (uint64_t round = 0; round < fan->rounds; round++) {
        const plan_range_t chunk = fan_chunk(fan, round);
        plan_complete(builder, 1 + round + 1); /* the first message is the empty one */
        if (fan->nlocal > 1) {
            plan_publish(builder, round + 1);
        }
        plan_copy(builder, plan_at(PLAN_RECV, chunk.start), chunk_place(out, round), chunk.length);
        leader_receive(out, round + FAN_AHEAD);
    }
    plan_complete_all(builder);
}

static void other_run(fan_t *fan)
{
    plan_builder_t *builder = &fan->builder;
    const uint32_t leader = fan->local[0];

    if (begin_is_told(fan)) {
        plan_publish(builder, 1);
    }
    for (uint64_t round = 0; round < fan->rounds; round++) {
        const plan_range_t chunk = fan_chunk(fan, round);
        plan_await(builder, leader, round + 1);
        plan_copy(builder, plan_at(PLAN_RECV, chunk.start), plan_window_at(leader, fan_slot(fan, round)), chunk.length);
        if (round + FAN_SLOTS < fan->rounds) {
            plan_publish(builder, copied_tick(fan, round));
        }
    }
}

mpinpu_status_t plan_fan_out_build(const plan_params_t *params, plan_t *plan)
{
    fan_out_t out = {0};
    mpinpu_status_t status = fan_open(params, plan, !fan_windows_serve(params), &out.fan);

    if (status != MPINPU_OK) {
        return status;
    }
    if (params->me == 0) {
        root_run(&out.fan);
    } else if (is_leader(&out.fan, params->me)) {
        leader_run(&out);
    } else {
        other_run(&out.fan);
    }
    plan->ticks = out.fan.rounds + 1;
    status = out.fan.builder.status;
    fan_close(&out.fan);
    return status;
}
