/* SPDX-License-Identifier: BSD-3-Clause */
/* The exchanges after the first: everybody knows everybody, or learns to. */
#include "engine/host/agree.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool comm_shares_host(const engine_comm_t *comm, const hello_t *hellos, uint32_t rank)
{
    return hellos[rank].identity.host == hellos[comm->rank].identity.host;
}

/* Looks up the ranks' processes among those known; with `cards` makes the unknown ones known. */
static void peers_find(engine_comm_t *comm, const hello_t *hellos, const unsigned char *cards, size_t card_room,
                       verdict_t *verdict)
{
    transport_t *transport = comm->engine->transport;

    for (uint32_t r = 0; r < comm->size && verdict->status == MPINPU_OK; r++) {
        comm->ranks[r].peer = transport_peer_find(transport, hellos[r].identity.uid);
        if (comm->ranks[r].peer == NULL && cards == NULL) {
            verdict->strangers = 1;
        } else if (comm->ranks[r].peer == NULL) {
            verdict->status = (int32_t)transport_peer_add(transport, hellos[r].identity, cards + r * card_room,
                                                          hellos[r].card_bytes, &comm->ranks[r].peer);
            if (verdict->status != MPINPU_OK) {
                (void)snprintf(verdict->why, sizeof verdict->why, "cannot reach rank %" PRIu32 ": %s", r,
                               status_name((mpinpu_status_t)verdict->status));
            }
        }
    }
}

/* A host's rank that is reached first: the one that stands there where I stand on mine (a lane of the plan "levels"),
   so that all ranks of a host are met alike. */
static void hosts_choose(const engine_comm_t *comm, uint32_t nhosts, uint32_t *sizes, uint32_t *chosen)
{
    uint32_t place = 0;

    for (uint32_t r = 0; r < comm->size; r++) {
        if (r == comm->rank) {
            place = sizes[comm->host_of[r]];
        }
        sizes[comm->host_of[r]]++;
    }
    for (uint32_t host = 0; host < nhosts; host++) {
        /* On my own host the next one. */
        chosen[host] = (place + (host == comm->host_of[comm->rank] ? 1 : 0)) % sizes[host];
        sizes[host] = 0;
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        const uint32_t host = comm->host_of[r];
        if (sizes[host]++ == chosen[host]) {
            chosen[host] = r;
            sizes[host] = comm->size; /* no further rank of it */
        }
    }
}

/* Whether there is a way to every host. What UCX has no transport for must show here, where the ranks can still agree
   to leave the communicator to the host MPI, and not in the first message. */
static void hosts_reach(engine_comm_t *comm, const hello_t *hellos, verdict_t *verdict)
{
    const uint32_t nhosts = hosts_number(hellos, comm->size, true, comm->host_of);
    uint32_t *scratch = calloc(2 * (size_t)nhosts, sizeof *scratch);
    char why[HOST_WHY_BYTES] = "";

    if (scratch == NULL) {
        verdict->status = MPINPU_ERR_NO_MEMORY;
        (void)snprintf(verdict->why, sizeof verdict->why, "no memory for a communicator's state");
        return;
    }
    uint32_t *chosen = scratch + nhosts;
    hosts_choose(comm, nhosts, scratch, chosen);
    for (uint32_t host = 0; host < nhosts && verdict->status == MPINPU_OK; host++) {
        if (chosen[host] == comm->rank) {
            continue;
        }
        verdict->status =
            (int32_t)transport_peer_reach(comm->engine->transport, comm->ranks[chosen[host]].peer, why, sizeof why);
        if (verdict->status != MPINPU_OK) {
            (void)snprintf(verdict->why, sizeof verdict->why, "to rank %" PRIu32 ": %.160s", chosen[host], why);
        }
    }
    free(scratch);
}

static void windows_map(engine_comm_t *comm, const hello_t *hellos, verdict_t *verdict)
{
    for (uint32_t r = 0; r < comm->size && verdict->window_status == MPINPU_OK; r++) {
        if (!comm_shares_host(comm, hellos, r)) {
            continue;
        }
        void *base = NULL;
        size_t bytes = 0;
        verdict->window_status = (int32_t)transport_peer_window(comm->engine->transport, comm->ranks[r].peer, &base,
                                                                &bytes, verdict->why, sizeof verdict->why);
        if (verdict->window_status == MPINPU_OK) {
            unsigned char *region = (unsigned char *)base + hellos[r].region;
            comm->ranks[r].region = (region_head_t *)(void *)region;
            comm->ranks[r].half[0] = region + region_data_offset(comm->size);
            comm->ranks[r].half[1] = comm->ranks[r].half[0] + hellos[r].half;
        }
    }
}

