/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the cost model share: arithmetic that grows with its arguments and does not overflow, and the cost
   of a chunk. */
#ifndef ENGINE_HCCL_MODEL_COST_H
#define ENGINE_HCCL_MODEL_COST_H

#include "engine/hccl/model.h"

/* Longer times than this (nine years) are all alike, so that sums of them do not overflow. */
#define MODEL_NS_MOST (UINT64_MAX >> 6)

static inline uint64_t capped_times(uint64_t a, uint64_t b)
{
    return b > 0 && a > MODEL_NS_MOST / b ? MODEL_NS_MOST : a * b;
}

static inline uint64_t capped_plus(uint64_t a, uint64_t b)
{
    return a > MODEL_NS_MOST - b ? MODEL_NS_MOST : a + b;
}

static inline uint64_t divided_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

static inline uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* `part` of `whole` of a number. */
static inline uint64_t portion(uint64_t number, uint64_t part, uint64_t whole)
{
    return number / whole * part + divided_up(number % whole * part, whole);
}

/* What each stage takes for a chunk that is `part` of `whole` of the call. */
void model_stages_cost(const model_call_t *call, uint64_t part, uint64_t whole, uint64_t ns[MODEL_STAGE_COUNT]);

#endif
