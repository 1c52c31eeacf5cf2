/* SPDX-License-Identifier: BSD-3-Clause */
/* Proves plans. The plans of all ranks are run on symbols instead of numbers. A plan has no branches, counters only
   grow and messages match in a fixed order, so which step follows which publish or message is the same however the
   ranks are timed: one run with vector clocks speaks for all timings. Accepted plans have these properties:

   - every result element holds every rank's contribution exactly once, and on all ranks the same expression (the same
     bits); with raw, one left fold over the ranks' inputs in rank order
   - of the rooted kinds: a reduce's result is rank 0's alone, a broadcast's is the input of rank 0 on all ranks
   - nothing is read that was not written, or not written before it by publish and await; nothing is written that
   another rank may still read, also from the collective before the last (the windows' halves alternate)
   - nobody waits for ever, even if every send waits for its receive
   - no rank ends before all ranks have begun
   - messages match in length; their buffers are left alone until they are complete, and all are completed
   - PLAN_SEND is never written, PLAN_RECV only where the rank's result is; windows and scratch only within their sizes;
     only windows and counters of the same host are used; for padded elements nothing is received into PLAN_RECV
   - sources and destination of a step do not overlap, but may be the very same; cuts are at elements
   - ticks are equal on all ranks and cover what is published

   Not thread safe within one call; no global state. Meant for tests and tools: memory grows with ranks squared. */
#ifndef ENGINE_HOST_PLAN_CHECK_H
#define ENGINE_HOST_PLAN_CHECK_H

#include "engine/host/plan.h"

/* A collective and the plans of all its ranks. */
typedef struct plan_check_item {
    const plan_params_t *params; /* `me` is not read */
    const plan_t *plans;         /* layout.nranks of them */
} plan_check_item_t;

/* Checks collectives that the same ranks run one after the other: equal layout and window_bytes. MPINPU_OK, or
   MPINPU_ERR_INVALID and one sentence in `why`, or MPINPU_ERR_NO_MEMORY. */
mpinpu_status_t plan_check_items(const plan_check_item_t *items, size_t nitems, char *why, size_t why_bytes);

/* Makes the plans of all ranks for these parameters and checks `repeat` collectives of them in a row. */
mpinpu_status_t plan_check(const plan_algorithm_t *algorithm, const plan_params_t *params, size_t repeat, char *why,
                           size_t why_bytes);

#endif
