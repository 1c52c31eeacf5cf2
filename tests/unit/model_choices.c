/* SPDX-License-Identifier: BSD-3-Clause */
/* What is chosen by the model: chunks, the function of a reduce_scatter, the engine. */
#include "tests/unit/model_samples.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* --- chunks --- */

/* What each stage takes for a chunk. */
static void stage_times(const model_call_t *call, uint64_t count, uint64_t result, uint64_t ns[MODEL_STAGE_COUNT])
{
    const size_t wire = encoding_wire_bytes(call->encoding, 0, 1);

    ns[MODEL_STAGE_CPU] = model_encode_ns(call->encoding, 0, count) + model_decode_ns(call->encoding, 0, result);
    ns[MODEL_STAGE_TO_DEVICE] = model_copy_ns(call->product, MODEL_TO_DEVICE, count * wire);
    ns[MODEL_STAGE_COLLECTIVE] = model_collective_ns(call->product, &call->places, call->function, count * wire);
    ns[MODEL_STAGE_TO_HOST] = model_copy_ns(call->product, MODEL_TO_HOST, result * wire);
}

/* The end of the last of equal chunks that pass the stages one behind the other, at most `depth` on their way. */
static uint64_t flow(const model_call_t *call, uint64_t chunks, uint64_t depth)
{
    uint64_t ns[MODEL_STAGE_COUNT];
    uint64_t free_at[MODEL_STAGE_COUNT] = {0};
    uint64_t *end = calloc(chunks, sizeof *end);
    uint64_t now = 0;

    cr_assert_not_null(end);
    stage_times(call, (call->count + chunks - 1) / chunks, (call->result + chunks - 1) / chunks, ns);
    for (uint64_t c = 0; c < chunks; c++) {
        now = c >= depth ? end[c - depth] : 0;
        for (int s = 0; s < MODEL_STAGE_COUNT; s++) {
            now = (now > free_at[s] ? now : free_at[s]) + ns[s];
            free_at[s] = now;
        }
        end[c] = now;
    }
    free(end);
    return now;
}

static void chunks_check(const model_call_t *call)
{
    for (uint64_t most = 1 << 16; most < UINT64_C(1) << 34; most *= 64) {
        model_pipeline_t pipeline;
        model_pipeline(call, most, &pipeline);
        cr_assert_leq(pipeline.chunk, most);
        cr_assert_geq(pipeline.chunk * pipeline.chunks, call->count);
        cr_assert_lt(pipeline.chunk * (pipeline.chunks - 1), call->count);
        for (int s = 0; s < MODEL_STAGE_COUNT; s++) {
            cr_assert_geq(pipeline.ns, pipeline.uncut[s], "no stage can be left out");
        }
        /* Its chunks take the time it says, with its depth, and no other number of chunks takes less. */
        const uint64_t own = flow(call, pipeline.chunks, UINT64_MAX);
        cr_assert(own <= pipeline.ns && own >= pipeline.ns - pipeline.ns / 50, "flow %zu, said %zu", (size_t)own,
                  (size_t)pipeline.ns);
        cr_assert_leq(flow(call, pipeline.chunks, pipeline.depth), own + own / 100);
        for (uint64_t chunks = 1; chunks <= 512; chunks *= 2) {
            if ((call->count + chunks - 1) / chunks <= most) {
                cr_assert_leq(pipeline.ns, flow(call, chunks, UINT64_MAX));
            }
        }
    }
}

Test(model_choices, chunks)
{
    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        for (uint64_t count = 1; count < UINT64_C(1) << 30; count = count * 9 + 1) {
            const model_places_t places = {4, 2, 4, 2}; /* no group's work, memory in plenty */
            const collective_kind_t functions[] = {COLLECTIVE_ALLREDUCE, COLLECTIVE_REDUCE_SCATTER_BLOCK};
            for (int f = 0; f < 2; f++) {
                model_call_t call = {.product = model_product(model_series[m]),
                                     .places = places,
                                     .encoding = model_encoding(model_series[m], functions[f], DTYPE_F32, OP_SUM),
                                     .function = functions[f],
                                     .total = count,
                                     .count = count,
                                     .result = functions[f] == COLLECTIVE_ALLREDUCE ? count : count / 4 + 1,
                                     .longest = count / 4 + 1};
                call.result = call.result < count ? call.result : count;
                if (call.encoding != NULL) {
                    chunks_check(&call);
                }
            }
        }
    }
}

