/* SPDX-License-Identifier: BSD-3-Clause */
/* States of communicators: made at the first eligible call, found by handle, ended by MPI_Comm_free through an
 * attribute. */
#include "mpi_compat/exchange.h"
#include "mpi_compat/progress.h"
#include "shim/device_buffers.h"
#include "shim/observe.h"
#include "shim/outstanding.h"
#include "shim/process.h"
#include "shim/stall.h"
#include "shim/trace.h"
#include "transport/log.h"

#include <stdio.h>
#include <stdlib.h>

/* What processes offer to communicators: see engine_config_t. */
enum { OFFER_NPU = 1, OFFER_TRACE = 2 };

/* Ranks of this job on this host, as the launcher says, else all of them. */
static int process_local_ranks(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    long ranks = text != NULL ? strtol(text, NULL, 10) : 0;

    return ranks >= 1 && ranks <= process.size ? (int)ranks : process.size;
}

/* This rank's number on its host, as the launcher says; -1 where it does not. */
static int process_local_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMIX_LOCAL_RANK",
                                        "SLURM_LOCALID"};

    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        const char *text = getenv(names[n]);
        if (text != NULL && text[0] >= '0' && text[0] <= '9') {
            return (int)strtol(text, NULL, 10);
        }
    }
    return -1;
}

static engine_npu_t process_npu_config(void)
{
    const settings_t *settings = &process.settings;
    const bool mapped = settings_get(settings, SETTING_DEVICE_MAP) == SETTING_DEVICE_MAP_DEVICES;

    return (engine_npu_t){
        .after = (unsigned)settings_get(settings, SETTING_HCCL_AFTER),
        .chunk_bytes = (size_t)settings_get(settings, SETTING_HCCL_CHUNK_BYTES),
        .depth = (unsigned)settings_get(settings, SETTING_HCCL_DEPTH),
        .by_model = settings_get(settings, SETTING_ENGINE) != SETTING_ENGINE_HCCL &&
                    settings_get(settings, SETTING_HCCL_MIN_BYTES) == SETTING_BYTES_AUTO,
        .map = mapped ? settings_path(settings, SETTING_DEVICE_MAP) : NULL,
        .fp64 = settings_get(settings, SETTING_FP64) != SETTING_FP64_HOST,
        .fp64_exact = settings_get(settings, SETTING_FP64) == SETTING_FP64_EXACT,
    };
}

/* Opens the engine on NPUs where it is wanted; communicators are to be asked about it by a process that can run it, or
   that was told to. */
static mpinpu_status_t process_npu_open(engine_config_t *config)
{
    const int64_t engine = settings_get(&process.settings, SETTING_ENGINE);
    mpinpu_status_t status = MPINPU_OK;

    if (engine == SETTING_ENGINE_AUTO || engine == SETTING_ENGINE_HCCL) {
        status = engine_hccl.open(config, &process.npu);
        if (status == MPINPU_OK && (engine == SETTING_ENGINE_HCCL || engine_hccl.ready(process.npu))) {
            config->offers |= OFFER_NPU;
        }
    }
    return status;
}

