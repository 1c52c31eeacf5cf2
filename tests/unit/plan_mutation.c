/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker itself: right plans broken in one place must be rejected, wherever that place is. */
#include "engine/host/plan_check.h"
#include "tests/unit/plan_cases.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>
#include <string.h>

/* Breaks step `at` of a plan; false where this does not apply to it. */
typedef bool (*breaks_t)(plan_t *plan, size_t at, size_t element);

static bool drop_if(plan_t *plan, size_t at, bool drop)
{
    if (drop) {
        memmove(&plan->steps[at], &plan->steps[at + 1], (plan->nsteps - at - 1) * sizeof(plan->steps[0]));
        plan->nsteps--;
    }
    return drop;
}

static bool drop_await(plan_t *plan, size_t at, size_t element)
{
    (void)element;
    return drop_if(plan, at, plan->steps[at].kind == PLAN_AWAIT);
}

/* The last one only: an earlier one may be made good by the next. */
static bool drop_publish(plan_t *plan, size_t at, size_t element)
{
    bool last = plan->steps[at].kind == PLAN_PUBLISH;

    (void)element;
    for (size_t later = at + 1; later < plan->nsteps; later++) {
        last = last && plan->steps[later].kind != PLAN_PUBLISH;
    }
    return drop_if(plan, at, last);
}

/* Whether something uses what a COMPLETE waits for: not where another COMPLETE follows. */
static bool complete_matters(const plan_t *plan, size_t at)
{
    return plan->steps[at].kind == PLAN_COMPLETE &&
           (at + 1 == plan->nsteps || plan->steps[at + 1].kind != PLAN_COMPLETE);
}

static bool drop_complete(plan_t *plan, size_t at, size_t element)
{
    (void)element;
    return drop_if(plan, at, complete_matters(plan, at));
}

static bool drop_message(plan_t *plan, size_t at, size_t element)
{
    (void)element;
    return drop_if(plan, at, plan->steps[at].kind == PLAN_MESSAGE_SEND || plan->steps[at].kind == PLAN_MESSAGE_RECEIVE);
}

static bool drop_copy(plan_t *plan, size_t at, size_t element)
{
    (void)element;
    return drop_if(plan, at, plan->steps[at].kind == PLAN_COPY);
}

/* Puts a publish before the last write into the window that comes before it. */
static bool publish_early(plan_t *plan, size_t at, size_t element)
{
    const plan_step_t publish = plan->steps[at];
    size_t write = at;

    (void)element;
    if (publish.kind != PLAN_PUBLISH) {
        return false;
    }
    do {
        if (write == 0 || plan->steps[write - 1].kind == PLAN_PUBLISH) {
            return false;
        }
        write--;
    } while (plan->steps[write].dst.space != PLAN_WINDOW || plan->steps[write].length == 0);
    memmove(&plan->steps[write + 1], &plan->steps[write], (at - write) * sizeof(publish));
    plan->steps[write] = publish;
    return true;
}

static bool await_less(plan_t *plan, size_t at, size_t element)
{
    (void)element;
    if (plan->steps[at].kind != PLAN_AWAIT || plan->steps[at].value == 1) {
        return false;
    }
    plan->steps[at].value--;
    return true;
}

/* Leaves out the last receive that a COMPLETE waits for and no other before it did. */
static bool complete_less(plan_t *plan, size_t at, size_t element)
{
    uint64_t started = 0;
    uint64_t receive = 0;
    uint64_t covered = 0;

    (void)element;
    if (!complete_matters(plan, at)) {
        return false;
    }
    for (size_t step = 0; step < at; step++) {
        const uint32_t kind = plan->steps[step].kind;
        covered = kind == PLAN_COMPLETE ? plan->steps[step].value : covered;
        started += kind == PLAN_MESSAGE_SEND || kind == PLAN_MESSAGE_RECEIVE ? 1 : 0;
        receive = kind == PLAN_MESSAGE_RECEIVE && started <= plan->steps[at].value ? started : receive;
    }
    if (receive <= covered) {
        return false;
    }
    plan->steps[at].value = receive - 1;
    return true;
}

static bool moves_bytes(const plan_step_t *step)
{
    return step->kind != PLAN_PUBLISH && step->kind != PLAN_AWAIT && step->kind != PLAN_COMPLETE && step->length > 0;
}

static bool shorten(plan_t *plan, size_t at, size_t element)
{
    if (!moves_bytes(&plan->steps[at])) {
        return false;
    }
    plan->steps[at].length -= element;
    return true;
}

static bool shift_destination(plan_t *plan, size_t at, size_t element)
{
    if (!moves_bytes(&plan->steps[at]) || plan->steps[at].kind == PLAN_MESSAGE_SEND) {
        return false;
    }
    plan->steps[at].dst.offset += element;
    return true;
}

