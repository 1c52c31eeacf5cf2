/* SPDX-License-Identifier: BSD-3-Clause */
/* What links, collectives, encodings and the host CPUs cost. */
#include "engine/hccl/model.h"

#include "engine/hccl/model_cost.h"

enum {
#define MODEL_HOST(name, value) HOST_##name = (value),
#include "engine/hccl/model.def"
#undef MODEL_HOST
};

static const model_product_t products[ATLAS_SERIES_COUNT] = {
#define MODEL_PRODUCT(ID, ...) [ATLAS_##ID] = {.series = ATLAS_##ID, __VA_ARGS__},
#include "engine/hccl/model.def"
#undef MODEL_PRODUCT
};

/* MB/s of the user's bytes, by the class of the codec. */
typedef struct codec_speed {
    uint32_t encode;
    uint32_t decode;
} codec_speed_t;

typedef enum codec_class {
#define MODEL_CODEC(NAME, encode, decode) CODEC_CLASS_##NAME,
#include "engine/hccl/model.def"
#undef MODEL_CODEC
    CODEC_CLASS_COUNT
} codec_class_t;

static const codec_speed_t codec_speeds[CODEC_CLASS_COUNT] = {
#define MODEL_CODEC(NAME, encode, decode) [CODEC_CLASS_##NAME] = {encode, decode},
#include "engine/hccl/model.def"
#undef MODEL_CODEC
};

const model_product_t *model_product(atlas_series_t series)
{
    return &products[series];
}

/* `bytes` at MB/s. */
static uint64_t transfer_ns(uint64_t bytes, uint32_t speed)
{
    return capped_times(bytes, 1000) / speed;
}

static unsigned steps_doubling(uint64_t places)
{
    unsigned steps = 0;

    while (UINT64_C(1) << steps < places) {
        steps++;
    }
    return steps;
}

/* --- links and collectives --- */

uint64_t model_copy_ns(const model_product_t *product, model_link_t link, uint64_t bytes)
{
    const uint32_t speeds[MODEL_LINK_COUNT] = {
        [MODEL_TO_DEVICE] = product->to_device,
        [MODEL_TO_HOST] = product->to_host,
        [MODEL_ON_DEVICE] = product->on_device,
    };

    return capped_plus(product->copy_launch, transfer_ns(bytes, speeds[link]));
}

/* A reduce-scatter, or the allgather that undoes it, of `bytes` over the p devices of a server. */
static uint64_t half_inside_ns(const model_product_t *product, uint64_t p, uint64_t bytes)
{
    const uint32_t group = atlas_product(product->series)->group;
    const uint32_t speed = group > 0 && p > group ? product->across : product->inside;
    const uint64_t share = divided_up(bytes, p);

    if (p < 2) {
        return 0;
    }
    if (product->mesh) {
        return capped_plus(product->inside_step, transfer_ns(share, speed));
    }
    return capped_plus((p - 1) * product->inside_step, transfer_ns(capped_times(share, p - 1), speed));
}

/* The same over s servers, by NHR. */
static uint64_t half_between_ns(const model_product_t *product, uint64_t s, uint64_t bytes)
{
    if (s < 2) {
        return 0;
    }
    return capped_plus((uint64_t)steps_doubling(s) * product->between_step,
                       transfer_ns(capped_times(divided_up(bytes, s), s - 1), product->between));
}

uint64_t model_collective_ns(const model_product_t *product, const model_places_t *places, collective_kind_t function,
                             uint64_t bytes)
{
    const uint64_t servers = places->servers;
    const uint64_t inside = divided_up(places->owners, servers);

    if (function == COLLECTIVE_ALLREDUCE) {
        const uint64_t half = capped_plus(half_inside_ns(product, inside, bytes),
                                          half_between_ns(product, servers, divided_up(bytes, inside)));
        return capped_plus(product->launch, capped_times(half, 2));
    }
    return capped_plus(product->launch, capped_plus(half_between_ns(product, servers, bytes),
                                                    half_inside_ns(product, inside, divided_up(bytes, servers))));
}

/* --- the host CPUs --- */