/* Opens the engines; with process.lock held. */
static void process_engine_open(void)
{
    static const engine_thread_t threads[] = {[SETTING_PROGRESS_AUTO] = ENGINE_THREAD_AUTO,
                                              [SETTING_PROGRESS_ON] = ENGINE_THREAD_ON,
                                              [SETTING_PROGRESS_OFF] = ENGINE_THREAD_OFF};
    engine_config_t config = {
        .enabled = settings_get(&process.settings, SETTING_ENGINE) != SETTING_ENGINE_OFF,
        .windows = settings_get(&process.settings, SETTING_WINDOWS) != 0,
        .window_bytes = (size_t)settings_get(&process.settings, SETTING_WINDOW_BYTES),
        .memory_watch = process.real->memory_watch,
        .zero_copy_huge = settings_get(&process.settings, SETTING_ZEROCOPY) == SETTING_ZEROCOPY_ON,
        .zero_copy = settings_get(&process.settings, SETTING_ZEROCOPY) != SETTING_ZEROCOPY_OFF,
        .reproducible = settings_get(&process.settings, SETTING_REPRODUCIBLE) != 0,
        .thread_multiple = process.thread_multiple,
        .local_ranks = process_local_ranks(),
        .local_rank = process_local_rank(),
        .times = process.report != NULL,
        .thread = threads[settings_get(&process.settings, SETTING_PROGRESS)],
        .thread_cpus = settings_get(&process.settings, SETTING_PROGRESS_CPUS) == SETTING_PROGRESS_CPUS_RANGES
                           ? settings_path(&process.settings, SETTING_PROGRESS_CPUS)
                           : NULL,
        .npu = process_npu_config(),
        .compared = settings_compared(&process.settings),
        .progress = compat_progress,
        .offers = process.trace != NULL ? OFFER_TRACE : 0,
        .watch = {.stall_seconds = (unsigned)settings_get(&process.settings, SETTING_STALL_S),
                  .stalled = observe_stalled,
                  .waited = process.trace != NULL ? observe_waited : NULL},
    };

    if (process_npu_open(&config) != MPINPU_OK || process.vtable->open(&config, &process.engine) != MPINPU_OK) {
        process.engine = NULL;
        log_warn("no memory for the engine");
    }
}

static comm_state_t *comm_state_allocate(void)
{
    pthread_mutex_lock(&process.lock);
    comm_state_t *state = process.free_states;
    if (state != NULL) {
        process.free_states = state->next_free;
    } else {
        state = calloc(1, sizeof *state);
        if (state != NULL) {
            atomic_init(&state->comm, MPI_COMM_NULL);
            state->next = process.states;
            process.states = state;
        }
    }
    pthread_mutex_unlock(&process.lock);
    return state;
}

static void comm_state_close(comm_state_t *state)
{
    if (state->npu_comm != NULL) {
        engine_hccl.comm_close(state->npu_comm);
        state->npu_comm = NULL;
    }
    if (state->engine_comm != NULL) {
        process.vtable->comm_close(state->engine_comm);
        state->engine_comm = NULL;
    }
}

static void comm_state_recycle(comm_state_t *state)
{
    pthread_mutex_lock(&process.lock);
    state->next_free = process.free_states;
    process.free_states = state;
    pthread_mutex_unlock(&process.lock);
}

void comm_state_end(comm_state_t *state)
{
    compat_messages_free(state->queue.messages);
    state->queue.messages = NULL;
    comm_state_close(state);
    comm_state_recycle(state);
}

/* The delete callback of our attribute: the communicator is being freed. */
static int comm_state_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    comm_state_t *state = value;

    (void)keyval;
    (void)extra;
    if (state != NULL && atomic_load_explicit(&state->comm, memory_order_relaxed) == comm) {
        /* Nobody uses the communicator now, so nobody can find the state between this store and its end. */
        atomic_store_explicit(&state->comm, MPI_COMM_NULL, memory_order_relaxed);
        outstanding_leave(state);
    }
    return MPI_SUCCESS;
}

bool comm_states_open(void)
{
    /* A duplicate gets no attribute: it is another communicator, with its own state. */
    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, comm_state_delete, &process.comm_keyval, NULL) == MPI_SUCCESS;
}

void comm_states_close(void)
{
    for (comm_state_t *state = process.states; state != NULL; state = state->next) {
        atomic_store_explicit(&state->comm, MPI_COMM_NULL, memory_order_relaxed);
        comm_state_close(state);
    }
}

/* Says once in this process why a communicator is left to the host MPI. */
static void comm_refusal_say(const comm_state_t *state, const char *why)
{
    bool first = false;

    pthread_mutex_lock(&process.lock);
    if (state->rank == 0 && !process.refusal_said) {
        process.refusal_said = true;
        first = true;
    }
    pthread_mutex_unlock(&process.lock);
    if (first) {
        log_warn("a communicator of %d ranks is left to the host MPI: %s", state->size, why);
    } else if (state->rank == 0) {
        log_info("a communicator of %d ranks is left to the host MPI: %s", state->size, why);
    }
}

