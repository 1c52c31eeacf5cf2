/* SPDX-License-Identifier: BSD-3-Clause */
/* The keeper: the one thread of the library's own. It does two things, each only while nobody else does it. It
   progresses messages: a process may leave a collective while peers still need its progress, for UCX's answer to a
   rendezvous may wait for room in the peer's queue, a connection for its second half. UCX does not tell
   (ucp_worker_flush_nbx overlooks what waits for room, and a flush may itself need the peer's progress), and the
   program may block in the host MPI next. And it runs the task that it was given (transport_task_start). */
#include "config.h" /* _GNU_SOURCE: syscall, pthread_setname_np */

#include "transport/internal.h"
#include "transport/log.h"

#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Microseconds between two looks at the messages: few where all is idle or driven by others, since many ranks may share
   a CPU. */
enum { MESSAGES_PAUSE_LEAST = 1000, MESSAGES_PAUSE_MOST = 20000, EVENTS_AT_ONCE = 1000 };

/* Between two runs of the task: while it waits for other processes, and while it is somebody else's or nothing is to be
   done. */
enum { TASK_PAUSE_LEAST = 50, TASK_PAUSE_MOST = 1000, TASK_LOOK_LEAST = 1000, TASK_LOOK_MOST = 4000 };
/* A run that took so long has done something. */
enum { TASK_RUN_SHORT = 10 };
/* With a CPU of its own it polls so long before it pauses. */
enum { TASK_POLL = 200 };

static const int64_t never = INT64_MAX;

/* For the handler at exit, which gets no argument. The one transport of this process, if it has a keeper. */
static _Atomic(transport_t *) kept;

/* What one of the two needs to know: in microseconds of keeper_clock. */
typedef struct duty {
    int64_t due; /* never: when the bell rings */
    int64_t pause;
    int64_t moved; /* when it last did something */
    unsigned seen; /* messages: the count of others' progress */
} duty_t;

