/* SPDX-License-Identifier: BSD-3-Clause */
/* Allreduce on two levels: ranks of a host through windows, hosts by messages. The vector goes in chunks that fit a
   window, a chunk is cut into a slice for each lane. Lane j is the j-th rank of every host: on each host it folds slice
   j from the windows, then allreduces it with the other hosts' lane j, and all ranks of the host copy the result from
   its window. There are as many lanes as the smallest host has ranks, or fewer for short vectors.

   A chunk has two ticks: 2c + 1, my input is in my window (all slices but that of my own lane); 2c + 2, my lane's
   result is in the place of its slice. Input of chunk c + 1 comes in when all lanes' results of chunk c have been
   awaited, so all have read the input of c. A lane writes the place of its slice after awaiting 2(c + 1) + 1 of all
   ranks of its host, so these have taken out the result of c. */
#include "engine/host/plan_algorithms.h"
#include "engine/host/plan_group.h"

#include <stdlib.h>

/* Cuts, to be tuned: bytes of a lane's slice below which there is no further lane, and of a chunk. */
static const uint64_t lane_bytes = PLAN_KIB(8);
static const uint64_t levels_chunk_bytes = PLAN_KIB(1024);

typedef struct levels {
    plan_builder_t builder;
    uint32_t *local; /* ranks of this host, in order */
    uint32_t nlocal;
    uint32_t lanes;
    uint32_t my_lane;   /* place among `local`: a lane where less than lanes */
    uint32_t *members;  /* my lane's rank on every host */
    plan_group_t group; /* the members */
    uint64_t total;
    uint64_t chunk;
    uint64_t rounds;
    plan_ref_t scratch;
} levels_t;

bool plan_levels_serves(const plan_params_t *params)
{
    const plan_layout_t *layout = &params->layout;

    return plan_is_allreduce(params) && !params->raw && layout->nhosts > 1 && layout->nhosts < layout->nranks &&
           params->window_bytes >= plan_unit(params->element);
}

/* Ranks of the smallest host, and this rank's among its own; `sizes` is scratch for a count a host. */
static uint32_t smallest_host(const plan_layout_t *layout, uint32_t me, uint32_t *sizes, uint32_t *place)
{
    uint32_t least = UINT32_MAX;

    for (uint32_t host = 0; host < layout->nhosts; host++) {
        sizes[host] = 0;
    }
    for (uint32_t rank = 0; rank < layout->nranks; rank++) {
        if (rank == me) {
            *place = sizes[layout->host_of[rank]];
        }
        sizes[layout->host_of[rank]]++;
    }
    for (uint32_t host = 0; host < layout->nhosts; host++) {
        least = sizes[host] < least ? sizes[host] : least;
    }
    return least;
}

/* Fills in `local` and `members`. */
static void levels_find(levels_t *levels, const plan_layout_t *layout, uint32_t me, uint32_t *sizes)
{
    for (uint32_t host = 0; host < layout->nhosts; host++) {
        sizes[host] = 0;
    }
    for (uint32_t rank = 0; rank < layout->nranks; rank++) {
        const uint32_t host = layout->host_of[rank];
        if (host == layout->host_of[me]) {
            levels->local[levels->nlocal++] = rank;
        }
        if (sizes[host]++ == levels->my_lane) {
            levels->members[host] = rank;
        }
    }
    levels->group = (plan_group_t){.ranks = levels->members, .n = layout->nhosts, .mine = layout->host_of[me]};
}