/* Why NPUs do not serve a communicator; a warning, once, where the user asked for them. */
static void comm_npu_refusal_say(const comm_state_t *state, const char *why)
{
    static _Atomic bool said; /* relaxed: said once, twice in a race */

    if (state->rank == 0 && settings_get(&process.settings, SETTING_ENGINE) == SETTING_ENGINE_HCCL &&
        !atomic_exchange_explicit(&said, true, memory_order_relaxed)) {
        log_warn("a communicator of %d ranks is done by the host CPUs, not by NPUs: %s", state->size, why);
    } else if (state->rank == 0) {
        log_info("a communicator of %d ranks is done by the host CPUs, not by NPUs: %s", state->size, why);
    }
}

void comm_state_connect_npu(comm_state_t *state)
{
    engine_exchange_t exchange;
    char why[320] = "";

    state->npu_later = false;
    if ((process.vtable->comm_offers(state->engine_comm) & OFFER_NPU) == 0) {
        comm_npu_refusal_say(state, settings_get(&process.settings, SETTING_ENGINE) == SETTING_ENGINE_HOST
                                        ? "MPINPU_ENGINE=host"
                                        : "none of its ranks has one that can be used; `mpinpu info` says why");
        return;
    }
    state->handle = atomic_load_explicit(&state->comm, memory_order_relaxed);
    (void)compat_exchange_init(&exchange, &state->handle);
    exchange.owner = state;
    exchange.host = process.engine;
    exchange.words = state->engine_comm;
    exchange.word_send = process.vtable->word_send;
    exchange.word_take = process.vtable->word_take;
    if (engine_hccl.comm_open(process.npu, &exchange, &state->npu_comm, why, sizeof why) != MPINPU_OK) {
        state->npu_comm = NULL;
        comm_npu_refusal_say(state, why);
    } else if (state->rank == 0) {
        log_info("a communicator of %d ranks is done by NPUs, %s, and otherwise by the host CPUs", state->size,
                 settings_get(&process.settings, SETTING_ENGINE) == SETTING_ENGINE_HCCL
                     ? "wherever they can (MPINPU_ENGINE=hccl)"
                     : "where that is faster (MPINPU_HCCL_MIN_BYTES)");
    }
}

static void process_engine_need(void)
{
    pthread_mutex_lock(&process.lock);
    if (process.engine == NULL) {
        process_engine_open();
    }
    pthread_mutex_unlock(&process.lock);
}

/* What comes of an agreement. */
static reason_t comm_reason(mpinpu_status_t status)
{
    if (status == MPINPU_OK) {
        return REASON_ENGINE;
    }
    if (settings_get(&process.settings, SETTING_ENGINE) == SETTING_ENGINE_OFF && status == MPINPU_ERR_UNSUPPORTED) {
        return REASON_ENGINE_OFF;
    }
    return status == MPINPU_ERR_DISAGREE ? REASON_SETTINGS_DIFFER : REASON_NO_COMM;
}

void comm_state_connect(comm_state_t *state, const engine_exchange_t *exchange)
{
    char why[320] = "";
    mpinpu_status_t status;

    process_engine_need();
    if (process.engine != NULL) {
        status = process.vtable->comm_open(process.engine, exchange, &state->engine_comm, why, sizeof why);
    } else {
        /* Where the others have an engine, they ask this first. */
        status = exchange->agree(exchange->context, MPINPU_ERR_NO_MEMORY);
        (void)snprintf(why, sizeof why, "rank %d has no memory for the engine", exchange->rank);
    }
    const reason_t reason = comm_reason(status);
    if (reason == REASON_ENGINE && process.vtable->comm_windows(state->engine_comm)) {
        pthread_mutex_lock(&process.lock);
        process.windows_used = true;
        pthread_mutex_unlock(&process.lock);
    } else if (reason != REASON_ENGINE && reason != REASON_ENGINE_OFF) {
        comm_refusal_say(state, why);
    }
    if (reason == REASON_ENGINE && (process.vtable->comm_offers(state->engine_comm) & OFFER_TRACE) != 0 &&
        exchange->size == process.size) {
        trace_clock_align(process.trace, exchange);
    }
    /* Release: what makes the state is visible to who sees the reason. */
    atomic_store_explicit(&state->reason, reason, memory_order_release);
}

