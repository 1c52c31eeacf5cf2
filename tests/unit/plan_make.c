/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection, sizes past 32 bits, very many ranks, arguments that an algorithm does not serve. */
#include "engine/host/plan_check.h"
#include "tests/unit/plan_cases.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* One rank's share of what must not grow with ranks squared: steps, at so many ranks. */
enum { MANY_RANKS = 9216, MANY_HOSTS = 1152, MANY_STEPS = 32 * MANY_RANKS };

static const plan_algorithm_t *algorithm_named(const char *name)
{
    const plan_algorithm_t *algorithm = plan_algorithms;

    while (algorithm->name != NULL && strcmp(algorithm->name, name) != 0) {
        algorithm++;
    }
    cr_assert(algorithm->name != NULL, "no algorithm %s", name);
    return algorithm;
}

static void select_case(const case_params_t *made)
{
    plan_params_t params = made->params;
    const plan_algorithm_t *chosen = plan_select(&params);

    cr_assert(chosen != NULL && chosen->serves(&params), "%s", made->text);
    params.me = params.layout.nranks - 1;
    cr_expect(plan_select(&params) == chosen, "%s: ranks choose differently", made->text);
}

Test(plan_make, select_serves_and_is_the_same_on_all_ranks)
{
    for (uint32_t n = 1; n <= CASE_RANKS_MAX; n++) {
        case_each(n, n < 8 ? 1 : 20, select_case);
    }
}

Test(plan_make, windows_are_used_where_they_are)
{
    static const uint32_t host_of[2] = {0, 0};
    plan_params_t params = {
        .layout = {.nranks = 2, .nhosts = 1, .host_of = host_of}, .element = 4, .window_bytes = (size_t)1 << 20};

    for (params.count = 1; params.count < (size_t)1 << 32; params.count *= 4) {
        for (unsigned raw = 0; raw < 2; raw++) {
            params.raw = raw != 0;
            cr_expect(strncmp(plan_select(&params)->name, "message", strlen("message")) != 0, "%zu elements",
                      params.count);
        }
    }
}

Test(plan_make, refuses_what_it_does_not_serve)
{
    static const uint32_t host_of[3] = {0, 1, 2};
    const plan_params_t params = {.layout = {.nranks = 3, .nhosts = 3, .host_of = host_of}, .element = 4, .count = 5};
    plan_t plan = {.nsteps = 77};

    cr_expect(plan_make(algorithm_named("flat"), &params, &plan) == MPINPU_ERR_UNSUPPORTED);
    cr_expect(plan_make(algorithm_named("levels"), &params, &plan) == MPINPU_ERR_UNSUPPORTED);
    cr_expect(plan.nsteps == 77, "outputs are set only on success");
}

/* 2^34 bytes, by every algorithm that serves them: proved, and the plan stays small. */
static void check_huge(collective_kind_t kind, uint32_t nranks, const uint32_t *host_of, uint32_t nhosts)
{
    const plan_params_t params = {.kind = kind,
                                  .layout = {.nranks = nranks, .nhosts = nhosts, .host_of = host_of},
                                  .element = 4,
                                  .count = kind != COLLECTIVE_REDUCE_SCATTER_BLOCK ? (size_t)1 << 32
                                                                                   : ((size_t)1 << 32) / nranks,
                                  .window_bytes = (size_t)16 << 20};
    unsigned served = 0;

    for (const plan_algorithm_t *algorithm = plan_algorithms; algorithm->name != NULL; algorithm++) {
        char why[CASE_WHY_BYTES] = "";
        if (algorithm->serves(&params)) {
            cr_expect(plan_check(algorithm, &params, 1, why, sizeof(why)) == MPINPU_OK, "%s: %s", algorithm->name, why);
            served++;
        }
    }
    cr_assert(served > 0);
}

Test(plan_make, sizes_past_32_bits, .timeout = 60)
{
    static const uint32_t one[4] = {0, 0, 0, 0};
    static const uint32_t each[4] = {0, 1, 2, 3};
    static const uint32_t two[4] = {0, 0, 1, 1};

    for (unsigned kind = 0; kind < COLLECTIVE_KIND_END; kind++) {
        if (kind != COLLECTIVE_REDUCE_SCATTER) {
            check_huge((collective_kind_t)kind, 4, one, 1);
            check_huge((collective_kind_t)kind, 4, each, 4);
            check_huge((collective_kind_t)kind, 4, two, 2);
        }
    }
}

static void make_one_of_many(const plan_params_t *params)
{
    for (const plan_algorithm_t *algorithm = plan_algorithms; algorithm->name != NULL; algorithm++) {
        plan_t plan;
        if (!algorithm->serves(params)) {
            continue;
        }
        cr_assert(plan_make(algorithm, params, &plan) == MPINPU_OK, "%s", algorithm->name);
        cr_expect(plan.nsteps > 0 && plan.nsteps < MANY_STEPS && plan.nrefs < MANY_STEPS, "%s: %zu steps, %zu sources",
                  algorithm->name, plan.nsteps, plan.nrefs);
        plan_free(&plan);
    }
}

Test(plan_make, one_rank_of_very_many, .timeout = 60)
{
    static uint32_t host_of[MANY_RANKS];
    static int counts[MANY_RANKS];
    plan_params_t params = {.me = MANY_RANKS / 2 + 1,
                            .layout = {.nranks = MANY_RANKS, .nhosts = MANY_HOSTS, .host_of = host_of},
                            .element = 4,
                            .counts = counts,
                            .window_bytes = (size_t)1 << 20};

    for (uint32_t i = 0; i < MANY_RANKS; i++) {
        host_of[i] = i / (MANY_RANKS / MANY_HOSTS);
        counts[i] = (int)(i % 5);
    }
    for (unsigned kind = 0; kind < COLLECTIVE_KIND_END; kind++) {
        params.kind = (collective_kind_t)kind;
        for (params.count = 1; params.count <= (size_t)1 << 20; params.count <<= 10) {
            make_one_of_many(&params);
        }
    }
    for (uint32_t i = 0; i < MANY_RANKS; i++) {
        host_of[i] = i;
    }
    params.layout.nhosts = MANY_RANKS;
    params.kind = COLLECTIVE_ALLREDUCE;
    make_one_of_many(&params);
}
