/* SPDX-License-Identifier: BSD-3-Clause */
/* Host buffers: chunk by chunk encoded into pinned memory, to the device, reduced, back, and decoded. Each stage has a
   stream, and events lead a chunk from one to the next, so that the stages of neighbouring chunks overlap. The order in
   which the collectives are issued follows from the plan alone, so it is the same on all ranks. */
#include "engine/hccl/hccl.h"

#include <stdio.h>
#include <string.h>

/* --- the pieces of a chunk --- */

/* Elements one behind the other. */
typedef struct run {
    size_t at;
    size_t count;
} run_t;

/* A run of elements of the vector. */
typedef struct piece {
    size_t at;
    size_t count;
    size_t room; /* elements on the wire */
} piece_t;

typedef struct staging {
    engine_comm_t *comm;
    engine_t *engine;
    const collective_t *collective;
    const hccl_plan_t *plan;
    encode_ranks_t ranks;
    size_t element;
    run_t mine;   /* this rank's result, of the vector */
    char *result; /* where its first element goes */
} staging_t;

/* The pieces of a chunk: one, or one of each block, in the order of the HCCL ranks. */
static uint32_t piece_count(const staging_t *staging)
{
    return staging->plan->function == COLLECTIVE_ALLREDUCE ? 1 : staging->comm->size;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static piece_t piece_get(const staging_t *staging, size_t chunk, uint32_t number)
{
    const hccl_plan_t *plan = staging->plan;
    const bool whole = plan->function == COLLECTIVE_ALLREDUCE;
    const uint32_t rank = staging->comm->order[number];
    const size_t count = whole ? plan->count : collective_block(staging->collective, rank);
    const size_t run = plan->function == COLLECTIVE_REDUCE_SCATTER ? count : plan->count;
    const size_t from = model_cut_start(&plan->cut, run, chunk);
    const size_t to = model_cut_start(&plan->cut, run, chunk + 1);

    return (piece_t){.at = (whole ? 0 : collective_block_start(staging->collective, rank)) + least(from, count),
                     .count = least(to, count) - least(from, count),
                     .room = to - from};
}

/* Elements on the wire. */
static size_t chunk_count(const staging_t *staging, size_t chunk)
{
    size_t count = 0;

    for (uint32_t p = 0; p < piece_count(staging); p++) {
        count += piece_get(staging, chunk, p).room;
    }
    return count;
}

/* --- the rounds of a chunk --- */

/* Whether the round moves the collective itself, and is no allreduce before it. */
static bool round_last(const staging_t *staging, unsigned round)
{
    return round + 1 == staging->plan->encoding->rounds;
}

static void chunk_encode(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    const encoding_t *encoding = staging->plan->encoding;
    char *wire = slot->host_in;
    char *state = slot->state;

    for (uint32_t p = 0; p < piece_count(staging); p++) {
        const piece_t piece = piece_get(staging, chunk, p);
        encoding_encode(encoding, round, &staging->ranks,
                        (const char *)staging->collective->send + piece.at * staging->element, state, wire,
                        piece.count);
        const size_t filled = encoding_wire_bytes(encoding, round, piece.count);
        const size_t room = encoding_wire_bytes(encoding, round, piece.room);
        memset(wire + filled, 0, room - filled);
        wire += room;
        state += encoding_state_bytes(encoding, piece.room);
    }
}

/* The collective of a chunk, on the device. */
static mpinpu_status_t chunk_reduce(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    engine_t *engine = staging->engine;
    const cann_t *cann = &engine->cann;
    const encoding_t *encoding = staging->plan->encoding;
    const HcclDataType type = hccl_wire_type(encoding->round[round].dtype);
    const HcclReduceOp op = hccl_wire_op(encoding->round[round].op);
    const HcclComm comm = staging->comm->group->comm;
    const aclrtStream stream = engine->npu.streams[HCCL_STAGE_REDUCE];
    const uint32_t place = staging->comm->place;

    if (!round_last(staging, round) || staging->plan->function == COLLECTIVE_ALLREDUCE) {
        const size_t count = encoding_wire_count(encoding, round, chunk_count(staging, chunk));
        return hccl_check(engine, "HcclAllReduce",
                          cann->HcclAllReduce(slot->device_in, slot->device_out, count, type, op, comm, stream));
    }
    if (staging->plan->function == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        const size_t count = encoding_wire_count(encoding, round, piece_get(staging, chunk, place).room);
        return hccl_check(engine, "HcclReduceScatter",
                          cann->HcclReduceScatter(slot->device_in, slot->device_out, count, type, op, comm, stream));
    }
    uint64_t *counts = staging->comm->blocks + (size_t)(slot - engine->npu.slots) * 2 * staging->comm->size;
    uint64_t *places = counts + staging->comm->size;
    uint64_t at = 0;
    for (uint32_t p = 0; p < staging->comm->size; p++) {
        counts[p] = encoding_wire_count(encoding, round, piece_get(staging, chunk, p).room);
        places[p] = at;
        at += counts[p];
    }
    return hccl_check(engine, "HcclReduceScatterV",
                      cann->HcclReduceScatterV(slot->device_in, counts, places, slot->device_out, counts[place], type,
                                               op, comm, stream));
}

/* What comes back of a chunk: the first element behind the collective, and how many. */
static run_t chunk_back(const staging_t *staging, size_t chunk, unsigned round)
{
    if (!round_last(staging, round)) {
        return (run_t){.at = 0, .count = chunk_count(staging, chunk)};
    }
    if (staging->plan->function != COLLECTIVE_ALLREDUCE) {
        return (run_t){.at = 0, .count = piece_get(staging, chunk, staging->comm->place).count};
    }
    /* What of it is this rank's. */
    const piece_t piece = piece_get(staging, chunk, 0);
    const size_t from = piece.at > staging->mine.at ? piece.at : staging->mine.at;
    const size_t to = least(piece.at + piece.count, staging->mine.at + staging->mine.count);
    return from < to ? (run_t){.at = from - piece.at, .count = to - from} : (run_t){.at = 0, .count = 0};
}

static mpinpu_status_t stage_end(engine_t *engine, const hccl_slot_t *slot, hccl_stage_t stage)
{
    const cann_t *cann = &engine->cann;
    mpinpu_status_t status = hccl_acl_check(engine, "aclrtRecordEvent",
                                            cann->aclrtRecordEvent(slot->done[stage], engine->npu.streams[stage]));

    if (status == MPINPU_OK && stage + 1 < HCCL_STAGE_COUNT) {
        status = hccl_acl_check(engine, "aclrtStreamWaitEvent",
                                cann->aclrtStreamWaitEvent(engine->npu.streams[stage + 1], slot->done[stage]));
        if (status == MPINPU_OK) {
            status = hccl_stage_begin(engine, slot, (hccl_stage_t)(stage + 1));
        }
    }
    return status;
}

/* Starts the way back of what comes back, if that is anything; older CANN wants its addresses aligned. */
static mpinpu_status_t chunk_fetch(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    engine_t *engine = staging->engine;
    const encoding_t *encoding = staging->plan->encoding;
    const run_t back = chunk_back(staging, chunk, round);
    const size_t from = encoding_wire_bytes(encoding, round, back.at) / ATLAS_COPY_ALIGNMENT * ATLAS_COPY_ALIGNMENT;
    const size_t bytes = encoding_wire_bytes(encoding, round, back.at + back.count) - from;

    if (back.count == 0) {
        return MPINPU_OK;
    }
    return hccl_acl_check(engine, "aclrtMemcpyAsync to the host",
                          engine->cann.aclrtMemcpyAsync((char *)slot->host_out + from, engine->slot_bytes - from,
                                                        (const char *)slot->device_out + from, bytes,
                                                        ACL_MEMCPY_DEVICE_TO_HOST,
                                                        engine->npu.streams[HCCL_STAGE_OUT]));
}

/* Starts a round of a chunk: in, reduced, back. */
static mpinpu_status_t chunk_issue(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    engine_t *engine = staging->engine;
    const cann_t *cann = &engine->cann;
    const encoding_t *encoding = staging->plan->encoding;
    const size_t room = engine->slot_bytes;
    const size_t in = encoding_wire_bytes(encoding, round, chunk_count(staging, chunk));

    const uint64_t begin = hccl_time_begin(engine);
    chunk_encode(staging, slot, chunk, round);
    hccl_time_end(engine, HCCL_TIME_ENCODE, begin);
    mpinpu_status_t status = hccl_stage_begin(engine, slot, HCCL_STAGE_IN);
    if (status == MPINPU_OK) {
        status = hccl_acl_check(engine, "aclrtMemcpyAsync to the device",
                                cann->aclrtMemcpyAsync(slot->device_in, room, slot->host_in, in,
                                                       ACL_MEMCPY_HOST_TO_DEVICE, engine->npu.streams[HCCL_STAGE_IN]));
    }
    if (status == MPINPU_OK) {
        status = stage_end(engine, slot, HCCL_STAGE_IN);
    }
    if (status == MPINPU_OK) {
        status = chunk_reduce(staging, slot, chunk, round);
    }
    if (status == MPINPU_OK) {
        status = stage_end(engine, slot, HCCL_STAGE_REDUCE);
    }
    if (status == MPINPU_OK) {
        status = chunk_fetch(staging, slot, chunk, round);
    }
    return status == MPINPU_OK ? stage_end(engine, slot, HCCL_STAGE_OUT) : status;
}

static void state_decode(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    encoding_decode(staging->plan->encoding, round, &staging->ranks, slot->host_out, slot->state, NULL,
                    chunk_count(staging, chunk));
}

/* What of the chunk is this rank's goes to the user. */
static void result_decode(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    const encoding_t *encoding = staging->plan->encoding;
    const bool whole = staging->plan->function == COLLECTIVE_ALLREDUCE;
    const uint32_t number = whole ? 0 : staging->comm->place;
    const run_t back = chunk_back(staging, chunk, round);
    size_t state = back.at; /* elements before it in the chunk */

    for (uint32_t p = 0; p < number; p++) {
        state += piece_get(staging, chunk, p).room;
    }
    if (back.count > 0) {
        const size_t at = piece_get(staging, chunk, number).at + back.at - staging->mine.at;
        encoding_decode(encoding, round, &staging->ranks,
                        (const char *)slot->host_out + encoding_wire_bytes(encoding, round, back.at),
                        (char *)slot->state + encoding_state_bytes(encoding, state),
                        staging->result + at * staging->element, back.count);
    }
}

static mpinpu_status_t chunk_finish(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    engine_t *engine = staging->engine;
    uint64_t begin = hccl_time_begin(engine);
    mpinpu_status_t status = hccl_device_wait(staging->comm, staging->comm->group->comm, slot, HCCL_STAGE_OUT);

    hccl_time_end(engine, HCCL_TIME_WAIT, begin);
    if (status == MPINPU_OK) {
        hccl_stages_add(engine, slot);
        begin = hccl_time_begin(engine);
        (round_last(staging, round) ? result_decode : state_decode)(staging, slot, chunk, round);
        hccl_time_end(engine, HCCL_TIME_DECODE, begin);
    }
    return status;
}

/* At each tick a chunk enters, and the chunks before it go on: from round to round, and out, each `lag` ticks behind.
 */
static mpinpu_status_t staging_pipeline(const staging_t *staging)
{
    const hccl_plan_t *plan = staging->plan;
    hccl_slot_t *slots = staging->engine->npu.slots;
    const uint32_t nslots = staging->engine->slots;
    const unsigned rounds = plan->encoding->rounds;
    const size_t lag = nslots / rounds;
    mpinpu_status_t status = MPINPU_OK;

    for (size_t tick = 0; tick < plan->cut.chunks + lag * rounds && status == MPINPU_OK; tick++) {
        for (unsigned round = rounds + 1; round-- > 0 && status == MPINPU_OK;) {
            const size_t chunk = tick - lag * round; /* to begin this round, or at the end of the last */
            if (tick < lag * round || chunk >= plan->cut.chunks) {
                continue;
            }
            const hccl_slot_t *slot = &slots[chunk % nslots];
            if (round > 0) {
                status = chunk_finish(staging, slot, chunk, round - 1);
            }
            if (status == MPINPU_OK && round < rounds) {
                status = chunk_issue(staging, slot, chunk, round);
            }
        }
    }
    return status == MPINPU_OK ? hccl_device_finish(staging->engine) : status;
}

/* In place, a result that is written at the front would meet input that is still to be read: where blocks differ in
   length it is put over this rank's own block first, whose input is read by then. */
mpinpu_status_t hccl_staging_run(engine_comm_t *comm, const collective_t *collective, const hccl_plan_t *plan)
{
    staging_t staging = {
        .comm = comm,
        .engine = comm->engine,
        .collective = collective,
        .plan = plan,
        .ranks = {.count = comm->size, .place = comm->rank},
        .element = dtype_size(collective->dtype),
        .mine = {.at = collective_block_start(collective, comm->rank),
                 .count = collective_block(collective, comm->rank)},
        .result = collective->recv,
    };
    const bool aside = plan->function == COLLECTIVE_REDUCE_SCATTER && collective->send == collective->recv;

    if (aside) {
        staging.result += staging.mine.at * staging.element;
    }
    mpinpu_status_t status = staging_pipeline(&staging);
    if (status == MPINPU_OK && aside) {
        memmove(collective->recv, staging.result, staging.mine.count * staging.element);
    }
    return status;
}
