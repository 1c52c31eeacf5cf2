/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of ranks that share memory. Each copies what others need into its own window and reads the others' windows.

   flat: everybody folds the whole vector. One wait.
   slice, pipeline: rank r reduces piece r of each chunk of the vector; the others then copy the piece from r's window.
   Round j brings in chunk j, folds chunk j - 1 and takes out chunk j - 2, so a round has one wait, and it waits for
   what was done a round ago. A window holds WINDOW_SLOTS chunks. Chunk j comes into the place of chunk j - 3: it was
   last read by the folds of round j - 2, and each rank awaited all others' round j - 2 in round j - 1. A rank does not
   bring in its own piece: that place takes the piece's result, written in round j + 1 and read in round j + 2, after
   which it is free two rounds before it is needed.

   Two ranks leave a result where the peer's contribution came from, in the peer's window. A line of memory is then
   written by the CPU that read it last, which costs about half of taking it back from the other CPU's cache (measured,
   docs/performance). Where data crosses only one way, the executor swaps the two windows from one collective to the
   next for the same sake, told by plan->crosses_once; in several rounds the plan does it every WINDOW_SLOTS chunks. */
#include "engine/host/plan_algorithms.h"

#include <stdlib.h>

enum { WINDOW_SLOTS = 3 };

/* Cuts of pipeline, to be tuned: bytes of a rank's piece of a chunk, and of a chunk. */
static const uint64_t pipeline_piece_bytes = PLAN_KIB(64);
static const uint64_t pipeline_chunk_bytes = PLAN_KIB(512);
/* Chunks grow where there would be more than this, so that plans stay small. */
static const uint64_t pipeline_rounds = 4096;

static bool one_host(const plan_params_t *params)
{
    return params->layout.nhosts == 1;
}

static bool fits_window(const plan_params_t *params)
{
    return plan_vector_bytes(params) <= params->window_bytes;
}

/* The vector in `rounds` chunks. Allreduce: chunks follow each other, each cut into slices. Reduce_scatter: chunk k
   holds piece k of every block. */
typedef struct window_chunks {
    plan_blocks_t blocks;
    uint64_t rounds;
    uint64_t chunk;      /* bytes of a chunk, at most */
    uint64_t slot_bytes; /* from slot to slot */
    uint64_t *places;    /* reduce_scatter in several rounds: where each block's pieces are in a slot */
} window_chunks_t;

typedef struct window_piece {
    uint64_t input;  /* offset in the input */
    uint64_t output; /* offset in the result */
    uint64_t place;  /* offset in a window */
    uint64_t length;
} window_piece_t;

static uint64_t block_piece_bytes(const window_chunks_t *chunks, plan_range_t block)
{
    return plan_round_up((block.length + chunks->rounds - 1) / chunks->rounds, chunks->blocks.unit);
}

static window_piece_t piece_of(const window_chunks_t *chunks, uint32_t rank, uint64_t round)
{
    const uint64_t slot = round % WINDOW_SLOTS * chunks->slot_bytes;

    if (chunks->blocks.kind == COLLECTIVE_ALLREDUCE) {
        /* The last, shorter chunk is cut where the others are: a rank's place in a slot is always the same. */
        const uint64_t start = round * chunks->chunk;
        const uint64_t bytes = plan_min(chunks->chunk, chunks->blocks.total - start);
        const plan_range_t slice = plan_slice(chunks->chunk, chunks->blocks.unit, chunks->blocks.nblocks, rank);
        const uint64_t from = plan_min(slice.start, bytes);
        return (window_piece_t){.input = start + from,
                                .output = start + from,
                                .place = slot + from,
                                .length = plan_min(slice.start + slice.length, bytes) - from};
    }
    const plan_range_t block = plan_block(&chunks->blocks, rank);
    if (chunks->places == NULL) {
        return (window_piece_t){.input = block.start, .place = block.start, .length = block.length};
    }
    const uint64_t bytes = block_piece_bytes(chunks, block);
    const uint64_t start = plan_min(block.length, round * bytes);
    return (window_piece_t){.input = block.start + start,
                            .output = start,
                            .place = slot + chunks->places[rank],
                            .length = plan_min(bytes, block.length - start)};
}

