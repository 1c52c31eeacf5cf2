/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans: what one rank does in a collective, as an array of steps. A plan is made by a pure function of plan_params_t,
   so every rank knows what the others do, a checker can prove it and a simulator can cost it.

   Memory. Each rank of a communicator has a region in its window; a plan may use `window_bytes` of it (WINDOW space,
   offsets from 0). The executor gives odd and even collectives different halves, and no rank ends a collective before
   all have begun it, so at a plan's start all windows are free to write; into another rank's only once that
   rank is known to have begun.

   Order between ranks. Each rank has one counter that only grows. PUBLISH t says: all my steps so far are visible to
   who has awaited t from me. Ticks count from 1 within a plan; every rank's plan of one collective has the same
   `ticks`, at least the largest it publishes; after the collective the executor moves the base up by that.

   Messages. SEND and RECEIVE start; COMPLETE m waits until the first m messages started by this rank's plan are done.
   Messages between two ranks match in the order in which they were started. A message of length 0 is a message like
   another: it tells its receiver that the sender has begun. */
#ifndef ENGINE_HOST_PLAN_H
#define ENGINE_HOST_PLAN_H

#include "engine/collective.h"
#include "transport/status.h"

#include <stdint.h>

typedef enum plan_space {
    PLAN_SEND,   /* the application's input; never a destination */
    PLAN_RECV,   /* the application's output */
    PLAN_TMP,    /* scratch memory of this rank, plan->tmp_bytes */
    PLAN_WINDOW, /* rank's window */
} plan_space_t;

typedef struct plan_ref {
    uint64_t offset; /* bytes */
    uint32_t rank;   /* PLAN_WINDOW: whose */
    uint32_t space;  /* plan_space_t */
} plan_ref_t;

typedef enum plan_step_kind {
    PLAN_COPY,            /* dst = src, length bytes */
    PLAN_FOLD,            /* dst = sources folded from the left in the order given */
    PLAN_PUBLISH,         /* my counter = base + value, release */
    PLAN_AWAIT,           /* until peer's counter >= base + value, acquire; PLAN_ALL_RANKS: every other rank's */
    PLAN_MESSAGE_SEND,    /* start sending length bytes at src to peer */
    PLAN_MESSAGE_RECEIVE, /* start receiving length bytes from peer at dst */
    PLAN_COMPLETE,        /* until the first `value` messages are done */
} plan_step_kind_t;

enum { PLAN_ALL_RANKS = UINT32_MAX };

typedef struct plan_step {
    uint32_t kind;   /* plan_step_kind_t */
    uint32_t peer;   /* AWAIT, MESSAGE_* */
    uint64_t value;  /* PUBLISH, AWAIT, COMPLETE */
    uint64_t length; /* bytes: COPY, FOLD, MESSAGE_* */
    plan_ref_t dst;  /* COPY, FOLD, RECEIVE */
    plan_ref_t src;  /* COPY, SEND */
    uint32_t first;  /* FOLD: sources are plan->refs[first .. first + nsrc) */
    uint32_t nsrc;
} plan_step_t;

typedef struct plan {
    const char *algorithm; /* static text */
    plan_step_t *steps;
    size_t nsteps;
    plan_ref_t *refs;
    size_t nrefs;
    size_t nmessages;
    uint64_t ticks;
    size_t tmp_bytes;
    bool crosses_once; /* each window's data was last read by another rank than the one that wrote it */
    size_t steps_room; /* allocated */
    size_t refs_room;
} plan_t;

/* Where the ranks of a communicator are. host_of[r] numbers hosts from 0 in order of their first rank. Without windows
   every rank is a host of its own. */
typedef struct plan_layout {
    uint32_t nranks;
    uint32_t nhosts;
    const uint32_t *host_of;
} plan_layout_t;

typedef struct plan_params {
    collective_kind_t kind;
    uint32_t me;
    plan_layout_t layout;
    size_t element;      /* bytes of one element */
    bool padded;         /* the element has a gap (dtype_padded): no message is received into PLAN_RECV */
    size_t count;        /* as in collective_t */
    const int *counts;   /* as in collective_t */
    bool in_place;       /* PLAN_SEND and PLAN_RECV are the same memory */
    bool raw;            /* every result element is one left fold over all ranks' inputs in rank order (reproducible
                            and 16-bit floats); else partial results may be formed, the same on all ranks */
    bool crowded;        /* ranks share processors somewhere: waits cost more than bytes; the same on all ranks */
    size_t window_bytes; /* what a plan may use of each rank's window; the same on all ranks; a multiple of 64 */
} plan_params_t;

/* One algorithm: its name and what it serves. */
typedef struct plan_algorithm {
    const char *name;
    const char *help;
    /* Whether it can do these parameters (equal answer on all ranks). */
    bool (*serves)(const plan_params_t *params);
    mpinpu_status_t (*build)(const plan_params_t *params, plan_t *plan);
} plan_algorithm_t;

/* All algorithms, ended by a row with name NULL. */
extern const plan_algorithm_t plan_algorithms[];

/* The algorithm for these parameters: the same on all ranks; never NULL. */
const plan_algorithm_t *plan_select(const plan_params_t *params);

/* Makes the plan of rank params->me by the given algorithm. On success the caller frees it by plan_free. */
mpinpu_status_t plan_make(const plan_algorithm_t *algorithm, const plan_params_t *params, plan_t *plan);
void plan_free(plan_t *plan);

#endif
