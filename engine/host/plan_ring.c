/* SPDX-License-Identifier: BSD-3-Clause */
/* Rings by messages. Member i sends to i + 1 and receives from i - 1. A vector has a slice for each member, a slice up
   to RING_SEGMENTS segments. Item x is segment x mod q of step t = x / q, with q segments: in it member i sends a
   segment of slice i - 1 - t and receives one of slice i - 2 - t. So slice s starts at member s + 1 and, folded with
   every member's input on its way, arrives at member s in step n - 2. In an allreduce it then goes round once more as
   the result.

   Item x + q is started when item x has arrived and is folded: its send passes on what just came. First the send, then
   the receive, so that waiting for receive x waits for send x too: all ranks take the items in the same order, and what
   an item waits for are items before it.
   What a receive writes over is by then not needed: scratch of item x - q was folded; a result comes to the place of a
   partial sum sent n - 1 steps before. */
#include "engine/host/plan_algorithms.h"
#include "engine/host/plan_group.h"

enum { RING_SEGMENTS = 4 };

typedef struct ring {
    plan_builder_t *builder;
    const plan_group_t *group;
    uint64_t unit;
    uint32_t segments;
    uint64_t marks[RING_SEGMENTS]; /* messages started up to each of the last items */
} ring_t;

static uint32_t segments_for(uint64_t slice_bytes)
{
    return (uint32_t)plan_min(slice_bytes / PLAN_RING_SEGMENT_BYTES + 1, RING_SEGMENTS);
}

static ring_t ring_open(plan_builder_t *builder, const plan_group_t *group, uint64_t slice_bytes)
{
    return (ring_t){.builder = builder,
                    .group = group,
                    .unit = plan_unit(builder->params->element),
                    .segments = segments_for(slice_bytes)};
}

/* The slice that goes from this member to the next in a step. */
static uint32_t slice_sent(const ring_t *ring, uint64_t step)
{
    const uint32_t n = ring->group->n;

    return (uint32_t)((ring->group->mine + 2 * (uint64_t)n - 1 - step % n) % n);
}

static void item_start(ring_t *ring, uint64_t item, plan_ref_t out, uint64_t out_length, plan_ref_t in,
                       uint64_t in_length)
{
    const plan_group_t *group = ring->group;

    if (out_length > 0) {
        plan_send(ring->builder, plan_group_rank(group, (group->mine + 1) % group->n), out, out_length);
    }
    if (in_length > 0) {
        plan_receive(ring->builder, plan_group_rank(group, (group->mine + group->n - 1) % group->n), in, in_length);
    }
    ring->marks[item % ring->segments] = ring->builder->plan->nmessages;
}

static void item_wait(const ring_t *ring, uint64_t item)
{
    plan_complete(ring->builder, ring->marks[item % ring->segments]);
}

static void fold_two(plan_builder_t *builder, plan_ref_t dst, plan_ref_t first, plan_ref_t second, uint64_t length)
{
    plan_source(builder, first);
    plan_source(builder, second);
    plan_fold(builder, dst, length);
}

/* Allreduce: partial sums gather in dst; results come to `inbox`, which is dst where messages may go there. */
typedef struct ring_vector {
    ring_t ring;
    uint64_t length;
    uint64_t slot_bytes;
    plan_ref_t src;
    plan_ref_t dst;
    plan_ref_t inbox;
    plan_ref_t scratch;
} ring_vector_t;

static plan_range_t segment_of(const ring_vector_t *vector, uint32_t slice, uint64_t item)
{
    const uint64_t q = vector->ring.segments;

    return plan_slice(vector->length, vector->ring.unit, vector->ring.group->n * q, slice * q + item % q);
}

static void vector_item_start(ring_vector_t *vector, uint64_t item)
{
    const uint64_t n = vector->ring.group->n;
    const uint64_t step = item / vector->ring.segments;
    const plan_range_t out = segment_of(vector, slice_sent(&vector->ring, step), item);
    const plan_range_t in = segment_of(vector, slice_sent(&vector->ring, step + 1), item);
    const plan_ref_t from = step == 0 ? vector->src : step < n ? vector->dst : vector->inbox;
    const plan_ref_t to = step + 1 < n
                              ? plan_ref_add(vector->scratch, item % vector->ring.segments * vector->slot_bytes)
                              : plan_ref_add(vector->inbox, in.start);

    item_start(&vector->ring, item, plan_ref_add(from, out.start), out.length, to, in.length);
}

