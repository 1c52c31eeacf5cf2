/* SPDX-License-Identifier: BSD-3-Clause */
/* How vectors are divided: slices, blocks. */
#include "engine/host/plan_build.h"

#include <stdlib.h>

uint64_t plan_vector_bytes(const plan_params_t *params)
{
    uint64_t elements = params->count;

    if (params->kind == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        elements = (uint64_t)params->count * params->layout.nranks;
    } else if (params->kind == COLLECTIVE_REDUCE_SCATTER) {
        elements = 0;
        for (uint32_t rank = 0; rank < params->layout.nranks; rank++) {
            elements += (uint64_t)params->counts[rank];
        }
    }
    return elements * params->element;
}

uint64_t plan_unit(size_t element)
{
    uint64_t a = PLAN_LINE;
    uint64_t b = element;

    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return PLAN_LINE / a * element;
}

plan_range_t plan_slice(uint64_t total, uint64_t unit, uint64_t parts, uint64_t index)
{
    const uint64_t units = (total + unit - 1) / unit;
    const uint64_t each = units / parts;
    const uint64_t rest = units % parts;
    const uint64_t start = plan_min(total, unit * (index * each + plan_min(index, rest)));
    const uint64_t end = plan_min(total, unit * ((index + 1) * each + plan_min(index + 1, rest)));

    return (plan_range_t){.start = start, .length = end - start};
}

mpinpu_status_t plan_blocks_open(const plan_params_t *params, plan_blocks_t *blocks)
{
    const uint32_t n = params->layout.nranks;
    plan_blocks_t made = {.total = plan_vector_bytes(params),
                          .unit = plan_unit(params->element),
                          .nblocks = n,
                          .block = params->count * params->element,
                          .kind = params->kind};

    if (params->kind == COLLECTIVE_REDUCE_SCATTER) {
        made.starts = malloc(((size_t)n + 1) * sizeof(*made.starts));
        if (made.starts == NULL) {
            return MPINPU_ERR_NO_MEMORY;
        }
        made.starts[0] = 0;
        for (uint32_t rank = 0; rank < n; rank++) {
            made.starts[rank + 1] = made.starts[rank] + (uint64_t)params->counts[rank] * params->element;
        }
    }
    *blocks = made;
    return MPINPU_OK;
}

void plan_blocks_close(plan_blocks_t *blocks)
{
    free(blocks->starts);
    blocks->starts = NULL;
}

plan_range_t plan_block(const plan_blocks_t *blocks, uint32_t rank)
{
    switch (blocks->kind) {
    case COLLECTIVE_REDUCE_SCATTER:
        return (plan_range_t){.start = blocks->starts[rank], .length = blocks->starts[rank + 1] - blocks->starts[rank]};
    case COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return (plan_range_t){.start = rank * blocks->block, .length = blocks->block};
    default:
        return plan_slice(blocks->total, blocks->unit, blocks->nblocks, rank);
    }
}

uint64_t plan_result_offset(const plan_params_t *params, plan_range_t range)
{
    return plan_is_allreduce(params) ? range.start : 0;
}
