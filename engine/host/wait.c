/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/wait.h"

#include <sched.h>

/* Rounds of progress before the CPU is offered to others although each rank has one of its own. */
enum { WAIT_ROUNDS_BEFORE_YIELD = 200 };

void wait_long(engine_t *engine, wait_t *wait)
{
    if (engine->config.progress != NULL) {
        engine->config.progress();
    }
    if (engine->transport != NULL) {
        transport_progress(engine->transport);
    }
    if (engine->crowded || wait->polls > engine->spin_polls + WAIT_ROUNDS_BEFORE_YIELD) {
        sched_yield();
    }
}