/* The starts of the chunks, from the sizes as model.h states them. */
static void cut_check(const model_cut_t *cut, uint64_t count)
{
    double whole = 0;
    double before = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (uint64_t c = 0; c < cut->chunks; c++) {
            const uint64_t behind = cut->chunks - 1 - c;
            double size = 1;
            for (uint64_t i = c; i < cut->up; i++) {
                size /= 2;
            }
            for (uint64_t i = behind; i < cut->down; i++) {
                size /= 2;
            }
            if (pass == 0) {
                whole += size;
            } else {
                const uint64_t start = model_cut_start(cut, count, c);
                cr_assert(start <= before / whole * (double)count + 1 && start + 1 >= before / whole * (double)count);
                before += size;
            }
        }
    }
    cr_assert_eq(model_cut_start(cut, count, 0), 0);
    cr_assert_eq(model_cut_start(cut, count, cut->chunks), count);
}

Test(model_choices, cuts)
{
    for (uint32_t ramps = 0; ramps < 16; ramps++) {
        for (uint64_t middle = 1; middle < 40; middle = middle * 2 + 1) {
            const model_cut_t cut = {ramps / 4 + middle + ramps % 4, ramps / 4, ramps % 4};
            for (uint64_t count = 1; count < UINT64_C(1) << 40; count = count * 5 + 2) {
                cut_check(&cut, count);
            }
        }
    }
}

/* When the links have done their part of a call that is cut so. */
static uint64_t links_end(const model_call_t *call, const model_cut_t *cut)
{
    uint64_t ends[MODEL_STAGE_COUNT] = {0};

    for (uint64_t c = 0; c < cut->chunks; c++) {
        const uint64_t count = model_cut_start(cut, call->count, c + 1) - model_cut_start(cut, call->count, c);
        uint64_t ns[MODEL_STAGE_COUNT];
        stage_times(call, count, count, ns);
        for (int s = MODEL_STAGE_TO_DEVICE; s < MODEL_STAGE_COUNT; s++) {
            ends[s] = (ends[s] > ends[s - 1] ? ends[s] : ends[s - 1]) + ns[s];
        }
    }
    return ends[MODEL_STAGE_TO_HOST];
}

/* Hardly an equal cut takes less time, none by much; and on products whose collectives start fast it is not far from
   what the slowest link needs alone. */
static void cut_time_check(const model_call_t *call, uint64_t most, bool fast)
{
    model_pipeline_t pipeline;
    model_cut_t cut;
    uint64_t bound = 0;

    model_pipeline(call, call->count, &pipeline);
    model_cut(call, most, &cut);
    for (uint64_t c = 0; c < cut.chunks; c++) {
        cr_assert_leq(model_cut_start(&cut, call->count, c + 1) - model_cut_start(&cut, call->count, c), most);
    }
    for (int s = MODEL_STAGE_TO_DEVICE; s < MODEL_STAGE_COUNT; s++) {
        bound = pipeline.uncut[s] > bound ? pipeline.uncut[s] : bound;
    }
    const uint64_t end = links_end(call, &cut);
    for (uint64_t chunks = (call->count + most - 1) / most; chunks < 200; chunks++) {
        const model_cut_t equal = {.chunks = chunks};
        cr_assert_leq(end, links_end(call, &equal) * 108 / 100);
    }
    if (fast) {
        cr_assert_leq(end, bound * 115 / 100, "%s: %zu of %zu", atlas_product(call->product->series)->name, (size_t)end,
                      (size_t)bound);
    }
}

Test(model_choices, cut_takes_little_time)
{
    static const model_places_t layouts[] = {{2, 1, 2, 1}, {8, 1, 8, 1}, {16, 2, 16, 2}};

    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        for (int l = 0; l < 3; l++) {
            for (uint64_t count = 4 << 20; count <= 64 << 20; count *= 4) {
                const model_call_t call = {.product = model_product(model_series[m]),
                                           .places = layouts[l],
                                           .encoding =
                                               model_encoding(model_series[m], COLLECTIVE_ALLREDUCE, DTYPE_F32, OP_SUM),
                                           .function = COLLECTIVE_ALLREDUCE,
                                           .total = count,
                                           .count = count,
                                           .result = count};
                const bool fast = model_series[m] == ATLAS_A3 || model_series[m] == ATLAS_950;
                cut_time_check(&call, 2 << 20, fast && count >= 16 << 20);
            }
        }
    }
}

