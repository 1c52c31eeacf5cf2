/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of algorithms, and the choice among them. */
#include "engine/host/plan_algorithms.h"

#include <stddef.h>

typedef enum algorithm_row {
#define ALGORITHM(name, help) ROW_##name,
#include "engine/host/plan_algorithms.def"
#undef ALGORITHM
    ROW_END
} algorithm_row_t;

const plan_algorithm_t plan_algorithms[] = {
#define ALGORITHM(name, help) {#name, help, plan_##name##_serves, plan_##name##_build},
#include "engine/host/plan_algorithms.def"
#undef ALGORITHM
    {NULL, NULL, NULL, NULL},
};

typedef enum choice_kind { CHOICE_ALLREDUCE = 1, CHOICE_SCATTER = 2, CHOICE_ANY = 3 } choice_kind_t;

/* A row is taken where the kind fits, the vector is at most max_bytes, there are at least min_ranks, and the algorithm
   serves the parameters. */
typedef struct choice {
    choice_kind_t kind;
    uint32_t min_ranks;
    uint64_t max_bytes;
    algorithm_row_t row;
} choice_t;

#define KIB(n) ((uint64_t)(n)*1024)

/* Tried from the top. The last row serves everything. */
static const choice_t choices[] = {
    {CHOICE_ALLREDUCE, 9, KIB(2), ROW_flat},         {CHOICE_ALLREDUCE, 0, KIB(8), ROW_flat},
    {CHOICE_SCATTER, 0, KIB(128), ROW_flat},         {CHOICE_ALLREDUCE, 0, KIB(128), ROW_slice},
    {CHOICE_ANY, 0, UINT64_MAX, ROW_pipeline},       {CHOICE_SCATTER, 0, UINT64_MAX, ROW_flat},
    {CHOICE_ALLREDUCE, 0, UINT64_MAX, ROW_slice},    {CHOICE_ALLREDUCE, 0, KIB(1), ROW_message_gather},
    {CHOICE_ANY, 0, UINT64_MAX, ROW_message_direct},
};

const plan_algorithm_t *plan_select(const plan_params_t *params)
{
    const uint64_t bytes = plan_vector_bytes(params);
    const choice_kind_t kind = plan_is_allreduce(params) ? CHOICE_ALLREDUCE : CHOICE_SCATTER;

    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const choice_t *choice = &choices[i];
        const plan_algorithm_t *algorithm = &plan_algorithms[choice->row];
        if ((choice->kind & kind) != 0 && bytes <= choice->max_bytes && params->layout.nranks >= choice->min_ranks &&
            algorithm->serves(params)) {
            return algorithm;
        }
    }
    return &plan_algorithms[ROW_message_direct];
}
