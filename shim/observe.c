/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/observe.h"

#include "engine/job.h"
#include "shim/stall.h"
#include "shim/trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether this rank speaks for its host. */
static bool local_speaker(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");

    return rank == NULL ? process.rank == 0 : strcmp(rank, "0") == 0;
}

void observe_open(void)
{
    const char *folder = settings_path(&process.settings, SETTING_TRACE);

    if (settings_get(&process.settings, SETTING_REPORT) != SETTING_REPORT_OFF) {
        process.report = report_new();
    }
    if (folder[0] != '\0') {
        const trace_self_t self = {
            .rank = process.rank, .size = process.size, .job = job_spawned(), .speaks = local_speaker()};
        process.trace = trace_open(folder, &self);
    }
    process.observed = process.report != NULL || process.trace != NULL;
}

void observe_close(void)
{
    trace_close(process.trace);
    process.trace = NULL;
    process.observed = process.report != NULL;
}

/* The name of a communicator in the trace. */
static void event_comm(trace_event_t *event, MPI_Comm comm)
{
    char name[MPI_MAX_OBJECT_NAME + 16];

    (void)comm_name_text(comm, name, sizeof name);
    (void)snprintf(event->comm, sizeof event->comm, "%.*s", TRACE_COMM_BYTES - 1, name);
}

static MPI_Comm state_comm(const comm_state_t *state)
{
    return state == NULL ? MPI_COMM_NULL : atomic_load_explicit(&state->comm, memory_order_relaxed);
}

static trace_event_t event_make(const observed_t *observed, trace_kind_t kind)
{
    trace_event_t event = {.kind = kind,
                           .mode = observed->mode,
                           .collective = observed->kind,
                           .dtype = observed->dtype,
                           .op = observed->op,
                           .reason = observed->reason,
                           .id = observed->id,
                           .begin_ns = observed->begin,
                           .bytes = observed->bytes};

    event_comm(&event, observed->comm);
    return event;
}

uint64_t observe_started(const observed_t *observed)
{
    if (process.trace == NULL) {
        return 0;
    }
    trace_event_t event = event_make(observed, TRACE_STARTED);
    event.id = trace_id(process.trace);
    trace_event(process.trace, &event);
    return event.id;
}

void observe_ended(const observed_t *observed)
{
    const uint64_t now = process_clock();

    if (process.report != NULL) {
        report_call(process.report, observed->mode, observed->kind, observed->dtype, observed->bytes, observed->reason,
                    now - observed->begin);
    }
    if (process.trace != NULL) {
        trace_event_t event = event_make(observed, observed->id != 0 ? TRACE_ENDED : TRACE_CALL);
        event.begin_ns = observed->id != 0 ? now : observed->begin;
        event.end_ns = now;
        if (observed->reason == REASON_ENGINE && observed->state != NULL && observed->state->engine_comm != NULL) {
            event.algorithm = process.vtable->comm_algorithm(observed->state->engine_comm);
        }
        trace_event(process.trace, &event);
    }
}

void observe_set_up(MPI_Comm comm, uint64_t begin)
{
    if (process.trace != NULL) {
        trace_event_t event = {.kind = TRACE_SET_UP, .begin_ns = begin, .end_ns = process_clock()};
        event_comm(&event, comm);
        trace_event(process.trace, &event);
    }
}

bool observe_stalled(const engine_stall_t *stall)
{
    if (!stall_say(stall)) {
        return false;
    }
    if (process.trace != NULL && stall->late > 0) {
        trace_event_t event = {.kind = TRACE_STALLED, .rank = stall->ranks[0], .begin_ns = process_clock()};
        event_comm(&event, state_comm(stall->owner));
        trace_event(process.trace, &event);
        trace_flush(process.trace);
    }
    return true;
}

void observe_waited(void *owner, uint32_t rank, int64_t began_ns, int64_t ended_ns)
{
    trace_event_t event = {
        .kind = TRACE_WAIT, .rank = rank, .begin_ns = (uint64_t)began_ns, .end_ns = (uint64_t)ended_ns};

    event_comm(&event, state_comm(owner));
    trace_event(process.trace, &event);
}
