/* SPDX-License-Identifier: BSD-3-Clause */
/* The trial of a new HCCL communicator. Its first collective of each kind builds links and may fail where all ranks can
   still turn to the host engine, so these are small ones whose results are known; and they show whether integers wrap,
   on which encodings rest. */
#include "engine/hccl/hccl.h"

#include <stdio.h>
#include <string.h>

enum { TRIAL_ELEMENTS = 32, TRIAL_BYTES = TRIAL_ELEMENTS * 8, TRIALS_MAX = 12 };

typedef struct trial {
    collective_kind_t kind;
    dtype_t dtype;
    op_t op;
    bool overflows; /* a result that does not wrap is no failure then */
} trial_t;

/* The first shows that reductions are right at all; then each kind; then what overflows. */
static const trial_t trials[] = {
    {COLLECTIVE_ALLREDUCE, DTYPE_I32, OP_SUM, false},      {COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_I32, OP_SUM, false},
    {COLLECTIVE_REDUCE_SCATTER, DTYPE_I32, OP_SUM, false}, {COLLECTIVE_ALLREDUCE, DTYPE_I8, OP_SUM, true},
    {COLLECTIVE_ALLREDUCE, DTYPE_I16, OP_SUM, true},       {COLLECTIVE_ALLREDUCE, DTYPE_I32, OP_SUM, true},
    {COLLECTIVE_ALLREDUCE, DTYPE_I64, OP_SUM, true},       {COLLECTIVE_ALLREDUCE, DTYPE_I8, OP_PROD, true},
    {COLLECTIVE_ALLREDUCE, DTYPE_I16, OP_PROD, true},      {COLLECTIVE_ALLREDUCE, DTYPE_I32, OP_PROD, true},
    {COLLECTIVE_ALLREDUCE, DTYPE_I64, OP_PROD, true},
};
enum { TRIALS = sizeof trials / sizeof trials[0] };
_Static_assert((int)TRIALS <= (int)TRIALS_MAX, "a slot has room for all trials");

static bool trial_served(const engine_comm_t *comm, const trial_t *trial)
{
    return atlas_devices_serve(&comm->owners.devices, comm->version, trial->kind, trial->dtype, trial->op) &&
           (trial->kind != COLLECTIVE_REDUCE_SCATTER || comm->vector);
}

/* What the rank at `place` puts in element i, as the low bits of a number. */
static uint64_t trial_value(const trial_t *trial, uint32_t place, uint32_t i)
{
    const unsigned bits = 8 * (unsigned)dtype_size(trial->dtype);

    if (!trial->overflows) {
        return (uint64_t)place + UINT64_C(3) * i + 1;
    }
    if (trial->op == OP_SUM) {
        /* Near the largest, so that two overflow; every other element near the least. */
        const uint64_t most = UINT64_MAX >> (64 - bits + 1);
        return (i & 1) == 0 ? most - i - place : (UINT64_C(1) << (bits - 1)) + i + place;
    }
    return (UINT64_C(5) << (bits - 4)) + 3 + 2 * (uint64_t)i + 4 * (uint64_t)place;
}

/* The result of element i over all ranks, wrapped. */
static uint64_t trial_result(const engine_comm_t *comm, const trial_t *trial, uint32_t i)
{
    uint64_t result = trial->op == OP_SUM ? 0 : 1;

    for (uint32_t p = 0; p < comm->nowners; p++) {
        const uint64_t value = trial_value(trial, p, i);
        result = trial->op == OP_SUM ? result + value : result * value;
    }
    return result;
}

/* Elements a rank sends: all of them, or one for each rank. */
static uint32_t trial_sent(const engine_comm_t *comm, const trial_t *trial)
{
    return trial->kind == COLLECTIVE_ALLREDUCE ? TRIAL_ELEMENTS : comm->nowners;
}

/* Room for the input of a trial: the slot's, in equal parts at offsets that copies like. */
static size_t trial_offset(const engine_t *engine, int number)
{
    return engine->slot_bytes / TRIALS_MAX / 64 * 64 * (size_t)number;
}

static void element_put(dtype_t dtype, char *at, uint64_t value)
{
    for (size_t b = 0; b < dtype_size(dtype); b++) {
        const uint8_t byte = (uint8_t)(value >> 8 * b);
        memcpy(at + b, &byte, 1); /* Ascend's hosts, and all that UCX runs on, are little-endian */
    }
}

static bool element_is(dtype_t dtype, const char *at, uint64_t value)
{
    char expected[8];

    element_put(dtype, expected, value);
    return memcmp(at, expected, dtype_size(dtype)) == 0;
}