static int64_t keeper_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t twice(int64_t pause, int64_t most)
{
    return pause * 2 < most ? pause * 2 : most;
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

static void messages_do(transport_t *transport, duty_t *duty, int64_t now)
{
    unsigned driven = atomic_load_explicit(&transport->driven, memory_order_relaxed);

    if (driven != duty->seen) {
        duty->seen = driven;
        duty->pause = MESSAGES_PAUSE_MOST;
    } else {
        duty->pause = keeper_progress(transport) > 0 ? MESSAGES_PAUSE_LEAST : twice(duty->pause, MESSAGES_PAUSE_MOST);
    }
    duty->due = now + duty->pause;
}

static void task_do(keeper_t *keeper, duty_t *duty, int64_t now)
{
    const transport_task_state_t state = keeper->task.run(keeper->task.context);
    const int64_t end = keeper_clock();

    switch (state) {
    case TRANSPORT_TASK_NONE:
    case TRANSPORT_TASK_LEFT:
        if (duty->pause < TASK_LOOK_LEAST) {
            duty->pause = TASK_LOOK_LEAST;
        } else if (state == TRANSPORT_TASK_NONE && duty->pause == TASK_LOOK_MOST) {
            duty->due = never;
            return;
        } else {
            duty->pause = twice(duty->pause, TASK_LOOK_MOST);
        }
        break;
    case TRANSPORT_TASK_WAITS:
        if (end - now >= TASK_RUN_SHORT) {
            duty->moved = end;
            duty->pause = TASK_PAUSE_LEAST;
        } else {
            duty->pause = duty->pause < TASK_PAUSE_LEAST ? TASK_PAUSE_LEAST : twice(duty->pause, TASK_PAUSE_MOST);
        }
        break;
    case TRANSPORT_TASK_MOVED:
        duty->moved = end;
        duty->pause = TASK_PAUSE_LEAST;
        break;
    }
    if (keeper->task.polls && state >= TRANSPORT_TASK_WAITS && end - duty->moved < TASK_POLL) {
        duty->pause = 0;
    }
    duty->due = end + duty->pause;
}

/* Until then, or until the bell no longer is as it was. */
static void keeper_sleep(keeper_t *keeper, uint32_t bell, int64_t until)
{
    struct timespec time = {0};

    if (until != never) {
        const int64_t left = until - keeper_clock();
        if (left <= 0) {
            return;
        }
        time = (struct timespec){.tv_sec = left / 1000000, .tv_nsec = left % 1000000 * 1000};
    }
    (void)syscall(SYS_futex, &keeper->bell, FUTEX_WAIT_PRIVATE, bell, until != never ? &time : NULL, NULL, 0);
}

static void keeper_ring(keeper_t *keeper)
{
    /* Release: what was done before is visible to who hears it. */
    atomic_fetch_add_explicit(&keeper->bell, 1, memory_order_release);
    (void)syscall(SYS_futex, &keeper->bell, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* The task has nothing to do until the bell rings. */
static void task_rest(keeper_t *keeper)
{
    atomic_store_explicit(&keeper->resting, true, memory_order_relaxed);
    /* Either this thread sees what there is to be done, or who leaves it sees that this thread rests: pairs with the
       fence in transport_task_wake. */
    atomic_thread_fence(memory_order_seq_cst);
    if (keeper->task.any(keeper->task.context)) {
        keeper_ring(keeper);
    }
}

static void task_begin(const keeper_t *keeper, bool *begun)
{
    if (!*begun) {
        *begun = true;
        keeper->task.begin(keeper->task.context);
    }
}

static void *keeper_run(void *argument)
{
    transport_t *transport = argument;
    keeper_t *keeper = &transport->keeper;
    duty_t messages = {.due = never, .pause = MESSAGES_PAUSE_MOST};
    duty_t task = {.due = never};
    uint32_t heard = 0;
    bool begun = false;

    (void)prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
    messages.seen = atomic_load_explicit(&transport->driven, memory_order_relaxed);
    for (;;) {
        /* Acquire: see keeper_ring. */
        const uint32_t bell = atomic_load_explicit(&keeper->bell, memory_order_acquire);
        const int64_t now = keeper_clock();
        if (atomic_load_explicit(&keeper->stop, memory_order_relaxed)) {
            return NULL;
        }
        if (bell != heard) {
            heard = bell;
            atomic_store_explicit(&keeper->resting, false, memory_order_relaxed);
            if (keeper->task.run != NULL) {
                task_begin(keeper, &begun);
                task = (duty_t){.due = now, .moved = now};
            }
        }
        if (now >= task.due) {
            task_do(keeper, &task, now);
            if (task.due == never) {
                task_rest(keeper);
            }
        }
        if (messages.due == never && atomic_load_explicit(&transport->kept, memory_order_acquire)) {
            messages.due = now + messages.pause;
        } else if (now >= messages.due) {
            messages_do(transport, &messages, now);
        }
        keeper_sleep(keeper, bell, task.due < messages.due ? task.due : messages.due);
    }
}

/* UCX takes its tables down at exit, so the keeper must be gone before. */
static void keeper_exit(void)
{
    transport_t *transport = atomic_load_explicit(&kept, memory_order_acquire);
    if (transport != NULL && transport->pid == getpid()) {
        transport_keeper_stop(transport);
    }
}

/* With the mutex held. False: there is none. */
static bool keeper_start(transport_t *transport)
{
    static bool registered; /* under the mutex */
    keeper_t *keeper = &transport->keeper;
    sigset_t all;
    sigset_t before;

    if (keeper->running || !transport->threads || atomic_load_explicit(&keeper->stop, memory_order_relaxed)) {
        return keeper->running;
    }
    /* The program's signals are for the program's threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    keeper->running = pthread_create(&keeper->thread, NULL, keeper_run, transport) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (keeper->running) {
        (void)pthread_setname_np(keeper->thread, "mpinpu");
        atomic_store_explicit(&kept, transport, memory_order_release);
        registered = registered || atexit(keeper_exit) == 0;
    }
    return keeper->running;
}

void transport_keeper_start(transport_t *transport)
{
    pthread_mutex_lock(&transport->mutex);
    if (!atomic_load_explicit(&transport->kept, memory_order_relaxed)) {
        const bool ran = transport->keeper.running;
        atomic_store_explicit(&transport->kept, true, memory_order_release);
        if (!keeper_start(transport)) {
            log_debug("no thread progresses messages while the program is elsewhere");
        } else if (ran) {
            keeper_ring(&transport->keeper); /* it does not know of messages yet */
        }
    }
    pthread_mutex_unlock(&transport->mutex);
}

bool transport_task_start(transport_t *transport, const transport_task_t *task)
{
    keeper_t *keeper = &transport->keeper;
    bool started;

    pthread_mutex_lock(&transport->mutex);
    keeper->task = *task; /* the thread looks at it once the bell has rung */
    started = keeper_start(transport);
    if (started) {
        keeper_ring(keeper);
    }
    pthread_mutex_unlock(&transport->mutex);
    return started;
}

void transport_task_wake(transport_t *transport, bool at_once)
{
    keeper_t *keeper = &transport->keeper;

    atomic_thread_fence(memory_order_seq_cst); /* see task_rest */
    if (at_once || atomic_load_explicit(&keeper->resting, memory_order_relaxed)) {
        keeper_ring(keeper);
    }
}

void transport_keeper_stop(transport_t *transport)
{
    keeper_t *keeper = &transport->keeper;
    if (!keeper->running) {
        return;
    }
    atomic_store_explicit(&keeper->stop, true, memory_order_relaxed);
    keeper_ring(keeper);
    pthread_join(keeper->thread, NULL);
    keeper->running = false;
    atomic_store_explicit(&kept, NULL, memory_order_release);
}

void transport_task_stop(transport_t *transport)
{
    transport_keeper_stop(transport);
}