static mpinpu_status_t chunks_open(const plan_params_t *params, uint64_t chunk, window_chunks_t *chunks)
{
    const uint32_t n = params->layout.nranks;
    window_chunks_t made = {.chunk = chunk, .rounds = 1};
    mpinpu_status_t status = plan_blocks_open(params, &made.blocks);

    if (status != MPINPU_OK) {
        return status;
    }
    const uint64_t total = made.blocks.total;
    const uint64_t unit = made.blocks.unit;
    if (chunk < total) {
        /* Pieces of blocks are rounded up to units, each in its own slot place. */
        const uint64_t room = plan_is_allreduce(params) ? chunk : chunk - n * unit;
        made.rounds = (total + room - 1) / room;
        made.slot_bytes = chunk;
    }
    if (plan_is_allreduce(params)) {
        made.chunk = plan_round_up((total + made.rounds - 1) / made.rounds, unit);
    } else if (made.rounds > 1) {
        made.places = malloc(n * sizeof(*made.places));
        if (made.places == NULL) {
            plan_blocks_close(&made.blocks);
            return MPINPU_ERR_NO_MEMORY;
        }
        uint64_t place = 0;
        for (uint32_t rank = 0; rank < n; rank++) {
            made.places[rank] = place;
            place += block_piece_bytes(&made, plan_block(&made.blocks, rank));
        }
    }
    *chunks = made;
    return MPINPU_OK;
}

static void chunks_close(window_chunks_t *chunks)
{
    free(chunks->places);
    plan_blocks_close(&chunks->blocks);
}

/* Whose window holds what `rank` contributes to a chunk. */
static uint32_t window_in(const plan_builder_t *builder, uint32_t rank, uint64_t round)
{
    const plan_params_t *params = builder->params;

    return params->layout.nranks == 2 && !plan_is_allreduce(params) ? (rank + round / WINDOW_SLOTS) % 2 : rank;
}

/* Whose window holds the results of `rank`. */
static uint32_t window_out(const plan_builder_t *builder, uint32_t rank)
{
    return builder->params->layout.nranks == 2 ? 1 - rank : rank;
}

static void bring_in(plan_builder_t *builder, const window_chunks_t *chunks, uint64_t round)
{
    const uint32_t n = builder->params->layout.nranks;
    const uint32_t me = builder->params->me;

    for (uint32_t distance = 1; distance < n; distance++) {
        const window_piece_t piece = piece_of(chunks, (me + distance) % n, round);
        plan_copy(builder, plan_window_at(window_in(builder, me, round), piece.place), plan_at(PLAN_SEND, piece.input),
                  piece.length);
    }
}

/* Copies the result of `rank` from where it left it. */
static void take_piece(plan_builder_t *builder, const window_chunks_t *chunks, uint32_t rank, uint64_t round)
{
    const window_piece_t piece = piece_of(chunks, rank, round);

    plan_copy(builder, plan_at(PLAN_RECV, piece.output), plan_window_at(window_out(builder, rank), piece.place),
              piece.length);
}

/* Whether a rank's own result is taken at once: the peer may overwrite it as soon as it has taken it. */
static bool takes_own_at_once(const plan_builder_t *builder, const window_chunks_t *chunks)
{
    return builder->params->layout.nranks == 2 && chunks->rounds > 1;
}

/* Folds this rank's piece: a reduce_scatter's into `result`, an allreduce's into a window, where all take it from. */
static void fold_piece(plan_builder_t *builder, const window_chunks_t *chunks, uint64_t round, plan_ref_t result)
{
    const uint32_t n = builder->params->layout.nranks;
    const uint32_t me = builder->params->me;
    const window_piece_t piece = piece_of(chunks, me, round);

    for (uint32_t rank = 0; rank < n; rank++) {
        plan_source(builder, rank == me ? plan_at(PLAN_SEND, piece.input)
                                        : plan_window_at(window_in(builder, rank, round), piece.place));
    }
    if (!plan_is_allreduce(builder->params)) {
        plan_fold(builder, plan_ref_add(result, piece.output), piece.length);
        return;
    }
    plan_fold(builder, plan_window_at(window_out(builder, me), piece.place), piece.length);
    if (takes_own_at_once(builder, chunks)) {
        take_piece(builder, chunks, me, round);
    }
}

/* Copies the results, this rank's first. `tick` other than 0: waits for each of the others, the next rank first. */
static void take_out(plan_builder_t *builder, const window_chunks_t *chunks, uint64_t round, uint64_t tick)
{
    const uint32_t n = builder->params->layout.nranks;
    const uint32_t me = builder->params->me;

    for (uint32_t distance = takes_own_at_once(builder, chunks) ? 1 : 0; distance < n; distance++) {
        const uint32_t peer = (me + distance) % n;
        if (distance > 0 && tick > 0 && piece_of(chunks, peer, round).length > 0) {
            plan_await(builder, peer, tick);
        }
        take_piece(builder, chunks, peer, round);
    }
}

/* Whether this rank's result may not go to PLAN_RECV at once: in place it would overwrite input that is needed. */
static bool needs_detour(const plan_params_t *params, const window_chunks_t *chunks, plan_range_t mine)
{
    if (plan_is_allreduce(params) || !params->in_place || mine.start == 0) {
        return false;
    }
    return chunks->rounds > 1 || mine.start < mine.length;
}