static bool shift_source(plan_t *plan, size_t at, size_t element)
{
    plan_step_t *step = &plan->steps[at];

    if (!moves_bytes(step) || step->kind == PLAN_MESSAGE_RECEIVE) {
        return false;
    }
    if (step->kind == PLAN_FOLD) {
        plan->refs[step->first].offset += element;
    } else {
        step->src.offset += element;
    }
    return true;
}

static bool swap_sources(plan_t *plan, size_t at, size_t element)
{
    const plan_step_t *step = &plan->steps[at];

    (void)element;
    if (step->kind != PLAN_FOLD) {
        return false;
    }
    const plan_ref_t first = plan->refs[step->first];
    plan->refs[step->first] = plan->refs[step->first + 1];
    plan->refs[step->first + 1] = first;
    return true;
}

static bool double_source(plan_t *plan, size_t at, size_t element)
{
    const plan_step_t *step = &plan->steps[at];

    (void)element;
    if (step->kind != PLAN_FOLD) {
        return false;
    }
    plan->refs[step->first] = plan->refs[step->first + 1];
    return true;
}

static bool write_into_send(plan_t *plan, size_t at, size_t element)
{
    (void)element;
    if (!moves_bytes(&plan->steps[at]) || plan->steps[at].kind == PLAN_MESSAGE_SEND) {
        return false;
    }
    plan->steps[at].dst.space = PLAN_SEND;
    return true;
}

static bool more_ticks(plan_t *plan, size_t at, size_t element)
{
    (void)element;
    plan->ticks++;
    return at == 0;
}

static const struct breakage {
    const char *name;
    breaks_t breaks;
    bool needs_order; /* wrong only where the order of the fold is said */
} breakages[] = {
    {"an await dropped", drop_await, false},
    {"the last publish dropped", drop_publish, false},
    {"a publish before what it publishes", publish_early, false},
    {"a complete dropped", drop_complete, false},
    {"a message dropped", drop_message, false},
    {"a copy dropped", drop_copy, false},
    {"an await of a tick less", await_less, false},
    {"a complete without its last receive", complete_less, false},
    {"a step shortened", shorten, false},
    {"a destination shifted", shift_destination, false},
    {"a source shifted", shift_source, false},
    {"two sources swapped", swap_sources, true},
    {"a source doubled", double_source, false},
    {"send written", write_into_send, false},
    {"a tick more on one rank", more_ticks, false},
};
enum { NBREAKAGES = sizeof(breakages) / sizeof(breakages[0]) };

static void plan_copy_of(const plan_t *plan, plan_t *copy)
{
    *copy = *plan;
    copy->steps = malloc(plan->nsteps * sizeof(*copy->steps) + 1);
    copy->refs = malloc(plan->nrefs * sizeof(*copy->refs) + 1);
    cr_assert(copy->steps != NULL && copy->refs != NULL);
    memcpy(copy->steps, plan->steps, plan->nsteps * sizeof(*copy->steps));
    if (plan->nrefs > 0) {
        memcpy(copy->refs, plan->refs, plan->nrefs * sizeof(*copy->refs));
    }
}

/* Checks the plans three times in a row, so that what breaks only the next collectives shows. */
static mpinpu_status_t check_three(const plan_params_t *params, const plan_t *plans, char *why)
{
    const plan_check_item_t item = {.params = params, .plans = plans};
    const plan_check_item_t items[] = {item, item, item};

    return plan_check_items(items, 3, why, CASE_WHY_BYTES);
}

typedef struct subject {
    char algorithm[32];
    plan_case_t chosen;
} subject_t;

static const plan_algorithm_t *algorithm_named(const char *name)
{
    const plan_algorithm_t *algorithm = plan_algorithms;

    while (algorithm->name != NULL && strcmp(algorithm->name, name) != 0) {
        algorithm++;
    }
    cr_assert(algorithm->name != NULL, "no algorithm %s", name);
    return algorithm;
}

/* Breaks every step of every rank in every way, one at a time. */
static void break_everywhere(const case_params_t *made, plan_t *plans, size_t *tried)
{
    for (uint32_t rank = 0; rank < made->params.layout.nranks; rank++) {
        const plan_t whole = plans[rank];
        for (size_t step = 0; step < whole.nsteps; step++) {
            for (unsigned i = 0; i < NBREAKAGES; i++) {
                char why[CASE_WHY_BYTES] = "";
                plan_copy_of(&whole, &plans[rank]);
                if (breakages[i].breaks(&plans[rank], step, made->params.element) &&
                    (made->params.raw || !breakages[i].needs_order)) {
                    cr_expect(check_three(&made->params, plans, why) == MPINPU_ERR_INVALID,
                              "%s: %s: accepted with %s at step %zu of rank %u", whole.algorithm, made->text,
                              breakages[i].name, step, rank);
                    ++*tried;
                }
                plan_free(&plans[rank]);
            }
        }
        plans[rank] = whole;
    }
}

