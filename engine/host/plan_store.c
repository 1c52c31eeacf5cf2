/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator keeps the plans it used last: programs repeat the same few collectives. */
#include "engine/host/host.h"

#include <stdlib.h>
#include <string.h>

static bool host_plan_matches(const host_plan_t *kept, const engine_comm_t *comm, const collective_t *collective,
                              bool in_place, bool raw)
{
    return kept->valid && kept->kind == collective->kind && kept->count == collective->count &&
           kept->element == dtype_size(collective->dtype) && kept->in_place == in_place && kept->raw == raw &&
           kept->padded == dtype_padded(collective->dtype) &&
           (kept->counts == NULL || memcmp(kept->counts, collective->counts, comm->size * sizeof *kept->counts) == 0);
}

static void host_plan_drop(host_plan_t *kept)
{
    if (kept->valid) {
        plan_free(&kept->plan);
        free(kept->counts);
        *kept = (host_plan_t){0};
    }
}

static mpinpu_status_t host_plan_make(const engine_comm_t *comm, const collective_t *collective, bool in_place,
                                      bool raw, host_plan_t *kept)
{
    plan_params_t params = {.kind = collective->kind,
                            .me = comm->rank,
                            .layout = {.nranks = comm->size, .nhosts = comm->nhosts, .host_of = comm->host_of},
                            .element = dtype_size(collective->dtype),
                            .count = collective->count,
                            .counts = collective->counts,
                            .in_place = in_place,
                            .raw = raw,
                            .padded = dtype_padded(collective->dtype),
                            .crowded = comm->crowded,
                            .window_bytes = comm->half};
    host_plan_t made = {.valid = true,
                        .kind = collective->kind,
                        .count = collective->count,
                        .element = params.element,
                        .in_place = in_place,
                        .raw = raw,
                        .padded = params.padded};
    mpinpu_status_t status;

    if (collective->counts != NULL) {
        made.counts = malloc(comm->size * sizeof *made.counts);
        if (made.counts == NULL) {
            return MPINPU_ERR_NO_MEMORY;
        }
        memcpy(made.counts, collective->counts, comm->size * sizeof *made.counts);
    }
    status = plan_make(plan_select(&params), &params, &made.plan);
    if (status != MPINPU_OK) {
        free(made.counts);
        return status;
    }
    host_plan_drop(kept);
    *kept = made;
    return MPINPU_OK;
}

mpinpu_status_t host_plan_get(engine_comm_t *comm, const collective_t *collective, const plan_t **plan)
{
    const bool in_place = collective->send == collective->recv;
    const bool raw = host_raw(comm->engine, collective->dtype);

    for (unsigned tried = 0; tried < HOST_PLANS_KEPT; tried++) {
        unsigned slot = (comm->plan_last + tried) % HOST_PLANS_KEPT;
        if (host_plan_matches(&comm->plans[slot], comm, collective, in_place, raw)) {
            comm->plan_last = slot;
            *plan = &comm->plans[slot].plan;
            return MPINPU_OK;
        }
    }
    unsigned slot = comm->plan_next;
    mpinpu_status_t status = host_plan_make(comm, collective, in_place, raw, &comm->plans[slot]);
    if (status == MPINPU_OK) {
        comm->plan_next = (slot + 1) % HOST_PLANS_KEPT;
        comm->plan_last = slot;
        *plan = &comm->plans[slot].plan;
    }
    return status;
}

void host_plans_free(engine_comm_t *comm)
{
    for (unsigned slot = 0; slot < HOST_PLANS_KEPT; slot++) {
        host_plan_drop(&comm->plans[slot]);
    }
}

struct engine_prepared {
    host_plan_t made;
};

mpinpu_status_t host_prepare(const engine_comm_t *comm, const collective_t *collective, engine_prepared_t **prepared)
{
    engine_prepared_t *own = calloc(1, sizeof *own);

    if (own == NULL) {
        return MPINPU_ERR_NO_MEMORY;
    }
    mpinpu_status_t status = host_plan_make(comm, collective, collective->send == collective->recv,
                                            host_raw(comm->engine, collective->dtype), &own->made);
    if (status != MPINPU_OK) {
        free(own);
        return status;
    }
    *prepared = own;
    return MPINPU_OK;
}

void host_unprepare(engine_prepared_t *prepared)
{
    if (prepared != NULL) {
        host_plan_drop(&prepared->made);
        free(prepared);
    }
}

const plan_t *host_prepared_plan(const engine_prepared_t *prepared)
{
    return &prepared->made.plan;
}
