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

/* How many ended. */
static int queue_advance(comm_state_t *state)
{
    queue_t *queue = &state->queue;
    operation_t *operation;
    int ended = 0;

    if (queue->setup != NULL) {
        if (!coroutine_step(queue->setup)) {
            return 0;
        }
        queue->setup = NULL;
        count_down(state);
        ended++;
    }
    while ((operation = queue->first) != NULL) {
        if (!operation->begun) {
            operation_begin(operation);
        }
        if (!operation_advance(operation)) {
            break;
        }
        queue->first = operation->next;
        operation_complete(operation);
        count_down(state);
        ended++;
    }
    return ended;
}

/* With the lock held. */
static int queues_advance(void)
{
    comm_state_t **link = &process.outstanding.listed;
    int ended = 0;

    issued_take();
    while (*link != NULL) {
        comm_state_t *state = *link;
        ended += queue_advance(state);
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

/* The host MPI calls this. */
static int outstanding_progress(void)
{
    int ended = 0;

    if (atomic_load_explicit(&process.outstanding.count, memory_order_relaxed) != 0 && outstanding_enter()) {
        ended = queues_advance();
        outstanding_exit();
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

void outstanding_issue(operation_t *operation)
{
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
    (void)outstanding_progress();
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