static void vector_item_finish(ring_vector_t *vector, uint64_t item)
{
    const uint64_t step = item / vector->ring.segments;
    const plan_range_t in = segment_of(vector, slice_sent(&vector->ring, step + 1), item);

    item_wait(&vector->ring, item);
    if (step + 1 < vector->ring.group->n && in.length > 0) {
        fold_two(vector->ring.builder, plan_ref_add(vector->dst, in.start),
                 plan_ref_add(vector->scratch, item % vector->ring.segments * vector->slot_bytes),
                 plan_ref_add(vector->src, in.start), in.length);
    }
}

static uint64_t vector_slot_bytes(uint64_t length, uint64_t unit, uint32_t n)
{
    const uint32_t segments = segments_for(length / n);

    return plan_round_up(plan_slice(length, unit, (uint64_t)n * segments, 0).length, PLAN_LINE);
}

uint64_t plan_group_ring_scratch(const plan_params_t *params, const plan_group_t *group, uint64_t length)
{
    /* A slot a segment, each longer than its share of the slice by less than two units. */
    return length / group->n + (uint64_t)2 * RING_SEGMENTS * plan_unit(params->element);
}

void plan_group_ring(plan_builder_t *builder, const plan_group_t *group, plan_ref_t dst, plan_ref_t src,
                     uint64_t length, plan_ref_t scratch)
{
    const uint32_t n = group->n;
    const bool by_inbox = builder->params->padded && dst.space == PLAN_RECV;
    ring_vector_t vector = {.ring = ring_open(builder, group, length / n),
                            .length = length,
                            .slot_bytes = vector_slot_bytes(length, plan_unit(builder->params->element), n),
                            .src = src,
                            .dst = dst,
                            .inbox = by_inbox ? plan_tmp_take(builder, length) : dst,
                            .scratch = scratch};
    const uint64_t items = 2 * (uint64_t)(n - 1) * vector.ring.segments;

    if (length == 0) {
        return;
    }
    if (n == 1) {
        plan_copy(builder, dst, src, length);
        return;
    }
    for (uint64_t item = 0; item < vector.ring.segments; item++) {
        vector_item_start(&vector, item);
    }
    for (uint64_t item = 0; item < items; item++) {
        vector_item_finish(&vector, item);
        if (item + vector.ring.segments < items) {
            vector_item_start(&vector, item + vector.ring.segments);
        }
    }
    plan_complete_all(builder);
    if (by_inbox) {
        const plan_range_t first = plan_slice(length, vector.ring.unit, (uint64_t)n * vector.ring.segments,
                                              (uint64_t)group->mine * vector.ring.segments);
        const uint64_t end = plan_slice(length, vector.ring.unit, (uint64_t)n * vector.ring.segments,
                                        ((uint64_t)group->mine + 1) * vector.ring.segments)
                                 .start;
        plan_copy(builder, dst, vector.inbox, first.start);
        plan_copy(builder, plan_ref_add(dst, end), plan_ref_add(vector.inbox, end), length - end);
    }
}

/* Reduce_scatter: slices are blocks; partial sums stay in scratch, in 2 q slots: what came in item x is passed on in
   item x + q, which is done before item x + 2 q is started. */
typedef struct ring_blocks {
    ring_t ring;
    plan_blocks_t blocks;
    uint64_t slot_bytes;
    plan_ref_t slots;
} ring_blocks_t;

static plan_range_t block_segment(const ring_blocks_t *scatter, uint32_t rank, uint64_t item)
{
    const plan_range_t block = plan_block(&scatter->blocks, rank);
    plan_range_t segment =
        plan_slice(block.length, scatter->ring.unit, scatter->ring.segments, item % scatter->ring.segments);

    segment.start += block.start;
    return segment;
}

static plan_ref_t block_slot(const ring_blocks_t *scatter, uint64_t item)
{
    return plan_ref_add(scatter->slots, item % (2 * (uint64_t)scatter->ring.segments) * scatter->slot_bytes);
}

