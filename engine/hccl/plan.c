/* SPDX-License-Identifier: BSD-3-Clause */
/* How a collective is done on the devices: by which function of HCCL, in which encoding, cut into which chunks. Pure,
   and the same on all ranks. */
#include "engine/hccl/hccl.h"

#include "transport/log.h"

#include <inttypes.h>

/* What the plan of a call follows from, besides the communicator. */
static hccl_call_t call_measure(const engine_comm_t *comm, const collective_t *collective)
{
    hccl_call_t call = {.kind = collective->kind,
                        .dtype = collective->dtype,
                        .op = collective->op,
                        .prepared = comm->prepared,
                        .total = collective_total(collective, comm->size),
                        .longest = collective->count,
                        .shortest = collective->count};

    if (collective->kind == COLLECTIVE_REDUCE_SCATTER) {
        call.longest = 0;
        call.shortest = SIZE_MAX;
        for (uint32_t r = 0; r < comm->size; r++) {
            const size_t count = (size_t)collective->counts[r];
            call.longest = count > call.longest ? count : call.longest;
            call.shortest = count < call.shortest ? count : call.shortest;
        }
    }
    return call;
}

/* The elements that a chunk may have in all. */
static size_t chunk_most(const engine_comm_t *comm, const encoding_t *encoding)
{
    const size_t state = encoding_state_bytes(encoding, 1);
    size_t wire = 1;

    for (unsigned r = 0; r < encoding->rounds; r++) {
        const size_t bytes = encoding_wire_bytes(encoding, r, 1);
        wire = bytes > wire ? bytes : wire;
    }
    size_t most = comm->slot_bytes / wire;
    if (state > 0 && comm->slot_bytes / HCCL_STATE_PART / state < most) {
        most = comm->slot_bytes / HCCL_STATE_PART / state;
    }
    return most;
}

/* Whether each chunk has something of a block. */
static bool cut_leaves_none_out(const model_cut_t *cut, size_t block)
{
    for (uint64_t c = 0; c < cut->chunks; c++) {
        if (model_cut_start(cut, block, c) == model_cut_start(cut, block, c + 1)) {
            return false;
        }
    }
    return true;
}

/* The plan by this function of HCCL; false where that cannot be. */
static bool plan_cut(const engine_comm_t *comm, const hccl_call_t *call, const model_call_t *model, hccl_plan_t *plan)
{
    /* Where blocks are cut, each may have an element more in a chunk than its share. */
    const size_t spare = model->function == COLLECTIVE_ALLREDUCE ? 1 : comm->size;
    const size_t most = chunk_most(comm, model->encoding);

    if (most <= spare) {
        return false;
    }
    plan->function = model->function;
    plan->encoding = model->encoding;
    plan->count = model->function == COLLECTIVE_ALLREDUCE ? call->total : call->longest;
    model_cut(model, most - spare, &plan->cut);
    if (!cut_leaves_none_out(&plan->cut, plan->count)) {
        plan->cut = (model_cut_t){.chunks = plan->cut.chunks < plan->count ? plan->cut.chunks : plan->count};
    }
    /* A rank whose count is 0 would leave HCCL at once, and the others waiting. */
    return model->function != COLLECTIVE_REDUCE_SCATTER || cut_leaves_none_out(&plan->cut, call->shortest);
}

static bool plan_make(const engine_comm_t *comm, const hccl_call_t *call, hccl_plan_t *plan)
{
    const encoding_t *encodings[COLLECTIVE_KIND_COUNT];
    const model_product_t *product = model_product(comm->owners.devices.product->series);
    const model_places_t places = hccl_places(comm);
    const model_blocks_t blocks = {
        .total = call->total, .longest = call->longest, .equal = call->longest == call->shortest};
    model_call_t model = {.product = product,
                          .places = places,
                          .function = COLLECTIVE_ALLREDUCE,
                          .total = call->total,
                          .count = call->total,
                          .result = call->total};

    hccl_encodings(comm, call->dtype, call->op, encodings);
    if (call->kind == COLLECTIVE_ALLREDUCE) {
        model.encoding = encodings[COLLECTIVE_ALLREDUCE];
        return model.encoding != NULL && plan_cut(comm, call, &model, plan);
    }
    while (model_scatter_pick(product, &places, &blocks, encodings, &model)) {
        if (plan_cut(comm, call, &model, plan)) {
            return true;
        }
        encodings[model.function] = NULL;
    }
    return false;
}

static void plan_say(const hccl_call_t *call, const hccl_plan_t *plan)
{
    static const char *const functions[COLLECTIVE_KIND_COUNT] = {
        [COLLECTIVE_ALLREDUCE] = "HcclAllReduce",
        [COLLECTIVE_REDUCE_SCATTER] = "HcclReduceScatterV",
        [COLLECTIVE_REDUCE_SCATTER_BLOCK] = "HcclReduceScatter",
    };
    const encode_round_t *last = &plan->encoding->round[plan->encoding->rounds - 1];

    log_debug("%s of %zu %s by %s: %s of %s in %u round%s, %" PRIu64 " chunks, %u rising and %u falling",
              collective_kind_name(call->kind), call->total, dtype_name(call->dtype), op_name(call->op),
              functions[plan->function], dtype_name(last->dtype), plan->encoding->rounds,
              plan->encoding->rounds == 1 ? "" : "s", plan->cut.chunks, plan->cut.up, plan->cut.down);
}

static bool call_equal(const hccl_call_t *a, const hccl_call_t *b)
{
    return a->kind == b->kind && a->dtype == b->dtype && a->op == b->op && a->prepared == b->prepared &&
           a->total == b->total && a->longest == b->longest && a->shortest == b->shortest;
}

bool hccl_plan_make(engine_comm_t *comm, const collective_t *collective, hccl_plan_t *plan)
{
    const hccl_call_t call = call_measure(comm, collective);

    if (!call_equal(&call, &comm->recent)) {
        comm->recent_served = plan_make(comm, &call, &comm->recent_plan);
        comm->recent = call;
        if (comm->recent_served && comm->rank == 0) {
            plan_say(&call, &comm->recent_plan);
        }
    }
    *plan = comm->recent_plan;
    return comm->recent_served;
}
