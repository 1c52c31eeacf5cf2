/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker of plans: runs all ranks' plans on symbols, rank by rank as far as each can go. */
#include "engine/host/plan_check.h"

#include "engine/host/plan_build.h"
#include "engine/host/plan_check_state.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *step_name(const plan_t *plan, size_t step)
{
    static const char *const names[] = {
        [PLAN_COPY] = "copy",         [PLAN_FOLD] = "fold",         [PLAN_PUBLISH] = "publish",
        [PLAN_AWAIT] = "await",       [PLAN_MESSAGE_SEND] = "send", [PLAN_MESSAGE_RECEIVE] = "receive",
        [PLAN_COMPLETE] = "complete",
    };

    if (step >= plan->nsteps) {
        return "end";
    }
    return plan->steps[step].kind <= PLAN_COMPLETE ? names[plan->steps[step].kind] : "unknown step";
}

bool check_fail(check_t *check, const check_rank_t *rank, const char *format, ...)
{
    if (check->status != MPINPU_OK) {
        return false;
    }
    const plan_t *plan = check_plan(check, rank);
    int used = snprintf(check->why, check->why_bytes, "%s, rank %" PRIu32 ", collective %" PRIu32 ", step %zu (%s): ",
                        plan->algorithm == NULL ? "plan" : plan->algorithm, rank->me, rank->item, rank->step,
                        step_name(plan, rank->step));
    va_list arguments;

    va_start(arguments, format);
    if (used >= 0 && (size_t)used < check->why_bytes) {
        (void)vsnprintf(check->why + used, check->why_bytes - (size_t)used, format, arguments);
    }
    va_end(arguments);
    check->status = MPINPU_ERR_INVALID;
    return false;
}

bool check_no_memory(check_t *check)
{
    if (check->status == MPINPU_OK) {
        check->status = MPINPU_ERR_NO_MEMORY;
    }
    return false;
}

bool check_grow(void **array, size_t used, size_t *room, size_t bytes)
{
    if (used < *room) {
        return true;
    }
    const size_t wanted = *room == 0 ? 16 : 2 * *room;
    void *grown = realloc(*array, wanted * bytes);
    if (grown == NULL) {
        return false;
    }
    *array = grown;
    *room = wanted;
    return true;
}

bool check_clocks_open(const check_t *check, clocks_t *clocks)
{
    clocks->order = calloc(2 * (size_t)check->nranks, sizeof(*clocks->order));
    clocks->visible = clocks->order == NULL ? NULL : clocks->order + check->nranks;
    return clocks->order != NULL;
}

void check_clocks_close(clocks_t *clocks)
{
    free(clocks->order);
    *clocks = (clocks_t){0};
}

bool check_clocks_copy(const check_t *check, clocks_t *copy, const clocks_t *from)
{
    if (!check_clocks_open(check, copy)) {
        return false;
    }
    memcpy(copy->order, from->order, 2 * (size_t)check->nranks * sizeof(*copy->order));
    return true;
}

static void join(uint64_t *into, const uint64_t *from, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        into[i] = into[i] > from[i] ? into[i] : from[i];
    }
}

void check_clocks_join(const check_t *check, clocks_t *into, const clocks_t *from, bool with_visible)
{
    join(into->order, from->order, check->nranks);
    if (with_visible) {
        join(into->visible, from->visible, check->nranks);
    }
}

static bool begin(check_t *check, check_rank_t *rank)
{
    const stretch_t input = {
        .end = check->totals[rank->item], .writer = rank->me, .symbol = rank->me + 1, .item = rank->item};

    rank->begun = true;
    rank->step = 0;
    rank->nmessages = 0;
    rank->completed = 0;
    rank->known.order[rank->me]++;
    rank->known.visible[rank->me] = rank->known.order[rank->me];
    check->begins[(size_t)rank->item * check->nranks + rank->me] = rank->known.order[rank->me];
    memory_close(&rank->send);
    memory_close(&rank->recv);
    memory_close(&rank->tmp);
    /* What a broadcast brings is rank 0's. */
    const bool has_input = check_params(check, rank)->kind != COLLECTIVE_BROADCAST || rank->me == 0;
    return check_half_begin(check, rank) && (!has_input || memory_write(&rank->send, &input) || check_no_memory(check));
}

/* Same bits: the expressions are those of the first rank that ended. */
static bool compare_result(check_t *check, const check_rank_t *rank, const memory_t *result)
{
    check_result_t *first = &check->results[rank->item];

    if (first->stretches == NULL) {
        first->stretches = malloc(result->n * sizeof(*first->stretches));
        if (first->stretches == NULL) {
            return check_no_memory(check);
        }
        memcpy(first->stretches, result->stretches, result->n * sizeof(*first->stretches));
        first->n = result->n;
        return true;
    }
    for (size_t i = 0, j = 0; i < first->n && j < result->n;) {
        const stretch_t *a = &first->stretches[i];
        const stretch_t *b = &result->stretches[j];
        if (a->symbol != b->symbol) {
            return check_fail(check, rank, "byte %" PRIu64 " of the result is folded in another order than elsewhere",
                              a->start > b->start ? a->start : b->start);
        }
        i += a->end <= b->end ? 1 : 0;
        j += b->end <= a->end ? 1 : 0;
    }
    return true;
}

