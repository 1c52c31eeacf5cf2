/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collective engine is to the rooms above: one interface, implemented by engine/host and engine/hccl. An engine
   does not know MPI; what it needs of it comes in by the structs below. */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "engine/collective.h"
#include "engine/memory_watch.h"
#include "transport/status.h"

#include <stdint.h>

typedef struct engine engine_t;
typedef struct engine_comm engine_comm_t;
typedef struct engine_prepared engine_prepared_t;

/* Settings that must be equal on all ranks of a communicator: named values, compared when its state is made. */
enum { ENGINE_COMPARED_MAX = 12 };
typedef struct engine_compared {
    unsigned count;
    const char *const *names; /* `count` texts, same order on every rank */
    int64_t values[ENGINE_COMPARED_MAX];
} engine_compared_t;

/* What concerns the engine on NPUs only. */
typedef struct engine_npu {
    unsigned after;     /* eligible calls on a communicator before the NPUs are made ready for it */
    size_t chunk_bytes; /* of the pieces in which host buffers are staged; 0: the engine's choice */
    unsigned depth;     /* pieces on their way at once; 0: the engine's choice */
    bool by_model;      /* calls that the engine expects to be faster on the host CPUs are left to them */
    const char *map;    /* the devices of the host's ranks in order, "4,5,6,7"; NULL: device n for rank n */
    bool fp64;          /* float64 may go in integers where the devices have none */
    bool fp64_exact;    /* and must, in full width */
} engine_npu_t;

/* A rank that has waited for too long inside a collective. */
enum { ENGINE_LATE_NAMED = 8 };
typedef struct engine_stall {
    void *owner; /* of the communicator, as engine_exchange_t has it */
    const collective_t *collective;
    const char *place; /* of it: " on the NPUs", or "" */
    bool nonblocking;  /* it was started, and has not ended since */
    int64_t waited_ns;
    uint32_t rank; /* this one, in the communicator */
    uint32_t size;
    uint32_t late;                     /* so many ranks have not come, as far as is known, */
    uint32_t ranks[ENGINE_LATE_NAMED]; /* and the first of them */
} engine_stall_t;

/* What the rooms above want to hear of waits inside of collectives. Called by the thread that waits. */
typedef struct engine_watch {
    unsigned stall_seconds; /* what is too long; 0: nothing is */
    /* Once for such a wait, while it goes on; again and again until it returns true. */
    bool (*stalled)(const engine_stall_t *stall);
    /* Of each wait that was not short, in a collective that was run: when it began and ended, by CLOCK_MONOTONIC, and a
       rank that was waited for in the end. NULL: not wanted. */
    void (*waited)(void *owner, uint32_t rank, int64_t began_ns, int64_t ended_ns);
} engine_watch_t;

/* Whether a thread of the engine's own may move on what was started. */
typedef enum engine_thread { ENGINE_THREAD_AUTO, ENGINE_THREAD_ON, ENGINE_THREAD_OFF } engine_thread_t;

/* What came of a run of that thread's task. */
typedef enum engine_task_state {
    ENGINE_TASK_NONE,  /* there was nothing for this thread to do */
    ENGINE_TASK_LEFT,  /* the program does it */
    ENGINE_TASK_WAITS, /* for other ranks */
    ENGINE_TASK_MOVED, /* something has come to its end */
} engine_task_state_t;

typedef struct engine_task {
    engine_task_state_t (*run)(void);
    bool (*any)(void); /* whether there may be something to do */
} engine_task_t;

