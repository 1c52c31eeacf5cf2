/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/direct.h"

#include "engine/host/direct_maps.h"
#include "engine/host/plan_build.h"
#include "engine/host/stream.h"

#include <stdlib.h>
#include <string.h>

/* Vectors shorter than this go through windows: below, the two waits more cost what is gained (docs/performance). */
static const size_t direct_least = (size_t)256 << 10;
/* What is left after the parts before and behind whole pages is not worth it below this. */
static const size_t direct_core_least = (size_t)64 << 10;
/* Results of so many bytes go past the caches. */
static const size_t direct_stream_least = (size_t)2 << 20;
/* Bytes folded at a time: what is stored into every result is still in the first-level cache. */
enum { DIRECT_PART = 4096, DIRECT_PART_STREAMED = 1024 };

static direct_word_t *word_of(const engine_comm_t *comm, uint32_t rank)
{
    return (direct_word_t *)(void *)comm->ranks[rank].region->word;
}

/* What this rank stored so far is visible to all who hear of it. */
static void direct_publish(direct_t *direct)
{
    engine_comm_t *comm = direct->comm;

    direct->heard = 0;
    comm->base++;
    /* Release: the stores before are visible to who sees the tick. */
    atomic_store_explicit(&comm->ranks[comm->rank].region->counter, comm->base, memory_order_release);
}

/* Whether all ranks have published as much; then what they stored is visible here. */
static bool direct_heard(direct_t *direct)
{
    const engine_comm_t *comm = direct->comm;

    for (; direct->heard < comm->size; direct->heard++) {
        /* Acquire: what the other stored before it published. */
        if (atomic_load_explicit(&comm->ranks[direct->heard].region->counter, memory_order_acquire) < comm->base) {
            return false;
        }
    }
    return true;
}

static direct_buffer_t buffer_tell(const exposure_view_t *view, const void *buffer)
{
    return (direct_buffer_t){.id = view->id, .offset = (uint64_t)(uintptr_t)buffer - view->address, .card = view->card};
}

/* The bytes of a vector at `buffer` before its first whole page, and up to the end of the last. */
static void pages_inside(const void *buffer, size_t bytes, uint64_t *from, uint64_t *to)
{
    const uintptr_t page = pages_size();
    const uintptr_t begin = (uintptr_t)buffer;

    *from = (begin + page - 1) / page * page - begin;
    *to = (begin + bytes) / page * page - begin;
}

/* Exposes this rank's buffers and tells of them; the word's ids are 0 where they are not exposed. A reduce_scatter's
   result is written by its owner alone; in place it would be written over input that others read. */
static void word_fill(engine_comm_t *comm, const collective_t *collective, direct_word_t *word)
{
    const size_t element = dtype_size(collective->dtype);
    const size_t bytes = collective_total(collective, comm->size) * element;
    const bool allreduce = collective->kind == COLLECTIVE_ALLREDUCE;
    exposures_t *exposures = comm->engine->exposures;
    exposure_view_t send;
    exposure_view_t recv;
    uint64_t from[2];
    uint64_t to[2];

    *word = (direct_word_t){0};
    if (exposures == NULL || (!allreduce && collective->send == collective->recv) ||
        !exposure_find(exposures, collective->send, bytes, &send)) {
        return;
    }
    if (allreduce && !exposure_find(exposures, collective->recv, bytes, &recv)) {
        exposure_release(exposures, send.id);
        return;
    }
    pages_inside(collective->send, bytes, &from[0], &to[0]);
    pages_inside(allreduce ? collective->recv : collective->send, bytes, &from[1], &to[1]);
    word->send = buffer_tell(&send, collective->send);
    if (allreduce) {
        word->recv = buffer_tell(&recv, collective->recv);
    }
    word->from = ((from[0] > from[1] ? from[0] : from[1]) + element - 1) / element * element;
    word->to = (to[0] < to[1] ? to[0] : to[1]) / element * element;
    word->newest = exposures_list(exposures, word->alive);
}