static bool check_result(check_t *check, check_rank_t *rank)
{
    const plan_params_t *params = check_params(check, rank);
    const memory_t *result = params->in_place ? &rank->send : &rank->recv;
    uint64_t length;
    uint64_t at;

    check_result_range(check, rank, &length, &at);
    for (uint64_t done = 0; done < length;) {
        const stretch_t *stretch = memory_find(result, done);
        if (stretch == NULL) {
            return check_fail(check, rank, "byte %" PRIu64 " of the result is not written", done);
        }
        const bool broadcast = params->kind == COLLECTIVE_BROADCAST;
        const uint32_t missing = broadcast ? check->nranks : symbols_first_missing(check->symbols, stretch->symbol);
        if (broadcast && stretch->symbol != 1) {
            return check_fail(check, rank, "byte %" PRIu64 " of the result is not rank 0's", done);
        }
        if (missing < check->nranks) {
            return check_fail(check, rank, "byte %" PRIu64 " of the result lacks rank %" PRIu32, done, missing);
        }
        if (stretch->at + (done - stretch->start) != at + done) {
            return check_fail(check, rank, "byte %" PRIu64 " of the result is another element", done);
        }
        if (params->raw && !broadcast && !symbols_is_raw(check->symbols, stretch->symbol)) {
            return check_fail(check, rank, "byte %" PRIu64 " of the result is not one fold in rank order", done);
        }
        done = stretch->end;
    }
    return !plan_is_allreduce(params) || compare_result(check, rank, result);
}

static bool end(check_t *check, check_rank_t *rank)
{
    const plan_t *plan = check_plan(check, rank);
    const uint64_t *begins = &check->begins[(size_t)rank->item * check->nranks];

    if (rank->nmessages != plan->nmessages || rank->completed != rank->nmessages) {
        return check_fail(check, rank, "%zu messages said, %zu started, %zu complete", plan->nmessages, rank->nmessages,
                          rank->completed);
    }
    if (plan->ticks != check->items[rank->item].plans[0].ticks) {
        return check_fail(check, rank, "%" PRIu64 " ticks, rank 0 has %" PRIu64, plan->ticks,
                          check->items[rank->item].plans[0].ticks);
    }
    for (uint32_t peer = 0; peer < check->nranks; peer++) {
        if (begins[peer] == 0 || rank->known.order[peer] < begins[peer]) {
            return check_fail(check, rank, "ends though rank %" PRIu32 " may not have begun", peer);
        }
    }
    if (!check_result(check, rank)) {
        return false;
    }
    rank->begun = false;
    rank->item++;
    return true;
}

/* Runs a rank as far as it can go. 1: went on, 0: could not, -1: error. */
static int rank_run(check_t *check, check_rank_t *rank)
{
    int moved = 0;

    while (rank->item < check->nitems) {
        if (!rank->begun && !begin(check, rank)) {
            return -1;
        }
        const plan_t *plan = check_plan(check, rank);
        while (rank->step < plan->nsteps) {
            rank->known.order[rank->me]++;
            rank->known.visible[rank->me] = rank->known.order[rank->me];
            const int done = check_step_run(check, rank, &plan->steps[rank->step]);
            if (done <= 0) {
                return done < 0 ? -1 : moved;
            }
            rank->step++;
            moved = 1;
        }
        if (!end(check, rank)) {
            return -1;
        }
        moved = 1;
    }
    return moved;
}

static void run_all(check_t *check)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < check->nranks; i++) {
            const int went = rank_run(check, &check->ranks[i]);
            if (went < 0) {
                return;
            }
            moved = moved || went > 0;
        }
    }
    for (uint32_t i = 0; i < check->nranks; i++) {
        const check_rank_t *rank = &check->ranks[i];
        if (rank->item < check->nitems) {
            const plan_step_t *step = &check_plan(check, rank)->steps[rank->step];
            (void)check_fail(check, rank, "waits for ever (peer %" PRIu32 ", value %" PRIu64 ")", step->peer,
                             step->value);
            return;
        }
    }
}

