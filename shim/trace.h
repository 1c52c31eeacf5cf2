/* SPDX-License-Identifier: BSD-3-Clause */
/* The trace: what this rank did when, in the Trace Event format that Perfetto and chrome://tracing open, one file a
   rank (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). The file is an array of
   events, one a line; the format lets its end be missing. Events are kept in memory and written in large pieces; what
   was not written when the process is killed is lost, at most what happened since one second before the last event. */
#ifndef SHIM_TRACE_H
#define SHIM_TRACE_H

#include "engine/engine.h"
#include "shim/report.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct trace trace_t;

enum { TRACE_COMM_BYTES = 48 };

typedef enum trace_kind {
    TRACE_CALL,    /* a call, from entry to return */
    TRACE_STARTED, /* a collective that goes on after the call: its start, */
    TRACE_ENDED,   /* and its end, with the same id; thread and order are free */
    TRACE_WAIT,    /* within a call: for a rank of its communicator */
    TRACE_SET_UP,  /* of a communicator */
    TRACE_STALLED, /* it has been said that this rank waits for long */
} trace_kind_t;

/* Times are of CLOCK_MONOTONIC, nanoseconds. Texts are static. */
typedef struct trace_event {
    trace_kind_t kind;
    report_mode_t mode; /* CALL, STARTED, ENDED: which function */
    collective_kind_t collective;
    int dtype; /* dtype_t, or REPORT_NO_DTYPE */
    int op;    /* op_t, or OP_COUNT */
    reason_t reason;
    uint32_t rank; /* WAIT, STALLED: for whom, in the communicator */
    unsigned thread;
    uint64_t id; /* STARTED, ENDED: see trace_id */
    uint64_t begin_ns;
    uint64_t end_ns; /* CALL, WAIT, SET_UP */
    uint64_t bytes;
    const char *algorithm;       /* NULL: not known */
    char comm[TRACE_COMM_BYTES]; /* the communicator's name, perhaps cut */
} trace_event_t;

/* Who this rank is. */
typedef struct trace_self {
    int rank; /* in MPI_COMM_WORLD */
    int size;
    unsigned long job; /* 0, or the number of a job that another one has spawned */
    bool speaks;       /* for its host */
} trace_self_t;

/* Opens this rank's file in the folder, which is made if need be. NULL where that cannot be: the rank that speaks for
   its host says why. */
trace_t *trace_open(const char *folder, const trace_self_t *self);

/* Writes what is left, and the end of the file. NULL is allowed. */
void trace_close(trace_t *trace);

/* Keeps an event; its thread is filled in. Any thread. A file that cannot be written is said once, and ends. */
void trace_event(trace_t *trace, const trace_event_t *event);

/* Writes what is kept. Any thread. */
void trace_flush(trace_t *trace);

/* A number for a collective that goes on after its call: 1, 2, ... Any thread. */
uint64_t trace_id(trace_t *trace);

/* Collective by the exchange, which has all ranks of the job, where some of them trace: takes the clock of its rank 0
   for all times from now on, and for those that are kept and not yet written. Does so once. NULL: this rank has no
   trace. */
void trace_clock_align(trace_t *trace, const engine_exchange_t *exchange);

/* The clock of another process against this one's: what is to be added here, and how far off that may be. */
typedef struct trace_clock {
    bool measured;
    bool shared; /* it is the same clock */
    int64_t offset_ns;
    int64_t uncertainty_ns;
} trace_clock_t;

/* From when each of the two entered and left `rounds` exchanges that nobody leaves before both have entered. */
trace_clock_t trace_clock_estimate(const int64_t *entered, const int64_t *left, const int64_t *other_entered,
                                   const int64_t *other_left, int rounds);

/* trace_text.c: one event as one line of JSON without its end; returns its length, less than `bytes`. */
enum { TRACE_LINE_BYTES = 1024 };
size_t trace_event_text(const trace_event_t *event, uint64_t process, int64_t offset_ns, char *line, size_t bytes);

/* The same for a text within quotes: cut where it does not fit. */
void trace_text_escape(const char *text, char *escaped, size_t bytes);

#endif
