/* SPDX-License-Identifier: BSD-3-Clause */
/* The report: what this rank called, who did it and why, and how long it took. */
#ifndef SHIM_REPORT_H
#define SHIM_REPORT_H

#include "engine/collective.h"
#include "transport/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* How a call was answered. */
typedef enum reason {
#define REASON(NAME, by, text) REASON_##NAME,
#include "shim/reasons.def"
#undef REASON
    REASON_COUNT
} reason_t;

/* What the report prints for a reason; static text. */
const char *reason_text(reason_t reason);
/* Whether the host MPI answered a call that has this reason. */
bool reason_is_host(reason_t reason);

/* How a collective is called. */
typedef enum report_mode {
    REPORT_BLOCKING,
    REPORT_NONBLOCKING, /* one call: that which starts it */
    REPORT_PERSISTENT,  /* one call: that which makes the request */
    REPORT_MODE_COUNT
} report_mode_t;

/* In place of a dtype_t where a call has none of the engine's. */
enum { REPORT_NO_DTYPE = DTYPE_COUNT };

/* The function: "MPI_Iallreduce", "MPI_Allreduce_init". Static text. */
const char *report_function(report_mode_t mode, collective_kind_t kind);

typedef struct report report_t;

/* A stage of the engine's work, and the time of all calls in it. */
typedef struct report_stage {
    const char *name;
    uint64_t nanoseconds;
} report_stage_t;

enum { REPORT_STAGES_MAX = 8 };

/* What stands above the table. Texts are the caller's, read during the call only. */
typedef struct report_head {
    const char *version;    /* of this library */
    int job_size;           /* ranks of MPI_COMM_WORLD */
    const char *engine;     /* name of the engine, or why there is none */
    const char *windows;    /* in words: "64 MiB on this host", "off", ... */
    uint64_t setup_ns;      /* time spent to set up process and communicators, in nanoseconds */
    uint64_t communicators; /* communicators whose state was made */
    unsigned nstages;       /* of the engine on NPUs; 0 where it did nothing */
    report_stage_t stages[REPORT_STAGES_MAX];
} report_head_t;

/* Makes a report with all counts 0, or NULL for want of memory. Free it with report_free. */
report_t *report_new(void);
void report_free(report_t *report);

/* Counts one call: `bytes` is the size of the reduced vector at this rank (0 where it cannot be told), `dtype` a
   dtype_t or REPORT_NO_DTYPE, `nanoseconds` the time from entry to return. A few relaxed atomic additions. Any thread.
 */
void report_call(report_t *report, report_mode_t mode, collective_kind_t kind, int dtype, size_t bytes, reason_t reason,
                 uint64_t nanoseconds);

/* Writes the report as a table, or as one JSON object. While other threads still count, a row may lack their last call.
 */
void report_write(const report_t *report, const report_head_t *head, FILE *out);
void report_write_json(const report_t *report, const report_head_t *head, FILE *out);

/* At the end, on rank 0 of MPI_COMM_WORLD: the table on stderr in one piece, or with a path the JSON object as a new
   file of that name (a file that is there is replaced). What cannot be written is said in the log, and
   MPINPU_ERR_INVALID returned. */
mpinpu_status_t report_print(const report_t *report, const report_head_t *head, const char *json_path);

#endif
