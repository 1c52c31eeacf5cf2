/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/outstanding.h"

#include "mpi_compat/progress.h"
#include "shim/setup.h"

#include <pthread.h>
#include <sched.h>

static bool outstanding_enter(void)
{
    /* Acquire: what the last one did is visible. */
    return !atomic_exchange_explicit(&process.outstanding.entered, true, memory_order_acquire);
}

static void outstanding_wait(void)
{
    while (!outstanding_enter()) {
        (void)sched_yield();
    }
}

static void outstanding_exit(void)
{
    atomic_store_explicit(&process.outstanding.entered, false, memory_order_release);
}

static void queue_list(comm_state_t *state)
{
    if (!state->queue.listed) {
        state->queue.listed = true;
        state->queue.next = process.outstanding.listed;
        process.outstanding.listed = state;
    }
}

/* Puts what was issued into the queues, in the order of issue. */
static void issued_take(void)
{
    operation_t *latest = atomic_exchange_explicit(&process.outstanding.issued, NULL, memory_order_acquire);
    operation_t *first = NULL;

    while (latest != NULL) {
        operation_t *before = latest->next;
        latest->next = first;
        first = latest;
        latest = before;
    }
    while (first != NULL) {
        operation_t *operation = first;
        queue_t *queue = &operation->state->queue;
        first = operation->next;
        operation->next = NULL;
        if (queue->first == NULL) {
            queue->first = operation;
        } else {
            queue->last->next = operation;
        }
        if (queue->active == NULL) {
            queue->active = operation;
        }
        queue->last = operation;
        queue_list(operation->state);
    }
}

static void count_down(comm_state_t *state)
{
    /* Release: see outstanding_any. */
    atomic_fetch_sub_explicit(&state->queue.count, 1, memory_order_release);
    atomic_fetch_sub_explicit(&process.outstanding.count, 1, memory_order_relaxed);
}

/* Completes those that have ended. */
static int queue_complete(comm_state_t *state)
{
    queue_t *queue = &state->queue;
    int completed = 0;

    while (queue->first != queue->active) {
        operation_t *operation = queue->first;
        queue->first = operation->next;
        operation_complete(operation);
        count_down(state);
        completed++;
    }
    return completed;
}

/* What one operation of the queue has come to. */
typedef enum queue_state { QUEUE_EMPTY, QUEUE_BLOCKED, QUEUE_WAITS, QUEUE_ENDED } queue_state_t;

/* The first that has not ended goes on; `aside`: without a call of the host MPI. */
static queue_state_t queue_advance(queue_t *queue, bool aside)
{
    operation_t *operation = queue->active;

    if (operation == NULL) {
        return QUEUE_EMPTY;
    }
    if (aside && !operation_aside(operation)) {
        return QUEUE_BLOCKED;
    }
    if (!operation->begun) {
        operation_begin(operation);
    }
    if (!operation_advance(operation)) {
        return QUEUE_WAITS;
    }
    queue->active = operation->next;
    return QUEUE_ENDED;
}

/* The thread's share, with the lock held: operations go on until they end; who may call MPI completes them. */
static engine_task_state_t queues_advance(void)
{
    engine_task_state_t found = ENGINE_TASK_NONE;

    issued_take();
    for (comm_state_t *state = process.outstanding.listed; state != NULL; state = state->queue.next) {
        queue_state_t last = QUEUE_EMPTY;
        if (state->queue.setup != NULL) {
            continue;
        }
        while ((last = queue_advance(&state->queue, true)) == QUEUE_ENDED) {
            found = ENGINE_TASK_MOVED;
        }
        found = last == QUEUE_WAITS && found == ENGINE_TASK_NONE ? ENGINE_TASK_WAITS : found;
    }
    return found;
}

/* What the thread saw when it looked last. */
static unsigned driven_seen;
static unsigned count_seen;

static unsigned outstanding_driven(void)
{
    return atomic_load_explicit(&process.outstanding.driven, memory_order_relaxed);
}