Test(model_choices, memory)
{
    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        size_t bytes = 0;
        uint32_t depth = 0;
        model_memory(model_product(model_series[m]), &bytes, &depth);
        cr_assert(bytes >= 1 << 20 && bytes <= 16 << 20);
        cr_assert(depth >= 4 && depth <= 16);
        /* Cutting a large vector in so large pieces costs little beside the best cut. */
        model_call_t call = {.product = model_product(model_series[m]),
                             .places = {8, 1, 8, 1},
                             .encoding = model_encoding(model_series[m], COLLECTIVE_ALLREDUCE, DTYPE_F32, OP_SUM),
                             .function = COLLECTIVE_ALLREDUCE,
                             .total = 256 << 20,
                             .count = 256 << 20,
                             .result = 256 << 20};
        model_pipeline_t best;
        model_pipeline_t bounded;
        model_pipeline(&call, call.count, &best);
        model_pipeline(&call, bytes / 4, &bounded);
        cr_assert_leq(bounded.ns, best.ns + best.ns / 20);
        cr_assert_leq(bounded.depth, depth);
    }
}

Test(model_choices, device_buffers_go_in_one_piece)
{
    const model_call_t call = {.product = model_product(ATLAS_A2),
                               .places = {16, 2, 16, 2},
                               .encoding = model_encoding(ATLAS_A2, COLLECTIVE_ALLREDUCE, DTYPE_F32, OP_SUM),
                               .function = COLLECTIVE_ALLREDUCE,
                               .total = 64 << 20,
                               .count = 64 << 20,
                               .result = 64 << 20,
                               .on_device = true};
    model_pipeline_t pipeline;

    model_pipeline(&call, 1 << 20, &pipeline);
    cr_assert_eq(pipeline.chunks, 1);
    cr_assert_eq(pipeline.ns, model_collective_ns(call.product, &call.places, COLLECTIVE_ALLREDUCE, 256 << 20));
}

/* --- reduce_scatter --- */

static bool scatter_pick(atlas_series_t series, const model_places_t *places, model_blocks_t blocks, bool vector,
                         model_call_t *call)
{
    const encoding_t *encodings[COLLECTIVE_KIND_COUNT];

    for (int k = 0; k < COLLECTIVE_KIND_COUNT; k++) {
        encodings[k] = model_encoding(series, (collective_kind_t)k, DTYPE_F32, OP_SUM);
    }
    if (!vector) {
        encodings[COLLECTIVE_REDUCE_SCATTER] = NULL;
    }
    return model_scatter_pick(model_product(series), places, &blocks, encodings, call);
}

Test(model_choices, unequal_blocks)
{
    const model_places_t places = {8, 1, 8, 1};
    model_call_t call;

    /* The function made for it moves no more than padded blocks. */
    cr_assert(scatter_pick(ATLAS_A2, &places, (model_blocks_t){8000000, 1200000, false}, true, &call));
    cr_assert_eq(call.function, COLLECTIVE_REDUCE_SCATTER);
    cr_assert_eq(call.count, 8000000);
    /* Where it is missing, nearly equal blocks are padded, */
    cr_assert(scatter_pick(ATLAS_910, &places, (model_blocks_t){8000000, 1010000, false}, true, &call));
    cr_assert_eq(call.function, COLLECTIVE_REDUCE_SCATTER_BLOCK);
    cr_assert_eq(call.count, (size_t)8 * 1010000);
    cr_assert(scatter_pick(ATLAS_A2, &places, (model_blocks_t){8000000, 1010000, false}, false, &call));
    cr_assert_eq(call.function, COLLECTIVE_REDUCE_SCATTER_BLOCK);
    /* and a vector that is nearly one rank's alone is reduced as a whole. */
    cr_assert(scatter_pick(ATLAS_910, &places, (model_blocks_t){8000000, 7900000, false}, true, &call));
    cr_assert_eq(call.function, COLLECTIVE_ALLREDUCE);
    cr_assert_eq(call.count, 8000000);
    cr_assert(scatter_pick(ATLAS_A2, &places, (model_blocks_t){8000000, 7900000, false}, false, &call));
    cr_assert_eq(call.function, COLLECTIVE_ALLREDUCE);
}

Test(model_choices, equal_blocks)
{
    const model_places_t places = {8, 1, 8, 1};
    model_call_t call;

    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        if (model_encoding(model_series[m], COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_F32, OP_SUM) != NULL) {
            cr_assert(scatter_pick(model_series[m], &places, (model_blocks_t){8000000, 1000000, true}, true, &call));
            cr_assert_eq(call.function, COLLECTIVE_REDUCE_SCATTER_BLOCK);
            cr_assert_eq(call.result, 1000000);
        }
    }
    const encoding_t *const none[COLLECTIVE_KIND_COUNT] = {NULL};
    const model_blocks_t blocks = {8, 1, true};
    cr_assert_not(model_scatter_pick(model_product(ATLAS_A2), &places, &blocks, none, &call));
}