/* The part of the vector that lies in exposed pages of all ranks; empty where there is none. */
static void words_join(const engine_comm_t *comm, uint64_t *from, uint64_t *to)
{
    *from = 0;
    *to = UINT64_MAX;
    for (uint32_t r = 0; r < comm->size; r++) {
        const direct_word_t *word = word_of(comm, r);
        *from = word->from > *from ? word->from : *from;
        *to = word->send.id == 0 ? 0 : word->to < *to ? word->to : *to;
    }
    if (*to < *from || *to - *from < direct_core_least) {
        *to = *from;
    }
}

/* Finds where everybody's vectors begin here. */
static bool peers_map(engine_comm_t *comm, const collective_t *collective)
{
    direct_maps_t *maps = comm->engine->direct_maps;
    const size_t start = collective_block_start(collective, comm->rank) * dtype_size(collective->dtype);

    if (comm->vectors == NULL) {
        comm->vectors = calloc((size_t)2 * comm->size, sizeof *comm->vectors);
    }
    if (comm->vectors == NULL || maps == NULL) {
        return false;
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        const direct_word_t *word = word_of(comm, r);
        unsigned char **vectors = &comm->vectors[2 * (size_t)r];
        if (r == comm->rank) {
            vectors[0] = (unsigned char *)(uintptr_t)collective->send;
            vectors[1] = (unsigned char *)collective->recv - start;
        } else if (!direct_maps_get(maps, comm->ranks[r].peer, word, &word->send, &vectors[0]) ||
                   (word->recv.id != 0 &&
                    !direct_maps_get(maps, comm->ranks[r].peer, word, &word->recv, &vectors[1]))) {
            return false;
        }
    }
    return true;
}

typedef struct direct_fold {
    engine_comm_t *comm;
    kernel_fold_t fold;
    size_t element;
    uint32_t results; /* that a part is stored into: all ranks', or this rank's */
    bool streams;
} direct_fold_t;

/* Folds a part of the vector and stores it into every result, this rank's first. */
static void part_fold(const direct_fold_t *direct, uint64_t at, size_t bytes)
{
    _Alignas(64) unsigned char part[DIRECT_PART];
    engine_comm_t *comm = direct->comm;

    for (uint32_t r = 0; r < comm->size; r++) {
        comm->sources[r] = comm->vectors[2 * (size_t)r] + at;
    }
    direct->fold(part, comm->sources, comm->size, bytes / direct->element);
    for (uint32_t distance = 0; distance < direct->results; distance++) {
        unsigned char *result = comm->vectors[2 * (size_t)((comm->rank + distance) % comm->size) + 1] + at;
        if (direct->streams) {
            stream_store(result, part, bytes);
        } else {
            memcpy(result, part, bytes);
        }
    }
}

static void direct_fold(const direct_fold_t *direct, uint64_t from, uint64_t length)
{
    const size_t most = direct->streams ? DIRECT_PART_STREAMED : DIRECT_PART;
    const size_t part = most / direct->element * direct->element;

    for (uint64_t at = 0; at < length; at += part) {
        part_fold(direct, from + at, length - at < part ? length - at : part);
    }
}

/* What of [start, end) lies in [from, to). */
static plan_range_t range_within(uint64_t start, uint64_t end, uint64_t from, uint64_t to)
{
    const uint64_t first = start > from ? start : from;
    const uint64_t last = end < to ? end : to;

    return (plan_range_t){.start = first, .length = last > first ? last - first : 0};
}

/* What of the vector's stretch [from, to) this rank folds: a slice, or what is in its block. */
static plan_range_t direct_share(const engine_comm_t *comm, const collective_t *collective, uint64_t from, uint64_t to)
{
    const size_t element = dtype_size(collective->dtype);

    if (collective->kind == COLLECTIVE_ALLREDUCE) {
        plan_range_t slice = plan_slice(to - from, plan_unit(element), comm->size, comm->rank);
        slice.start += from;
        return slice;
    }
    const uint64_t start = collective_block_start(collective, comm->rank) * element;
    return range_within(start, start + collective_block(collective, comm->rank) * element, from, to);
}

