/* SPDX-License-Identifier: BSD-3-Clause */
/* How the ranks of a communicator conclude whether NPUs can serve it, which device each drives, and in what order: one
   exchange, no call of CANN. */
#include "engine/hccl/hccl.h"

#include "transport/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELLO_COMPARED_MAX = 24 };

/* What each rank says of itself, at most 256 bytes. */
typedef struct hello {
    uint64_t magic;
    uint64_t process;
    uint64_t host;
    int32_t status; /* of its engine */
    uint32_t product;
    uint32_t version; /* of CANN */
    uint32_t device;  /* as the server numbers it */
    uint32_t superpod;
    uint32_t threads;                      /* several may call at once */
    uint32_t compared[HELLO_COMPARED_MAX]; /* digests of HCCL's environment */
    char why[96];
} hello_t;

_Static_assert(sizeof(hello_t) <= 256, "a rank's word is bounded");

static const uint64_t hello_magic = UINT64_C(0x6d70696e70754802); /* changes with the layout and with the plans */

static void hello_fill(const engine_t *engine, hello_t *hello)
{
    int64_t values[HCCL_VARIABLE_COUNT];

    *hello = (hello_t){.magic = hello_magic,
                       .process = engine->process,
                       .host = engine->host,
                       .status = (int32_t)engine->status,
                       .threads = engine->config.thread_multiple};
    (void)snprintf(hello->why, sizeof hello->why, "%.*s", (int)sizeof hello->why - 1, engine->why);
    if (engine->status != MPINPU_OK) {
        return;
    }
    const unsigned count = hccl_environment_compared(&engine->environment, values);
    for (unsigned v = 0; v < count && v < HELLO_COMPARED_MAX; v++) {
        hello->compared[v] = (uint32_t)((uint64_t)values[v] ^ (uint64_t)values[v] >> 32);
    }
    hello->product = (uint32_t)engine->product->series;
    hello->version = engine->version;
    hello->device = engine->physical;
    const char *superpod = hccl_environment_text(&engine->environment, HCCL_VARIABLE_LOGIC_SUPERPOD_ID);
    hello->superpod = (uint32_t)strtoul(superpod, NULL, 10);
}

static mpinpu_status_t hellos_judge(const engine_t *engine, const hello_t *hellos, uint32_t size, char *why,
                                    size_t why_bytes)
{
    int64_t values[HCCL_VARIABLE_COUNT];
    const unsigned count = hccl_environment_compared(&engine->environment, values);

    for (uint32_t r = 0; r < size; r++) {
        if (hellos[r].magic != hello_magic) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 " runs another version of the library than rank 0", r);
            return MPINPU_ERR_DISAGREE;
        }
    }
    for (uint32_t r = 0; r < size; r++) {
        if (hellos[r].status != MPINPU_OK) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 ": %.*s", r, (int)sizeof hellos[r].why - 1, hellos[r].why);
            return (mpinpu_status_t)hellos[r].status;
        }
    }
    for (uint32_t r = 0; r < size; r++) {
        if (hellos[r].version != hellos[0].version) {
            (void)snprintf(why, why_bytes, "CANN is %u.%u on rank 0 and %u.%u on rank %" PRIu32,
                           hellos[0].version / 100, hellos[0].version % 100, hellos[r].version / 100,
                           hellos[r].version % 100, r);
            return MPINPU_ERR_DISAGREE;
        }
        for (unsigned v = 0; v < count && v < HELLO_COMPARED_MAX; v++) {
            if (hellos[r].compared[v] != hellos[0].compared[v]) {
                (void)snprintf(why, why_bytes, "%s differs between rank 0 and rank %" PRIu32, hccl_compared_name(v), r);
                return MPINPU_ERR_DISAGREE;
            }
        }
    }
    return MPINPU_OK;
}

/* What the product rules look at. */
typedef struct places {
    uint32_t *host_of;
    uint64_t *devices_of;
    atlas_host_t *hosts;
    atlas_owner_t *owners;
    uint32_t nhosts;
} places_t;

static bool places_open(places_t *places, uint32_t size)
{
    *places = (places_t){.host_of = calloc(size, sizeof *places->host_of),
                         .devices_of = calloc(size, sizeof *places->devices_of),
                         .hosts = calloc(size, sizeof *places->hosts),
                         .owners = calloc(size, sizeof *places->owners)};
    return places->host_of != NULL && places->devices_of != NULL && places->hosts != NULL && places->owners != NULL;
}

static void places_close(places_t *places)
{
    free(places->owners);
    free(places->hosts);
    free(places->devices_of);
    free(places->host_of);
}

static void places_fill(places_t *places, const hello_t *hellos, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++) {
        uint32_t before = r;
        /* Neighbours mostly share a host. */
        while (before > 0 && hellos[before - 1].host != hellos[r].host) {
            before--;
        }
        if (before > 0) {
            places->host_of[r] = places->host_of[before - 1];
        } else {
            places->host_of[r] = places->nhosts;
            places->hosts[places->nhosts++] = (atlas_host_t){
                .product = atlas_product((atlas_series_t)hellos[r].product), .superpod = hellos[r].superpod};
        }
        places->devices_of[r] = UINT64_C(1) << hellos[r].device;
    }
}

