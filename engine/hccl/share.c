/* SPDX-License-Identifier: BSD-3-Clause */
/* The group of a device: its owner and the ranks that it serves, as a communicator of the host engine. Rank 0 is the
   owner. */
#include "engine/hccl/hccl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an owner says with each result. */
typedef struct share_word {
    int32_t status;
    uint32_t rank; /* on which it failed */
    char text[HCCL_CAUSE_BYTES];
} share_word_t;

_Static_assert(sizeof(share_word_t) <= HCCL_SHARE_WORD_BYTES, "a slot has room for the word");

static void share_slot_close(hccl_slot_t *slot)
{
    free(slot->state);
    free(slot->host_out);
    free(slot->host_in);
    *slot = (hccl_slot_t){0};
}

void hccl_shares_close(engine_t *engine)
{
    for (uint32_t s = 0; s < engine->nshares; s++) {
        share_slot_close(&engine->shares[s]);
    }
    engine->nshares = 0;
    engine->share_bytes = 0;
}

mpinpu_status_t hccl_shares_open(engine_comm_t *comm)
{
    engine_t *engine = comm->engine;
    const size_t bytes = comm->slot_bytes;

    if (engine->share_bytes >= bytes && engine->nshares >= comm->slots) {
        return MPINPU_OK;
    }
    hccl_shares_close(engine);
    for (uint32_t s = 0; s < comm->slots; s++) {
        hccl_slot_t *slot = &engine->shares[s];
        slot->state = malloc(bytes / HCCL_STATE_PART);
        if (posix_memalign(&slot->host_in, 64, bytes) != 0) {
            slot->host_in = NULL;
        }
        if (posix_memalign(&slot->host_out, 64, bytes + HCCL_SHARE_WORD_BYTES) != 0) {
            slot->host_out = NULL;
        }
        engine->nshares = s + 1;
        if (slot->state == NULL || slot->host_in == NULL || slot->host_out == NULL) {
            hccl_shares_close(engine);
            (void)snprintf(engine->said, sizeof engine->said, "no memory for %zu bytes of staging", bytes);
            return MPINPU_ERR_NO_MEMORY;
        }
    }
    engine->share_bytes = bytes;
    return MPINPU_OK;
}

mpinpu_status_t hccl_share_open(engine_comm_t *comm, char *why, size_t why_bytes)
{
    const engine_exchange_t *exchange = &comm->exchange;
    engine_exchange_t part;
    engine_watch_t watch;
    char reason[HCCL_WHY_BYTES] = "";

    if (comm->nowners == comm->size || comm->share != NULL) {
        return MPINPU_OK;
    }
    mpinpu_status_t status =
        exchange->split(exchange->context, (int)comm->place, comm->owner ? 0 : (int)comm->rank + 1, &part);
    if (status != MPINPU_OK) {
        (void)snprintf(why, why_bytes, "%s", status_name(status));
        return status;
    }
    if (part.size > 1) {
        hccl_alarm_watch(comm, &watch, &part);
        status = engine_host.comm_open(exchange->host, &part, &comm->share, reason, sizeof reason);
    }
    exchange->join(&part);
    return hccl_agree(comm, status, reason, why, why_bytes);
}

/* A collective of the group. */
static mpinpu_status_t share_run(engine_comm_t *comm, const collective_t *collective)
{
    engine_t *engine = comm->engine;
    const uint64_t begin = hccl_time_begin(engine);
    const mpinpu_status_t status = engine_host.run(comm->share, collective);

    hccl_time_end(engine, HCCL_TIME_GROUP, begin);
    if (status != MPINPU_OK) {
        (void)snprintf(engine->said, sizeof engine->said, "among the ranks that share an NPU: %.400s",
                       engine_host.comm_failure(comm->share));
    }
    /* That answer is the agreed one of all ranks. */
    return status == MPINPU_ERR_UNSUPPORTED ? MPINPU_ERR_TRANSPORT : status;
}

mpinpu_status_t hccl_share_reduce(engine_comm_t *comm, const hccl_slot_t *slot, dtype_t dtype, op_t op, size_t count)
{
    const collective_t collective = {.kind = COLLECTIVE_REDUCE,
                                     .dtype = dtype,
                                     .op = op,
                                     .send = slot->host_in,
                                     .recv = slot->host_in,
                                     .count = count};

    return comm->share == NULL || count == 0 ? MPINPU_OK : share_run(comm, &collective);
}

mpinpu_status_t hccl_share_broadcast(engine_comm_t *comm, const hccl_slot_t *slot, size_t from, size_t to,
                                     mpinpu_status_t status)
{
    /* The word is behind the data. */
    const size_t at = (to + 63) / 64 * 64;
    char *data = (char *)slot->host_out;
    share_word_t word = {.status = (int32_t)status};
    const collective_t collective = {.kind = COLLECTIVE_BROADCAST,
                                     .dtype = DTYPE_U8,
                                     .op = OP_BOR,
                                     .send = data + from,
                                     .recv = data + from,
                                     .count = at - from + sizeof word};

    if (comm->share == NULL) {
        return status;
    }
    if (comm->owner) {
        word.rank = comm->cause.rank;
        memcpy(word.text, comm->cause.text, sizeof word.text);
        memcpy(data + at, &word, sizeof word);
    }
    const mpinpu_status_t run = share_run(comm, &collective);
    if (run != MPINPU_OK || comm->owner) {
        return run != MPINPU_OK ? run : status;
    }
    memcpy(&word, data + at, sizeof word);
    /* Whatever this rank has heard of meanwhile: all of a group fail with the same. */
    if (word.status != MPINPU_OK) {
        comm->cause = (hccl_cause_t){.status = (mpinpu_status_t)word.status, .rank = word.rank};
        memcpy(comm->cause.text, word.text, sizeof comm->cause.text);
    }
    return (mpinpu_status_t)word.status;
}
