/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper: a thread that progresses messages while nobody else does. A process may leave a collective while peers
   still need its progress: UCX's answer to a rendezvous may wait for room in the peer's queue, a connection for its
   second half. UCX does not tell (ucp_worker_flush_nbx overlooks what waits for room, and a flush may itself need the
   peer's progress), and the program may block in the host MPI next. */
#include "transport/internal.h"
#include "transport/log.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds between two looks: few where all is idle or driven by others, since many ranks may share a CPU. */
enum { PAUSE_LEAST = 1, PAUSE_MOST = 20, EVENTS_AT_ONCE = 1000 };

/* For the handler at exit, which gets no argument. The one transport of this process, if it has a keeper. */
static _Atomic(transport_t *) kept;

static void pause_until(struct timespec *until, long milliseconds)
{
    clock_gettime(CLOCK_MONOTONIC, until);
    until->tv_nsec += milliseconds * 1000000L;
    until->tv_sec += until->tv_nsec / 1000000000L;
    until->tv_nsec %= 1000000000L;
}

static unsigned keeper_progress(transport_t *transport)
{
    unsigned events = 0;
    unsigned more;
    do {
        more = ucx.ucp_worker_progress(transport->worker);
        events += more;
    } while (more > 0 && events < EVENTS_AT_ONCE);
    return events;
}

static void *keeper_run(void *argument)
{
    transport_t *transport = argument;
    keeper_t *keeper = &transport->keeper;
    unsigned seen = atomic_load_explicit(&transport->driven, memory_order_relaxed);
    long pause = PAUSE_MOST;
    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->stop) {
        struct timespec until;
        pause_until(&until, pause);
        pthread_cond_timedwait(&keeper->wake, &keeper->mutex, &until);
        unsigned driven = atomic_load_explicit(&transport->driven, memory_order_relaxed);
        if (keeper->stop || driven != seen) {
            seen = driven;
            pause = PAUSE_MOST;
            continue;
        }
        pthread_mutex_unlock(&keeper->mutex);
        unsigned events = keeper_progress(transport);
        pthread_mutex_lock(&keeper->mutex);
        pause = events > 0 ? PAUSE_LEAST : pause * 2 < PAUSE_MOST ? pause * 2 : PAUSE_MOST;
    }
    pthread_mutex_unlock(&keeper->mutex);
    return NULL;
}

/* UCX takes its tables down at exit, so the keeper must be gone before. */
static void keeper_exit(void)
{
    transport_t *transport = atomic_load_explicit(&kept, memory_order_acquire);
    if (transport != NULL && transport->pid == getpid()) {
        transport_keeper_stop(transport);
    }
}

static bool keeper_thread_start(transport_t *transport)
{
    keeper_t *keeper = &transport->keeper;
    pthread_condattr_t clock;
    sigset_t all;
    sigset_t before;
    pthread_mutex_init(&keeper->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&keeper->wake, &clock);
    pthread_condattr_destroy(&clock);
    /* The program's signals are for the program's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&keeper->thread, NULL, keeper_run, transport) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) {
        pthread_cond_destroy(&keeper->wake);
        pthread_mutex_destroy(&keeper->mutex);
    }
    return started;
}

void transport_keeper_start(transport_t *transport)
{
    static bool registered; /* under the mutex */
    pthread_mutex_lock(&transport->mutex);
    if (!atomic_load_explicit(&transport->kept, memory_order_relaxed)) {
        transport->keeper.running = transport->threads && keeper_thread_start(transport);
        if (transport->keeper.running) {
            atomic_store_explicit(&kept, transport, memory_order_release);
            registered = registered || atexit(keeper_exit) == 0;
        } else {
            log_debug("no thread progresses messages while the program is elsewhere");
        }
        atomic_store_explicit(&transport->kept, true, memory_order_release);
    }
    pthread_mutex_unlock(&transport->mutex);
}

void transport_keeper_stop(transport_t *transport)
{
    keeper_t *keeper = &transport->keeper;
    if (!keeper->running) {
        return;
    }
    pthread_mutex_lock(&keeper->mutex);
    keeper->stop = true;
    pthread_cond_signal(&keeper->wake);
    pthread_mutex_unlock(&keeper->mutex);
    pthread_join(keeper->thread, NULL);
    pthread_cond_destroy(&keeper->wake);
    pthread_mutex_destroy(&keeper->mutex);
    keeper->running = false;
    atomic_store_explicit(&kept, NULL, memory_order_release);
}
