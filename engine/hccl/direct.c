/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on the program's own buffers on NPUs, without staging. Where a rank has its buffers is known to it alone,
   so the ranks ask each other before each such call: one word, by the host engine. */
#include "engine/hccl/hccl.h"

enum { WORD_ELSEWHERE = 1, WORD_PLACED = 2, WORD_NOT_TAKEN = 4 };

bool hccl_direct_serves(const engine_comm_t *comm, const collective_t *collective, const hccl_plan_t *plan)
{
    bool ordered = true;

    if (!comm->placed || comm->exchange.words == NULL || comm->nowners < comm->size ||
        !encoding_identity(plan->encoding) || plan->function != collective->kind ||
        collective->kind == COLLECTIVE_REDUCE_SCATTER) {
        return false;
    }
    for (uint32_t p = 0; p < comm->nowners; p++) {
        ordered = ordered && comm->owners.order[p] == p;
    }
    return ordered || collective->kind == COLLECTIVE_ALLREDUCE;
}

/* The bits that any rank brings. */
static mpinpu_status_t words_join(engine_comm_t *comm, uint32_t *word)
{
    const collective_t ask = {
        .kind = COLLECTIVE_ALLREDUCE, .dtype = DTYPE_U32, .op = OP_BOR, .send = word, .recv = word, .count = 1};

    return engine_host.run(comm->exchange.words, &ask);
}

/* Whether all ranks' buffers can be used as they are; with *direct false, whether any rank's are on a device at all. */
static mpinpu_status_t direct_agree(engine_comm_t *comm, const collective_t *collective, bool *direct, bool *placed)
{
    const collective_memory_t *memory = collective->memory;
    /* In place, HCCL wants the block where it belongs, MPI has it at the begin. */
    const bool in_place = collective->kind != COLLECTIVE_ALLREDUCE && collective->send == collective->recv;
    uint32_t word = (memory != NULL && memory->direct && !in_place ? 0U : (uint32_t)WORD_ELSEWHERE) |
                    (memory != NULL ? (uint32_t)WORD_PLACED : 0U);
    const mpinpu_status_t status = words_join(comm, &word);

    *direct = status == MPINPU_OK && (word & WORD_ELSEWHERE) == 0;
    *placed = (word & WORD_PLACED) != 0;
    return status;
}

/* Whether all ranks that had to have taken their buffers to the host. */
static mpinpu_status_t taken_agree(engine_comm_t *comm, bool taken)
{
    uint32_t word = taken ? 0U : (uint32_t)WORD_NOT_TAKEN;
    const mpinpu_status_t status = words_join(comm, &word);

    return status == MPINPU_OK && word != 0 ? MPINPU_ERR_DEVICE : status;
}

mpinpu_status_t hccl_direct_place(engine_comm_t *comm, collective_t *collective, bool *direct)
{
    mpinpu_status_t status = MPINPU_OK;
    bool placed = false;

    if (*direct) {
        status = direct_agree(comm, collective, direct, &placed);
        if (status != MPINPU_OK) {
            return MPINPU_ERR_TRANSPORT;
        }
        if (*direct) {
            return MPINPU_OK;
        }
        if (!hccl_pays(comm, collective, false)) {
            return MPINPU_ERR_UNSUPPORTED;
        }
    }
    const bool taken =
        collective->memory == NULL || collective->memory->to_host(collective->memory->context, collective);
    status = placed ? taken_agree(comm, taken) : taken ? MPINPU_OK : MPINPU_ERR_DEVICE;
    return status == MPINPU_OK || status == MPINPU_ERR_DEVICE ? status : MPINPU_ERR_TRANSPORT;
}

/* The bytes are those of the wire, whose type may be another: unsigned integers go as signed ones. */
static mpinpu_status_t collective_issue(engine_comm_t *comm, const collective_t *collective, const encoding_t *encoding)
{
    engine_t *engine = comm->engine;
    const cann_t *cann = &engine->cann;
    const HcclDataType type = hccl_wire_type(encoding->round[0].dtype);
    const HcclReduceOp op = hccl_wire_op(encoding->round[0].op);
    const size_t count = encoding_wire_count(encoding, 0, collective->count);
    void *send = (void *)(uintptr_t)collective->send;
    aclrtStream stream = engine->npu.streams[HCCL_STAGE_REDUCE];

    if (collective->kind == COLLECTIVE_ALLREDUCE) {
        return hccl_check(engine, "HcclAllReduce",
                          cann->HcclAllReduce(send, collective->recv, count, type, op, comm->group->comm, stream));
    }
    return hccl_check(engine, "HcclReduceScatter",
                      cann->HcclReduceScatter(send, collective->recv, count, type, op, comm->group->comm, stream));
}

mpinpu_status_t hccl_direct_run(engine_comm_t *comm, const collective_t *collective, const hccl_plan_t *plan,
                                mpinpu_status_t ready)
{
    engine_t *engine = comm->engine;
    const hccl_slot_t *slot = &engine->npu.slots[0];
    mpinpu_status_t status = ready;

    if (status == MPINPU_OK) {
        status = hccl_stage_begin(engine, slot, HCCL_STAGE_REDUCE);
    }
    if (status == MPINPU_OK) {
        status = collective_issue(comm, collective, plan->encoding);
    }
    if (status == MPINPU_OK) {
        status = hccl_acl_check(
            engine, "aclrtRecordEvent",
            engine->cann.aclrtRecordEvent(slot->done[HCCL_STAGE_REDUCE], engine->npu.streams[HCCL_STAGE_REDUCE]));
    }
    if (status == MPINPU_OK) {
        const uint64_t begin = hccl_time_begin(engine);
        status = hccl_device_wait(comm, comm->group->comm, slot, HCCL_STAGE_REDUCE);
        hccl_time_end(engine, HCCL_TIME_WAIT, begin);
    }
    return status == MPINPU_OK ? hccl_device_finish(engine) : hccl_device_cause(engine, status);
}
