/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for a peer: poll for a short while, then let the host MPI and the transport move between polls (a peer may be
   unable to come here before our side of its messages has moved), and give the CPU away where ranks share CPUs. */
#ifndef ENGINE_HOST_WAIT_H
#define ENGINE_HOST_WAIT_H

#include "engine/host/host.h"

typedef struct wait {
    unsigned polls;   /* without success so far */
    unsigned looks;   /* the rest is stall.c's */
    bool nonblocking; /* of a collective that was started */
    bool named;       /* rank is one */
    bool asked;
    bool said;
    uint32_t rank; /* awaited when last looked at, while comm->watch wants to know */
    int64_t began; /* by CLOCK_MONOTONIC, nanoseconds; 0: the wait is not long */
    int64_t heard;
} wait_t;

static inline void wait_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

/* The part of a wait that is not short. */
void wait_long(engine_t *engine, wait_t *wait);

/* Call after each poll that found nothing. True: the wait is long; see stall.h. */
static inline bool wait_step(engine_t *engine, wait_t *wait)
{
    if (++wait->polls < engine->spin_polls) {
        if (wait->polls > engine->eager_polls) {
            wait_relax();
        }
        return false;
    }
    wait_long(engine, wait);
    return true;
}

#endif
