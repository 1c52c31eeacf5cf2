/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective is done in up to three pieces: what lies in whole pages of buffers that all ranks share at their place
   (direct.c), and what lies before and behind; or all of it through windows or messages, by a plan. */
#include "engine/host/run.h"

#include "engine/host/direct.h"
#include "engine/host/executor.h"
#include "engine/host/stall.h"
#include "engine/host/tiny.h"
#include "transport/log.h"

#include <stdio.h>
#include <stdlib.h>

/* Scratch memory larger than this is given back after each collective. */
static const size_t tmp_kept = (size_t)64 << 20;

/* The piece of a collective that is under way. */
typedef enum host_piece { PIECE_DIRECT, PIECE_BEFORE, PIECE_BEHIND, PIECE_END } host_piece_t;

/* A collective that was started. */
typedef struct host_run {
    const collective_t *whole;
    const plan_t *prepared; /* for it as a whole; NULL: to be found */
    collective_t part;      /* the piece that the executor does */
    size_t bytes;           /* of the whole input */
    host_piece_t piece;
    bool executes; /* the executor is at work on it */
    direct_t direct;
    executor_t executor;
    wait_t wait; /* since it was started */
} host_run_t;

/* By the plan given, or by one of the communicator's. */
static mpinpu_status_t plan_begin(executor_t *executor, engine_comm_t *comm, const collective_t *collective,
                                  const plan_t *plan)
{
    mpinpu_status_t status = MPINPU_OK;
    void *tmp = NULL;

    if (plan == NULL) {
        status = host_plan_get(comm, collective, &plan);
    }
    if (status != MPINPU_OK) {
        return status;
    }
    if (plan->tmp_bytes > 0) {
        tmp = host_comm_tmp(comm, plan->tmp_bytes);
        if (tmp == NULL) {
            return MPINPU_ERR_NO_MEMORY;
        }
    }
    return executor_begin(executor, comm, plan, collective, tmp);
}

static void plan_end(executor_t *executor)
{
    engine_comm_t *comm = executor->comm;

    executor_end(executor);
    if (comm->tmp_bytes > tmp_kept) {
        free(comm->tmp);
        comm->tmp = NULL;
        comm->tmp_bytes = 0;
    }
}

/* Through windows or messages; `bytes` is what the whole input has. */
static mpinpu_status_t run_copying(engine_comm_t *comm, const collective_t *collective, size_t bytes)
{
    executor_t executor;

    comm->sequence++;
    if (tiny_serves(comm, collective, bytes)) {
        tiny_run(comm, collective, bytes, comm->sequence);
        return MPINPU_OK;
    }
    mpinpu_status_t status = plan_begin(&executor, comm, collective, NULL);
    if (status == MPINPU_OK) {
        status = executor_advance(&executor, true);
        plan_end(&executor);
    }
    return status;
}

/* From buffers to buffers as far as their whole pages go, the ends through windows. */
static mpinpu_status_t run_direct(engine_comm_t *comm, const collective_t *collective, size_t bytes)
{
    mpinpu_status_t status = MPINPU_OK;
    wait_t wait = {0};
    collective_t part;
    direct_t direct;

    direct_begin(&direct, comm, collective);
    while (!direct_advance(&direct)) {
        if (wait_step(comm->engine, &wait)) {
            stall_look(comm, &wait, direct_awaits, &direct);
        }
    }
    wait_end(comm, &wait);
    comm->direct = direct.from < direct.to;
    if (direct.from == direct.to) {
        return run_copying(comm, collective, bytes);
    }
    if (direct_part(comm, collective, 0, direct.from, comm->part_counts, &part)) {
        status = run_copying(comm, &part, direct.from);
    }
    if (status == MPINPU_OK && direct_part(comm, collective, direct.to, bytes, comm->part_counts, &part)) {
        status = run_copying(comm, &part, bytes - direct.to);
    }
    return status;
}

/* The communicator is of no use any more: the peers cannot know how far this rank came. */
static mpinpu_status_t comm_fail(engine_comm_t *comm, const collective_t *collective, mpinpu_status_t status)
{
    const char *cause = status == MPINPU_ERR_TRANSPORT ? transport_failure(comm->engine->transport) : "";

    (void)snprintf(comm->failure, sizeof comm->failure, "%s on the host CPUs: %s%s%s",
                   collective_kind_name(collective->kind), status_name(status), cause[0] != '\0' ? ": " : "", cause);
    log_warn("%s", comm->failure);
    comm->status = status;
    return status;
}

