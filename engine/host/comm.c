/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's state, from its making to its end. */
#include "engine/host/agree.h"
#include "engine/host/run.h"
#include "engine/host/stall.h"

#include <stdio.h>
#include <stdlib.h>

static engine_comm_t *comm_allocate(engine_t *engine, const engine_exchange_t *exchange)
{
    const uint32_t size = (uint32_t)exchange->size;
    engine_comm_t *comm = calloc(1, sizeof *comm);

    if (comm == NULL) {
        return NULL;
    }
    comm->engine = engine;
    comm->owner = exchange->owner;
    comm->watch = exchange->watch != NULL ? *exchange->watch : engine->config.watch;
    comm->rank = (uint32_t)exchange->rank;
    comm->size = size;
    comm->ranks = calloc(size, sizeof *comm->ranks);
    comm->host_of = calloc(size, sizeof *comm->host_of);
    comm->sources = calloc(size, sizeof *comm->sources);
    comm->part_counts = calloc(size, sizeof *comm->part_counts);
    if (comm->ranks == NULL || comm->host_of == NULL || comm->sources == NULL || comm->part_counts == NULL) {
        host_comm_close(comm);
        return NULL;
    }
    return comm;
}

mpinpu_status_t host_comm_open(engine_t *engine, const engine_exchange_t *exchange, engine_comm_t **comm, char *why,
                               size_t why_bytes)
{
    hello_t mine;
    hello_t *hellos = malloc((size_t)exchange->size * sizeof *hellos);
    engine_comm_t *made = comm_allocate(engine, exchange);
    verdict_t *verdicts = malloc((size_t)exchange->size * sizeof *verdicts);
    const bool fine = made != NULL && hellos != NULL && verdicts != NULL;
    /* A rank that fell out of the exchanges for want of memory would leave the others waiting. */
    mpinpu_status_t status = exchange->agree(exchange->context, fine ? MPINPU_OK : MPINPU_ERR_NO_MEMORY);

    if (status != MPINPU_OK) {
        (void)snprintf(why, why_bytes, "a rank has no memory for a communicator's state");
        goto fail;
    }
    hello_fill(made, &mine);
    /* Release: my region's head is zeroed before anybody hears of it. */
    atomic_thread_fence(memory_order_release);
    status = exchange->allgather(exchange->context, &mine, hellos, sizeof mine);
    if (status != MPINPU_OK) {
        (void)snprintf(why, why_bytes, "%s", status_name(status));
        goto fail;
    }
    status = hellos_judge(made, hellos, why, why_bytes);
    if (status != MPINPU_OK) {
        goto fail;
    }
    hellos_settle(made, hellos);
    status = ranks_connect(made, exchange, hellos, verdicts, why, why_bytes);
    if (status != MPINPU_OK) {
        goto fail;
    }
    /* Acquire: pairs with the fences of the others, by way of the exchanges. */
    atomic_thread_fence(memory_order_acquire);
    ranks_place(made, hellos);
    if (made->has_region && !made->windows) {
        region_return(engine->regions, made->region);
        made->has_region = false;
    }
    free(verdicts);
    free(hellos);
    *comm = made;
    return MPINPU_OK;
fail:
    if (made != NULL) {
        if (made->has_region) {
            region_return(engine->regions, made->region);
            made->has_region = false;
        }
        host_comm_close(made);
    }
    free(verdicts);
    free(hellos);
    return status;
}

/* Tells the peers on this host that their regions are not touched any more, and lets mine rest. */
static void comm_leave(engine_comm_t *comm)
{
    bool *expects = calloc(comm->size, sizeof *expects);

    for (uint32_t r = 0; r < comm->size; r++) {
        if (r != comm->rank && comm->ranks[r].region != NULL) {
            if (expects != NULL) {
                expects[r] = true;
            }
            /* Release: my loads and stores there come before. */
            atomic_store_explicit(&comm->ranks[r].region->bye[comm->rank], 1, memory_order_release);
        }
    }
    /* Without the list all ranks are awaited, some of them for ever: the region is lost, not reused too early. */
    region_release(comm->engine->regions, comm->region, comm->size, comm->rank, expects);
    free(expects);
}

void host_comm_close(engine_comm_t *comm)
{
    if (comm == NULL) {
        return;
    }
    if (comm->has_region) {
        comm_leave(comm);
    }
    host_run_free(comm);
    stall_free(comm);
    host_plans_free(comm);
    free(comm->part_counts);
    free(comm->vectors);
    free(comm->tmp);
    free(comm->sources);
    free(comm->host_of);
    free(comm->ranks);
    free(comm);
}