static unsigned outstanding_count(void)
{
    return atomic_load_explicit(&process.outstanding.count, memory_order_relaxed);
}

static _Thread_local bool aside;

bool outstanding_aside(void)
{
    return aside;
}

/* Calls no MPI function. */
static engine_task_state_t task_run(void)
{
    const unsigned driven = outstanding_driven();
    engine_task_state_t state = ENGINE_TASK_LEFT;

    aside = true;
    count_seen = outstanding_count();
    if (count_seen == 0) {
        state = ENGINE_TASK_NONE;
    } else if (driven == driven_seen && outstanding_enter()) {
        atomic_store_explicit(&process.outstanding.tasked, true, memory_order_relaxed);
        state = queues_advance();
        atomic_store_explicit(&process.outstanding.tasked, false, memory_order_relaxed);
        outstanding_exit();
    }
    driven_seen = driven;
    return state;
}

/* Nothing is completed and made up for by a new one without being driven. */
static bool task_any(void)
{
    return outstanding_count() != count_seen || outstanding_driven() != driven_seen;
}

/* Lets the thread look, if it rests. */
static void task_wake(void)
{
    if (atomic_load_explicit(&process.outstanding.task, memory_order_acquire)) {
        process.vtable->task_wake(process.engine, false);
    }
}

/* With the lock held. */
static void task_start(void)
{
    const engine_task_t task = {.run = task_run, .any = task_any};

    process.vtable->task_start(process.engine, &task, &process.outstanding.at_once);
    /* Release: the engine and what it said are visible to who sees this. */
    atomic_store_explicit(&process.outstanding.task, true, memory_order_release);
}

/* How many ended. */
static int queue_drive(comm_state_t *state)
{
    queue_t *queue = &state->queue;
    int ended = 0;

    if (queue->setup != NULL) {
        if (!coroutine_step(queue->setup)) {
            return 0;
        }
        queue->setup = NULL;
        count_down(state);
        ended++;
    }
    do {
        ended += queue_complete(state);
    } while (queue_advance(queue, false) == QUEUE_ENDED);
    if (!atomic_load_explicit(&process.outstanding.task, memory_order_relaxed) &&
        atomic_load_explicit(&state->reason, memory_order_relaxed) == REASON_ENGINE) {
        task_start();
    }
    return ended;
}

/* With the lock held. */
static int queues_drive(void)
{
    comm_state_t **link = &process.outstanding.listed;
    int ended = 0;

    issued_take();
    while (*link != NULL) {
        comm_state_t *state = *link;
        ended += queue_drive(state);
        if (state->queue.first != NULL || state->queue.setup != NULL) {
            link = &state->queue.next;
            continue;
        }
        *link = state->queue.next;
        state->queue.listed = false;
        if (state->queue.freed && state->queue.kept == 0) {
            comm_state_end(state);
        }
    }
    return ended;
}

/* The program's share. */
static int outstanding_drive(void)
{
    int ended = 0;

    if (outstanding_enter()) {
        ended = queues_drive();
        outstanding_exit();
    } else if (atomic_load_explicit(&process.outstanding.tasked, memory_order_relaxed)) {
        /* Perhaps on this very CPU. */
        (void)sched_yield();
    }
    return ended;
}

/* After a large one was issued: was that to wait for it, or to do something else meanwhile? */
static void computes_learn(void)
{
    const uint64_t compute_least = 20000; /* ns */
    const uint64_t issued_at = atomic_load_explicit(&process.outstanding.issued_at, memory_order_relaxed);

    if (issued_at != 0) {
        atomic_store_explicit(&process.outstanding.issued_at, 0, memory_order_relaxed);
        atomic_store_explicit(&process.outstanding.computes, process_clock() - issued_at > compute_least,
                              memory_order_relaxed);
    }
}

