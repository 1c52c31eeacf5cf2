/* SPDX-License-Identifier: BSD-3-Clause */
/* What the report and the trace are told. All of it is for process.observed: else nothing is called and no clock read.
 */
#ifndef SHIM_OBSERVE_H
#define SHIM_OBSERVE_H

#include "shim/process.h"

/* A call, or a collective that has ended. */
typedef struct observed {
    report_mode_t mode;
    collective_kind_t kind;
    int dtype; /* dtype_t, or REPORT_NO_DTYPE */
    int op;    /* op_t, or OP_COUNT */
    size_t bytes;
    reason_t reason;
    MPI_Comm comm;             /* MPI_COMM_NULL: gone */
    const comm_state_t *state; /* NULL: it has none */
    uint64_t begin;            /* process_clock() at its begin, */
    uint64_t id;               /* and what observe_started returned; 0: it ended with the call */
} observed_t;

/* Opens report and trace as the settings ask. */
void observe_open(void);

/* Ends the trace. */
void observe_close(void);

/* A collective that goes on after its call begins. Returns its number. */
uint64_t observe_started(const observed_t *observed);

/* It has ended, or a call has; on the engine, the last one on its communicator. */
void observe_ended(const observed_t *observed);

/* A communicator was set up since then. */
void observe_set_up(MPI_Comm comm, uint64_t begin);

/* engine_watch_t's. */
bool observe_stalled(const engine_stall_t *stall);
void observe_waited(void *owner, uint32_t rank, int64_t began_ns, int64_t ended_ns);

#endif