/* All ranks' verdicts; on return `worst` is the first that is not MPINPU_OK in the status asked for. */
static mpinpu_status_t verdicts_exchange(engine_comm_t *comm, const engine_exchange_t *exchange, const verdict_t *mine,
                                         verdict_t *all, bool *strangers)
{
    mpinpu_status_t status = exchange->allgather(exchange->context, mine, all, sizeof *mine);

    *strangers = false;
    for (uint32_t r = 0; status == MPINPU_OK && r < comm->size; r++) {
        *strangers = *strangers || all[r].strangers != 0;
    }
    return status;
}

/* Hands round the cards; collective. */
static mpinpu_status_t cards_exchange(engine_comm_t *comm, const engine_exchange_t *exchange, const hello_t *hellos,
                                      unsigned char **cards, size_t *card_room)
{
    size_t room = 0;
    const void *card = NULL;
    size_t card_bytes = 0;
    unsigned char *all;
    unsigned char *mine;

    for (uint32_t r = 0; r < comm->size; r++) {
        room = hellos[r].card_bytes > room ? hellos[r].card_bytes : room;
    }
    transport_card_get(comm->engine->transport, &card, &card_bytes);
    mine = calloc(1, room);
    all = malloc(room * comm->size);
    mpinpu_status_t status =
        exchange->agree(exchange->context, mine != NULL && all != NULL ? MPINPU_OK : MPINPU_ERR_NO_MEMORY);
    if (status == MPINPU_OK) {
        memcpy(mine, card, card_bytes < room ? card_bytes : room);
        status = exchange->allgather(exchange->context, mine, all, room);
    }
    free(mine);
    if (status != MPINPU_OK) {
        free(all);
        return status;
    }
    *cards = all;
    *card_room = room;
    return MPINPU_OK;
}

/* Draws the common conclusion from the last verdicts. */
static mpinpu_status_t verdicts_judge(engine_comm_t *comm, const verdict_t *verdicts, char *why, size_t why_bytes)
{
    for (uint32_t r = 0; r < comm->size; r++) {
        if (verdicts[r].status != MPINPU_OK) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 ": %.*s", r, HOST_WHY_BYTES - 1, verdicts[r].why);
            return (mpinpu_status_t)verdicts[r].status;
        }
    }
    for (uint32_t r = 0; comm->windows && r < comm->size; r++) {
        if (verdicts[r].window_status != MPINPU_OK) {
            windows_say(comm, r, verdicts[r].why);
            comm->windows = false;
        }
    }
    return MPINPU_OK;
}

mpinpu_status_t ranks_connect(engine_comm_t *comm, const engine_exchange_t *exchange, const hello_t *hellos,
                              verdict_t *verdicts, char *why, size_t why_bytes)
{
    verdict_t mine = {0};
    unsigned char *cards = NULL;
    size_t card_room = 0;
    bool strangers = false;
    mpinpu_status_t status;

    peers_find(comm, hellos, NULL, 0, &mine);
    if (!mine.strangers) {
        hosts_reach(comm, hellos, &mine);
    }
    if (comm->windows && !mine.strangers && mine.status == MPINPU_OK) {
        windows_map(comm, hellos, &mine);
    }
    status = verdicts_exchange(comm, exchange, &mine, verdicts, &strangers);
    if (status == MPINPU_OK && strangers) {
        status = cards_exchange(comm, exchange, hellos, &cards, &card_room);
        if (status == MPINPU_OK) {
            mine = (verdict_t){0};
            peers_find(comm, hellos, cards, card_room, &mine);
            if (mine.status == MPINPU_OK) {
                hosts_reach(comm, hellos, &mine);
            }
            if (comm->windows && mine.status == MPINPU_OK) {
                windows_map(comm, hellos, &mine);
            }
            status = verdicts_exchange(comm, exchange, &mine, verdicts, &strangers);
        }
    }
    if (status != MPINPU_OK) {
        (void)snprintf(why, why_bytes, "%s", status_name(status));
    } else {
        status = verdicts_judge(comm, verdicts, why, why_bytes);
    }
    free(cards);
    return status;
}