/* Two ranks that would drive one device; false if there are none. */
static bool devices_clash(const places_t *places, const hello_t *hellos, uint32_t size, char *why, size_t why_bytes)
{
    for (uint32_t r = 1; r < size; r++) {
        for (uint32_t q = r; q-- > 0;) {
            if (places->host_of[q] == places->host_of[r] && hellos[q].device == hellos[r].device) {
                (void)snprintf(why, why_bytes, "ranks %" PRIu32 " and %" PRIu32 " would both drive NPU %" PRIu32, q, r,
                               hellos[r].device);
                return true;
            }
        }
    }
    return false;
}

static mpinpu_status_t comm_pick(engine_comm_t *comm, const hello_t *hellos, char *why, size_t why_bytes)
{
    places_t places;
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    if (places_open(&places, comm->size)) {
        places_fill(&places, hellos, comm->size);
        const atlas_ranks_t ranks = {.nranks = comm->size,
                                     .nhosts = places.nhosts,
                                     .host_of = places.host_of,
                                     .devices_of = places.devices_of,
                                     .hosts = places.hosts};
        if (devices_clash(&places, hellos, comm->size, why, why_bytes)) {
            status = MPINPU_ERR_UNSUPPORTED;
        } else {
            status = atlas_devices_pick(&ranks, &comm->devices, places.owners, why, why_bytes);
        }
    } else {
        (void)snprintf(why, why_bytes, "no memory for a communicator's state");
    }
    if (status == MPINPU_OK && comm->devices.nowners < comm->size) {
        (void)snprintf(why, why_bytes, "%" PRIu32 " of its %" PRIu32 " ranks may drive an NPU each: %s takes %s",
                       comm->devices.nowners, comm->size, comm->devices.product->name, comm->devices.product->rule);
        status = MPINPU_ERR_UNSUPPORTED;
    }
    for (uint32_t p = 0; p < comm->size && status == MPINPU_OK; p++) {
        comm->order[p] = places.owners[p].rank;
        comm->processes[p] = hellos[comm->order[p]].process;
        comm->place = comm->order[p] == comm->rank ? p : comm->place;
    }
    places_close(&places);
    return status;
}

static void warnings_say(const engine_comm_t *comm)
{
    char text[256];

    for (int w = 0; w < ATLAS_WARNING_COUNT && comm->rank == 0; w++) {
        if ((comm->devices.warnings >> w & 1) != 0) {
            atlas_warning_text(&comm->devices, (atlas_warning_t)w, text, sizeof text);
            log_info("%s", text);
        }
    }
}

static engine_comm_t *comm_allocate(engine_t *engine, const engine_exchange_t *exchange)
{
    const size_t size = (size_t)exchange->size;
    engine_comm_t *comm = calloc(1, sizeof *comm);

    if (comm == NULL) {
        return NULL;
    }
    comm->engine = engine;
    comm->exchange = *exchange;
    comm->rank = (uint32_t)exchange->rank;
    comm->size = (uint32_t)exchange->size;
    comm->order = calloc(size, sizeof *comm->order);
    comm->processes = calloc(size, sizeof *comm->processes);
    comm->waits = calloc(size, sizeof *comm->waits);
    comm->blocks = calloc(2 * size * (engine->slots + 1), sizeof *comm->blocks);
    if (comm->order == NULL || comm->processes == NULL || comm->waits == NULL || comm->blocks == NULL) {
        hccl_comm_close(comm);
        return NULL;
    }
    return comm;
}

mpinpu_status_t hccl_comm_open(engine_t *engine, const engine_exchange_t *exchange, engine_comm_t **comm, char *why,
                               size_t why_bytes)
{
    hello_t mine;
    const uint32_t size = (uint32_t)exchange->size;
    hello_t *hellos = malloc(size * sizeof *hellos);
    engine_comm_t *made = comm_allocate(engine, exchange);

    hello_fill(engine, &mine);
    mpinpu_status_t status =
        exchange->agree(exchange->context, made != NULL && hellos != NULL ? MPINPU_OK : MPINPU_ERR_NO_MEMORY);
    if (status == MPINPU_OK) {
        status = exchange->allgather(exchange->context, &mine, hellos, sizeof mine);
    }
    if (status == MPINPU_OK) {
        status = hellos_judge(engine, hellos, size, why, why_bytes);
    } else {
        (void)snprintf(why, why_bytes, "%s", status_name(status));
    }
    for (uint32_t r = 0; r < size && status == MPINPU_OK; r++) {
        made->vote = made->vote || hellos[r].threads != 0;
    }
    if (status == MPINPU_OK) {
        status = comm_pick(made, hellos, why, why_bytes);
    }
    free(hellos);
    if (status != MPINPU_OK) {
        hccl_comm_close(made);
        return status;
    }
    warnings_say(made);
    *comm = made;
    return MPINPU_OK;
}

void hccl_comm_close(engine_comm_t *comm)
{
    if (comm == NULL) {
        return;
    }
    if (comm->group != NULL) {
        aclrtContext saved;
        pthread_mutex_lock(&comm->engine->lock);
        (void)hccl_device_enter(comm->engine, &saved);
        hccl_group_leave(comm);
        hccl_device_leave(comm->engine, saved);
        pthread_mutex_unlock(&comm->engine->lock);
    }
    free(comm->blocks);
    free(comm->waits);
    free(comm->processes);
    free(comm->order);
    free(comm);
}
