/* SPDX-License-Identifier: BSD-3-Clause */
/* Every algorithm, over all the parameters it serves, proved by the checker. */
#include "engine/host/plan_check.h"
#include "tests/unit/plan_cases.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>

typedef struct sweep {
    uint32_t first;
    uint32_t last;
    uint64_t thin; /* one in so many cases; 1 for all */
} sweep_t;

enum { ALGORITHMS_MAX = 32, IN_A_ROW = 3 };

/* How often each algorithm was checked. */
static size_t checked[ALGORITHMS_MAX];

static void check_all(const case_params_t *made, size_t repeat)
{
    char why[CASE_WHY_BYTES] = "";

    for (size_t i = 0; plan_algorithms[i].name != NULL; i++) {
        if (plan_algorithms[i].serves(&made->params)) {
            const mpinpu_status_t status = plan_check(&plan_algorithms[i], &made->params, repeat, why, sizeof(why));
            cr_expect(status == MPINPU_OK, "%s: %s, %zu in a row: %s (%s)", plan_algorithms[i].name, made->text, repeat,
                      why, status_name(status));
            checked[i]++;
        }
    }
}

static void check_case(const case_params_t *made)
{
    check_all(made, 1);
}

/* The third writes where the first was. */
static void check_case_repeated(const case_params_t *made)
{
    check_all(made, IN_A_ROW);
}

static void expect_all_checked(uint32_t nranks)
{
    for (size_t i = 0; plan_algorithms[i].name != NULL; i++) {
        cr_expect(checked[i] > 0, "%s was never checked, up to %u ranks", plan_algorithms[i].name, nranks);
    }
}

ParameterizedTestParameters(plan_sweep, proves)
{
    static sweep_t sweeps[] = {{1, 4, 1},     {5, 5, 1},     {6, 8, 2},      {9, 12, 8},   {13, 17, 20},
                               {18, 33, 100}, {34, 50, 700}, {51, 63, 1500}, {64, 64, 350}};

    return cr_make_param_array(sweep_t, sweeps, sizeof(sweeps) / sizeof(sweeps[0]));
}

ParameterizedTest(const sweep_t *sweep, plan_sweep, proves, .timeout = 60)
{
    for (uint32_t n = sweep->first; n <= sweep->last; n++) {
        case_each(n, sweep->thin, check_case);
    }
    expect_all_checked(sweep->last);
}

Test(plan_sweep, proves_three_in_a_row, .timeout = 60)
{
    static const struct {
        uint32_t nranks;
        uint64_t thin;
    } rows[] = {{1, 9}, {2, 9}, {3, 19}, {4, 29}, {5, 29}, {7, 59}, {8, 59}, {13, 299}, {18, 999}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        case_each(rows[i].nranks, rows[i].thin, check_case_repeated);
    }
    expect_all_checked(rows[sizeof(rows) / sizeof(rows[0]) - 1].nranks);
}

/* One after the other of different kinds, counts and algorithms, among the same ranks. */
enum { MIXED = 5, MIXES = 400 };

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % n;
}

static const plan_algorithm_t *any_that_serves(const plan_params_t *params, uint64_t *state)
{
    const plan_algorithm_t *found = NULL;
    uint64_t n = 0;

    for (const plan_algorithm_t *algorithm = plan_algorithms; algorithm->name != NULL; algorithm++) {
        if (algorithm->serves(params) && random_below(state, ++n) == 0) {
            found = algorithm;
        }
    }
    return found;
}

static void check_mix(uint64_t *state)
{
    static case_params_t made[MIXED];
    static plan_t plans[MIXED][CASE_RANKS_MAX];
    plan_check_item_t items[MIXED];
    char why[CASE_WHY_BYTES] = "";
    plan_case_t chosen = {.nranks = (uint32_t)random_below(state, 12) + 1,
                          .layout = (unsigned)random_below(state, LAYOUT_COUNT),
                          .window = (unsigned)random_below(state, CASE_WINDOWS),
                          .element = (unsigned)random_below(state, CASE_ELEMENTS)};

    for (size_t i = 0; i < MIXED; i++) {
        chosen.kind = (unsigned)random_below(state, COLLECTIVE_KIND_END);
        chosen.counts = (unsigned)random_below(state, CASE_COUNTS);
        chosen.in_place = random_below(state, 2) != 0;
        chosen.raw = random_below(state, 2) != 0;
        case_make(&chosen, &made[i]);
        const plan_algorithm_t *algorithm = any_that_serves(&made[i].params, state);
        for (uint32_t rank = 0; rank < chosen.nranks; rank++) {
            made[i].params.me = rank;
            cr_assert(plan_make(algorithm, &made[i].params, &plans[i][rank]) == MPINPU_OK);
        }
        items[i] = (plan_check_item_t){.params = &made[i].params, .plans = plans[i]};
    }
    cr_expect(plan_check_items(items, MIXED, why, sizeof(why)) == MPINPU_OK, "%s ...: %s", made[0].text, why);
    for (size_t i = 0; i < MIXED; i++) {
        for (uint32_t rank = 0; rank < chosen.nranks; rank++) {
            plan_free(&plans[i][rank]);
        }
    }
}

Test(plan_sweep, proves_mixed, .timeout = 60)
{
    uint64_t state = 1;

    for (unsigned i = 0; i < MIXES; i++) {
        check_mix(&state);
    }
}
