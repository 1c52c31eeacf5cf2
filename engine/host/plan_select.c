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

typedef enum choice_crowd { CROWD_ANY, CROWD_ONLY } choice_crowd_t;
typedef enum choice_kind {
    CHOICE_ALLREDUCE = 1,
    CHOICE_SCATTER = 2,
    CHOICE_ANY = 3,
    CHOICE_REDUCE = 4,
    CHOICE_BROADCAST = 8
} choice_kind_t;

/* A row is taken where the kind and the crowding fit, there are min_ranks to max_ranks ranks, the vector is at most
   max_bytes long and at most max_bytes_a_rank times the ranks, and the algorithm serves the parameters. */
typedef struct choice {
    choice_kind_t kind;
    choice_crowd_t crowd;
    uint32_t min_ranks;
    uint32_t max_ranks;
    uint64_t max_bytes;
    uint64_t max_bytes_a_rank;
    algorithm_row_t row;
} choice_t;

#define ANY_RANKS 0, UINT32_MAX
#define ANY_BYTES UINT64_MAX, UINT64_MAX

/* Tried from the top. The last row serves everything that is not rooted. Waits cost most where ranks share processors,
   bytes where they do not: flat has one wait but reads every rank's whole vector. */
static const choice_t choices[] = {
    {CHOICE_REDUCE, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_fan_in},
    {CHOICE_BROADCAST, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_fan_out},
    /* One host. */
    {CHOICE_ALLREDUCE, CROWD_ONLY, ANY_RANKS, PLAN_KIB(32), UINT64_MAX, ROW_flat},
    {CHOICE_ALLREDUCE, CROWD_ONLY, ANY_RANKS, PLAN_KIB(1024), UINT64_MAX, ROW_slice},
    {CHOICE_ALLREDUCE, CROWD_ANY, 33, UINT32_MAX, PLAN_KIB(1), UINT64_MAX, ROW_doubling},
    {CHOICE_ALLREDUCE, CROWD_ANY, 0, 2, PLAN_KIB(128), UINT64_MAX, ROW_flat},
    {CHOICE_ALLREDUCE, CROWD_ANY, 0, 8, PLAN_KIB(8), UINT64_MAX, ROW_flat},
    {CHOICE_ALLREDUCE, CROWD_ANY, ANY_RANKS, PLAN_KIB(4), UINT64_MAX, ROW_flat},
    {CHOICE_SCATTER, CROWD_ANY, ANY_RANKS, PLAN_KIB(512), UINT64_MAX, ROW_flat},
    {CHOICE_ALLREDUCE, CROWD_ANY, ANY_RANKS, PLAN_KIB(256), UINT64_MAX, ROW_slice},
    {CHOICE_ANY, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_pipeline},
    {CHOICE_SCATTER, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_flat},
    {CHOICE_ALLREDUCE, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_slice},
    /* Several hosts. */
    {CHOICE_ALLREDUCE, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_levels},
    {CHOICE_ALLREDUCE, CROWD_ANY, 0, 4, PLAN_KIB(1), UINT64_MAX, ROW_message_gather},
    {CHOICE_ALLREDUCE, CROWD_ANY, ANY_RANKS, PLAN_KIB(16), UINT64_MAX, ROW_message_doubling},
    {CHOICE_ALLREDUCE, CROWD_ANY, 33, UINT32_MAX, UINT64_MAX, PLAN_KIB(4), ROW_message_doubling},
    {CHOICE_ANY, CROWD_ANY, 0, 32, UINT64_MAX, PLAN_KIB(64), ROW_message_direct},
    {CHOICE_ALLREDUCE, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_message_ring},
    {CHOICE_SCATTER, CROWD_ANY, ANY_RANKS, UINT64_MAX, PLAN_KIB(512), ROW_message_direct},
    {CHOICE_SCATTER, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_message_ring},
    {CHOICE_ALLREDUCE, CROWD_ANY, ANY_RANKS, PLAN_KIB(1), UINT64_MAX, ROW_message_gather},
    {CHOICE_ANY, CROWD_ANY, ANY_RANKS, ANY_BYTES, ROW_message_direct},
};

static choice_kind_t choice_kind(collective_kind_t kind)
{
    switch (kind) {
    case COLLECTIVE_ALLREDUCE:
        return CHOICE_ALLREDUCE;
    case COLLECTIVE_REDUCE:
        return CHOICE_REDUCE;
    case COLLECTIVE_BROADCAST:
        return CHOICE_BROADCAST;
    default:
        return CHOICE_SCATTER;
    }
}

const plan_algorithm_t *plan_select(const plan_params_t *params)
{
    const uint64_t bytes = plan_vector_bytes(params);
    const uint32_t ranks = params->layout.nranks;
    const choice_kind_t kind = choice_kind(params->kind);

    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
        const choice_t *choice = &choices[i];
        const plan_algorithm_t *algorithm = &plan_algorithms[choice->row];
        if ((choice->kind & kind) != 0 && (choice->crowd == CROWD_ANY || params->crowded) &&
            ranks >= choice->min_ranks && ranks <= choice->max_ranks && bytes <= choice->max_bytes &&
            bytes / ranks <= choice->max_bytes_a_rank && algorithm->serves(params)) {
            return algorithm;
        }
    }
    return &plan_algorithms[ROW_message_direct];
}
