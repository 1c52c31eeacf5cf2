/* SPDX-License-Identifier: BSD-3-Clause */
/* How the ranks of a communicator conclude whether NPUs can serve it, which device each drives, and in what order: one
   exchange, no call of CANN. */
#include "engine/hccl/hccl.h"

#include "transport/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What each rank says of itself, at most 384 bytes. */
typedef struct hello {
    uint64_t magic;
    uint64_t process;
    uint64_t host;
    uint64_t environment; /* digest of what is compared of HCCL's environment, where it has a device */
    int32_t status;       /* of its engine: whether it has a device */
    uint32_t flags;       /* HELLO_* */
    uint32_t product;     /* the rest where it has */
    uint32_t version;     /* of CANN */
    uint32_t device;      /* as the server numbers it */
    uint32_t list;        /* digest of the list of devices; 0: none */
    uint32_t superpod;
    uint16_t compared[HCCL_VARIABLE_COUNT]; /* of each variable a digest of its own, to name the one that differs */
    char why[192];
} hello_t;

enum {
    HELLO_THREADS = 1, /* several may call at once */
    HELLO_DRIVES = 2,  /* the device is its own */
    HELLO_GIVEN = 4,   /* by the application */
    HELLO_VECTOR = 8,  /* CANN has HcclReduceScatterV */
    HELLO_SPEAKS = 16  /* it has warned of what is wrong itself */
};

_Static_assert(sizeof(hello_t) <= 384, "a rank's word is bounded");

static const uint64_t hello_magic = UINT64_C(0x6d70696e70754804); /* changes with the layout and with the plans */

static void environment_fill(const engine_t *engine, hello_t *hello)
{
    int64_t values[HCCL_VARIABLE_COUNT];
    const unsigned count = hccl_environment_compared(&engine->environment, values);

    hello->environment = UINT64_C(0xcbf29ce484222325); /* FNV-1a's */
    for (unsigned v = 0; v < count; v++) {
        const uint64_t value = (uint64_t)values[v];
        hello->environment = (hello->environment ^ value ^ value >> 32) * UINT64_C(0x100000001b3);
        hello->compared[v] = (uint16_t)(value ^ value >> 16 ^ value >> 32 ^ value >> 48);
    }
}

static void hello_fill(engine_t *engine, hello_t *hello)
{

    *hello = (hello_t){.magic = hello_magic,
                       .process = engine->process,
                       .host = engine->host,
                       .status = (int32_t)engine->status,
                       .flags = (engine->config.thread_multiple ? HELLO_THREADS : 0U) |
                                (hccl_speaks(engine) ? HELLO_SPEAKS : 0U)};
    (void)snprintf(hello->why, sizeof hello->why, "%.*s", (int)sizeof hello->why - 1, engine->why);
    if (engine->status != MPINPU_OK) {
        return;
    }
    environment_fill(engine, hello);
    pthread_mutex_lock(&engine->lock);
    const bool drives = engine->drives || engine->lists_differ;
    pthread_mutex_unlock(&engine->lock);
    hello->flags |= (drives ? HELLO_DRIVES : 0U) | (engine->device_given ? HELLO_GIVEN : 0U) |
                    (engine->cann.HcclReduceScatterV != NULL ? HELLO_VECTOR : 0U);
    hello->product = (uint32_t)engine->product->series;
    hello->version = engine->version;
    hello->device = engine->physical;
    const char *list = hccl_environment_text(&engine->environment, HCCL_VARIABLE_RT_VISIBLE_DEVICES);
    for (; *list != '\0'; list++) {
        hello->list = hello->list * 31 + (unsigned char)*list;
    }
    const char *superpod = hccl_environment_text(&engine->environment, HCCL_VARIABLE_LOGIC_SUPERPOD_ID);
    hello->superpod = (uint32_t)strtoul(superpod, NULL, 10);
}

/* Whether a rank's device may come to be used. */
static bool hello_drives(const hello_t *hello)
{
    return hello->status == MPINPU_OK && (hello->flags & HELLO_DRIVES) != 0;
}

/* The variable that differs between two ranks. */
static const char *difference_name(const hello_t *a, const hello_t *b)
{
    for (unsigned v = 0; v < HCCL_VARIABLE_COUNT; v++) {
        if (a->compared[v] != b->compared[v]) {
            return hccl_compared_name(v);
        }
    }
    return "a variable HCCL_*";
}

