/* SPDX-License-Identifier: BSD-3-Clause */
/* What the algorithms use to make plans: a builder that appends steps, and the ways to divide a vector. */
#ifndef ENGINE_HOST_PLAN_BUILD_H
#define ENGINE_HOST_PLAN_BUILD_H

#include "engine/host/plan.h"

enum {
    PLAN_LINE = 64,                     /* bytes of a cache line: slots start on, slices are cut at, multiples */
    PLAN_MESSAGES_IN_FLIGHT = 64,       /* partners a rank exchanges messages with before it waits for the first */
    PLAN_RING_SEGMENT_BYTES = 64 * 1024 /* a ring cuts its slices into up to four segments of about this */
};

/* A plan being made. The first error stays in `status`; later calls do nothing. */
typedef struct plan_builder {
    const plan_params_t *params;
    plan_t *plan;
    mpinpu_status_t status;
    size_t folded;      /* references that belong to steps already */
    uint64_t completed; /* messages waited for already */
} plan_builder_t;

plan_builder_t plan_builder(const plan_params_t *params, plan_t *plan);

/* A part of a vector, bytes. */
typedef struct plan_range {
    uint64_t start;
    uint64_t length;
} plan_range_t;

/* The blocks of a vector: what each rank reduces, in its own memory (allreduce: slices) or as its result
   (reduce_scatter). */
typedef struct plan_blocks {
    uint64_t total;
    uint64_t unit;
    uint32_t nblocks;
    uint64_t block;   /* reduce_scatter_block: bytes of each block */
    uint64_t *starts; /* reduce_scatter: nblocks + 1 offsets; else NULL */
    collective_kind_t kind;
} plan_blocks_t;

/* Bytes of the whole vector that is reduced (all blocks). */
uint64_t plan_vector_bytes(const plan_params_t *params);

/* The smallest length that both cache lines and elements divide: least common multiple of PLAN_LINE and element. */
uint64_t plan_unit(size_t element);

/* Slice `index` of `parts` of a vector of `total` bytes: cut at multiples of `unit`, sizes as equal as that allows, the
   last ones may be empty. */
plan_range_t plan_slice(uint64_t total, uint64_t unit, uint64_t parts, uint64_t index);

/* The blocks of these parameters; plan_blocks_close frees. */
mpinpu_status_t plan_blocks_open(const plan_params_t *params, plan_blocks_t *blocks);
void plan_blocks_close(plan_blocks_t *blocks);
plan_range_t plan_block(const plan_blocks_t *blocks, uint32_t rank);

/* Where block `range` of this rank has its place in PLAN_RECV. */
uint64_t plan_result_offset(const plan_params_t *params, plan_range_t range);

static inline bool plan_is_allreduce(const plan_params_t *params)
{
    return params->kind == COLLECTIVE_ALLREDUCE;
}

/* Whether rank 0 has a part of its own in the kind: served by plan_fan*.c alone. */
static inline bool plan_is_rooted(const plan_params_t *params)
{
    return params->kind == COLLECTIVE_REDUCE || params->kind == COLLECTIVE_BROADCAST;
}

static inline uint64_t plan_round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

#define PLAN_KIB(n) ((uint64_t)(n)*1024)

static inline uint64_t plan_min(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* References. */
plan_ref_t plan_at(plan_space_t space, uint64_t offset);
plan_ref_t plan_window_at(uint32_t rank, uint64_t offset);
plan_ref_t plan_ref_add(plan_ref_t ref, uint64_t bytes);

/* Takes scratch memory for the whole plan; the offset is a multiple of PLAN_LINE. */
plan_ref_t plan_tmp_take(plan_builder_t *builder, uint64_t bytes);

/* Steps. Copies of no bytes or onto themselves are left out, and a copy that goes on where the last step, a copy,
   ended is joined to it. */
void plan_copy(plan_builder_t *builder, plan_ref_t dst, plan_ref_t src, uint64_t length);
void plan_publish(plan_builder_t *builder, uint64_t tick);
void plan_await(plan_builder_t *builder, uint32_t peer, uint64_t tick);
void plan_send(plan_builder_t *builder, uint32_t peer, plan_ref_t src, uint64_t length);
void plan_receive(plan_builder_t *builder, uint32_t peer, plan_ref_t dst, uint64_t length);
/* Waits for the first `messages` messages; left out where the last COMPLETE covers them. */
void plan_complete(plan_builder_t *builder, uint64_t messages);
void plan_complete_all(plan_builder_t *builder);

/* A fold: first its sources in order, then the step, which takes all sources since the last fold. One source alone is
   a copy. */
void plan_source(plan_builder_t *builder, plan_ref_t src);
void plan_fold(plan_builder_t *builder, plan_ref_t dst, uint64_t length);

#endif