static void block_item_start(ring_blocks_t *scatter, uint64_t item)
{
    const uint64_t step = item / scatter->ring.segments;
    const plan_range_t out = block_segment(scatter, slice_sent(&scatter->ring, step), item);
    const plan_range_t in = block_segment(scatter, slice_sent(&scatter->ring, step + 1), item);

    item_start(&scatter->ring, item,
               step == 0 ? plan_at(PLAN_SEND, out.start) : block_slot(scatter, item - scatter->ring.segments),
               out.length, block_slot(scatter, item), in.length);
}

static void run_blocks(ring_blocks_t *scatter)
{
    plan_builder_t *builder = scatter->ring.builder;
    const uint32_t n = builder->params->layout.nranks;
    const uint64_t q = scatter->ring.segments;
    const uint64_t items = (n - 1) * q;
    const plan_range_t mine = plan_block(&scatter->blocks, builder->params->me);
    /* In place, the result would be written over input that is still to be sent or folded. */
    const bool late = builder->params->in_place && mine.start != 0;

    for (uint64_t item = 0; item < q; item++) {
        block_item_start(scatter, item);
    }
    for (uint64_t item = 0; item < items; item++) {
        const plan_range_t in = block_segment(scatter, slice_sent(&scatter->ring, item / q + 1), item);
        const plan_ref_t slot = block_slot(scatter, item);
        item_wait(&scatter->ring, item);
        if (in.length > 0) {
            fold_two(builder, item + q >= items && !late ? plan_at(PLAN_RECV, in.start - mine.start) : slot, slot,
                     plan_at(PLAN_SEND, in.start), in.length);
        }
        if (item + q < items) {
            block_item_start(scatter, item + q);
        }
    }
    plan_complete_all(builder);
    for (uint64_t item = items - q; late && item < items; item++) {
        const plan_range_t in = block_segment(scatter, builder->params->me, item);
        plan_copy(builder, plan_at(PLAN_RECV, in.start - mine.start), block_slot(scatter, item), in.length);
    }
}

static mpinpu_status_t blocks_build(const plan_params_t *params, plan_t *plan)
{
    plan_builder_t builder = plan_builder(params, plan);
    const plan_group_t all = {.n = params->layout.nranks, .mine = params->me};
    ring_blocks_t scatter = {.ring = ring_open(&builder, &all, plan_vector_bytes(params) / all.n)};
    const mpinpu_status_t status = plan_blocks_open(params, &scatter.blocks);
    uint64_t longest = 0;

    if (status != MPINPU_OK) {
        return status;
    }
    for (uint32_t rank = 0; rank < all.n; rank++) {
        const plan_range_t segment = block_segment(&scatter, rank, 0);
        longest = segment.length > longest ? segment.length : longest;
    }
    scatter.slot_bytes = plan_round_up(longest, PLAN_LINE);
    scatter.slots = plan_tmp_take(&builder, (uint64_t)2 * scatter.ring.segments * scatter.slot_bytes);
    run_blocks(&scatter);
    plan_blocks_close(&scatter.blocks);
    return builder.status;
}

/* A rank without a block would end without having heard of all others. */
static bool all_have_blocks(const plan_params_t *params)
{
    for (uint32_t rank = 0; params->kind == COLLECTIVE_REDUCE_SCATTER && rank < params->layout.nranks; rank++) {
        if (params->counts[rank] == 0) {
            return false;
        }
    }
    return true;
}

bool plan_message_ring_serves(const plan_params_t *params)
{
    return !params->raw && !plan_is_rooted(params) && params->layout.nranks > 1 && all_have_blocks(params);
}

mpinpu_status_t plan_message_ring_build(const plan_params_t *params, plan_t *plan)
{
    plan_builder_t builder = plan_builder(params, plan);
    const plan_group_t all = {.n = params->layout.nranks, .mine = params->me};
    const uint64_t bytes = plan_vector_bytes(params);

    if (!plan_is_allreduce(params)) {
        return blocks_build(params, plan);
    }
    const plan_ref_t scratch = plan_tmp_take(&builder, plan_group_ring_scratch(params, &all, bytes));
    plan_group_ring(&builder, &all, plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, 0), bytes, scratch);
    return builder.status;
}
