/* SPDX-License-Identifier: BSD-3-Clause */
/* The one process object of the core, and the states of communicators that hang on it. */
#ifndef SHIM_PROCESS_H
#define SHIM_PROCESS_H

#include "engine/engine.h"
#include "engine/settings.h"
#include "shim/core.h"
#include "shim/report.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

/* What is known of a communicator. States are never given back to the allocator before the process ends, so a stale
   pointer to one may be looked at: it then names another communicator. */
typedef struct comm_state {
    _Atomic(MPI_Comm) comm;     /* whose state it is; MPI_COMM_NULL while unused */
    reason_t reason;            /* REASON_ENGINE, REASON_ONE_RANK, or why the host MPI does its calls */
    engine_comm_t *engine_comm; /* with REASON_ENGINE */
    engine_comm_t *npu_comm;    /* with REASON_ENGINE: its state on the NPUs, or NULL */
    MPI_Comm handle;            /* for the exchange of npu_comm, as long as that lives */
    int rank;
    int size;
    struct comm_state *next_free;
    struct comm_state *next; /* of all ever made */
} comm_state_t;

enum { COMM_CACHE_SLOTS = 64 };

typedef enum process_phase {
    PROCESS_NEW,    /* MPI not yet seen initialised */
    PROCESS_RUNS,   /* calls are served */
    PROCESS_LEAVES, /* MPI_Finalize has begun: calls are served while MPI says that it runs */
    PROCESS_ENDED,  /* MPI has ended */
} process_phase_t;

typedef struct process {
    _Atomic int phase;    /* process_phase_t; release when set, acquire when read */
    pthread_mutex_t lock; /* everything below that is not set once before PROCESS_RUNS */
    const core_table_t *real;
    settings_t settings;
    size_t min_bytes;
    report_t *report; /* NULL: off */
    const engine_vtable_t *vtable;
    engine_t *engine;   /* opened at the first eligible call */
    engine_t *npu;      /* the engine on NPUs, opened then too; NULL: not wanted */
    size_t npu_bytes;   /* calls that reduce fewer do not go there */
    reason_t no_engine; /* REASON_ENGINE, or why there is no engine at all */
    bool thread_multiple;
    int rank; /* in MPI_COMM_WORLD */
    int size;
    int comm_keyval;
    bool refusal_said;
    bool reported;
    uint64_t setup_ns;
    uint64_t communicators;
    bool windows_used; /* by any of them */
    comm_state_t *states;
    comm_state_t *free_states;
    /* Recently used states by handle; relaxed suffices: an entry is believed only if its `comm` is the handle asked
     * for. */
    _Atomic(comm_state_t *) cache[COMM_CACHE_SLOTS];
} process_t;

extern process_t process;

/* Sets up what needs MPI: at the first intercepted call after MPI_Init. False where MPI does not run now. Any thread.
 */
bool process_start(void);

/* The state of an intracommunicator, made (collectively over it) when it has none; NULL with `reason` set where the
   handle is an intercommunicator or none at all. Any thread. */
comm_state_t *comm_state_make(MPI_Comm comm, reason_t *reason);

/* Ends all states, local; at MPI_Finalize. */
void comm_states_close(void);

/* Makes the attribute key whose delete callback ends a communicator's state. */
bool comm_states_open(void);

static inline unsigned comm_cache_slot(MPI_Comm comm)
{
    uintptr_t handle = (uintptr_t)comm;
    return (unsigned)(handle >> 4 ^ handle >> 10) % COMM_CACHE_SLOTS;
}

/* The state if it was used lately, else NULL. */
static inline comm_state_t *comm_state_recent(MPI_Comm comm)
{
    comm_state_t *state = atomic_load_explicit(&process.cache[comm_cache_slot(comm)], memory_order_acquire);

    if (state != NULL && atomic_load_explicit(&state->comm, memory_order_relaxed) == comm) {
        return state;
    }
    return NULL;
}

/* Nanoseconds of a clock that only grows. */
uint64_t process_clock(void);

#endif