/* What is picked is no slower than the others. */
Test(model_choices, pick_is_the_fastest)
{
    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        for (int l = 0; l < MODEL_LAYOUT_COUNT; l++) {
            const model_places_t *places = &model_layouts[l];
            for (uint64_t longest = 1000; longest <= 100000000; longest *= 10) {
                const uint64_t total = longest + longest / 3 * (places->ranks - 1);
                model_call_t picked;
                model_pipeline_t best;
                if (!scatter_pick(model_series[m], places, (model_blocks_t){total, longest, false}, true, &picked)) {
                    continue;
                }
                model_pipeline(&picked, picked.count, &best);
                for (int k = 0; k < COLLECTIVE_KIND_COUNT; k++) {
                    model_call_t other = picked;
                    model_pipeline_t pipeline;
                    other.function = (collective_kind_t)k;
                    other.encoding = model_encoding(model_series[m], other.function, DTYPE_F32, OP_SUM);
                    other.count = k == COLLECTIVE_REDUCE_SCATTER_BLOCK ? longest * places->ranks : total;
                    if (other.encoding != NULL) {
                        model_pipeline(&other, other.count, &pipeline);
                        cr_assert_leq(best.ns, pipeline.ns);
                    }
                }
            }
        }
    }
}

/* --- which engine --- */

static uint64_t pays_from(atlas_series_t series, const model_places_t *places, collective_kind_t kind, dtype_t dtype,
                          bool on_device)
{
    const encoding_t *encodings[COLLECTIVE_KIND_COUNT];

    for (int k = 0; k < COLLECTIVE_KIND_COUNT; k++) {
        encodings[k] = model_encoding(series, (collective_kind_t)k, dtype, OP_SUM);
    }
    return model_pays_from(model_product(series), places, kind, encodings, on_device);
}

Test(model_choices, host_buffers_on_one_server_stay_on_the_cpus)
{
    /* Staging alone takes as long as the reduction: section "staging arithmetic" of the published figures. */
    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        const model_places_t server = {8, 1, 8, 1};
        cr_assert_eq(pays_from(model_series[m], &server, COLLECTIVE_ALLREDUCE, DTYPE_F32, false), UINT64_MAX);
        cr_assert_eq(pays_from(model_series[m], &server, COLLECTIVE_ALLREDUCE, DTYPE_F64, false), UINT64_MAX);
    }
}

Test(model_choices, host_buffers_between_servers)
{
    const atlas_series_t series[] = {ATLAS_910, ATLAS_A2, ATLAS_A3, ATLAS_950};

    for (int m = 0; m < 4; m++) {
        const model_places_t servers = {32, 4, 32, 4};
        const uint64_t from = pays_from(series[m], &servers, COLLECTIVE_ALLREDUCE, DTYPE_F32, false);
        cr_assert(from >= 64 << 10 && from <= 16 << 20, "%s: from %zu", atlas_product(series[m])->name, (size_t)from);
        /* float64 in integers costs more, so it pays later; the 950 has float64. */
        const uint64_t wide = pays_from(series[m], &servers, COLLECTIVE_ALLREDUCE, DTYPE_F64, false);
        cr_assert(series[m] == ATLAS_950 ? wide <= from : wide > from);
    }
}

Test(model_choices, device_buffers)
{
    for (int m = 0; m < MODEL_SERIES_COUNT; m++) {
        for (int l = 0; l < 3; l++) {
            const uint64_t there = pays_from(model_series[m], &model_layouts[l], COLLECTIVE_ALLREDUCE, DTYPE_F32, true);
            const uint64_t here = pays_from(model_series[m], &model_layouts[l], COLLECTIVE_ALLREDUCE, DTYPE_F32, false);
            cr_assert(there <= 4 << 20, "%s: from %zu", atlas_product(model_series[m])->name, (size_t)there);
            cr_assert_leq(there, here);
        }
    }
}

Test(model_choices, what_nothing_encodes_never_pays)
{
    const encoding_t *const none[COLLECTIVE_KIND_COUNT] = {NULL};

    cr_assert_eq(model_pays_from(model_product(ATLAS_A2), &model_layouts[5], COLLECTIVE_ALLREDUCE, none, false),
                 UINT64_MAX);
    cr_assert_eq(model_pays_from(model_product(ATLAS_A2), &model_layouts[5], COLLECTIVE_REDUCE_SCATTER, none, true),
                 UINT64_MAX);
}