static codec_class_t codec_class(encode_codec_t codec)
{
    static const encode_codec_t last[CODEC_CLASS_COUNT] = {
        [CODEC_CLASS_COPY] = ENCODE_CODEC_COPY_64,         [CODEC_CLASS_FLIP] = ENCODE_CODEC_FLIP_64,
        [CODEC_CLASS_WIDEN] = ENCODE_CODEC_WIDEN_BF16_F32, [CODEC_CLASS_TRUTH] = ENCODE_CODEC_TRUTH_64_I32,
        [CODEC_CLASS_ORDER] = ENCODE_CODEC_ORDER_F64_MAX,  [CODEC_CLASS_LEVEL] = ENCODE_CODEC_LEVEL_I32,
        [CODEC_CLASS_FIXED_1] = ENCODE_CODEC_FIXED_1,      [CODEC_CLASS_FIXED_2] = ENCODE_CODEC_FIXED_2,
    };
    int class = 0;

    while (class + 1 < CODEC_CLASS_COUNT && codec > last[class]) {
        class ++;
    }
    return (codec_class_t) class;
}

uint64_t model_encode_ns(const encoding_t *encoding, unsigned round, uint64_t count)
{
    return transfer_ns(capped_times(count, dtype_size(encoding->dtype)),
                       codec_speeds[codec_class(encoding->round[round].codec)].encode);
}

uint64_t model_decode_ns(const encoding_t *encoding, unsigned round, uint64_t count)
{
    return transfer_ns(capped_times(count, dtype_size(encoding->dtype)),
                       codec_speeds[codec_class(encoding->round[round].codec)].decode);
}

/* Ranks of the fullest host. */
static uint64_t ranks_a_host(const model_places_t *places)
{
    return divided_up(places->ranks, places->hosts);
}

/* What all ranks of a host take for `passes` over `bytes` each, however many CPUs. */
static uint64_t memory_ns(const model_places_t *places, uint64_t bytes, uint64_t passes)
{
    return transfer_ns(capped_times(capped_times(bytes, passes), ranks_a_host(places)), HOST_memory);
}

uint64_t model_host_ns(const model_places_t *places, collective_kind_t kind, uint64_t bytes)
{
    const uint64_t hosts = places->hosts;
    const uint64_t halves = kind == COLLECTIVE_ALLREDUCE ? 2 : 1;
    const uint64_t steps = steps_doubling(ranks_a_host(places)) * (uint64_t)HOST_inside_step;
    /* Half of an allreduce's work is the reduce-scatter. */
    uint64_t inside = greater(transfer_ns(bytes, HOST_rank), memory_ns(places, bytes, HOST_collective_passes));

    inside = ranks_a_host(places) > 1 ? capped_plus(steps, inside / 2) : 0;
    const uint64_t between =
        hosts > 1 ? capped_plus((uint64_t)steps_doubling(hosts) * HOST_between_step,
                                transfer_ns(capped_times(divided_up(bytes, hosts), hosts - 1), HOST_network))
                  : 0;
    return capped_times(capped_plus(inside, between), halves);
}

/* --- the way over the devices --- */

static uint64_t wire_bytes(const encoding_t *encoding, unsigned round, uint64_t count)
{
    return capped_times(count, encoding_wire_bytes(encoding, round, 1));
}

/* A round that is not the last is an allreduce, and all of it comes back. */
static bool round_last(const encoding_t *encoding, unsigned round)
{
    return round + 1 == encoding->rounds;
}

/* Combining the wires of the ranks that share an owner: each rank does its part of it. */
static uint64_t group_ns(const model_places_t *places, uint64_t bytes)
{
    const uint64_t members = divided_up(places->ranks, places->owners);

    return members < 2 ? 0 : transfer_ns(capped_times(divided_up(bytes, members), members - 1), HOST_fold);
}