static void direct_fold_share(engine_comm_t *comm, const collective_t *collective, uint64_t from, uint64_t to)
{
    const bool allreduce = collective->kind == COLLECTIVE_ALLREDUCE;
    const plan_range_t share = direct_share(comm, collective, from, to);
    const direct_fold_t direct = {.comm = comm,
                                  .fold = kernel_fold_find(collective->dtype, collective->op),
                                  .element = dtype_size(collective->dtype),
                                  .results = allreduce ? comm->size : 1,
                                  .streams = to - from >= direct_stream_least};

    direct_fold(&direct, share.start, share.length);
    stream_end();
}

bool direct_serves(const engine_comm_t *comm, const collective_t *collective, size_t bytes)
{
    return comm->engine->config.zero_copy && collective->kind < COLLECTIVE_KIND_COUNT && comm->windows &&
           comm->nhosts == 1 && !dtype_padded(collective->dtype) && bytes >= direct_least;
}

void direct_begin(direct_t *direct, engine_comm_t *comm, const collective_t *collective)
{
    *direct = (direct_t){.comm = comm, .collective = collective, .stage = DIRECT_WORDS};
    /* All ranks have read the words of the last time: they have begun the collective after it. */
    word_fill(comm, collective, word_of(comm, comm->rank));
    direct_publish(direct);
}

/* Nobody touches this rank's buffers any more. */
static bool direct_end(const direct_t *direct)
{
    const engine_comm_t *comm = direct->comm;
    const direct_word_t *mine = word_of(comm, comm->rank);

    if (mine->send.id != 0) {
        exposure_release(comm->engine->exposures, mine->send.id);
    }
    if (mine->recv.id != 0) {
        exposure_release(comm->engine->exposures, mine->recv.id);
    }
    return true;
}

static bool words_mapped(const engine_comm_t *comm)
{
    bool mapped = true;

    for (uint32_t r = 0; r < comm->size; r++) {
        mapped = mapped && word_of(comm, r)->mapped != 0;
    }
    return mapped;
}

bool direct_advance(direct_t *direct)
{
    engine_comm_t *comm = direct->comm;

    while (direct_heard(direct)) {
        switch (direct->stage) {
        case DIRECT_WORDS:
            words_join(comm, &direct->from, &direct->to);
            if (direct->from == direct->to) {
                return direct_end(direct);
            }
            word_of(comm, comm->rank)->mapped = peers_map(comm, direct->collective) ? 1 : 0;
            direct->stage = DIRECT_MAPPED;
            break;
        case DIRECT_MAPPED:
            if (!words_mapped(comm)) {
                direct->to = direct->from;
                return direct_end(direct);
            }
            direct_fold_share(comm, direct->collective, direct->from, direct->to);
            direct->stage = DIRECT_FOLDED;
            break;
        case DIRECT_FOLDED:
            return direct_end(direct);
        }
        direct_publish(direct);
    }
    return false;
}

bool direct_awaits(const engine_comm_t *comm, const void *direct, uint32_t rank)
{
    (void)direct;
    /* Relaxed: nothing is read by it. */
    return atomic_load_explicit(&comm->ranks[rank].region->counter, memory_order_relaxed) < comm->base;
}

bool direct_part(const engine_comm_t *comm, const collective_t *collective, size_t from, size_t to, int *counts,
                 collective_t *part)
{
    const size_t element = dtype_size(collective->dtype);
    size_t start = 0;

    *part = *collective;
    part->send = (const unsigned char *)collective->send + from;
    if (collective->kind == COLLECTIVE_ALLREDUCE) {
        part->recv = (unsigned char *)collective->recv + from;
        part->count = (to - from) / element;
        return from < to;
    }
    part->kind = COLLECTIVE_REDUCE_SCATTER;
    part->counts = counts;
    for (uint32_t r = 0; r < comm->size; r++) {
        const size_t end = start + collective_block(collective, r) * element;
        const plan_range_t common = range_within(start, end, from, to);
        counts[r] = (int)(common.length / element);
        if (r == comm->rank && common.length > 0) {
            part->recv = (unsigned char *)collective->recv + (common.start - start);
        }
        start = end;
    }
    return from < to;
}
