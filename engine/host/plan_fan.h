/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two plans with a root share: who is on whose host, and how the vector is cut. Rank 0 is the root. */
#ifndef ENGINE_HOST_PLAN_FAN_H
#define ENGINE_HOST_PLAN_FAN_H

#include "engine/host/plan_build.h"

/* A window, and what stands for it where a rank is alone, holds so many chunks. */
enum { FAN_SLOTS = 3 };

typedef struct fan {
    plan_builder_t builder;
    uint32_t n;
    uint32_t me;
    bool alone;      /* every rank is taken for a host of its own */
    uint32_t *local; /* the ranks on this rank's host, in order; owned */
    uint32_t nlocal;
    uint32_t *mates; /* for each rank how many are on its host, */
    uint32_t *index; /* and its number among them; owned with `mates` */
    bool hosts;      /* there are several */
    uint64_t total;
    uint64_t unit;
    uint64_t chunk; /* bytes of a chunk; the last may be shorter */
    uint64_t rounds;
} fan_t;

/* `alone`: no windows are used. fan_close frees. */
mpinpu_status_t fan_open(const plan_params_t *params, plan_t *plan, bool alone, fan_t *fan);
void fan_close(fan_t *fan);

/* Whether each window has room for the chunks. */
bool fan_windows_serve(const plan_params_t *params);

uint32_t fan_host(const fan_t *fan, uint32_t rank);

/* Whether the rank is on another host than the root. */
static inline bool fan_remote(const fan_t *fan, uint32_t rank)
{
    return fan_host(fan, rank) != fan_host(fan, 0);
}

/* A chunk of the vector. */
plan_range_t fan_chunk(const fan_t *fan, uint64_t round);

/* The part of a chunk, from its start, that falls to a rank where its host cuts it for its ranks; the last chunk is cut
   where the others are. */
plan_range_t fan_slice(const fan_t *fan, uint32_t rank, uint64_t round);

/* Where a chunk lies in a window or in memory of FAN_SLOTS chunks. */
static inline uint64_t fan_slot(const fan_t *fan, uint64_t round)
{
    return round % FAN_SLOTS * fan->chunk;
}

/* Waits for the tick of each of the others of this host. */
void fan_await_local(fan_t *fan, uint64_t tick);

#endif
