/* SPDX-License-Identifier: BSD-3-Clause */
/* Making a communicator's state: the ranks tell each other who they are and what they can do, and all come to the same
   conclusion from the same data. One exchange when all know each other's processes but for a check; two more when not.
 */
#include "engine/host/host.h"
#include "engine/host/tiny.h"
#include "transport/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Halves of a region: what is asked for, and the least that is worth having. */
static const size_t half_wanted = (size_t)1 << 20;
static const size_t half_least = (size_t)16 << 10;

static const uint64_t hello_magic = UINT64_C(0x6d70696e70750001); /* changes with the layout and with the plans */

/* What each rank says of itself, at most 256 bytes. */
typedef struct hello {
    uint64_t magic;
    transport_identity_t identity;
    uint64_t region; /* offset in its window */
    uint64_t half;   /* 0: no region */
    uint32_t comm_id;
    uint32_t card_bytes;
    int32_t status;        /* of its engine */
    int32_t window_status; /* of its window */
    int64_t compared[ENGINE_COMPARED_MAX];
    char why[HOST_WHY_BYTES]; /* of the first status that is not MPINPU_OK */
} hello_t;

_Static_assert(sizeof(hello_t) <= 256, "a rank's word at start is bounded");

/* What each rank says after it has looked at the others' words. */
typedef struct verdict {
    int32_t strangers; /* there are ranks whose card it lacks, or whose window it has not mapped */
    int32_t status;    /* of making peers known */
    int32_t window_status;
    char why[HOST_WHY_BYTES];
} verdict_t;

static void hello_fill(engine_comm_t *comm, hello_t *hello)
{
    engine_t *engine = comm->engine;

    *hello = (hello_t){.magic = hello_magic, .status = (int32_t)engine->status};
    memcpy(hello->compared, engine->config.compared.values, sizeof hello->compared);
    memcpy(hello->why, engine->why, sizeof hello->why);
    if (engine->status != MPINPU_OK) {
        return;
    }
    const void *card;
    size_t card_bytes;
    transport_card_get(engine->transport, &card, &card_bytes);
    hello->identity = transport_identity_get(engine->transport);
    hello->card_bytes = (uint32_t)card_bytes;
    pthread_mutex_lock(&engine->lock);
    hello->comm_id = engine->next_comm_id;
    pthread_mutex_unlock(&engine->lock);
    hello->window_status = (int32_t)engine->window_status;
    if (engine->window_status == MPINPU_OK) {
        size_t offset = 0;
        size_t half = 0;
        hello->window_status =
            (int32_t)region_take(engine->regions, comm->size, half_wanted, half_least, &offset, &half);
        if (hello->window_status == MPINPU_OK) {
            comm->has_region = true;
            comm->region = offset;
            hello->region = offset;
            hello->half = half;
        } else {
            (void)snprintf(hello->why, sizeof hello->why, "its window has no room for one more communicator");
        }
    } else {
        memcpy(hello->why, engine->window_why, sizeof hello->why);
    }
}

/* The same verdict on all ranks: from what all have said. */
static mpinpu_status_t hellos_judge(const engine_comm_t *comm, const hello_t *hellos, char *why, size_t why_bytes)
{
    const engine_compared_t *compared = &comm->engine->config.compared;

    for (uint32_t r = 0; r < comm->size; r++) {
        if (hellos[r].magic != hello_magic) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 " runs another version of the library than rank 0", r);
            return MPINPU_ERR_DISAGREE;
        }
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        for (unsigned v = 0; v < compared->count; v++) {
            if (hellos[r].compared[v] != hellos[0].compared[v]) {
                (void)snprintf(why, why_bytes, "%s differs: %" PRId64 " on rank 0, %" PRId64 " on rank %" PRIu32,
                               compared->names[v], hellos[0].compared[v], hellos[r].compared[v], r);
                return MPINPU_ERR_DISAGREE;
            }
        }
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        if (hellos[r].status != MPINPU_OK) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 ": %.*s", r, HOST_WHY_BYTES - 1, hellos[r].why);
            return (mpinpu_status_t)hellos[r].status;
        }
    }
    return MPINPU_OK;
}

/* Numbers the hosts; with `together` by identity, else every rank is one of its own. */
static uint32_t hosts_number(const hello_t *hellos, uint32_t size, bool together, uint32_t *host_of)
{
    uint32_t nhosts = 0;

    for (uint32_t r = 0; r < size; r++) {
        uint32_t before = r;
        /* Neighbours in rank order mostly share a host, so the search from behind is short. */
        if (together) {
            while (before > 0 && hellos[before - 1].identity.host != hellos[r].identity.host) {
                before--;
            }
        } else {
            before = 0;
        }
        host_of[r] = before > 0 ? host_of[before - 1] : nhosts++;
    }
    return nhosts;
}

/* Says once in this process why windows are not used. */
static void windows_say(engine_comm_t *comm, uint32_t rank, const char *cause)
{
    if (comm->rank == 0 && !atomic_exchange_explicit(&comm->engine->window_warned, true, memory_order_relaxed)) {
        log_warn("no shared windows, messages are used instead: rank %" PRIu32 ": %.*s", rank, HOST_WHY_BYTES - 1,
                 cause);
    }
}

