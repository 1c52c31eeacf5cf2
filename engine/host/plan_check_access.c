/* SPDX-License-Identifier: BSD-3-Clause */
/* The checker's rules for reading and writing memory. */
#include "engine/host/plan_check_state.h"

#include "engine/host/plan_build.h"

#include <inttypes.h>

static const char *space_name(uint32_t space)
{
    static const char *const names[] = {
        [PLAN_SEND] = "send", [PLAN_RECV] = "recv", [PLAN_TMP] = "tmp", [PLAN_WINDOW] = "window"};

    return space <= PLAN_WINDOW ? names[space] : "unknown space";
}

void check_result_range(const check_t *check, const check_rank_t *rank, uint64_t *length, uint64_t *at)
{
    const plan_params_t *params = check_params(check, rank);

    *at = 0;
    *length = check->totals[rank->item];
    if (params->kind == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        *length = params->count * params->element;
        *at = *length * rank->me;
    } else if (params->kind == COLLECTIVE_REDUCE && rank->me != 0) {
        *length = 0;
    } else if (params->kind == COLLECTIVE_REDUCE_SCATTER) {
        for (uint32_t peer = 0; peer < rank->me; peer++) {
            *at += (uint64_t)params->counts[peer] * params->element;
        }
        *length = (uint64_t)params->counts[rank->me] * params->element;
    }
}

/* Whether this rank knows that another has begun this collective. */
static bool has_begun(const check_t *check, const check_rank_t *rank, uint32_t other)
{
    const uint64_t begin = check->begins[(size_t)rank->item * check->nranks + other];

    return begin != 0 && begin <= rank->known.order[other];
}

/* Finds the memory of a reference and the bytes that may be used of it. */
static bool memory_of(check_t *check, check_rank_t *rank, plan_ref_t ref, bool writing, check_view_t *view,
                      uint64_t *room)
{
    const plan_params_t *params = check_params(check, rank);
    const uint64_t total = check->totals[rank->item];
    uint64_t result_bytes;
    uint64_t at;

    *view = (check_view_t){.start = ref.offset, .owner = rank->me};
    check_result_range(check, rank, &result_bytes, &at);
    switch (ref.space) {
    case PLAN_SEND:
        view->memory = &rank->send;
        *room = total;
        return !writing || check_fail(check, rank, "writes into send");
    case PLAN_RECV:
        view->memory = params->in_place ? &rank->send : &rank->recv;
        *room = params->in_place && !writing ? total : result_bytes;
        return true;
    case PLAN_TMP:
        view->memory = &rank->tmp;
        *room = check_plan(check, rank)->tmp_bytes;
        return true;
    case PLAN_WINDOW:
        if (ref.rank >= check->nranks) {
            return check_fail(check, rank, "uses the window of rank %" PRIu32 ", which there is not", ref.rank);
        }
        if (params->layout.host_of[ref.rank] != params->layout.host_of[rank->me]) {
            return check_fail(check, rank, "uses the window of rank %" PRIu32 " on another host", ref.rank);
        }
        view->window = true;
        view->foreign = ref.rank != rank->me;
        view->owner = ref.rank;
        view->memory = &check->ranks[ref.rank].halves[rank->item % 2];
        *room = params->window_bytes;
        return !writing || !view->foreign || has_begun(check, rank, ref.rank) ||
               check_fail(check, rank, "writes into the window of rank %" PRIu32 ", which may not have begun",
                          ref.rank);
    default:
        return check_fail(check, rank, "unknown space %" PRIu32, ref.space);
    }
}

static bool view_open(check_t *check, check_rank_t *rank, plan_ref_t ref, uint64_t length, bool writing,
                      check_view_t *view)
{
    const size_t element = check_params(check, rank)->element;
    const size_t alignment = element & (~element + 1);
    uint64_t room = 0;

    if (!memory_of(check, rank, ref, writing, view, &room)) {
        return false;
    }
    if (ref.offset > room || length > room - ref.offset) {
        return check_fail(check, rank, "%s [%" PRIu64 ", +%" PRIu64 ") is outside the %" PRIu64 " bytes it may %s",
                          space_name(ref.space), ref.offset, length, room, writing ? "write" : "read");
    }
    if (ref.offset % alignment != 0 || length % element != 0) {
        return check_fail(check, rank, "%s [%" PRIu64 ", +%" PRIu64 ") is not cut at elements of %zu bytes",
                          space_name(ref.space), ref.offset, length, element);
    }
    if (check_message_touches(check, rank, view->memory, view->start, length, writing)) {
        return check_fail(check, rank, "%s %s [%" PRIu64 ", +%" PRIu64 "), which a message under way uses",
                          writing ? "writes" : "reads", space_name(ref.space), ref.offset, length);
    }
    return true;
}

