/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/collective.h"

static const struct dtype_row {
    const char *name;
    size_t bytes;
    bool padded;
} dtype_rows[DTYPE_COUNT] = {
#define DTYPE_ROW(NAME, text, bytes, padded) [DTYPE_##NAME] = {text, bytes, padded},
    DTYPE_TABLE(DTYPE_ROW)
#undef DTYPE_ROW
};

static const char *const op_names[OP_COUNT] = {
#define OP_ROW(NAME, text) [OP_##NAME] = (text),
    OP_TABLE(OP_ROW)
#undef OP_ROW
};

static const char *const kind_names[COLLECTIVE_KIND_END] = {
    [COLLECTIVE_ALLREDUCE] = "allreduce",
    [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
    [COLLECTIVE_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
    [COLLECTIVE_REDUCE] = "reduce",
    [COLLECTIVE_BROADCAST] = "broadcast",
};

size_t dtype_size(dtype_t dtype)
{
    return dtype_rows[dtype].bytes;
}

bool dtype_padded(dtype_t dtype)
{
    return dtype_rows[dtype].padded;
}

const char *dtype_name(dtype_t dtype)
{
    return dtype_rows[dtype].name;
}

const char *op_name(op_t op)
{
    return op_names[op];
}

const char *collective_kind_name(collective_kind_t kind)
{
    return kind_names[kind];
}

/* Whether a rank's result is of the whole vector. */
static bool collective_is_whole(const collective_t *collective)
{
    return collective->kind != COLLECTIVE_REDUCE_SCATTER && collective->kind != COLLECTIVE_REDUCE_SCATTER_BLOCK;
}

size_t collective_total(const collective_t *collective, size_t size)
{
    return collective_is_whole(collective) ? collective->count : collective_block_start(collective, size);
}

size_t collective_block(const collective_t *collective, size_t rank)
{
    return collective->kind == COLLECTIVE_REDUCE_SCATTER ? (size_t)collective->counts[rank] : collective->count;
}

size_t collective_block_start(const collective_t *collective, size_t rank)
{
    size_t start = 0;

    if (collective_is_whole(collective)) {
        return 0;
    }
    if (collective->kind == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        return collective->count * rank;
    }
    for (size_t r = 0; r < rank; r++) {
        start += (size_t)collective->counts[r];
    }
    return start;
}
