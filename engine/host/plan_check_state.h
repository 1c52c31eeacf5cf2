/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of a check: ranks with vector clocks, their memory, messages under way. */
#ifndef ENGINE_HOST_PLAN_CHECK_STATE_H
#define ENGINE_HOST_PLAN_CHECK_STATE_H

#include "engine/host/plan_check.h"
#include "engine/host/plan_check_symbols.h"

/* What a rank knows of all ranks: entry q is the last step of q that happened before. */
typedef struct clocks {
    uint64_t *order;   /* by publish and await, and by messages */
    uint64_t *visible; /* by publish and await alone: windows are read on this */
} clocks_t;

/* A rank read a window. */
typedef struct window_read {
    uint64_t start;
    uint64_t end;
    uint64_t when; /* on the reader's clock */
    uint32_t reader;
    uint32_t half;
} window_read_t;

typedef struct check_publish {
    uint64_t tick;
    uint32_t item;
    clocks_t known;
} check_publish_t;

/* A message as one of its two ends sees it. */
typedef struct check_message {
    plan_ref_t ref;
    uint64_t start; /* in `memory` */
    uint64_t length;
    memory_t *memory;
    size_t partner; /* the other end, or NO_MESSAGE while it has not been started */
    size_t next;    /* in the queue of those without a partner */
    clocks_t known; /* sender's, at its start */
    uint32_t rank;
    uint32_t item;
    bool send;
} check_message_t;
#define NO_MESSAGE SIZE_MAX

typedef struct message_queue {
    size_t head;
    size_t tail;
} message_queue_t;

typedef struct check_rank {
    uint32_t me;
    uint32_t item; /* which collective it is in */
    size_t step;
    bool begun;
    clocks_t known;
    uint64_t begin; /* its clock at the start of this collective */
    memory_t send;
    memory_t recv;
    memory_t tmp;
    memory_t halves[2];
    window_read_t *reads; /* of its window; by itself only where others write there */
    size_t nreads;
    size_t reads_room;
    check_publish_t *publishes;
    size_t npublishes;
    size_t publishes_room;
    size_t *messages; /* of this collective, as started */
    size_t nmessages;
    size_t messages_room;
    size_t completed; /* of them */
} check_rank_t;

/* A stretch of a result, to compare ranks. */
typedef struct check_result {
    stretch_t *stretches;
    size_t n;
} check_result_t;

typedef struct check {
    const plan_check_item_t *items;
    size_t nitems;
    uint32_t nranks;
    bool shared;             /* some plan writes into another rank's window */
    uint64_t *totals;        /* a vector's bytes, for each item */
    uint64_t *begins;        /* [item][rank]: clock at the begin; 0: not yet */
    check_result_t *results; /* of the first rank that ended each item */
    symbols_t *symbols;
    check_rank_t *ranks;
    check_message_t *messages;
    size_t nmessages;
    size_t messages_room;
    message_queue_t *sends; /* [source][destination]: those without a partner */
    message_queue_t *receives;
    uint32_t *fold_symbols; /* scratch of a fold: room for the most sources of any */
    struct check_view *fold_views;
    mpinpu_status_t status;
    char *why;
    size_t why_bytes;
} check_t;

/* A range of memory that a step may use. */
typedef struct check_view {
    memory_t *memory;
    uint64_t start;
    uint32_t owner;
    bool window;
    bool foreign; /* another rank's window */
} check_view_t;

/* Ends the check: sets status and `why`, headed by rank, collective and step. False, for `return`. */
bool check_fail(check_t *check, const check_rank_t *rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool check_no_memory(check_t *check);

static inline const plan_params_t *check_params(const check_t *check, const check_rank_t *rank)
{
    return check->items[rank->item].params;
}

static inline const plan_t *check_plan(const check_t *check, const check_rank_t *rank)
{
    return &check->items[rank->item].plans[rank->me];
}

/* Grows an array to hold one more; false where memory is short. */
bool check_grow(void **array, size_t used, size_t *room, size_t bytes);

/* plan_check_access.c */

/* Range of the result in PLAN_RECV, and of the vector it stands for. */
void check_result_range(const check_t *check, const check_rank_t *rank, uint64_t *length, uint64_t *at);
/* May this rank read (write) this range now? Tells the memory, records reads of windows, and forgets what is written
   over. */
bool check_view_read(check_t *check, check_rank_t *rank, plan_ref_t ref, uint64_t length, check_view_t *view);
bool check_view_write(check_t *check, check_rank_t *rank, plan_ref_t ref, uint64_t length, check_view_t *view);
/* What a view holds at `offset` of it: valid until memory is written. NULL: an error was found. */
const stretch_t *check_view_get(check_t *check, const check_rank_t *rank, const check_view_t *view, uint64_t offset);
/* All of a half of this rank's window is about to be used anew. */
bool check_half_begin(check_t *check, check_rank_t *rank);

/* plan_check_messages.c */
bool check_message_start(check_t *check, check_rank_t *rank, const plan_step_t *step);
/* 1: the first `messages` are done now, 0: not yet, -1: an error was found. */
int check_message_complete(check_t *check, check_rank_t *rank, uint64_t messages);
/* Whether a range of this rank's memory is touched by a message under way; with `writing`, by any; else by receives. */
bool check_message_touches(const check_t *check, const check_rank_t *rank, const memory_t *memory, uint64_t start,
                           uint64_t length, bool writing);

/* plan_check_steps.c: runs one step. 1: done, 0: must wait, -1: an error was found. */
int check_step_run(check_t *check, check_rank_t *rank, const plan_step_t *step);

/* Joins what is known; order only, or with what is visible. */
void check_clocks_join(const check_t *check, clocks_t *into, const clocks_t *from, bool with_visible);
bool check_clocks_copy(const check_t *check, clocks_t *copy, const clocks_t *from);
bool check_clocks_open(const check_t *check, clocks_t *clocks);
void check_clocks_close(clocks_t *clocks);

#endif
