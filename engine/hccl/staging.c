/* SPDX-License-Identifier: BSD-3-Clause */
/* Host buffers: chunk by chunk encoded into pinned memory, to the device, reduced, back, and decoded. Each stage has a
   stream, and events lead a chunk from one to the next, so that the stages of neighbouring chunks overlap. The order in
   which the collectives are issued follows from the plan alone, so it is the same on all ranks. */
#include "engine/hccl/pieces.h"

#include <string.h>

static void chunk_encode(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    const encoding_t *encoding = staging->plan->encoding;
    char *wire = slot->host_in;
    char *state = slot->state;

    for (uint32_t p = 0; p < pieces_number(staging); p++) {
        const piece_t piece = pieces_get(staging, chunk, p);
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

    if (!pieces_round_last(staging, round) || staging->plan->function == COLLECTIVE_ALLREDUCE) {
        const size_t count = encoding_wire_count(encoding, round, pieces_chunk(staging, chunk));
        return hccl_check(engine, "HcclAllReduce",
                          cann->HcclAllReduce(slot->device_in, slot->device_out, count, type, op, comm, stream));
    }
    if (staging->plan->function == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        const size_t count = encoding_wire_count(encoding, round, pieces_group(staging, chunk, place));
        return hccl_check(engine, "HcclReduceScatter",
                          cann->HcclReduceScatter(slot->device_in, slot->device_out, count, type, op, comm, stream));
    }
    const uint32_t nowners = staging->comm->nowners;
    uint64_t *counts = staging->comm->blocks + (size_t)(slot - staging->slots) * 2 * nowners;
    uint64_t *places = counts + nowners;
    uint64_t at = 0;
    for (uint32_t p = 0; p < nowners; p++) {
        counts[p] = encoding_wire_count(encoding, round, pieces_group(staging, chunk, p));
        places[p] = at;
        at += counts[p];
    }
    return hccl_check(engine, "HcclReduceScatterV",
                      cann->HcclReduceScatterV(slot->device_in, counts, places, slot->device_out, counts[place], type,
                                               op, comm, stream));
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

/* Starts the way back of what comes back, if that is anything. */
static mpinpu_status_t chunk_fetch(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    engine_t *engine = staging->engine;
    size_t from = 0;
    size_t to = 0;

    pieces_bytes_back(staging, chunk, round, &from, &to);
    if (from == to) {
        return MPINPU_OK;
    }
    return hccl_acl_check(engine, "aclrtMemcpyAsync to the host",
                          engine->cann.aclrtMemcpyAsync((char *)slot->host_out + from, engine->slot_bytes - from,
                                                        (const char *)slot->device_out + from, to - from,
                                                        ACL_MEMCPY_DEVICE_TO_HOST,
                                                        engine->npu.streams[HCCL_STAGE_OUT]));
}

/* Starts a round of a chunk on the device: in, reduced, back. */
static mpinpu_status_t device_issue(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    engine_t *engine = staging->engine;
    const cann_t *cann = &engine->cann;
    const size_t in = encoding_wire_bytes(staging->plan->encoding, round, pieces_chunk(staging, chunk));
    mpinpu_status_t status = hccl_stage_begin(engine, slot, HCCL_STAGE_IN);

    if (status == MPINPU_OK) {
        status = hccl_acl_check(engine, "aclrtMemcpyAsync to the device",
                                cann->aclrtMemcpyAsync(slot->device_in, engine->slot_bytes, slot->host_in, in,
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

/* This owner's device failed: all other ranks are to know, and what failed first. */
static mpinpu_status_t device_fail(engine_comm_t *comm, mpinpu_status_t status)
{
    if (comm->cause.status == MPINPU_OK) {
        status = hccl_device_cause(comm->engine, status);
        hccl_alarm_raise(comm, comm->rank, status, comm->engine->said);
    }
    return status;
}

/* Starts a round of a chunk. *device is how it stands with this owner's device: where it failed, the group goes on with
   its part until the owner can say so (chunk_finish). */
static mpinpu_status_t chunk_issue(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round,
                                   mpinpu_status_t *device)
{
    engine_t *engine = staging->engine;
    const encode_round_t *wire = &staging->plan->encoding->round[round];

    if (*device == MPINPU_OK) {
        const uint64_t begin = hccl_time_begin(engine);
        chunk_encode(staging, slot, chunk, round);
        hccl_time_end(engine, HCCL_TIME_ENCODE, begin);
    }
    const mpinpu_status_t status =
        hccl_share_reduce(staging->comm, slot, wire->dtype, wire->op,
                          encoding_wire_count(staging->plan->encoding, round, pieces_chunk(staging, chunk)));
    if (status == MPINPU_OK && *device == MPINPU_OK && staging->comm->owner) {
        *device = device_issue(staging, slot, chunk, round);
        *device = *device == MPINPU_OK ? MPINPU_OK : device_fail(staging->comm, *device);
    }
    return status;
}

static void state_decode(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    encoding_decode(staging->plan->encoding, round, &staging->ranks, slot->host_out, slot->state, NULL,
                    pieces_chunk(staging, chunk));
}

/* What of the chunk is this rank's goes to the user. */
static void result_decode(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round)
{
    const encoding_t *encoding = staging->plan->encoding;
    const bool whole = staging->plan->function == COLLECTIVE_ALLREDUCE;
    const uint32_t number = whole ? 0 : pieces_mine(staging);
    const uint32_t first = whole ? 0 : staging->comm->owners.first[staging->comm->place];
    const piece_t piece = pieces_get(staging, chunk, number);
    const run_t run = pieces_within(staging->mine, piece);
    /* Elements before it, in what came back and in the chunk. */
    const size_t back = pieces_elements(staging, chunk, first, number) + run.at;
    const size_t state = pieces_elements(staging, chunk, 0, number) + run.at;

    if (run.count > 0) {
        encoding_decode(encoding, round, &staging->ranks,
                        (const char *)slot->host_out + encoding_wire_bytes(encoding, round, back),
                        (char *)slot->state + encoding_state_bytes(encoding, state),
                        staging->result + (piece.at + run.at - staging->mine.at) * staging->element, run.count);
    }
}

/* Waits for the device, and at the end makes sure that none of its work failed. */
static mpinpu_status_t device_finish(const staging_t *staging, const hccl_slot_t *slot, bool last)
{
    engine_t *engine = staging->engine;
    const uint64_t begin = hccl_time_begin(engine);
    mpinpu_status_t status = hccl_device_wait(staging->comm, staging->comm->group->comm, slot, HCCL_STAGE_OUT);

    hccl_time_end(engine, HCCL_TIME_WAIT, begin);
    if (status == MPINPU_OK) {
        hccl_stages_add(engine, slot);
    }
    return status == MPINPU_OK && last ? hccl_device_finish(engine) : status;
}

/* Ends a round of a chunk: the result comes to the group, or the owner's failure. */
static mpinpu_status_t chunk_finish(const staging_t *staging, const hccl_slot_t *slot, size_t chunk, unsigned round,
                                    mpinpu_status_t *device)
{
    engine_t *engine = staging->engine;
    engine_comm_t *comm = staging->comm;
    const bool last = chunk + 1 == staging->plan->cut.chunks && pieces_round_last(staging, round);
    size_t from = 0;
    size_t to = 0;

    if (*device == MPINPU_OK && comm->owner) {
        *device = device_finish(staging, slot, last);
        *device = *device == MPINPU_OK ? MPINPU_OK : device_fail(comm, *device);
    }
    pieces_bytes_back(staging, chunk, round, &from, &to);
    const mpinpu_status_t status = hccl_share_broadcast(comm, slot, from, to, *device);
    if (status == MPINPU_OK) {
        const uint64_t begin = hccl_time_begin(engine);
        (pieces_round_last(staging, round) ? result_decode : state_decode)(staging, slot, chunk, round);
        hccl_time_end(engine, HCCL_TIME_DECODE, begin);
    }
    return status;
}

/* At each tick a chunk enters, and the chunks before it go on: from round to round, and out, each `lag` ticks behind.
   All ranks of a group do so in the same order. */
static mpinpu_status_t staging_pipeline(const staging_t *staging, mpinpu_status_t device)
{
    const hccl_plan_t *plan = staging->plan;
    const uint32_t nslots = staging->comm->slots;
    const unsigned rounds = plan->encoding->rounds;
    const size_t lag = nslots / rounds;

    device = device == MPINPU_OK ? MPINPU_OK : device_fail(staging->comm, device);
    mpinpu_status_t status = staging->comm->share == NULL ? device : MPINPU_OK;

    for (size_t tick = 0; tick < plan->cut.chunks + lag * rounds && status == MPINPU_OK; tick++) {
        for (unsigned round = rounds + 1; round-- > 0 && status == MPINPU_OK;) {
            const size_t chunk = tick - lag * round; /* to begin this round, or at the end of the last */
            if (tick < lag * round || chunk >= plan->cut.chunks) {
                continue;
            }
            const hccl_slot_t *slot = &staging->slots[chunk % nslots];
            if (round > 0) {
                status = chunk_finish(staging, slot, chunk, round - 1, &device);
            }
            if (status == MPINPU_OK && round < rounds) {
                status = chunk_issue(staging, slot, chunk, round, &device);
            }
            if (status == MPINPU_OK && staging->comm->share == NULL) {
                status = device; /* nobody waits for this rank to say so */
            }
        }
    }
    return status;
}

/* In place, a result that is written at the front would meet input that is still to be read: where blocks differ in
   length it is put over this rank's own block first, whose input is read by then. */
mpinpu_status_t hccl_staging_run(engine_comm_t *comm, const collective_t *collective, const hccl_plan_t *plan,
                                 mpinpu_status_t ready)
{
    staging_t staging = {
        .comm = comm,
        .engine = comm->engine,
        .slots = comm->owner ? comm->engine->npu.slots : comm->engine->shares,
        .collective = collective,
        .plan = plan,
        .ranks = {.count = comm->size, .place = comm->rank},
        .element = dtype_size(collective->dtype),
        .mine = {.at = collective_block_start(collective, comm->rank),
                 .count = collective_block(collective, comm->rank)},
        .group = pieces_group_run(comm, collective),
        .result = collective->recv,
    };
    const bool aside = plan->function == COLLECTIVE_REDUCE_SCATTER && collective->send == collective->recv;

    if (aside) {
        staging.result += staging.mine.at * staging.element;
    }
    mpinpu_status_t status = staging_pipeline(&staging, ready);
    if (status == MPINPU_OK && aside) {
        memmove(collective->recv, staging.result, staging.mine.count * staging.element);
    }
    return status;
}
