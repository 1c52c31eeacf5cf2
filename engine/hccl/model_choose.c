/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from costs: the function of HCCL for a reduce_scatter, and whether NPUs pay. */
#include "engine/hccl/model_cost.h"

bool model_scatter_pick(const model_product_t *product, const model_places_t *places, const model_blocks_t *blocks,
                        const encoding_t *const encodings[COLLECTIVE_KIND_COUNT], model_call_t *call)
{
    /* In the order in which equals are preferred. */
    static const collective_kind_t functions[2][COLLECTIVE_KIND_COUNT] = {
        {COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_REDUCE_SCATTER_BLOCK, COLLECTIVE_ALLREDUCE},
        {COLLECTIVE_REDUCE_SCATTER_BLOCK, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALLREDUCE},
    };
    /* Of a rank that drives a device and those that it serves. */
    const uint64_t group = capped_times(blocks->longest, divided_up(places->ranks, places->owners));
    uint64_t least = UINT64_MAX;

    for (int f = 0; f < COLLECTIVE_KIND_COUNT; f++) {
        const collective_kind_t function = functions[blocks->equal][f];
        const bool padded = function == COLLECTIVE_REDUCE_SCATTER_BLOCK;
        const uint64_t count = padded ? capped_times(blocks->longest, places->ranks) : blocks->total;
        const model_call_t made = {.product = product,
                                   .places = *places,
                                   .encoding = encodings[function],
                                   .function = function,
                                   .total = blocks->total,
                                   .count = count,
                                   .result = group < count ? group : count,
                                   .longest = blocks->longest};
        model_pipeline_t pipeline;
        if (made.encoding == NULL) {
            continue;
        }
        model_pipeline(&made, made.count, &pipeline);
        if (pipeline.ns < least) {
            least = pipeline.ns;
            *call = made;
        }
    }
    return least != UINT64_MAX;
}

/* The time on the devices of a vector of `elements`. */
static uint64_t devices_ns(const model_product_t *product, const model_places_t *places, collective_kind_t kind,
                           const encoding_t *const encodings[COLLECTIVE_KIND_COUNT], uint64_t elements, bool on_device)
{
    model_pipeline_t pipeline;
    model_call_t call = {.product = product,
                         .places = *places,
                         .encoding = encodings[COLLECTIVE_ALLREDUCE],
                         .function = COLLECTIVE_ALLREDUCE,
                         .total = elements,
                         .count = elements,
                         .result = elements};

    if (kind != COLLECTIVE_ALLREDUCE) {
        const uint64_t each = divided_up(elements, places->ranks);
        const model_blocks_t blocks = {.total = capped_times(each, places->ranks), .longest = each, .equal = true};
        if (!model_scatter_pick(product, places, &blocks, encodings, &call)) {
            return UINT64_MAX;
        }
    } else if (call.encoding == NULL) {
        return UINT64_MAX;
    }
    call.on_device = on_device;
    model_pipeline(&call, call.count, &pipeline);
    return pipeline.ns;
}

uint64_t model_pays_from(const model_product_t *product, const model_places_t *places, collective_kind_t kind,
                         const encoding_t *const encodings[COLLECTIVE_KIND_COUNT], bool on_device)
{
    const encoding_t *any = NULL;

    for (int k = 0; k < COLLECTIVE_KIND_COUNT; k++) {
        any = encodings[k] != NULL ? encodings[k] : any;
    }
    for (uint64_t bytes = 16; any != NULL && bytes <= UINT64_C(1) << 36; bytes *= 2) {
        uint64_t host = model_host_ns(places, kind, bytes);
        if (on_device) {
            host = capped_plus(host, capped_plus(model_copy_ns(product, MODEL_TO_HOST, bytes),
                                                 model_copy_ns(product, MODEL_TO_DEVICE, bytes)));
        }
        if (devices_ns(product, places, kind, encodings, divided_up(bytes, dtype_size(any->dtype)), on_device) < host) {
            return bytes;
        }
    }
    return UINT64_MAX;
}
