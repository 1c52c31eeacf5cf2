/* SPDX-License-Identifier: BSD-3-Clause */
/* The host engine's own objects, shared by the files of this folder. */
#ifndef ENGINE_HOST_HOST_H
#define ENGINE_HOST_HOST_H

#include "engine/engine.h"
#include "engine/host/exposure.h"
#include "engine/host/kernels.h"
#include "engine/host/plan.h"
#include "engine/host/region.h"
#include "transport/transport.h"

enum { HOST_WHY_BYTES = 192, HOST_FAILURE_BYTES = 320, HOST_PLANS_KEPT = 8 };

/* A word that was sent: UCX may read it until the transport is closed. */
typedef struct host_word {
    struct host_word *next;
    unsigned char bytes[ENGINE_WORD_BYTES];
} host_word_t;

/* The engine in this process. */
struct engine {
    engine_config_t config;
    mpinpu_status_t status; /* why it cannot run here, or MPINPU_OK */
    char why[HOST_WHY_BYTES];
    transport_t *transport;
    mpinpu_status_t window_status; /* why it has no window, or MPINPU_OK */
    char window_why[HOST_WHY_BYTES];
    unsigned char *window;
    region_pool_t *regions;
    exposures_t *exposures;          /* NULL: buffers are not shared in place, */
    struct direct_maps *direct_maps; /* or no memory for it */
    _Atomic(host_word_t *) words;    /* under way; for the end */
    _Atomic uint32_t comm_ids;       /* given out so far; relaxed, only the number itself matters */
    _Atomic bool window_warned;      /* relaxed: said once, twice in a race */
    bool crowded;                    /* more ranks on this host than CPUs */
    engine_task_t task;              /* task.c: of its thread, */
    _Atomic bool task_runs;          /* if that runs; relaxed: a wake too few in a race with the start */
    unsigned eager_polls;            /* polls at full speed, then with a pause, */
    unsigned spin_polls;             /* then with progress of everything else */
};

/* A plan with what it was made for. */
typedef struct host_plan {
    bool valid;
    bool in_place;
    collective_kind_t kind;
    size_t count;
    size_t element;
    bool raw;
    bool padded;
    int *counts; /* copy, reduce_scatter */
    plan_t plan;
} host_plan_t;

/* What this rank knows of another rank of a communicator. */
typedef struct host_rank {
    transport_peer_t *peer;
    uint32_t id; /* the number it gave the communicator, its own for this one: in the tags of what it receives */
    region_head_t *region;  /* its region, NULL without a common window */
    unsigned char *half[2]; /* its data */
} host_rank_t;

/* A communicator's state. One caller at a time. */
struct engine_comm {
    engine_t *engine;
    uint32_t rank;
    uint32_t size;
    mpinpu_status_t status;           /* not MPINPU_OK once a collective failed, */
    char failure[HOST_FAILURE_BYTES]; /* for this reason */
    bool tiny;                        /* all ranks share windows, and are few enough for the straight path */
    bool windows;
    bool crowded;        /* on some host ranks share CPUs */
    uint32_t offers;     /* what any rank offers */
    uint32_t swapped[2]; /* two ranks, by parity: whether their windows stand for each other */
    uint64_t sequence;   /* collectives begun */
    uint64_t base;       /* ticks of the collectives before */
    host_rank_t *ranks;
    uint32_t *host_of;
    uint32_t nhosts;
    size_t region; /* offset of my region, */
    size_t half;   /* and what plans may use of it and of everybody's */
    bool has_region;
    const void **sources;    /* scratch for folds, `size` entries */
    unsigned char **vectors; /* direct.c: where each rank's input and result begin; NULL: not used yet */
    int *part_counts;        /* and the blocks of what it leaves; `size` */
    void *tmp;
    size_t tmp_bytes;
    bool direct;               /* the last that direct.c could have served, was */
    engine_watch_t watch;      /* config.watch, or what the exchange has instead */
    void *owner;               /* for it */
    const collective_t *whole; /* the collective begun last */
    struct host_stall *stall;  /* stall.c; NULL: no wait was ever too long */
    struct host_run *run;      /* run.c: what was started; NULL: nothing ever was */
    host_plan_t plans[HOST_PLANS_KEPT];
    unsigned plan_last; /* the one used last */
    unsigned plan_next; /* the one to replace next */
};

/* comm.c */
mpinpu_status_t host_comm_open(engine_t *engine, const engine_exchange_t *exchange, engine_comm_t **comm, char *why,
                               size_t why_bytes);
void host_comm_close(engine_comm_t *comm);

/* Whether plans must fold all inputs at once, in rank order. */
static inline bool host_raw(const engine_t *engine, dtype_t dtype)
{
    return engine->config.reproducible || dtype == DTYPE_F16 || dtype == DTYPE_BF16;
}

/* task.c */
void host_task_start(engine_t *engine, const engine_task_t *task, bool *at_once);
void host_task_wake(engine_t *engine, bool at_once);
void host_task_stop(engine_t *engine);

/* words.c */
/* Of whom words are. */
typedef enum host_words { WORDS_OTHERS, WORDS_STALL } host_words_t;
void host_comm_send_word(engine_comm_t *comm, host_words_t words, uint32_t rank, const void *word);
bool host_comm_take_word(engine_comm_t *comm, host_words_t words, void *word);
/* WORDS_OTHERS, as engine_vtable_t has it. */
void host_comm_word_send(engine_comm_t *comm, uint32_t rank, const void *word);
bool host_comm_word_take(engine_comm_t *comm, void *word);
/* Frees what was sent; the transport has been closed. */
void host_words_free(engine_t *engine);

/* scratch.c */
/* Scratch memory of the communicator, at least `bytes`; contents undefined. NULL when there is none. */
void *host_comm_tmp(engine_comm_t *comm, size_t bytes);

/* plan_store.c */
/* The plan of this rank for a collective, from the communicator's store or made anew; owned by the store, and valid
   until the next is asked for. */
mpinpu_status_t host_plan_get(engine_comm_t *comm, const collective_t *collective, const plan_t **plan);
void host_plans_free(engine_comm_t *comm);

/* A plan beside the store. */
mpinpu_status_t host_prepare(const engine_comm_t *comm, const collective_t *collective, engine_prepared_t **prepared);
void host_unprepare(engine_prepared_t *prepared);
const plan_t *host_prepared_plan(const engine_prepared_t *prepared);

#endif