/* The host MPI calls this. */
static int outstanding_progress(void)
{
    if (outstanding_count() == 0) {
        return 0;
    }
    computes_learn();
    /* A lost count does no harm, so no locked addition. */
    atomic_store_explicit(&process.outstanding.driven, outstanding_driven() + 1, memory_order_relaxed);
    const int ended = outstanding_drive();
    if (outstanding_count() != 0) {
        task_wake(); /* it may rest for want of what only MPI can do */
    }
    return ended;
}

static bool registered; /* once */

static void outstanding_register(void)
{
    registered = compat_progress_register(outstanding_progress);
}

bool outstanding_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, outstanding_register);
    return registered;
}

bool outstanding_set_up(comm_state_t *state, MPI_Comm comm)
{
    coroutine_t *setup = setup_new(state, comm);

    if (setup == NULL) {
        return false;
    }
    atomic_store_explicit(&state->reason, REASON_SETTING_UP, memory_order_relaxed);
    atomic_store_explicit(&state->queue.count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&process.outstanding.count, 1, memory_order_relaxed);
    outstanding_wait();
    state->queue.setup = setup;
    queue_list(state);
    outstanding_exit();
    return true;
}

/* Whether the thread with a CPU of its own is to begin what was issued, since this one is about to compute. */
static bool outstanding_hand_over(size_t bytes)
{
    const size_t large = (size_t)64 << 10;

    if (bytes < large || !atomic_load_explicit(&process.outstanding.task, memory_order_acquire) ||
        !process.outstanding.at_once) {
        return false;
    }
    atomic_store_explicit(&process.outstanding.issued_at, process_clock(), memory_order_relaxed);
    return atomic_load_explicit(&process.outstanding.computes, memory_order_relaxed);
}

void outstanding_issue(operation_t *operation)
{
    /* Once issued it may be gone. */
    const size_t bytes = operation->total * dtype_size(operation->collective.dtype);

    if (process.observed) {
        operation_observe(operation);
    }
    atomic_fetch_add_explicit(&operation->state->queue.count, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&process.outstanding.count, 1, memory_order_relaxed);
    operation->next = atomic_load_explicit(&process.outstanding.issued, memory_order_relaxed);
    /* Release: the operation is visible to who takes it. */
    while (!atomic_compare_exchange_weak_explicit(&process.outstanding.issued, &operation->next, operation,
                                                  memory_order_release, memory_order_relaxed)) {
    }
    if (outstanding_hand_over(bytes)) {
        process.vtable->task_wake(process.engine, true);
    } else {
        (void)outstanding_drive();
        if (outstanding_count() != 0) {
            task_wake();
        }
    }
}

void outstanding_settle(comm_state_t *state)
{
    enum { POLLS = 64 };

    for (unsigned polls = 1; outstanding_any(state); polls++) {
        compat_progress();
        if (polls % POLLS == 0) {
            (void)sched_yield();
        }
    }
}

static bool setting_up(const comm_state_t *state)
{
    bool under_way;

    outstanding_wait();
    under_way = state->queue.setup != NULL;
    outstanding_exit();
    return under_way;
}

void outstanding_leave(comm_state_t *state)
{
    bool busy;

    /* The set-up begins by a collective on the communicator, of which Open MPI takes what is left once it is freed. To
       be freed it takes all ranks, and each has then issued what the set-up is for. */
    while (setting_up(state)) {
        compat_progress();
    }
    outstanding_wait();
    issued_take();
    busy = state->queue.listed || state->queue.kept > 0;
    state->queue.freed = busy;
    outstanding_exit();
    if (!busy) {
        comm_state_end(state);
    }
}

void outstanding_keep(comm_state_t *state)
{
    outstanding_wait();
    state->queue.kept++;
    outstanding_exit();
}

void outstanding_unkeep(comm_state_t *state)
{
    outstanding_wait();
    state->queue.kept--;
    const bool last = state->queue.freed && state->queue.kept == 0 && !state->queue.listed;
    outstanding_exit();
    if (last) {
        comm_state_end(state);
    }
}

void outstanding_relay_end(comm_state_t *state)
{
    compat_messages_free(state->queue.messages);
    state->queue.messages = NULL;
}
