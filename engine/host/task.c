/* SPDX-License-Identifier: BSD-3-Clause */
/* The thread that moves on what was started while the program computes: the transport's, given a second task, so that a
   process never has two. Whether there is one, and on which CPUs. */
#include "config.h" /* _GNU_SOURCE: CPU sets */

#include "engine/host/host.h"
#include "transport/log.h"

#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* Whether there are CPUs for this process that no rank needs: where all ranks of the host may run on the same ones, two
   a rank; where each is bound to its own, two here. */
static bool cpus_free(int local_ranks)
{
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return false;
    }
    const long mine = CPU_COUNT(&allowed);
    return mine >= 2L * local_ranks || (mine >= 2 && mine * local_ranks <= sysconf(_SC_NPROCESSORS_ONLN));
}

/* "8-15,24". False: it is not a list of CPUs. */
static bool cpus_read(const char *text, cpu_set_t *cpus)
{
    CPU_ZERO(cpus);
    for (;;) {
        char *end = NULL;
        unsigned long first = strtoul(text, &end, 10);
        unsigned long last = first;

        if (*text < '0' || *text > '9') {
            return false;
        }
        if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
            last = strtoul(end + 1, &end, 10);
        }
        if (last < first || last >= CPU_SETSIZE) {
            return false;
        }
        for (; first <= last; first++) {
            CPU_SET(first, cpus);
        }
        if (*end != ',') {
            return *end == '\0';
        }
        text = end + 1;
    }
}

/* In the thread. */
static void task_begin(void *context)
{
    const engine_t *engine = context;
    cpu_set_t cpus;

    if (engine->config.thread_cpus == NULL) {
        return;
    }
    if (!cpus_read(engine->config.thread_cpus, &cpus)) {
        log_warn("MPINPU_PROGRESS_CPUS=cpus:%s is not a list of CPUs such as 8-15,24; the thread runs anywhere",
                 engine->config.thread_cpus);
    } else if (sched_setaffinity(0, sizeof cpus, &cpus) != 0) {
        log_warn("MPINPU_PROGRESS_CPUS=cpus:%s: the thread may not run there: %m", engine->config.thread_cpus);
    }
}

static transport_task_state_t task_run(void *context)
{
    static const transport_task_state_t states[] = {[ENGINE_TASK_NONE] = TRANSPORT_TASK_NONE,
                                                    [ENGINE_TASK_LEFT] = TRANSPORT_TASK_LEFT,
                                                    [ENGINE_TASK_WAITS] = TRANSPORT_TASK_WAITS,
                                                    [ENGINE_TASK_MOVED] = TRANSPORT_TASK_MOVED};
    const engine_t *engine = context;

    return states[engine->task.run()];
}

static bool task_any(void *context)
{
    const engine_t *engine = context;

    return engine->task.any();
}

void host_task_start(engine_t *engine, const engine_task_t *task, bool *at_once)
{
    const bool free_cpus = engine->config.thread_cpus != NULL || cpus_free(engine->config.local_ranks);

    *at_once = false;
    if (engine->transport == NULL || engine->config.thread == ENGINE_THREAD_OFF ||
        (engine->config.thread == ENGINE_THREAD_AUTO && engine->crowded)) {
        return;
    }
    engine->task = *task;
    const transport_task_t own = {
        .context = engine, .begin = task_begin, .run = task_run, .any = task_any, .polls = free_cpus};
    const bool runs = transport_task_start(engine->transport, &own);
    atomic_store_explicit(&engine->task_runs, runs, memory_order_relaxed);
    if (!runs) {
        log_info("no thread moves nonblocking collectives while the program computes");
    }
    *at_once = runs && free_cpus;
}

void host_task_wake(engine_t *engine, bool at_once)
{
    if (atomic_load_explicit(&engine->task_runs, memory_order_relaxed)) {
        transport_task_wake(engine->transport, at_once);
    }
}

void host_task_stop(engine_t *engine)
{
    if (atomic_exchange_explicit(&engine->task_runs, false, memory_order_relaxed)) {
        transport_task_stop(engine->transport);
    }
}