ParameterizedTestParameters(plan_mutation, rejects)
{
    enum {
        AR = COLLECTIVE_ALLREDUCE,
        RS = COLLECTIVE_REDUCE_SCATTER,
        R0 = COLLECTIVE_REDUCE,
        BC = COLLECTIVE_BROADCAST
    };
    static subject_t subjects[] = {
        {"flat", {.nranks = 3, .kind = AR, .counts = 3, .window = 3, .element = 2, .raw = true}},
        {"flat", {.nranks = 4, .kind = RS, .counts = 4, .window = 3, .element = 2, .raw = true}},
        {"slice", {.nranks = 2, .kind = AR, .counts = 3, .window = 3, .element = 1, .raw = true}},
        {"slice", {.nranks = 4, .kind = AR, .counts = 4, .window = 3, .element = 2, .raw = true}},
        {"pipeline", {.nranks = 2, .kind = AR, .counts = 4, .window = 2, .element = 2, .raw = true}},
        {"pipeline", {.nranks = 3, .kind = AR, .counts = 4, .window = 2, .element = 2, .raw = true, .in_place = true}},
        {"pipeline", {.nranks = 3, .kind = RS, .counts = 4, .window = 1, .element = 2, .raw = true}},
        {"doubling", {.nranks = 5, .kind = AR, .counts = 3, .window = 3, .element = 2}},
        {"levels", {.nranks = 8, .kind = AR, .layout = LAYOUT_EVEN, .counts = 4, .window = 2, .element = 2}},
        {"levels", {.nranks = 7, .kind = AR, .layout = LAYOUT_ROUND_ROBIN, .counts = 6, .window = 3, .element = 2}},
        {"message_gather",
         {.nranks = 3, .kind = AR, .layout = LAYOUT_RANK_A_HOST, .counts = 1, .element = 2, .raw = true}},
        {"message_direct",
         {.nranks = 4, .kind = AR, .layout = LAYOUT_RANK_A_HOST, .counts = 4, .element = 2, .raw = true}},
        {"message_direct",
         {.nranks = 4, .kind = RS, .layout = LAYOUT_RANK_A_HOST, .counts = 2, .element = 2, .in_place = true}},
        {"message_doubling",
         {.nranks = 5, .kind = AR, .layout = LAYOUT_RANK_A_HOST, .counts = 3, .element = 2, .in_place = true}},
        {"message_ring", {.nranks = 3, .kind = AR, .layout = LAYOUT_RANK_A_HOST, .counts = 6, .element = 4}},
        {"fan_in", {.nranks = 3, .kind = R0, .counts = 4, .window = 2, .element = 2, .raw = true, .in_place = true}},
        {"fan_in", {.nranks = 7, .kind = R0, .layout = LAYOUT_EVEN, .counts = 5, .window = 2, .element = 2}},
        {"fan_in", {.nranks = 5, .kind = R0, .layout = LAYOUT_RANK_A_HOST, .counts = 3, .element = 2, .raw = true}},
        {"fan_out", {.nranks = 3, .kind = BC, .counts = 5, .window = 1, .element = 2, .in_place = true}},
        {"fan_out", {.nranks = 7, .kind = BC, .layout = LAYOUT_EVEN, .counts = 4, .window = 2, .element = 2}},
        {"fan_out", {.nranks = 4, .kind = BC, .layout = LAYOUT_RANK_A_HOST, .counts = 3, .element = 2}},
        {"message_ring", {.nranks = 4, .kind = RS, .layout = LAYOUT_RANK_A_HOST, .counts = 3, .element = 2}},
    };

    return cr_make_param_array(subject_t, subjects, sizeof(subjects) / sizeof(subjects[0]));
}

ParameterizedTest(const subject_t *subject, plan_mutation, rejects, .timeout = 60)
{
    static case_params_t made;
    plan_t plans[CASE_RANKS_MAX];
    char why[CASE_WHY_BYTES] = "";
    size_t tried = 0;
    const plan_algorithm_t *algorithm = algorithm_named(subject->algorithm);

    case_make(&subject->chosen, &made);
    for (uint32_t rank = 0; rank < subject->chosen.nranks; rank++) {
        made.params.me = rank;
        cr_assert(plan_make(algorithm, &made.params, &plans[rank]) == MPINPU_OK);
    }
    cr_assert(check_three(&made.params, plans, why) == MPINPU_OK, "%s", why);
    break_everywhere(&made, plans, &tried);
    cr_assert(tried > 0);
    for (uint32_t rank = 0; rank < subject->chosen.nranks; rank++) {
        plan_free(&plans[rank]);
    }
}
