/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: CPU_COUNT */

#include "engine/host/host.h"

#include "engine/host/direct_maps.h"
#include "engine/host/run.h"
#include "transport/log.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than this a process does not need, however large the host's share. */
static const size_t window_most = (size_t)16 << 20;
/* Bytes of the program's buffers that are shared in place at a time, and of all processes' of a host together: so much
   each of them may map. */
static const size_t exposed_most = (size_t)512 << 20;
static const size_t mapped_most = (size_t)1 << 30;

enum { EAGER_POLLS = 200, SPIN_POLLS = 600, CROWDED_POLLS = 8 };

/* CPUs this host's ranks share. A rank that is bound sees only its own, so then all of the machine's count. */
static int host_cpus(int local_ranks)
{
    cpu_set_t allowed;
    int mine = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;

    return mine >= local_ranks ? mine : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

static void host_window_open(engine_t *engine)
{
    void *base = NULL;
    size_t bytes = 0;

    engine->window_status =
        transport_window_map(engine->transport, &base, &bytes, engine->window_why, sizeof engine->window_why);
    if (engine->window_status == MPINPU_OK) {
        engine->window_status = region_pool_open(base, bytes, &engine->regions);
    }
    if (engine->window_status == MPINPU_OK) {
        engine->window = base;
    } else {
        log_info("no window: %s", engine->window_why);
    }
}

static void host_transport_open(engine_t *engine)
{
    size_t most = engine->config.window_bytes / (size_t)engine->config.local_ranks;
    size_t share = most < window_most ? most : window_most;
    transport_config_t config = {.window_bytes = engine->config.windows ? share / 4096 * 4096 : 0,
                                 .thread_multiple = engine->config.thread_multiple};

    engine->status = transport_open(&config, &engine->transport, engine->why, sizeof engine->why);
    if (engine->status != MPINPU_OK) {
        log_info("the host engine cannot run here: %s", engine->why);
    } else if (engine->config.windows) {
        host_window_open(engine);
    } else {
        engine->window_status = MPINPU_ERR_UNSUPPORTED;
    }
}

/* Where this fails, this process's buffers are not shared in place, which the others hear before each use. */
static void host_direct_open(engine_t *engine)
{
    const size_t share = mapped_most / (size_t)engine->config.local_ranks;

    if (engine->config.zero_copy && engine->config.memory_watch != NULL && engine->window_status == MPINPU_OK) {
        engine->direct_maps = direct_maps_open();
        (void)exposures_open(share < exposed_most ? share : exposed_most, engine->config.zero_copy_huge,
                             engine->config.memory_watch, &engine->exposures);
    }
}

static mpinpu_status_t host_open(const engine_config_t *config, engine_t **engine)
{
    engine_t *made = calloc(1, sizeof *made);

    if (made == NULL) {
        return MPINPU_ERR_NO_MEMORY;
    }
    made->config = *config;
    made->crowded = config->local_ranks > host_cpus(config->local_ranks);
    made->eager_polls = made->crowded ? CROWDED_POLLS : EAGER_POLLS;
    made->spin_polls = made->crowded ? CROWDED_POLLS : SPIN_POLLS;

    if (config->enabled) {
        host_transport_open(made);
        host_direct_open(made);
    } else {
        made->status = MPINPU_ERR_UNSUPPORTED;
        (void)snprintf(made->why, sizeof made->why, "the engine is switched off");
    }
    *engine = made;
    return MPINPU_OK;
}

static void host_close(engine_t *engine)
{
    if (engine == NULL) {
        return;
    }
    exposures_close(engine->exposures);
    direct_maps_close(engine->direct_maps);
    transport_close(engine->transport);
    host_words_free(engine);
    region_pool_close(engine->regions);
    free(engine);
}

static bool host_ready(const engine_t *engine)
{
    return engine->status == MPINPU_OK;
}

static uint32_t host_comm_offers(const engine_comm_t *comm)
{
    return comm->offers;
}

static bool host_comm_windows(const engine_comm_t *comm)
{
    return comm->windows;
}

static bool host_supports(const engine_t *engine, dtype_t dtype, op_t op)
{
    (void)engine;
    return kernel_fold_find(dtype, op) != NULL;
}

static const char *host_comm_host(const engine_comm_t *comm, uint32_t rank)
{
    return transport_peer_host(comm->ranks[rank].peer);
}

static const char *host_comm_failure(const engine_comm_t *comm)
{
    return comm->failure;
}

const engine_vtable_t engine_host = {
    .name = "host",
    .open = host_open,
    .close = host_close,
    .ready = host_ready,
    .comm_open = host_comm_open,
    .comm_close = host_comm_close,
    .comm_offers = host_comm_offers,
    .comm_windows = host_comm_windows,
    .comm_algorithm = host_algorithm,
    .comm_host = host_comm_host,
    .word_send = host_comm_word_send,
    .word_take = host_comm_word_take,
    .supports = host_supports,
    .run = host_run,
    .start = host_start,
    .advance = host_advance,
    .task_start = host_task_start,
    .task_wake = host_task_wake,
    .task_stop = host_task_stop,
    .prepare = host_prepare,
    .unprepare = host_unprepare,
    .comm_failure = host_comm_failure,
};