static mpinpu_status_t trial_collective(engine_comm_t *comm, const hccl_group_t *group, const trial_t *trial,
                                        size_t offset)
{
    engine_t *engine = comm->engine;
    const cann_t *cann = &engine->cann;
    const hccl_slot_t *slot = &engine->npu.slots[0];
    const aclrtStream stream = engine->npu.streams[HCCL_STAGE_REDUCE];
    const HcclDataType type = hccl_wire_type(trial->dtype);
    const HcclReduceOp op = hccl_wire_op(trial->op);
    void *in = (char *)slot->device_in + offset;
    void *out = (char *)slot->device_out + offset;

    if (trial->kind == COLLECTIVE_ALLREDUCE) {
        return hccl_check(engine, "HcclAllReduce",
                          cann->HcclAllReduce(in, out, TRIAL_ELEMENTS, type, op, group->comm, stream));
    }
    if (trial->kind == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        return hccl_check(engine, "HcclReduceScatter",
                          cann->HcclReduceScatter(in, out, 1, type, op, group->comm, stream));
    }
    for (uint32_t p = 0; p < comm->nowners; p++) {
        comm->blocks[p] = 1;
        comm->blocks[comm->nowners + p] = p;
    }
    return hccl_check(engine, "HcclReduceScatterV",
                      cann->HcclReduceScatterV(in, comm->blocks, comm->blocks + comm->nowners, out, 1, type, op,
                                               group->comm, stream));
}

static mpinpu_status_t trial_event(engine_t *engine, hccl_stage_t stage)
{
    return hccl_acl_check(engine, "aclrtRecordEvent",
                          engine->cann.aclrtRecordEvent(engine->npu.slots[0].done[stage], engine->npu.streams[stage]));
}

mpinpu_status_t hccl_trial_issue(engine_comm_t *comm, hccl_group_t *group)
{
    engine_t *engine = comm->engine;
    const cann_t *cann = &engine->cann;
    const hccl_slot_t *slot = &engine->npu.slots[0];
    const aclrtStream stream = engine->npu.streams[HCCL_STAGE_REDUCE];
    const size_t bytes = engine->slot_bytes;
    mpinpu_status_t status = MPINPU_OK;

    memset(slot->host_in, 0, bytes);
    for (int t = 0; t < TRIALS; t++) {
        char *at = (char *)slot->host_in + trial_offset(engine, t);
        for (uint32_t i = 0; i < trial_sent(comm, &trials[t]); i++) {
            element_put(trials[t].dtype, at + i * dtype_size(trials[t].dtype), trial_value(&trials[t], comm->place, i));
        }
    }
    /* All on one stream, so in order. */
    status = hccl_acl_check(
        engine, "aclrtMemcpyAsync to the device",
        cann->aclrtMemcpyAsync(slot->device_in, bytes, slot->host_in, bytes, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    for (int t = 0; t < TRIALS && status == MPINPU_OK; t++) {
        if (trial_served(comm, &trials[t])) {
            status = trial_collective(comm, group, &trials[t], trial_offset(engine, t));
        }
    }
    for (int t = 0; t < TRIALS && status == MPINPU_OK; t++) {
        const size_t offset = trial_offset(engine, t);
        if (trial_served(comm, &trials[t])) {
            status = hccl_acl_check(engine, "aclrtMemcpyAsync to the host",
                                    cann->aclrtMemcpyAsync((char *)slot->host_out + offset, bytes - offset,
                                                           (char *)slot->device_out + offset, TRIAL_BYTES,
                                                           ACL_MEMCPY_DEVICE_TO_HOST, stream));
        }
    }
    return status == MPINPU_OK ? trial_event(engine, HCCL_STAGE_REDUCE) : status;
}

static bool trial_right(const engine_comm_t *comm, const trial_t *trial, const char *result)
{
    const bool allreduce = trial->kind == COLLECTIVE_ALLREDUCE;
    const uint32_t count = allreduce ? TRIAL_ELEMENTS : 1;

    for (uint32_t i = 0; i < count; i++) {
        if (!element_is(trial->dtype, result + i * dtype_size(trial->dtype),
                        trial_result(comm, trial, allreduce ? i : comm->place))) {
            return false;
        }
    }
    return true;
}

mpinpu_status_t hccl_trial_judge(engine_comm_t *comm, hccl_group_t *group)
{
    engine_t *engine = comm->engine;
    const hccl_slot_t *slot = &engine->npu.slots[0];
    mpinpu_status_t status = hccl_device_wait(comm, group->comm, slot, HCCL_STAGE_REDUCE);

    if (status == MPINPU_OK) {
        status = hccl_device_finish(engine);
    }
    for (int t = 0; t < TRIALS && status == MPINPU_OK; t++) {
        const trial_t *trial = &trials[t];
        if (!trial_served(comm, trial)) {
            continue;
        }
        const bool right = trial_right(comm, trial, (const char *)slot->host_out + trial_offset(engine, t));
        if (right && trial->overflows) {
            group->wraps[trial->dtype] = (uint16_t)(group->wraps[trial->dtype] | 1U << trial->op);
        } else if (!right && !trial->overflows) {
            (void)snprintf(engine->said, sizeof engine->said, "a trial %s of %s by %s on the NPUs came out wrong",
                           collective_kind_name(trial->kind), dtype_name(trial->dtype), op_name(trial->op));
            status = MPINPU_ERR_DEVICE;
        }
    }
    return status;
}