/* Whether the owners' CANN differs in what must be alike. */
static mpinpu_status_t hellos_compare(const hello_t *hellos, uint32_t size, char *why, size_t why_bytes)
{
    uint32_t first = 0;

    while (first < size && !hello_drives(&hellos[first])) {
        first++;
    }
    for (uint32_t r = first; r < size; r++) {
        if (!hello_drives(&hellos[r])) {
            continue;
        }
        if (hellos[r].version != hellos[first].version) {
            (void)snprintf(why, why_bytes, "CANN is %u.%u on rank %" PRIu32 " and %u.%u on rank %" PRIu32,
                           hellos[first].version / 100, hellos[first].version % 100, first, hellos[r].version / 100,
                           hellos[r].version % 100, r);
            return MPINPU_ERR_DISAGREE;
        }
        if (hellos[r].environment != hellos[first].environment) {
            (void)snprintf(why, why_bytes, "%s differs between rank %" PRIu32 " and rank %" PRIu32,
                           difference_name(&hellos[first], &hellos[r]), first, r);
            return MPINPU_ERR_DISAGREE;
        }
    }
    return MPINPU_OK;
}

static mpinpu_status_t hellos_judge(const hello_t *hellos, uint32_t size, char *why, size_t why_bytes)
{
    bool any = false;
    uint32_t lacks = size;

    for (uint32_t r = 0; r < size; r++) {
        if (hellos[r].magic != hello_magic) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 " runs another version of the library than rank 0", r);
            return MPINPU_ERR_DISAGREE;
        }
        any = any || hello_drives(&hellos[r]);
        lacks = hellos[r].status != MPINPU_OK && lacks == size ? r : lacks;
    }
    if (!any && lacks < size) {
        (void)snprintf(why, why_bytes, "rank %" PRIu32 ": %.*s", lacks, (int)sizeof hellos[lacks].why - 1,
                       hellos[lacks].why);
        return (mpinpu_status_t)hellos[lacks].status;
    }
    if (!any) {
        (void)snprintf(why, why_bytes, "the NPUs of its hosts are driven by other ranks of the job");
        return MPINPU_ERR_UNSUPPORTED;
    }
    return hellos_compare(hellos, size, why, why_bytes);
}

static void claims_fill(owners_claim_t *claims, const hello_t *hellos, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++) {
        const bool has = hellos[r].status == MPINPU_OK;
        claims[r] = (owners_claim_t){.host = hellos[r].host,
                                     .device = has ? hellos[r].device : OWNERS_NO_DEVICE,
                                     .list = hellos[r].list,
                                     .superpod = hellos[r].superpod,
                                     .series = (atlas_series_t)hellos[r].product,
                                     .drives = hello_drives(&hellos[r]),
                                     .given = (hellos[r].flags & HELLO_GIVEN) != 0};
    }
}

/* What follows from the owners. */
static mpinpu_status_t comm_settle(engine_comm_t *comm, const hello_t *hellos)
{
    const owners_t *owners = &comm->owners;

    comm->nowners = owners->devices.nowners;
    comm->place = owners->of_rank[comm->rank];
    comm->owner = owners->order[comm->place] == comm->rank;
    comm->version = hellos[owners->order[0]].version;
    comm->vector = true;
    for (uint32_t p = 0; p < comm->nowners; p++) {
        const hello_t *hello = &hellos[owners->order[p]];
        comm->processes[p] = hello->process;
        comm->vector = comm->vector && (hello->flags & HELLO_VECTOR) != 0;
    }
    hccl_memory_choose(&comm->engine->config, owners->devices.product, &comm->slot_bytes, &comm->slots);
    comm->blocks = calloc(2 * (size_t)comm->nowners * (comm->slots + 1), sizeof *comm->blocks);
    return comm->blocks != NULL ? MPINPU_OK : MPINPU_ERR_NO_MEMORY;
}