typedef struct engine_config {
    bool enabled;         /* false: the engine takes part in agreements, to say that it is switched off */
    bool windows;         /* ranks of one host share memory */
    size_t window_bytes;  /* upper bound of all windows of this host, bytes */
    bool zero_copy;       /* large buffers may be shared with the peers of this host at their place, */
    bool zero_copy_huge;  /* also if the process has huge pages, which they then lose */
    bool reproducible;    /* the same bits whatever the placement and the algorithm */
    bool thread_multiple; /* MPI_THREAD_MULTIPLE: several threads may be inside at once */
    int local_ranks;      /* processes of the job on this host, at least 1 */
    int local_rank;       /* this one among them; -1: not known */
    bool quiet;           /* nothing is to be said at start: describe will */
    bool times;           /* the time of the stages inside is wanted: see times */
    uint32_t offers;      /* bits that this process offers to every communicator: see comm_offers */
    engine_npu_t npu;
    engine_watch_t watch;
    engine_compared_t compared;
    /* AUTO: unless ranks share CPUs. */
    engine_thread_t thread;
    /* Where it runs, "8-15,24"; NULL: anywhere. Lives as long as the engine. */
    const char *thread_cpus;
    /* Where the engine puts a watch of the program's memory; NULL: there is none, and zero_copy does nothing. */
    memory_watch_place_t *memory_watch;
    /* Lets the host MPI make progress once; called from wait loops in the thread of the caller. May be NULL. */
    void (*progress)(void);
} engine_config_t;

enum { ENGINE_WORD_BYTES = 256 }; /* see word_send */

/* Receives a row of a table for people: texts that stand in columns. A row of one text heads those that follow it. */
typedef void engine_row_t(void *context, unsigned count, const char *const *cells);

/* The out-of-band exchange among the ranks of one communicator. Every rank calls with the same `bytes`; `all` receives
   size * bytes, in rank order. Blocking; collective. */
typedef struct engine_exchange {
    int rank;
    int size;
    void *context;
    void *owner;                      /* given back where config.watch is told of the communicator, */
    const struct engine_watch *watch; /* or what is told instead: copied; NULL: config.watch */
    mpinpu_status_t (*allgather)(void *context, const void *mine, void *all, size_t bytes);
    /* MPINPU_OK where every rank came with that, else a status that some rank came with, the same on all. Takes no
       memory, so that a rank without any can still say so. */
    mpinpu_status_t (*agree)(void *context, mpinpu_status_t mine);
    /* `data` of rank `root` comes to all. May be NULL for an engine that does without. */
    mpinpu_status_t (*broadcast)(void *context, void *data, size_t bytes, int root);
    /* Collective over all ranks: those of one color get an exchange of their own, ranked by key, which any of them can
       use apart from the others until all ranks call `join` for it. NULL for an engine that does without. */
    mpinpu_status_t (*split)(void *context, int color, int key, struct engine_exchange *part);
    void (*join)(struct engine_exchange *part);
    /* The engine on the host CPUs in this process, opened; NULL for an engine that does without. */
    engine_t *host;
    /* Words of ENGINE_WORD_BYTES at any time, outside of the order of collectives; see the vtable. NULL: there are
     * none.
     */
    engine_comm_t *words;
    void (*word_send)(engine_comm_t *words, uint32_t rank, const void *word);
    bool (*word_take)(engine_comm_t *words, void *word);
} engine_exchange_t;