static bool state_open(check_t *check)
{
    const size_t n = check->nranks;
    uint32_t most = 1;

    check->symbols = symbols_open(check->nranks);
    check->totals = calloc(check->nitems, sizeof(*check->totals));
    check->begins = calloc(check->nitems * n, sizeof(*check->begins));
    check->results = calloc(check->nitems, sizeof(*check->results));
    check->ranks = calloc(n, sizeof(*check->ranks));
    check->sends = malloc(n * n * sizeof(*check->sends));
    check->receives = malloc(n * n * sizeof(*check->receives));
    if (check->symbols == NULL || check->totals == NULL || check->begins == NULL || check->results == NULL ||
        check->ranks == NULL || check->sends == NULL || check->receives == NULL) {
        return false;
    }
    for (size_t i = 0; i < n * n; i++) {
        check->sends[i] = (message_queue_t){.head = NO_MESSAGE};
        check->receives[i] = (message_queue_t){.head = NO_MESSAGE};
    }
    for (size_t i = 0; i < check->nitems; i++) {
        check->totals[i] = plan_vector_bytes(check->items[i].params);
        for (size_t rank = 0; rank < n; rank++) {
            const plan_t *plan = &check->items[i].plans[rank];
            for (size_t step = 0; step < plan->nsteps; step++) {
                const plan_step_t *at = &plan->steps[step];
                most = at->nsrc > most ? at->nsrc : most;
                check->shared = check->shared || ((at->kind == PLAN_COPY || at->kind == PLAN_FOLD) &&
                                                  at->dst.space == PLAN_WINDOW && at->dst.rank != rank);
            }
        }
    }
    check->fold_symbols = calloc(most, sizeof(*check->fold_symbols));
    check->fold_views = calloc(most, sizeof(*check->fold_views));
    if (check->fold_symbols == NULL || check->fold_views == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < check->nranks; i++) {
        check->ranks[i].me = i;
        if (!check_clocks_open(check, &check->ranks[i].known)) {
            return false;
        }
    }
    return true;
}

static void rank_close(check_rank_t *rank)
{
    memory_close(&rank->send);
    memory_close(&rank->recv);
    memory_close(&rank->tmp);
    memory_close(&rank->halves[0]);
    memory_close(&rank->halves[1]);
    for (size_t i = 0; i < rank->npublishes; i++) {
        check_clocks_close(&rank->publishes[i].known);
    }
    free(rank->publishes);
    free(rank->reads);
    free(rank->messages);
    check_clocks_close(&rank->known);
}

static void state_close(check_t *check)
{
    for (uint32_t i = 0; check->ranks != NULL && i < check->nranks; i++) {
        rank_close(&check->ranks[i]);
    }
    for (size_t i = 0; i < check->nmessages; i++) {
        check_clocks_close(&check->messages[i].known);
    }
    for (size_t i = 0; check->results != NULL && i < check->nitems; i++) {
        free(check->results[i].stretches);
    }
    symbols_close(check->symbols);
    free(check->totals);
    free(check->begins);
    free(check->results);
    free(check->ranks);
    free(check->messages);
    free(check->sends);
    free(check->receives);
    free(check->fold_symbols);
    free(check->fold_views);
}

mpinpu_status_t plan_check_items(const plan_check_item_t *items, size_t nitems, char *why, size_t why_bytes)
{
    check_t check = {.items = items,
                     .nitems = nitems,
                     .nranks = items[0].params->layout.nranks,
                     .why = why,
                     .why_bytes = why_bytes,
                     .status = MPINPU_OK};

    if (state_open(&check)) {
        run_all(&check);
    } else {
        check.status = MPINPU_ERR_NO_MEMORY;
    }
    state_close(&check);
    return check.status;
}

mpinpu_status_t plan_check(const plan_algorithm_t *algorithm, const plan_params_t *params, size_t repeat, char *why,
                           size_t why_bytes)
{
    const uint32_t n = params->layout.nranks;
    plan_t *plans = calloc(n, sizeof(*plans));
    plan_check_item_t *items = calloc(repeat, sizeof(*items));
    mpinpu_status_t status = plans == NULL || items == NULL ? MPINPU_ERR_NO_MEMORY : MPINPU_OK;

    for (uint32_t rank = 0; rank < n && status == MPINPU_OK; rank++) {
        plan_params_t own = *params;
        own.me = rank;
        status = plan_make(algorithm, &own, &plans[rank]);
        if (status != MPINPU_OK) {
            (void)snprintf(why, why_bytes, "%s makes no plan for rank %" PRIu32 ": %s", algorithm->name, rank,
                           status_name(status));
        }
    }
    for (size_t i = 0; i < repeat && status == MPINPU_OK; i++) {
        items[i] = (plan_check_item_t){.params = params, .plans = plans};
    }
    if (status == MPINPU_OK) {
        status = plan_check_items(items, repeat, why, why_bytes);
    }
    for (uint32_t rank = 0; plans != NULL && rank < n; rank++) {
        plan_free(&plans[rank]);
    }
    free(plans);
    free(items);
    return status;
}
