/* SPDX-License-Identifier: BSD-3-Clause */
/* The one process object of the core, and the states of communicators that hang on it. */
#ifndef SHIM_PROCESS_H
#define SHIM_PROCESS_H

#include "engine/engine.h"
#include "engine/settings.h"
#include "mpi_compat/messages.h"
#include "shim/core.h"
#include "shim/report.h"

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

/* Nonblocking collectives of a communicator, in the order of their issue. Of outstanding.c, under its lock but where it
   says otherwise. */
typedef struct queue {
    _Atomic unsigned count;   /* issued and not ended; release when ended, acquire when read: relaxed by who issues */
    struct operation *first;  /* not completed */
    struct operation *active; /* not ended; NULL: those that are left are to be completed */
    struct operation *last;
    struct coroutine *setup; /* under way; NULL: ended, or made by a blocking call */
    MPI_Request tags;        /* that its messages have */
    compat_messages_t
        *messages;           /* of who was set up by a nonblocking call, until relay.c is not needed any more; owned */
    bool listed;             /* among those that have something to do */
    unsigned kept;           /* persistent requests */
    bool freed;              /* the communicator is: the state ends with the last collective and persistent request */
    struct comm_state *next; /* of those listed */
} queue_t;

/* What is known of a communicator. States are never given back to the allocator before the process ends, so a stale
   pointer to one may be looked at: it then names another communicator. */
typedef struct comm_state {
    _Atomic(MPI_Comm) comm; /* whose state it is; MPI_COMM_NULL while unused */
    _Atomic int reason;     /* reason_t: REASON_ENGINE, REASON_ONE_RANK, REASON_SETTING_UP, or why the host MPI does its
                               calls; release when set, acquire when read */
    bool npu_later;         /* made by a nonblocking call: the first blocking one asks for the NPUs */
    engine_comm_t *engine_comm; /* with REASON_ENGINE */
    engine_comm_t *npu_comm;    /* with REASON_ENGINE: its state on the NPUs, or NULL */
    MPI_Comm handle;            /* for the exchange of npu_comm, as long as that lives */
    int rank;
    int size;
    queue_t queue; /* nonblocking collectives */
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

/* CANN's functions in this process, of device_buffers.c; NULL: not there. Under process.lock when set; read by who has
   made a state since, or after. */
typedef struct device_functions {
    void *copy;       /* aclrtMemcpy */
    void *attributes; /* aclrtPointerGetAttributes, of CANN 8.2 and later */
} device_functions_t;

/* What outstanding.c keeps of the process. */
typedef struct outstanding {
    _Atomic unsigned count;             /* nonblocking collectives and set-ups that have not ended; relaxed: a hint */
    _Atomic bool entered;               /* the lock: acquire when taken, release when left */
    _Atomic(struct operation *) issued; /* not yet in their queues, the latest first; release and acquire */
    comm_state_t *listed;               /* what has something to do */
    _Atomic bool task;                  /* the engine's thread was given its task; release and acquire */
    bool at_once;                       /* and has CPUs of its own; before task */
    _Atomic bool computes;              /* the program does something else after it has issued a large one; relaxed */
    _Atomic uint64_t issued_at;         /* when the last of these was, until somebody drives it; relaxed */
    _Atomic unsigned driven;            /* goes up each time the program drives what is outstanding; relaxed */
    _Atomic bool tasked;                /* the thread is inside the lock; relaxed: who meets it yields */
} outstanding_t;

/* What world.c keeps of the process: set in MPI_Init, read after. */
typedef struct world {
    bool agreed;   /* there is a communicator, the engine is on, and the settings are the same on all ranks */
    MPI_Comm comm; /* this library's, of all processes */
    int tag_most;
    _Atomic unsigned tags; /* given out so far */
} world_t;

/* What persistent.c keeps of the process. */
typedef struct persistents {
    _Atomic unsigned
        count;            /* requests of ours that exist; relaxed: who has one made it, or synchronised with who did */
    pthread_mutex_t lock; /* of the rest */
    struct persistent *found[64]; /* by handle */
    MPI_Comm self;                /* of this process alone, with made; */
    bool made;
    int tag_most;
    int tag; /* given last */
} persistents_t;

typedef struct process {
    _Atomic int phase;    /* process_phase_t; release when set, acquire when read */
    pthread_mutex_t lock; /* everything below that is not set once before PROCESS_RUNS */
    const core_table_t *real;
    core_entry_t answers[CORE_FUNCTION_COUNT]; /* what answers each function; NULL: the host MPI */
    settings_t settings;
    size_t min_bytes;
    bool observed;       /* there is a report or a trace: calls are timed */
    report_t *report;    /* NULL: off */
    struct trace *trace; /* NULL: off */
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
    device_functions_t device;
    world_t world;
    outstanding_t outstanding;
    persistents_t persistents;
    /* Recently used states by handle; relaxed suffices: an entry is believed only if its `comm` is the handle asked
     * for. */
    _Atomic(comm_state_t *) cache[COMM_CACHE_SLOTS];
} process_t;

extern process_t process;

/* Sets up what needs MPI: at the first intercepted call after MPI_Init. False where MPI does not run now. Any thread.
 */
bool process_start(void);

/* The state of an intracommunicator, made (collectively over it) when it has none; NULL with `reason` set where the
   handle is an intercommunicator or none at all. Where that must not block, the state has REASON_SETTING_UP until
   outstanding.c has brought it to an end. Any thread. */
comm_state_t *comm_state_make(MPI_Comm comm, bool may_block, reason_t *reason);

/* Collective, by the exchange: makes the engine's state, or agrees with the other ranks that there is none, and sets
   state->reason. */
void comm_state_connect(comm_state_t *state, const engine_exchange_t *exchange);

/* Collective where any rank offers NPUs, as all know: their state is made, or all go without. */
void comm_state_connect_npu(comm_state_t *state);

/* The communicator is gone, and nothing is under way on it: the state is for another one. */
void comm_state_end(comm_state_t *state);

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

/* Whether calls are served now. */
static inline bool process_runs(void)
{
    return atomic_load_explicit(&process.phase, memory_order_acquire) == PROCESS_RUNS || process_start();
}

/* Nanoseconds of a clock that only grows. */
uint64_t process_clock(void);

#endif