static mpinpu_status_t comm_pick(engine_comm_t *comm, const hello_t *hellos, char *why, size_t why_bytes)
{
    engine_t *engine = comm->engine;
    owners_claim_t *claims = malloc(comm->size * sizeof *claims);
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    if (claims != NULL) {
        claims_fill(claims, hellos, comm->size);
        if (owners_lists_differ(claims, comm->size, engine->host)) {
            pthread_mutex_lock(&engine->lock);
            engine->lists_differ = true;
            pthread_mutex_unlock(&engine->lock);
        }
        status = owners_pick(claims, comm->size, &comm->owners, why, why_bytes);
    }
    if (status == MPINPU_OK) {
        status = comm_settle(comm, hellos);
    }
    free(claims);
    /* All but that is the same on all ranks. */
    const mpinpu_status_t agreed =
        comm->exchange.agree(comm->exchange.context, status == MPINPU_ERR_NO_MEMORY ? MPINPU_ERR_NO_MEMORY : MPINPU_OK);
    if (agreed != MPINPU_OK) {
        status = agreed;
        (void)snprintf(why, why_bytes, "a rank has no memory for a communicator's state");
    }
    if (status == MPINPU_OK && comm->nowners < comm->size &&
        (comm->exchange.split == NULL || comm->exchange.host == NULL)) {
        (void)snprintf(why, why_bytes, "%" PRIu32 " of its %" PRIu32 " ranks may drive an NPU", comm->nowners,
                       comm->size);
        status = MPINPU_ERR_UNSUPPORTED;
    }
    return status;
}

/* Rank 0 says, once in this process, what is legal but not good, and what is wrong on ranks whose devices are missed.
 */
static void warnings_say(engine_comm_t *comm, const hello_t *hellos)
{
    engine_t *engine = comm->engine;
    const uint32_t slow = 1U << ATLAS_WARNING_UNEQUAL | 1U << ATLAS_WARNING_SUPERPODS;
    uint32_t wrong = 0;
    char text[256];

    while (wrong < comm->size &&
           (hellos[wrong].status != MPINPU_ERR_INVALID || (hellos[wrong].flags & HELLO_SPEAKS) != 0)) {
        wrong++;
    }
    if (comm->rank != 0) {
        return;
    }
    pthread_mutex_lock(&engine->lock);
    const uint32_t fresh = ~engine->warned;
    engine->warned |= comm->owners.devices.warnings | (wrong < comm->size ? 1U << ATLAS_WARNING_COUNT : 0U);
    pthread_mutex_unlock(&engine->lock);
    for (int w = 0; w < ATLAS_WARNING_COUNT; w++) {
        if ((comm->owners.devices.warnings >> w & 1) != 0) {
            atlas_warning_text(&comm->owners.devices, (atlas_warning_t)w, text, sizeof text);
            log_line((fresh & slow) >> w & 1 ? LOG_WARN : LOG_INFO, "%s", text);
        }
    }
    if (wrong < comm->size) {
        log_line((fresh >> ATLAS_WARNING_COUNT & 1) != 0 ? LOG_WARN : LOG_INFO,
                 "rank %" PRIu32 " of a communicator of %" PRIu32 " drives no NPU: %s", wrong, comm->size,
                 hellos[wrong].why);
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
    comm->processes = calloc(size, sizeof *comm->processes);
    comm->waits = calloc(size, sizeof *comm->waits);
    if (comm->processes == NULL || comm->waits == NULL) {
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
        status = hellos_judge(hellos, size, why, why_bytes);
    } else {
        (void)snprintf(why, why_bytes, "%s", status_name(status));
    }
    for (uint32_t r = 0; r < size && status == MPINPU_OK; r++) {
        made->vote = made->vote || (hellos[r].flags & HELLO_THREADS) != 0;
        made->placed = made->placed || (hellos[r].flags & HELLO_GIVEN) != 0;
    }
    if (status == MPINPU_OK) {
        status = comm_pick(made, hellos, why, why_bytes);
    }
    if (status == MPINPU_OK) {
        warnings_say(made, hellos);
    }
    free(hellos);
    if (status != MPINPU_OK) {
        hccl_comm_close(made);
        return status;
    }
    *comm = made;
    return MPINPU_OK;
}

void hccl_comm_close(engine_comm_t *comm)
{
    if (comm == NULL) {
        return;
    }
    if (comm->share != NULL) {
        engine_host.comm_close(comm->share);
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
    owners_close(&comm->owners);
    free(comm);
}