/* Without memory for a state the others must hear of it, or they would wait; and it must be remembered. */
static comm_state_t *comm_state_none(MPI_Comm comm)
{
    static comm_state_t none = {.reason = REASON_NO_COMM};
    engine_exchange_t exchange;

    if (compat_exchange_init(&exchange, &comm) == MPINPU_OK && exchange.size > 1 && compat_comm_within_world(comm)) {
        (void)exchange.agree(exchange.context, MPINPU_ERR_NO_MEMORY);
    }
    (void)PMPI_Comm_set_attr(comm, process.comm_keyval, &none);
    return &none;
}

/* Brings a new communicator of several ranks to an end of its set-up, or begins that. False: no memory. */
static bool comm_state_set_up(comm_state_t *state, MPI_Comm comm, bool may_block)
{
    engine_exchange_t exchange;

    if (!may_block) {
        return outstanding_set_up(state, comm);
    }
    if (compat_exchange_init(&exchange, &comm) != MPINPU_OK) {
        atomic_store_explicit(&state->reason, REASON_NO_COMM, memory_order_relaxed);
        return true;
    }
    exchange.owner = state;
    comm_state_connect(state, &exchange);
    return true;
}

static comm_state_t *comm_state_new(MPI_Comm comm, bool may_block, reason_t *reason)
{
    uint64_t begin = process_clock();
    comm_state_t *state = comm_state_allocate();
    bool fine = true;

    *reason = REASON_NO_COMM;
    if (state == NULL) {
        return may_block ? comm_state_none(comm) : NULL;
    }
    (void)PMPI_Comm_rank(comm, &state->rank);
    (void)PMPI_Comm_size(comm, &state->size);
    state->engine_comm = NULL;
    state->npu_comm = NULL;
    state->npu_later = !may_block;
    state->queue = (queue_t){0};
    atomic_store_explicit(&state->reason, REASON_ONE_RANK, memory_order_relaxed);
    if (state->size > 1 && !compat_comm_within_world(comm)) {
        /* Processes of another job may be without the library, and would never answer. */
        atomic_store_explicit(&state->reason, REASON_OTHER_JOB, memory_order_relaxed);
    } else if (state->size > 1) {
        stall_setup_begin(state, comm);
        fine = comm_state_set_up(state, comm, may_block);
    }
    if (!fine || PMPI_Comm_set_attr(comm, process.comm_keyval, state) != MPI_SUCCESS) {
        comm_state_recycle(state);
        stall_setup_end();
        return NULL;
    }
    atomic_store_explicit(&state->comm, comm, memory_order_release);
    if (may_block && atomic_load_explicit(&state->reason, memory_order_relaxed) == REASON_ENGINE) {
        comm_state_connect_npu(state);
    }
    device_buffers_look(); /* the engine may have loaded CANN, too */
    stall_setup_end();
    if (process.observed) {
        observe_set_up(comm, begin);
    }
    pthread_mutex_lock(&process.lock);
    process.setup_ns += process_clock() - begin;
    process.communicators++;
    pthread_mutex_unlock(&process.lock);
    return state;
}

comm_state_t *comm_state_make(MPI_Comm comm, bool may_block, reason_t *reason)
{
    int inter = 0;
    int found = 0;
    void *value = NULL;

    if (!compat_comm_valid(comm)) {
        *reason = REASON_INVALID_ARGUMENT;
        return NULL;
    }
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter) {
        *reason = REASON_INTERCOMMUNICATOR;
        return NULL;
    }
    if (PMPI_Comm_get_attr(comm, process.comm_keyval, (void *)&value, &found) != MPI_SUCCESS) {
        *reason = REASON_NO_COMM;
        return NULL;
    }
    comm_state_t *state = found ? value : comm_state_new(comm, may_block, reason);
    if (state != NULL) {
        /* Release: what makes the state is visible to a thread that finds it in the cache. */
        atomic_store_explicit(&process.cache[comm_cache_slot(comm)], state, memory_order_release);
    }
    return state;
}
