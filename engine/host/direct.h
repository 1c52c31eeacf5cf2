/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of buffers that all ranks have exposed: each rank folds its part of the vector straight from everybody's
   input and, in an allreduce, stores it straight into everybody's result, with no window in between. A straight path
   beside the plans, with their bits: every element is folded from the left in rank order. */
#ifndef ENGINE_HOST_DIRECT_H
#define ENGINE_HOST_DIRECT_H

#include "engine/host/exposure.h"
#include "engine/host/host.h"

/* A buffer as its owner tells of it. */
typedef struct direct_buffer {
    uint64_t id;     /* of the exposure; 0: not exposed */
    uint64_t offset; /* of the buffer's first byte from the pages' begin; wraps around where it lies before */
    pages_card_t card;
} direct_buffer_t;

/* What each rank says before such a collective; in its region, written before it publishes its first tick. */
typedef struct direct_word {
    direct_buffer_t send;
    direct_buffer_t recv; /* allreduce */
    uint64_t from;        /* bytes of the vector that lie in whole exposed pages, */
    uint64_t to;
    uint64_t alive[EXPOSURES_MOST]; /* all exposures that it has: */
    uint64_t newest;                /* others up to this number are gone */
    uint64_t mapped;                /* before the second tick: it has mapped what the others told of */
} direct_word_t;

_Static_assert(sizeof(direct_word_t) <= REGION_WORD_BYTES, "a word fits in its place in a region");

/* Whether the collective, whose whole input has so many bytes, may go this way: the same on all ranks. */
bool direct_serves(const engine_comm_t *comm, const collective_t *collective, size_t bytes);

/* Such a collective under way. */
typedef struct direct {
    engine_comm_t *comm;
    const collective_t *collective;
    enum { DIRECT_WORDS, DIRECT_MAPPED, DIRECT_FOLDED } stage; /* what is awaited of all ranks */
    uint32_t heard;                                            /* ranks below it have come there */
    size_t from;                                               /* the part of the vector that is done this way, bytes */
    size_t to;
} direct_t;

/* Begins; `collective` stays until the end. */
void direct_begin(direct_t *direct, engine_comm_t *comm, const collective_t *collective);

/* Goes on as far as it gets without waiting. True: direct->from and direct->to say which part of the vector is done,
   empty where some rank's buffers are not exposed. */
bool direct_advance(direct_t *direct);

/* Whether it waits for this rank; see stall.h. */
bool direct_awaits(const engine_comm_t *comm, const void *direct, uint32_t rank);

/* The stretch [from, to) of the vector as a collective of its own, in `part`; `counts` is room for a number a rank.
   False: nothing lies in it. */
bool direct_part(const engine_comm_t *comm, const collective_t *collective, size_t from, size_t to, int *counts,
                 collective_t *part);

#endif