mpinpu_status_t host_run(engine_comm_t *comm, const collective_t *collective)
{
    if (comm->status != MPINPU_OK) {
        return comm->status;
    }
    const size_t bytes = collective_total(collective, comm->size) * dtype_size(collective->dtype);
    comm->whole = collective;
    mpinpu_status_t status =
        (direct_serves(comm, collective, bytes) ? run_direct : run_copying)(comm, collective, bytes);
    return status == MPINPU_OK ? MPINPU_OK : comm_fail(comm, collective, status);
}

mpinpu_status_t host_start(engine_comm_t *comm, const collective_t *collective, const engine_prepared_t *prepared)
{
    if (comm->status != MPINPU_OK) {
        return comm->status;
    }
    if (comm->run == NULL) {
        comm->run = malloc(sizeof *comm->run);
        if (comm->run == NULL) {
            return comm_fail(comm, collective, MPINPU_ERR_NO_MEMORY);
        }
    }
    host_run_t *run = comm->run;
    run->whole = comm->whole = collective;
    run->prepared = prepared != NULL ? host_prepared_plan(prepared) : NULL;
    run->wait = (wait_t){.nonblocking = true};
    run->bytes = collective_total(collective, comm->size) * dtype_size(collective->dtype);
    run->executes = false;
    if (direct_serves(comm, collective, run->bytes)) {
        run->piece = PIECE_DIRECT;
        direct_begin(&run->direct, comm, collective);
    } else {
        run->piece = PIECE_BEFORE;
        run->direct.from = run->direct.to = run->bytes;
    }
    return MPINPU_OK;
}

/* What the executor has to do in this piece, in run->part; false where that is nothing. */
static bool piece_part(engine_comm_t *comm, host_run_t *run)
{
    switch (run->piece) {
    case PIECE_BEFORE:
        if (run->direct.from == run->direct.to) {
            run->part = *run->whole;
            run->direct.from = run->direct.to = run->bytes; /* nothing is behind */
            return true;
        }
        run->prepared = NULL; /* what is left are other collectives */
        return direct_part(comm, run->whole, 0, run->direct.from, comm->part_counts, &run->part);
    case PIECE_BEHIND:
        return direct_part(comm, run->whole, run->direct.to, run->bytes, comm->part_counts, &run->part);
    case PIECE_DIRECT:
    case PIECE_END:
        break;
    }
    return false;
}

/* Small ones have no straight path here: a plan gives the same bits, and all ranks come this way. */
static mpinpu_status_t piece_advance(engine_comm_t *comm, host_run_t *run)
{
    mpinpu_status_t status = MPINPU_OK;

    if (run->piece == PIECE_DIRECT) {
        return direct_advance(&run->direct) ? MPINPU_OK : MPINPU_IN_PROGRESS;
    }
    if (!run->executes) {
        if (!piece_part(comm, run)) {
            return MPINPU_OK;
        }
        comm->sequence++;
        status = plan_begin(&run->executor, comm, &run->part, run->prepared);
        run->executes = status == MPINPU_OK;
    }
    if (status == MPINPU_OK) {
        status = executor_advance(&run->executor, false);
    }
    if (status != MPINPU_IN_PROGRESS && run->executes) {
        plan_end(&run->executor);
        run->executes = false;
    }
    return status;
}

/* Of what was started nobody waits, as far as is known here; but whoever comes here again and again lets it go on. */
static void run_look(engine_comm_t *comm, host_run_t *run)
{
    const bool direct = run->piece == PIECE_DIRECT;

    stall_look(comm, &run->wait, direct ? direct_awaits : executor_awaits,
               direct ? (const void *)&run->direct : &run->executor);
}

mpinpu_status_t host_advance(engine_comm_t *comm)
{
    host_run_t *run = comm->run;

    while (run->piece < PIECE_END) {
        mpinpu_status_t status = piece_advance(comm, run);
        if (status == MPINPU_IN_PROGRESS) {
            run_look(comm, run);
            return status;
        }
        if (status != MPINPU_OK) {
            return comm_fail(comm, run->whole, status);
        }
        run->piece++;
    }
    return MPINPU_OK;
}

const char *host_algorithm(const engine_comm_t *comm)
{
    const collective_t *collective = comm->whole;
    const host_run_t *run = comm->run;
    const size_t bytes = collective_total(collective, comm->size) * dtype_size(collective->dtype);
    const bool started = run != NULL && run->whole == collective;

    if (direct_serves(comm, collective, bytes) && (started ? run->direct.from < run->direct.to : comm->direct)) {
        return "direct";
    }
    if (started) {
        return run->executor.plan->algorithm;
    }
    return tiny_serves(comm, collective, bytes) ? "tiny" : comm->plans[comm->plan_last].plan.algorithm;
}

void host_run_free(engine_comm_t *comm)
{
    if (comm->run != NULL && comm->run->executes) {
        plan_end(&comm->run->executor);
    }
    free(comm->run);
}
