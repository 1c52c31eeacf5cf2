/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's steps: what each does to memory and to what its rank knows. */
#include "engine/host/plan_check_state.h"

#include "engine/host/plan_build.h"

#include <inttypes.h>

static bool overlaps(const check_view_t *a, const check_view_t *b, uint64_t length)
{
    return a->memory == b->memory && a->start != b->start && a->start < b->start + length &&
           b->start < a->start + length;
}

static bool write_symbols(check_t *check, const check_rank_t *rank, const check_view_t *dst, uint64_t offset,
                          stretch_t value)
{
    const uint64_t length = value.end - value.start;

    value.start = dst->start + offset;
    value.end = value.start + length;
    value.writer = rank->me;
    value.written = dst->window ? rank->known.order[rank->me] : 0;
    value.item = rank->item;
    return memory_write(dst->memory, &value) || check_no_memory(check);
}

/* The value of a fold's sources from `done` on: as far as none of them changes, into `value`. */
static bool fold_value(check_t *check, const check_rank_t *rank, uint32_t nsrc, uint64_t done, uint64_t length,
                       stretch_t *value)
{
    const size_t element = check_params(check, rank)->element;
    uint64_t bytes = length - done;

    for (uint32_t i = 0; i < nsrc; i++) {
        const check_view_t *view = &check->fold_views[i];
        const stretch_t *stretch = check_view_get(check, rank, view, done);
        if (stretch == NULL) {
            return false;
        }
        const uint64_t at = stretch->at + (view->start + done - stretch->start);
        if (i > 0 && at != value->at) {
            return check_fail(check, rank,
                              "source %" PRIu32 " has the vector's byte %" PRIu64 " where source 0 has %" PRIu64, i, at,
                              value->at);
        }
        value->at = at;
        bytes = plan_min(bytes, stretch->end - (view->start + done));
        check->fold_symbols[i] = stretch->symbol;
    }
    if (nsrc > 1 && (value->at % element != 0 || bytes % element != 0)) {
        return check_fail(check, rank, "folds a part of an element");
    }
    value->symbol = nsrc == 1 ? check->fold_symbols[0] : symbols_fold(check->symbols, check->fold_symbols, nsrc);
    if (value->symbol == SYMBOL_NONE) {
        return check_no_memory(check);
    }
    const uint32_t twice = symbols_first_double(check->symbols, value->symbol);
    if (twice < check->nranks) {
        return check_fail(check, rank, "folds the input of rank %" PRIu32 " twice", twice);
    }
    value->start = 0;
    value->end = bytes;
    return true;
}

/* COPY and FOLD. */
static bool run_fold(check_t *check, check_rank_t *rank, const plan_step_t *step, const plan_ref_t *sources,
                     uint32_t nsrc)
{
    check_view_t dst;

    for (uint32_t i = 0; i < nsrc; i++) {
        if (!check_view_read(check, rank, sources[i], step->length, &check->fold_views[i])) {
            return false;
        }
    }
    if (!check_view_write(check, rank, step->dst, step->length, &dst)) {
        return false;
    }
    for (uint32_t i = 0; i < nsrc; i++) {
        if (overlaps(&dst, &check->fold_views[i], step->length)) {
            return check_fail(check, rank, "destination and source %" PRIu32 " overlap", i);
        }
    }
    for (uint64_t done = 0; done < step->length;) {
        stretch_t value;
        if (!fold_value(check, rank, nsrc, done, step->length, &value) ||
            !write_symbols(check, rank, &dst, done, value)) {
            return false;
        }
        done += value.end;
    }
    return true;
}

static bool run_publish(check_t *check, check_rank_t *rank, uint64_t tick)
{
    const uint64_t ticks = check_plan(check, rank)->ticks;
    void *publishes = rank->publishes;
    const check_publish_t *last = rank->npublishes == 0 ? NULL : &rank->publishes[rank->npublishes - 1];
    const uint64_t before = last != NULL && last->item == rank->item ? last->tick : 0;

    if (tick <= before || tick > ticks) {
        return check_fail(check, rank, "publishes %" PRIu64 " after %" PRIu64 ", of %" PRIu64 " ticks", tick, before,
                          ticks);
    }
    check_publish_t publish = {.tick = tick, .item = rank->item};
    if (!check_grow(&publishes, rank->npublishes, &rank->publishes_room, sizeof(publish))) {
        return check_no_memory(check);
    }
    rank->publishes = publishes;
    if (!check_clocks_copy(check, &publish.known, &rank->known)) {
        return check_no_memory(check);
    }
    rank->publishes[rank->npublishes++] = publish;
    return true;
}

/* The first publish of a peer that satisfies an await, or NULL. */
static const check_publish_t *publish_find(const check_rank_t *peer, uint32_t item, uint64_t tick)
{
    for (size_t i = peer->npublishes; i > 0; i--) {
        const check_publish_t *publish = &peer->publishes[i - 1];
        if (publish->item < item || (publish->item == item && publish->tick < tick)) {
            break;
        }
        if (publish->item == item && (i == 1 || publish[-1].item < item || publish[-1].tick < tick)) {
            return publish;
        }
    }
    return NULL;
}

/* 1: done, 0: must wait, -1: error. */
static int run_await(check_t *check, check_rank_t *rank, const plan_step_t *step)
{
    const plan_layout_t *layout = &check_params(check, rank)->layout;
    const bool all = step->peer == PLAN_ALL_RANKS;

    if (!all && (step->peer >= check->nranks || step->peer == rank->me)) {
        (void)check_fail(check, rank, "awaits rank %" PRIu32, step->peer);
        return -1;
    }
    for (uint32_t peer = all ? 0 : step->peer; peer < (all ? check->nranks : step->peer + 1); peer++) {
        if (layout->host_of[peer] != layout->host_of[rank->me]) {
            (void)check_fail(check, rank, "awaits rank %" PRIu32 " on another host", peer);
            return -1;
        }
        if (peer != rank->me && publish_find(&check->ranks[peer], rank->item, step->value) == NULL) {
            return 0;
        }
    }
    for (uint32_t peer = all ? 0 : step->peer; peer < (all ? check->nranks : step->peer + 1); peer++) {
        if (peer != rank->me) {
            check_clocks_join(check, &rank->known, &publish_find(&check->ranks[peer], rank->item, step->value)->known,
                              true);
        }
    }
    return 1;
}

int check_step_run(check_t *check, check_rank_t *rank, const plan_step_t *step)
{
    const plan_t *plan = check_plan(check, rank);

    switch (step->kind) {
    case PLAN_COPY:
        return run_fold(check, rank, step, &step->src, 1) ? 1 : -1;
    case PLAN_FOLD:
        if (step->nsrc == 0 || step->first > plan->nrefs || step->nsrc > plan->nrefs - step->first) {
            (void)check_fail(check, rank, "has %" PRIu32 " sources from %" PRIu32 " of %zu", step->nsrc, step->first,
                             plan->nrefs);
            return -1;
        }
        return run_fold(check, rank, step, &plan->refs[step->first], step->nsrc) ? 1 : -1;
    case PLAN_PUBLISH:
        return run_publish(check, rank, step->value) ? 1 : -1;
    case PLAN_AWAIT:
        return run_await(check, rank, step);
    case PLAN_MESSAGE_SEND:
    case PLAN_MESSAGE_RECEIVE:
        return check_message_start(check, rank, step) ? 1 : -1;
    case PLAN_COMPLETE:
        return check_message_complete(check, rank, step->value);
    default:
        (void)check_fail(check, rank, "unknown step");
        return -1;
    }
}
