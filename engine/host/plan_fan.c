/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/plan_fan.h"

#include <stdlib.h>

/* Cuts, to be tuned: bytes of a chunk that stays in the caches; and how many there may be, so that plans stay small. */
static const uint64_t fan_chunk_bytes = PLAN_KIB(256);
static const uint64_t fan_rounds = 4096;

uint32_t fan_host(const fan_t *fan, uint32_t rank)
{
    return fan->alone ? rank : fan->builder.params->layout.host_of[rank];
}

static uint64_t window_chunk(const plan_params_t *params)
{
    return params->window_bytes / FAN_SLOTS / plan_unit(params->element) * plan_unit(params->element);
}

bool fan_windows_serve(const plan_params_t *params)
{
    return window_chunk(params) > 0;
}

static void ranks_find(fan_t *fan, uint32_t *count)
{
    for (uint32_t rank = 0; rank < fan->n; rank++) {
        count[rank] = 0; /* there are no more hosts than ranks */
    }
    for (uint32_t rank = 0; rank < fan->n; rank++) {
        const uint32_t host = fan_host(fan, rank);
        fan->index[rank] = count[host]++;
        fan->hosts = fan->hosts || host != fan_host(fan, 0);
        if (host == fan_host(fan, fan->me)) {
            fan->local[fan->nlocal++] = rank;
        }
    }
    for (uint32_t rank = 0; rank < fan->n; rank++) {
        fan->mates[rank] = count[fan_host(fan, rank)];
    }
}

static void chunks_cut(fan_t *fan)
{
    uint64_t room = plan_round_up(fan_chunk_bytes, fan->unit);

    if (room < fan->total / fan_rounds) {
        room = plan_round_up(fan->total / fan_rounds, fan->unit);
    }
    if (!fan->alone) {
        room = plan_min(room, window_chunk(fan->builder.params));
    }
    fan->rounds = (fan->total + room - 1) / room;
    fan->chunk = plan_round_up((fan->total + fan->rounds - 1) / fan->rounds, fan->unit);
    /* Rounding up may have made the last ones empty. */
    fan->rounds = (fan->total + fan->chunk - 1) / fan->chunk;
}

mpinpu_status_t fan_open(const plan_params_t *params, plan_t *plan, bool alone, fan_t *fan)
{
    const uint32_t n = params->layout.nranks;
    uint32_t *count = malloc(n * sizeof(*count));

    *fan = (fan_t){.builder = plan_builder(params, plan),
                   .n = n,
                   .me = params->me,
                   .alone = alone,
                   .local = malloc(n * sizeof(*fan->local)),
                   .mates = malloc(2 * (size_t)n * sizeof(*fan->mates)),
                   .total = plan_vector_bytes(params),
                   .unit = plan_unit(params->element)};
    if (count == NULL || fan->local == NULL || fan->mates == NULL) {
        free(count);
        fan_close(fan);
        return MPINPU_ERR_NO_MEMORY;
    }
    fan->index = fan->mates + n;
    ranks_find(fan, count);
    chunks_cut(fan);
    free(count);
    return MPINPU_OK;
}

void fan_close(fan_t *fan)
{
    free(fan->mates);
    free(fan->local);
    fan->mates = NULL;
    fan->local = NULL;
}

plan_range_t fan_chunk(const fan_t *fan, uint64_t round)
{
    const uint64_t start = round * fan->chunk;

    return (plan_range_t){.start = start, .length = plan_min(fan->chunk, fan->total - start)};
}

plan_range_t fan_slice(const fan_t *fan, uint32_t rank, uint64_t round)
{
    const uint64_t bytes = fan_chunk(fan, round).length;
    plan_range_t slice = plan_slice(fan->chunk, fan->unit, fan->mates[rank], fan->index[rank]);
    const uint64_t end = plan_min(bytes, slice.start + slice.length);

    slice.start = plan_min(bytes, slice.start);
    slice.length = end - slice.start;
    return slice;
}

void fan_await_local(fan_t *fan, uint64_t tick)
{
    for (uint32_t i = 0; i < fan->nlocal; i++) {
        if (fan->local[i] != fan->me) {
            plan_await(&fan->builder, fan->local[i], tick);
        }
    }
}