typedef struct engine_vtable {
    const char *name;

    /* Opens the engine in this process. A machine that cannot run it is no error here: the engine remembers why, and
       says so to all ranks at comm_open. Fails for want of memory only. */
    mpinpu_status_t (*open)(const engine_config_t *config, engine_t **engine);
    void (*close)(engine_t *engine);

    /* Whether the engine can run in this process. */
    bool (*ready)(const engine_t *engine);

    /* Makes a communicator's state: collective over its ranks, at least two. All ranks get MPINPU_OK, or all get the
       same error and `why` one sentence that names the cause and the first rank that had it. */
    mpinpu_status_t (*comm_open)(engine_t *engine, const engine_exchange_t *exchange, engine_comm_t **comm, char *why,
                                 size_t why_bytes);
    /* Local: peers may still be inside their last collective on it. */
    void (*comm_close)(engine_comm_t *comm);

    /* config.offers of all ranks of the communicator, or-ed: the same on all of them, and so what they may act on
       together. NULL where comm_open does not exchange them. */
    uint32_t (*comm_offers)(const engine_comm_t *comm);

    /* Whether ranks of the communicator share memory. NULL: they never do. */
    bool (*comm_windows)(const engine_comm_t *comm);

    /* How the last collective on the communicator was done, in a word; static text. To be asked while that collective
       is still in memory. NULL: nothing is known of it. */
    const char *(*comm_algorithm)(const engine_comm_t *comm);

    /* The name of a rank's host, "" where it is not known; the communicator's memory. NULL: never known. */
    const char *(*comm_host)(const engine_comm_t *comm, uint32_t rank);

    /* Carries ENGINE_WORD_BYTES to another rank of the communicator, copied, soon and without waiting; and takes what
       came from any rank, in no order, false where nothing has. A word may be lost with the process or with memory.
       Between comm_open and comm_close, also when the communicator has failed; one caller at a time on a communicator.
       NULL: it cannot. */
    void (*word_send)(engine_comm_t *comm, uint32_t rank, const void *word);
    bool (*word_take)(engine_comm_t *comm, void *word);

    /* Whether this engine reduces dtype by op: equal on all ranks. */
    bool (*supports)(const engine_t *engine, dtype_t dtype, op_t op);

    /* Runs one collective to its end (with collective->memory only where the engine is on NPUs, which then leaves it to
       the caller to put results back that it took to the host), driving config.progress while it waits. One caller at a
       time on a communicator. The total count must not be 0. MPINPU_ERR_UNSUPPORTED: on all ranks, nothing was done or
       written, another engine is to do this one. Any other error leaves recv undefined, and the communicator unusable:
       later runs fail too. */
    mpinpu_status_t (*run)(engine_comm_t *comm, const collective_t *collective);

    /* The same without waiting: start begins a collective, and advance goes on with it as far as that goes, until it
       returns something else than MPINPU_IN_PROGRESS, which is what run would have returned. Both do not drive
       config.progress. Matches starts, not runs, of the other ranks; collective and its buffers stay until the end, and
       no other is started or run meanwhile. Successive calls may come from different threads, each after the one
       before. `prepared` was made for this collective, or is NULL. NULL: the engine has only run. */
    mpinpu_status_t (*start)(engine_comm_t *comm, const collective_t *collective, const engine_prepared_t *prepared);
    mpinpu_status_t (*advance)(engine_comm_t *comm);

    /* Gives the engine's thread its task: to run it, again and again, while there is something to do. Starts the
       thread, unless config.thread says otherwise or there can be none. Once. True in `at_once`: there are CPUs free
       for it, and it acts as soon as it is woken. */
    void (*task_start)(engine_t *engine, const engine_task_t *task, bool *at_once);
    /* There is something to do; `at_once`: before the thread would look by itself. Any thread. */
    void (*task_wake)(engine_t *engine, bool at_once);
    /* When it returns the task does not run and will not again. */
    void (*task_stop)(engine_t *engine);

    /* What can be done once for a collective that is to be started again and again, with the same buffers. Local; any
       thread, while others are under way. The caller gives it back by `unprepare`, before comm_close. */
    mpinpu_status_t (*prepare)(const engine_comm_t *comm, const collective_t *collective, engine_prepared_t **prepared);
    void (*unprepare)(engine_prepared_t *prepared);

    /* What run or advance failed with, a sentence; "" where nothing is known but the status. The communicator's memory,
       unchanged once run has failed. */
    const char *(*comm_failure)(const engine_comm_t *comm);

    /* Tells what was found, for `mpinpu info`. NULL: nothing. */
    void (*describe)(engine_t *engine, engine_row_t *row, void *context);

    /* Calls `stage` for each stage of the engine's work with the time that all calls so far spent in it, stages that
       ran at once each in full; not at all where nothing was done or config.times is false. NULL: this engine has no
       stages. */
    void (*times)(const engine_t *engine, void (*stage)(void *context, const char *name, uint64_t nanoseconds),
                  void *context);
} engine_vtable_t;

/* The engine on the host CPUs. */
extern const engine_vtable_t engine_host;

/* The engine on NPUs, by HCCL. It keeps the exchange and its context, which must live until comm_close, and uses it in
   run; `supports` says what it may do, run decides. */
extern const engine_vtable_t engine_hccl;

#endif