static void run_rounds(plan_builder_t *builder, const window_chunks_t *chunks)
{
    const bool allreduce = plan_is_allreduce(builder->params);
    const plan_range_t mine = plan_block(&chunks->blocks, builder->params->me);
    const bool detour = needs_detour(builder->params, chunks, mine);
    const plan_ref_t result = detour ? plan_tmp_take(builder, mine.length) : plan_at(PLAN_RECV, 0);
    const uint64_t rounds = chunks->rounds;
    const uint64_t last = allreduce ? rounds + 1 : rounds;

    for (uint64_t round = 0; round <= last; round++) {
        if (round < rounds) {
            bring_in(builder, chunks, round);
        }
        if (round > 0 && round <= rounds) {
            plan_await(builder, PLAN_ALL_RANKS, round);
            fold_piece(builder, chunks, round - 1, result);
        }
        if (round > 1 && allreduce) {
            take_out(builder, chunks, round - 2, round > rounds ? round : 0);
        }
        if (round < last) {
            plan_publish(builder, round + 1);
        }
    }
    builder->plan->ticks = last;
    builder->plan->crosses_once = !allreduce && (rounds + WINDOW_SLOTS - 1) / WINDOW_SLOTS % 2 == 1;
    if (detour) {
        plan_copy(builder, plan_at(PLAN_RECV, 0), result, mine.length);
    }
}

static mpinpu_status_t chunks_build(const plan_params_t *params, plan_t *plan, uint64_t chunk)
{
    plan_builder_t builder = plan_builder(params, plan);
    window_chunks_t chunks;
    const mpinpu_status_t status = chunks_open(params, chunk, &chunks);

    if (status != MPINPU_OK) {
        return status;
    }
    run_rounds(&builder, &chunks);
    chunks_close(&chunks);
    return builder.status;
}

bool plan_slice_serves(const plan_params_t *params)
{
    return one_host(params) && params->layout.nranks > 1 && plan_is_allreduce(params) && fits_window(params);
}

mpinpu_status_t plan_slice_build(const plan_params_t *params, plan_t *plan)
{
    return chunks_build(params, plan, plan_vector_bytes(params));
}

/* The chunk of pipeline: as the cuts say, but WINDOW_SLOTS of them fit. */
static uint64_t pipeline_chunk(const plan_params_t *params)
{
    const uint64_t unit = plan_unit(params->element);
    const uint64_t bytes = plan_vector_bytes(params);
    uint64_t chunk = plan_min(params->layout.nranks * pipeline_piece_bytes, pipeline_chunk_bytes);

    if (chunk < bytes / pipeline_rounds) {
        chunk = bytes / pipeline_rounds;
    }
    if (!plan_is_allreduce(params)) {
        chunk += params->layout.nranks * unit;
    }
    chunk = plan_min(chunk, params->window_bytes / WINDOW_SLOTS);
    return chunk / unit * unit;
}

bool plan_pipeline_serves(const plan_params_t *params)
{
    const uint64_t n = params->layout.nranks;

    return one_host(params) && n > 1 && !plan_is_rooted(params) &&
           pipeline_chunk(params) >= 2 * n * plan_unit(params->element);
}

mpinpu_status_t plan_pipeline_build(const plan_params_t *params, plan_t *plan)
{
    return chunks_build(params, plan, pipeline_chunk(params));
}

bool plan_flat_serves(const plan_params_t *params)
{
    return one_host(params) && !plan_is_rooted(params) && (fits_window(params) || params->layout.nranks == 1);
}

mpinpu_status_t plan_flat_build(const plan_params_t *params, plan_t *plan)
{
    const uint32_t n = params->layout.nranks;
    const uint64_t bytes = plan_vector_bytes(params);
    plan_builder_t builder = plan_builder(params, plan);

    if (n == 1) {
        plan_copy(&builder, plan_at(PLAN_RECV, 0), plan_at(PLAN_SEND, 0), bytes);
        return builder.status;
    }
    if (!plan_is_allreduce(params)) {
        return chunks_build(params, plan, bytes);
    }
    plan_copy(&builder, plan_window_at(params->me, 0), plan_at(PLAN_SEND, 0), bytes);
    plan_publish(&builder, 1);
    plan_await(&builder, PLAN_ALL_RANKS, 1);
    for (uint32_t rank = 0; rank < n; rank++) {
        plan_source(&builder, rank == params->me ? plan_at(PLAN_SEND, 0) : plan_window_at(rank, 0));
    }
    plan_fold(&builder, plan_at(PLAN_RECV, 0), bytes);
    plan->ticks = 1;
    plan->crosses_once = true;
    return builder.status;
}