static mpinpu_status_t levels_open(const plan_params_t *params, plan_t *plan, levels_t *levels)
{
    const plan_layout_t *layout = &params->layout;
    const uint64_t unit = plan_unit(params->element);
    uint32_t *sizes = malloc(layout->nhosts * sizeof(*sizes));

    *levels = (levels_t){.builder = plan_builder(params, plan),
                         .local = malloc(layout->nranks * sizeof(*levels->local)),
                         .members = malloc(layout->nhosts * sizeof(*levels->members)),
                         .total = plan_vector_bytes(params)};
    if (sizes == NULL || levels->local == NULL || levels->members == NULL) {
        free(sizes);
        free(levels->local);
        free(levels->members);
        return MPINPU_ERR_NO_MEMORY;
    }
    const uint32_t least = smallest_host(layout, params->me, sizes, &levels->my_lane);
    levels->lanes = (uint32_t)plan_min(least, levels->total / lane_bytes + 1);
    levels_find(levels, layout, params->me, sizes);
    free(sizes);

    const uint64_t room = plan_min(levels_chunk_bytes, params->window_bytes) / unit * unit;
    levels->rounds = (levels->total + room - 1) / room;
    levels->chunk = plan_round_up((levels->total + levels->rounds - 1) / levels->rounds, unit);
    const uint64_t slice = plan_slice(levels->chunk, unit, levels->lanes, 0).length;
    if (levels->my_lane < levels->lanes) {
        levels->scratch = plan_tmp_take(&levels->builder, plan_group_allreduce_scratch(params, &levels->group, slice));
    }
    return MPINPU_OK;
}

/* A lane's slice of a chunk, in the window; the last chunk is cut where the others are. */
static plan_range_t slice_of(const levels_t *levels, uint32_t lane, uint64_t round)
{
    const uint64_t bytes = plan_min(levels->chunk, levels->total - round * levels->chunk);
    plan_range_t slice = plan_slice(levels->chunk, plan_unit(levels->builder.params->element), levels->lanes, lane);
    const uint64_t end = plan_min(bytes, slice.start + slice.length);

    slice.start = plan_min(bytes, slice.start);
    slice.length = end - slice.start;
    return slice;
}

static void bring_in(levels_t *levels, uint64_t round)
{
    for (uint32_t lane = 0; lane < levels->lanes; lane++) {
        if (lane != levels->my_lane) {
            const plan_range_t slice = slice_of(levels, lane, round);
            plan_copy(&levels->builder, plan_window_at(levels->builder.params->me, slice.start),
                      plan_at(PLAN_SEND, round * levels->chunk + slice.start), slice.length);
        }
    }
}

static void reduce_lane(levels_t *levels, uint64_t round)
{
    plan_builder_t *builder = &levels->builder;
    const uint32_t me = builder->params->me;
    const plan_range_t slice = slice_of(levels, levels->my_lane, round);
    const plan_ref_t result = plan_window_at(me, slice.start);

    for (uint32_t i = 0; i < levels->nlocal; i++) {
        if (levels->local[i] != me) {
            plan_await(builder, levels->local[i], 2 * round + 1);
        }
    }
    for (uint32_t i = 0; i < levels->nlocal; i++) {
        const uint32_t rank = levels->local[i];
        plan_source(builder, rank == me ? plan_at(PLAN_SEND, round * levels->chunk + slice.start)
                                        : plan_window_at(rank, slice.start));
    }
    plan_fold(builder, result, slice.length);
    plan_group_allreduce(builder, &levels->group, result, result, slice.length, levels->scratch);
    plan_publish(builder, 2 * round + 2);
}

static void take_out(levels_t *levels, uint64_t round)
{
    plan_builder_t *builder = &levels->builder;

    for (uint32_t i = 0; i < levels->lanes; i++) {
        const uint32_t lane = (levels->my_lane + i) % levels->lanes;
        const uint32_t rank = levels->local[lane];
        const plan_range_t slice = slice_of(levels, lane, round);
        if (slice.length > 0 && rank != builder->params->me) {
            plan_await(builder, rank, 2 * round + 2);
        }
        plan_copy(builder, plan_at(PLAN_RECV, round * levels->chunk + slice.start), plan_window_at(rank, slice.start),
                  slice.length);
    }
}

mpinpu_status_t plan_levels_build(const plan_params_t *params, plan_t *plan)
{
    levels_t levels;
    const mpinpu_status_t status = levels_open(params, plan, &levels);

    if (status != MPINPU_OK) {
        return status;
    }
    for (uint64_t round = 0; round < levels.rounds; round++) {
        bring_in(&levels, round);
        plan_publish(&levels.builder, 2 * round + 1);
        if (levels.my_lane < levels.lanes) {
            reduce_lane(&levels, round);
        }
        take_out(&levels, round);
    }
    plan->ticks = 2 * levels.rounds;
    free(levels.local);
    free(levels.members);
    return levels.builder.status;
}