/* Whether all ranks have a region, and the half that all have. */
static bool windows_agree(engine_comm_t *comm, const hello_t *hellos)
{
    size_t half = SIZE_MAX;

    if (!comm->engine->config.windows) {
        return false;
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        if (hellos[r].window_status != MPINPU_OK) {
            windows_say(comm, r, hellos[r].why);
            return false;
        }
        half = hellos[r].half < half ? hellos[r].half : half;
    }
    comm->half = half;
    return true;
}

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
    if (mine == NULL || all == NULL) {
        /* Not collective: but a rank without some kilobytes ends soon in any case. */
        free(mine);
        free(all);
        return MPINPU_ERR_NO_MEMORY;
    }
    memcpy(mine, card, card_bytes < room ? card_bytes : room);
    mpinpu_status_t status = exchange->allgather(exchange->context, mine, all, room);
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

/* The exchanges after the first: everybody knows everybody, or learns to. */
static mpinpu_status_t comm_connect(engine_comm_t *comm, const engine_exchange_t *exchange, const hello_t *hellos,
                                    char *why, size_t why_bytes)
{
    verdict_t *verdicts = malloc(comm->size * sizeof *verdicts);
    verdict_t mine = {0};
    unsigned char *cards = NULL;
    size_t card_room = 0;
    bool strangers = false;
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    if (verdicts == NULL) {
        return status;
    }
    peers_find(comm, hellos, NULL, 0, &mine);
    if (comm->windows && !mine.strangers) {
        windows_map(comm, hellos, &mine);
    }
    status = verdicts_exchange(comm, exchange, &mine, verdicts, &strangers);
    if (status == MPINPU_OK && strangers) {
        status = cards_exchange(comm, exchange, hellos, &cards, &card_room);
        if (status == MPINPU_OK) {
            mine = (verdict_t){0};
            peers_find(comm, hellos, cards, card_room, &mine);
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
    free(verdicts);
    return status;
}

/* From the words of all: the id, the windows, the hosts. */
static void comm_settle(engine_comm_t *comm, const hello_t *hellos)
{
    for (uint32_t r = 0; r < comm->size; r++) {
        comm->id = hellos[r].comm_id > comm->id ? hellos[r].comm_id : comm->id;
    }
    pthread_mutex_lock(&comm->engine->lock);
    if (comm->engine->next_comm_id <= comm->id) {
        comm->engine->next_comm_id = comm->id + 1;
    }
    pthread_mutex_unlock(&comm->engine->lock);
    comm->windows = windows_agree(comm, hellos);
}

/* The last part: where the ranks are, and which paths that opens. */
static void comm_place(engine_comm_t *comm, const hello_t *hellos)
{
    comm->nhosts = hosts_number(hellos, comm->size, comm->windows, comm->host_of);
    if (!comm->windows || comm->nhosts == comm->size) {
        comm->half = 0;
        comm->windows = false;
    }
    comm->tiny = comm->windows && comm->nhosts == 1 && comm->size <= TINY_RANKS_MAX;
}

static engine_comm_t *comm_allocate(engine_t *engine, uint32_t rank, uint32_t size)
{
    engine_comm_t *comm = calloc(1, sizeof *comm);

    if (comm == NULL) {
        return NULL;
    }
    comm->engine = engine;
    comm->rank = rank;
    comm->size = size;
    comm->ranks = calloc(size, sizeof *comm->ranks);
    comm->host_of = calloc(size, sizeof *comm->host_of);
    comm->sources = calloc(size, sizeof *comm->sources);
    if (comm->ranks == NULL || comm->host_of == NULL || comm->sources == NULL) {
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
    engine_comm_t *made = comm_allocate(engine, (uint32_t)exchange->rank, (uint32_t)exchange->size);
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    if (made == NULL || hellos == NULL) {
        (void)snprintf(why, why_bytes, "no memory for a communicator's state");
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
    comm_settle(made, hellos);
    status = comm_connect(made, exchange, hellos, why, why_bytes);
    if (status != MPINPU_OK) {
        goto fail;
    }
    /* Acquire: pairs with the fences of the others, by way of the exchanges. */
    atomic_thread_fence(memory_order_acquire);
    comm_place(made, hellos);
    if (made->has_region && !made->windows) {
        region_return(engine->regions, made->region);
        made->has_region = false;
    }
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
    host_plans_free(comm);
    free(comm->tmp);
    free(comm->sources);
    free(comm->host_of);
    free(comm->ranks);
    free(comm);
}

void *host_comm_tmp(engine_comm_t *comm, size_t bytes)
{
    if (bytes > comm->tmp_bytes) {
        void *grown = NULL;
        if (posix_memalign(&grown, REGION_LINE, bytes) != 0) {
            return NULL;
        }
        free(comm->tmp);
        comm->tmp = grown;
        comm->tmp_bytes = bytes;
    }
    return comm->tmp;
}