/* Whether all reads by others of [start, end) in a half of a window happened before now. Forgets reads that no later
   writer needs to know: all that happened before where the owner alone writes, else those that this write covers. */
static bool readers_are_done(check_t *check, const check_rank_t *rank, check_rank_t *owner, uint32_t half,
                             uint64_t start, uint64_t end)
{
    size_t kept = 0;

    for (size_t i = 0; i < owner->nreads; i++) {
        const window_read_t read = owner->reads[i];
        const bool known = read.reader == rank->me || read.when <= rank->known.order[read.reader];
        const bool touched = read.half == half && read.start < end && start < read.end;
        if (touched && !known) {
            return check_fail(check, rank,
                              "writes window [%" PRIu64 ", %" PRIu64 "), which rank %" PRIu32 " may still read", start,
                              end, read.reader);
        }
        if (check->shared ? !(read.half == half && read.start >= start && read.end <= end) : !known) {
            owner->reads[kept++] = read;
        }
    }
    owner->nreads = kept;
    return true;
}

/* Whether all writes by others of [start, end) happened before now. */
static bool writers_are_done(check_t *check, const check_rank_t *rank, const memory_t *memory, uint64_t start,
                             uint64_t end)
{
    const stretch_t *stretch = memory_next(memory, start);

    while (stretch != NULL && stretch->start < end) {
        if (stretch->writer != rank->me && stretch->written > rank->known.order[stretch->writer]) {
            return check_fail(check, rank,
                              "writes window [%" PRIu64 ", %" PRIu64 "), which rank %" PRIu32 " may still write", start,
                              end, stretch->writer);
        }
        stretch = memory_next(memory, stretch->end);
    }
    return true;
}

bool check_view_read(check_t *check, check_rank_t *rank, plan_ref_t ref, uint64_t length, check_view_t *view)
{
    if (!view_open(check, rank, ref, length, false, view)) {
        return false;
    }
    if (view->window && (view->foreign || check->shared) && length > 0) {
        check_rank_t *owner = &check->ranks[view->owner];
        void *reads = owner->reads;
        if (!check_grow(&reads, owner->nreads, &owner->reads_room, sizeof(*owner->reads))) {
            return check_no_memory(check);
        }
        owner->reads = reads;
        owner->reads[owner->nreads++] = (window_read_t){.start = view->start,
                                                        .end = view->start + length,
                                                        .when = rank->known.order[rank->me],
                                                        .reader = rank->me,
                                                        .half = rank->item % 2};
    }
    return true;
}

bool check_view_write(check_t *check, check_rank_t *rank, plan_ref_t ref, uint64_t length, check_view_t *view)
{
    if (!view_open(check, rank, ref, length, true, view)) {
        return false;
    }
    if (!view->window) {
        return true;
    }
    const uint64_t end = view->start + length;
    return readers_are_done(check, rank, &check->ranks[view->owner], rank->item % 2, view->start, end) &&
           writers_are_done(check, rank, view->memory, view->start, end);
}

bool check_half_begin(check_t *check, check_rank_t *rank)
{
    const uint32_t half = rank->item % 2;

    const bool done = readers_are_done(check, rank, rank, half, 0, UINT64_MAX) &&
                      writers_are_done(check, rank, &rank->halves[half], 0, UINT64_MAX);
    memory_close(&rank->halves[half]);
    return done;
}

const stretch_t *check_view_get(check_t *check, const check_rank_t *rank, const check_view_t *view, uint64_t offset)
{
    const stretch_t *stretch = memory_find(view->memory, view->start + offset);

    if (stretch == NULL || stretch->item != rank->item) {
        (void)check_fail(check, rank, "reads what was never written: offset %" PRIu64 " of a memory of rank %" PRIu32,
                         view->start + offset, view->owner);
        return NULL;
    }
    if (view->window && stretch->writer != rank->me && stretch->written > rank->known.visible[stretch->writer]) {
        (void)check_fail(check, rank,
                         "reads offset %" PRIu64 " of the window of rank %" PRIu32 " before it is published",
                         view->start + offset, view->owner);
        return NULL;
    }
    return stretch;
}
