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

static size_t checked;

static void check_case(const case_params_t *made)
{
    char why[CASE_WHY_BYTES] = "";

    for (const plan_algorithm_t *algorithm = plan_algorithms; algorithm->name != NULL; algorithm++) {
        if (algorithm->serves(&made->params)) {
            const mpinpu_status_t status = plan_check(algorithm, &made->params, 1, why, sizeof(why));
            cr_expect(status == MPINPU_OK, "%s: %s: %s (%s)", algorithm->name, made->text, why, status_name(status));
            checked++;
        }
    }
}

/* Three in a row: the third writes where the first was. */
static void check_case_repeated(const case_params_t *made)
{
    char why[CASE_WHY_BYTES] = "";

    for (const plan_algorithm_t *algorithm = plan_algorithms; algorithm->name != NULL; algorithm++) {
        if (algorithm->serves(&made->params)) {
            const mpinpu_status_t status = plan_check(algorithm, &made->params, 3, why, sizeof(why));
            cr_expect(status == MPINPU_OK, "%s: %s, in a row: %s (%s)", algorithm->name, made->text, why,
                      status_name(status));
            checked++;
        }
    }
}

ParameterizedTestParameters(plan_sweep, proves)
{
    static sweep_t sweeps[] = {{1, 3, 1},     {4, 5, 1},     {6, 8, 2},      {9, 12, 8},   {13, 17, 20},
                               {18, 33, 100}, {34, 50, 700}, {51, 63, 1500}, {64, 64, 350}};

    return cr_make_param_array(sweep_t, sweeps, sizeof(sweeps) / sizeof(sweeps[0]));
}

ParameterizedTest(const sweep_t *sweep, plan_sweep, proves, .timeout = 60)
{
    for (uint32_t n = sweep->first; n <= sweep->last; n++) {
        case_each(n, sweep->thin, check_case);
    }
    cr_assert(checked > 0);
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
    cr_assert(checked > 0);
}
