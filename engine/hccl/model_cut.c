/* SPDX-License-Identifier: BSD-3-Clause */
/* How a vector is cut into chunks, and the memory for them. */
#include "engine/hccl/model_cost.h"

enum { RAMP_MAX = 3 };

/* The size of a chunk, in parts of which the middle ones have 2^RAMP_MAX; as the power of two. */
static unsigned cut_power(const model_cut_t *cut, uint64_t chunk)
{
    const uint64_t behind = cut->chunks - 1 - chunk;

    if (chunk < cut->up) {
        return RAMP_MAX - cut->up + (unsigned)chunk;
    }
    return behind < cut->down ? RAMP_MAX - cut->down + (unsigned)behind : RAMP_MAX;
}

/* The parts of the first n chunks of a ramp of so many. */
static uint64_t ramp_parts(uint32_t length, uint64_t n)
{
    return ((UINT64_C(1) << n) - 1) << (RAMP_MAX - length);
}

/* The parts before the chunk. */
static uint64_t cut_parts(const model_cut_t *cut, uint64_t chunk)
{
    const uint64_t middle = cut->chunks - cut->up - cut->down;

    if (chunk <= cut->up) {
        return ramp_parts(cut->up, chunk);
    }
    if (chunk <= cut->up + middle) {
        return ramp_parts(cut->up, cut->up) + ((chunk - cut->up) << RAMP_MAX);
    }
    return ramp_parts(cut->up, cut->up) + (middle << RAMP_MAX) + ramp_parts(cut->down, cut->down) -
           ramp_parts(cut->down, cut->chunks - chunk);
}

uint64_t model_cut_start(const model_cut_t *cut, uint64_t count, uint64_t chunk)
{
    const uint64_t whole = cut_parts(cut, cut->chunks);
    const uint64_t part = cut_parts(cut, chunk);

    return count / whole * part + count % whole * part / whole;
}

/* When the last chunk has passed all stages: twice, without the CPU's and with it, added. */
static uint64_t cut_cost(const model_call_t *call, const model_cut_t *cut)
{
    const uint64_t whole = cut_parts(cut, cut->chunks);
    uint64_t ns[RAMP_MAX + 1][MODEL_STAGE_COUNT];
    uint64_t with[MODEL_STAGE_COUNT] = {0}; /* when the stage is free again */
    uint64_t without[MODEL_STAGE_COUNT] = {0};

    for (unsigned power = 0; power <= RAMP_MAX; power++) {
        model_stages_cost(call, UINT64_C(1) << power, whole, ns[power]);
    }
    for (uint64_t c = 0; c < cut->chunks; c++) {
        const uint64_t *chunk = ns[cut_power(cut, c)];
        with[0] += chunk[0];
        for (int s = 1; s < MODEL_STAGE_COUNT; s++) {
            with[s] = greater(with[s], with[s - 1]) + chunk[s];
            without[s] = greater(without[s], without[s - 1]) + chunk[s];
        }
    }
    return capped_plus(with[MODEL_STAGE_COUNT - 1], without[MODEL_STAGE_COUNT - 1]);
}

void model_cut(const model_call_t *call, uint64_t most, model_cut_t *cut)
{
    uint64_t least = UINT64_MAX;

    *cut = (model_cut_t){.chunks = 1};
    for (uint32_t ramps = 0; ramps < (RAMP_MAX + 1) * (RAMP_MAX + 1) && !call->on_device; ramps++) {
        model_cut_t made = {.up = ramps / (RAMP_MAX + 1), .down = ramps % (RAMP_MAX + 1)};
        uint64_t before = UINT64_MAX;
        for (uint64_t middle = 1, step = 1;; middle += step) {
            step = middle >= 8 * step ? 2 * step : step;
            made.chunks = made.up + middle + made.down;
            if (portion(call->count, 1 << RAMP_MAX, cut_parts(&made, made.chunks)) > most) {
                continue;
            }
            const uint64_t ns = cut_cost(call, &made);
            if (ns < least) {
                least = ns;
                *cut = made;
            }
            if (ns >= before) {
                break; /* more of them only add their fixed costs */
            }
            before = ns;
        }
    }
}

/* The chunk for which the fixed cost of an allreduce over a full server is a quarter of the copy's back: with much
   smaller ones the collective would be the slowest stage, and that by its fixed cost. */
void model_memory(const model_product_t *product, size_t *chunk_bytes, uint32_t *depth)
{
    const model_places_t server = {.ranks = 8, .hosts = 1, .owners = 8, .servers = 1};
    const uint64_t fixed = model_collective_ns(product, &server, COLLECTIVE_ALLREDUCE, 0);
    const size_t wanted = (size_t)(4 * fixed * product->to_host / 1000);
    size_t bytes = (size_t)1 << 20;

    while (bytes < wanted && bytes < (size_t)16 << 20) {
        bytes *= 2;
    }
    *chunk_bytes = bytes;
    *depth = MODEL_STAGE_COUNT + 2; /* one in each stage; one to be decoded while another is encoded; one in wait */
}