static uint64_t round_collective_ns(const model_call_t *call, unsigned round, uint64_t count)
{
    const bool whole = !round_last(call->encoding, round) || call->function == COLLECTIVE_ALLREDUCE;

    if (!whole && call->function == COLLECTIVE_REDUCE_SCATTER) {
        /* A chunk has its part of each block. */
        const uint64_t blocks = capped_times(call->longest, call->places.ranks);
        count = call->count < blocks && call->count > 0 ? divided_up(capped_times(count, blocks), call->count) : count;
    }
    return model_collective_ns(call->product, &call->places, whole ? COLLECTIVE_ALLREDUCE : call->function,
                               wire_bytes(call->encoding, round, count));
}

void model_stages_cost(const model_call_t *call, uint64_t part, uint64_t whole, uint64_t ns[MODEL_STAGE_COUNT])
{
    const encoding_t *encoding = call->encoding;
    const uint64_t total = portion(call->total, part, whole);
    const uint64_t count = portion(call->count, part, whole);
    const uint64_t result = portion(call->result, part, whole);
    uint64_t cpu = 0;
    uint64_t in = 0;
    uint64_t reduced = 0;
    uint64_t out = 0;

    for (unsigned r = 0; r < encoding->rounds; r++) {
        const uint64_t back = round_last(encoding, r) ? result : count;
        const uint64_t bytes = wire_bytes(encoding, r, count);
        cpu = capped_plus(cpu, capped_plus(model_encode_ns(encoding, r, total), group_ns(&call->places, bytes)));
        cpu = capped_plus(cpu, model_decode_ns(encoding, r, round_last(encoding, r) ? result : total));
        in = capped_plus(in, model_copy_ns(call->product, MODEL_TO_DEVICE, bytes));
        reduced = capped_plus(reduced, round_collective_ns(call, r, count));
        out = capped_plus(out, model_copy_ns(call->product, MODEL_TO_HOST, wire_bytes(encoding, r, back)));
    }
    ns[MODEL_STAGE_CPU] =
        greater(cpu, memory_ns(&call->places, capped_times(capped_plus(total, result), dtype_size(encoding->dtype)),
                               HOST_staging_passes));
    ns[MODEL_STAGE_TO_DEVICE] = in;
    ns[MODEL_STAGE_COLLECTIVE] = reduced;
    ns[MODEL_STAGE_TO_HOST] = out;
}

/* Equal chunks one behind the other: the first passes all stages, the others come as fast as the slowest
   stage lets them. */
static uint64_t chunks_cost(const model_call_t *call, uint64_t chunks, uint32_t *depth)
{
    uint64_t ns[MODEL_STAGE_COUNT];
    uint64_t sum = 0;
    uint64_t slowest = 1;

    model_stages_cost(call, 1, chunks, ns);
    for (int s = 0; s < MODEL_STAGE_COUNT; s++) {
        sum = capped_plus(sum, ns[s]);
        slowest = greater(slowest, ns[s]);
    }
    *depth = (uint32_t)divided_up(sum, slowest) + 1;
    return capped_plus(sum, capped_times(slowest, chunks - 1));
}

void model_pipeline(const model_call_t *call, uint64_t most, model_pipeline_t *pipeline)
{
    const uint64_t least = divided_up(call->count, most);
    model_pipeline_t best = {.ns = UINT64_MAX};

    model_stages_cost(call, 1, 1, best.uncut);
    if (call->on_device) {
        best.chunks = 1;
        best.chunk = call->count;
        best.depth = 1;
        best.ns = best.uncut[MODEL_STAGE_COLLECTIVE];
        *pipeline = best;
        return;
    }
    /* Eight candidates for each power of two. They do not depend on the call, so that a larger one has no choice that a
       smaller has not. */
    for (uint64_t step = 1, chunks = 1; chunks <= greater(8 * least, 1024); chunks += step) {
        step = chunks >= 16 * step ? 2 * step : step;
        uint32_t depth;
        const uint64_t ns = chunks < least ? UINT64_MAX : chunks_cost(call, chunks, &depth);
        if (ns < best.ns) {
            best.ns = ns;
            best.chunks = chunks;
            best.depth = depth;
        }
    }
    best.chunk = divided_up(call->count, best.chunks);
    best.chunks = divided_up(call->count, best.chunk);
    *pipeline = best;
}
