/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* PACKAGE_VERSION */

#include "shim/observe.h"
#include "shim/trace.h"

#include "engine/job.h"
#include "mpi_compat/progress.h"
#include "mpi_compat/reduction.h"
#include "transport/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

process_t process = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .persistents.lock = PTHREAD_MUTEX_INITIALIZER, .vtable = &engine_host};

uint64_t process_clock(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* The engine, in a word for the report. */
static const char *process_engine_text(void)
{
    if (settings_get(&process.settings, SETTING_ENGINE) == SETTING_ENGINE_OFF) {
        return "off";
    }
    if (process.engine == NULL) {
        return "not started";
    }
    return process.vtable->ready(process.engine) ? process.vtable->name : "none";
}

static void stage_take(void *context, const char *name, uint64_t nanoseconds)
{
    report_head_t *head = context;

    if (head->nstages < REPORT_STAGES_MAX) {
        head->stages[head->nstages++] = (report_stage_t){.name = name, .nanoseconds = nanoseconds};
    }
}

/* On rank 0, once; calls no MPI function. */
static void process_report(void)
{
    if (process.report == NULL || process.rank != 0 || process.reported) {
        return;
    }
    process.reported = true;

    char windows[64] = "none";
    report_head_t head = {.version = PACKAGE_VERSION,
                          .job_size = process.size,
                          .engine = process_engine_text(),
                          .windows = windows,
                          .setup_ns = process.setup_ns,
                          .communicators = process.communicators};
    const char *path = settings_path(&process.settings, SETTING_REPORT);

    if (process.windows_used) {
        (void)snprintf(windows, sizeof windows, "at most %lld MiB on this host",
                       (long long)settings_get(&process.settings, SETTING_WINDOW_BYTES) >> 20);
    }
    if (process.npu != NULL) {
        engine_hccl.times(process.npu, stage_take, &head);
    }
    /* A job that this one spawns inherits the setting. */
    const unsigned long job = job_spawned();
    char *own = NULL;
    if (path[0] != '\0' && job != 0 && asprintf(&own, "%s.job%lu", path, job) < 0) {
        log_warn("the report is not written: %m");
        return;
    }
    path = own != NULL ? own : path;
    (void)report_print(process.report, &head, path[0] != '\0' ? path : NULL);
    free(own);
}

/* The delete callback of our attribute on MPI_COMM_SELF: MPI_Finalize calls it before anything else ends (MPI 3.1,
   section 8.7.1). Other such callbacks may still reduce, on this rank before or after this one, so the engine stays. */
static int process_leave(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    /* Release/acquire: whoever sees another phase sees what was set before. */
    atomic_store_explicit(&process.phase, PROCESS_LEAVES, memory_order_release);
    process_report();
    if (process.trace != NULL) {
        trace_flush(process.trace);
    }
    return MPI_SUCCESS;
}

/* The delete callback of our attribute on MPI_COMM_WORLD: the host MPI has ended, and no MPI function may be called. */
static int process_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)extra;
    atomic_store_explicit(&process.phase, PROCESS_ENDED, memory_order_release);
    if (process.engine != NULL) {
        process.vtable->task_stop(process.engine);
    }
    process_report(); /* where the first call came too late for the other hook */
    observe_close();
    comm_states_close();
    if (process.engine != NULL) {
        process.vtable->close(process.engine);
        process.engine = NULL;
    }
    if (process.npu != NULL) {
        engine_hccl.close(process.npu);
        process.npu = NULL;
    }
    report_free(process.report);
    process.report = NULL;
    process.observed = false;
    return MPI_SUCCESS;
}

static bool hook_set(MPI_Comm comm, MPI_Comm_delete_attr_function *at_delete)
{
    int keyval = MPI_KEYVAL_INVALID;

    return PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_delete, &keyval, NULL) == MPI_SUCCESS &&
           PMPI_Comm_set_attr(comm, keyval, NULL) == MPI_SUCCESS;
}

static bool process_hooks_set(void)
{
    return hook_set(MPI_COMM_WORLD, process_end) && hook_set(MPI_COMM_SELF, process_leave) && comm_states_open();
}

static void process_setup(void)
{
    int level = MPI_THREAD_SINGLE;

    settings_load(&process.settings);
    log_level_set((log_level_t)settings_get(&process.settings, SETTING_LOG));
    process.min_bytes = (size_t)settings_get(&process.settings, SETTING_MIN_BYTES);
    if (settings_get(&process.settings, SETTING_ENGINE) == SETTING_ENGINE_AUTO &&
        settings_get(&process.settings, SETTING_HCCL_MIN_BYTES) != SETTING_BYTES_AUTO) {
        process.npu_bytes = (size_t)settings_get(&process.settings, SETTING_HCCL_MIN_BYTES);
    }
    (void)PMPI_Query_thread(&level);
    process.thread_multiple = level == MPI_THREAD_MULTIPLE;
    (void)PMPI_Comm_rank(MPI_COMM_WORLD, &process.rank);
    (void)PMPI_Comm_size(MPI_COMM_WORLD, &process.size);
    log_rank_set(process.rank);
    observe_open();
    process.no_engine = REASON_ENGINE;
    compat_progress_init();
    compat_reduction_init();
}

bool process_start(void)
{
    int initialized = 0;
    int finalized = 0;
    bool runs;

    (void)PMPI_Initialized(&initialized);
    (void)PMPI_Finalized(&finalized);
    if (!initialized || finalized) {
        return false;
    }
    pthread_mutex_lock(&process.lock);
    if (atomic_load_explicit(&process.phase, memory_order_relaxed) == PROCESS_NEW) {
        process_setup();
        if (process_hooks_set()) {
            /* Release: the set-up is visible to who sees the phase. */
            atomic_store_explicit(&process.phase, PROCESS_RUNS, memory_order_release);
        } else {
            log_warn("the host MPI refuses attributes, so every call goes to it");
            atomic_store_explicit(&process.phase, PROCESS_ENDED, memory_order_release);
        }
    }
    runs = atomic_load_explicit(&process.phase, memory_order_relaxed) != PROCESS_ENDED;
    pthread_mutex_unlock(&process.lock);
    return runs;
}
