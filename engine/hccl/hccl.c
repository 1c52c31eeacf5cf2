/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine on NPUs: its start in a process, and the way of a call. */
#include "config.h" /* _GNU_SOURCE: environ */

#include "engine/hccl/hccl.h"

#include "transport/log.h"
#include "transport/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void why_set(engine_t *engine, const char *text)
{
    (void)snprintf(engine->why, sizeof engine->why, "%s", text);
}

/* What a complaint about the environment meets. */
typedef struct complaint {
    engine_t *engine;
    unsigned wrong; /* values so far */
} complaint_t;

/* Keeps the first value that HCCL would fail with. */
static void environment_complain(void *context, const char *sentence)
{
    complaint_t *complaint = context;
    engine_t *engine = complaint->engine;

    log_line(hccl_speaks(engine) ? LOG_WARN : LOG_INFO, "%s", sentence);
    if (complaint->wrong == 0 && engine->environment.wrong > 0) {
        why_set(engine, sentence);
    }
    complaint->wrong = engine->environment.wrong;
}

static mpinpu_status_t environment_open(engine_t *engine)
{
    complaint_t complaint = {.engine = engine};

    hccl_environment_parse(&engine->environment, environ, engine->product, environment_complain, &complaint);
    return engine->environment.wrong > 0 ? MPINPU_ERR_INVALID : MPINPU_OK;
}

/* A variable that MPINPU_REPRODUCIBLE=1 sets. Whether floats are added on the NPUs does not rest on it (wire.c). */
static void reproducible_set(void *context, const char *name, const char *value)
{
    enum { CAPABILITY_DETERMINISTIC = 1 };
    engine_t *engine = context;
    const cann_t *cann = &engine->cann;

    if (getenv(name) != NULL) {
        log_line(hccl_speaks(engine) ? LOG_WARN : LOG_INFO,
                 "%s=%s is contrary to MPINPU_REPRODUCIBLE=1, which wants %s; sums of floats stay on the host CPUs",
                 name, getenv(name), value);
    } else if (cann->HcclCommInitRootInfoConfig != NULL && cann->HcclGetCommConfigCapability != NULL &&
               cann->HcclGetCommConfigCapability() > CAPABILITY_DETERMINISTIC) {
        engine->deterministic = true;
    } else {
        /* HCCL reads it at its first use. */
        (void)setenv(name, value, 0); // NOLINT(concurrency-mt-unsafe): at the start, as long as HCCL has no threads
    }
}

/* Neighbours of the ranks of this host, and devices; false and why where it is not known. */
static bool process_measure(engine_t *engine, uint8_t list[ATLAS_DEVICES_MAX], owners_process_t *process)
{
    const char *visible = hccl_environment_text(&engine->environment, HCCL_VARIABLE_RT_VISIBLE_DEVICES);

    *process = (owners_process_t){.local_rank = engine->config.local_rank,
                                  .local_ranks = engine->config.local_ranks,
                                  .devices = engine->cann.devices,
                                  .listed = visible[0] != '\0'};
    if (process->local_rank < 0) {
        why_set(engine, "the launcher does not tell which rank of its host this is");
        return false;
    }
    if (engine->config.npu.map != NULL) {
        process->map = list;
        process->mapped = hccl_device_list(engine->config.npu.map, false, list);
        if (process->mapped == 0) {
            why_set(engine, "MPINPU_DEVICE_MAP is no list of devices");
            return false;
        }
    }
    return true;
}

/* The device by the map or the local rank, unless the application has one. */
static mpinpu_status_t device_choose(engine_t *engine)
{
    owners_process_t process;
    uint8_t list[ATLAS_DEVICES_MAX];
    uint32_t device = 0;

    if (engine->cann.aclrtGetDevice(&engine->device) == ACL_SUCCESS) {
        engine->device_given = true;
        engine->drives = true;
        return MPINPU_OK;
    }
    (void)engine->cann.aclGetRecentErrMsg(); /* the answer to a question */
    if (!process_measure(engine, list, &process)) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    owners_device_find(&process, &device, &engine->drives);
    engine->device = (int32_t)device;
    return MPINPU_OK;
}

/* The number that the server gives it. */
static mpinpu_status_t device_number(engine_t *engine)
{
    const char *visible = hccl_environment_text(&engine->environment, HCCL_VARIABLE_RT_VISIBLE_DEVICES);
    uint8_t list[ATLAS_DEVICES_MAX];
    const unsigned count = visible[0] != '\0' ? hccl_device_list(visible, true, list) : 0;

    if (engine->device < 0 || engine->device >= (int32_t)engine->cann.devices || engine->device >= ATLAS_DEVICES_MAX) {
        (void)snprintf(engine->why, sizeof engine->why, "%s number %d, and it may use numbers 0 to %u",
                       engine->device_given ? "the program has set NPU" : "MPINPU_DEVICE_MAP gives it NPU",
                       engine->device, engine->cann.devices - 1);
        return MPINPU_ERR_INVALID;
    }
    engine->physical = (uint32_t)engine->device < count ? list[engine->device] : (uint32_t)engine->device;
    return MPINPU_OK;
}

void hccl_memory_choose(const engine_config_t *config, const atlas_product_t *product, size_t *bytes, uint32_t *slots)
{
    const engine_npu_t *npu = &config->npu;

    model_memory(model_product(product->series), bytes, slots);
    *bytes = npu->chunk_bytes > 0 ? npu->chunk_bytes : *bytes;
    *bytes = *bytes < HCCL_CHUNK_LEAST ? HCCL_CHUNK_LEAST : *bytes;
    *bytes = (*bytes + 63) / 64 * 64;
    *slots = npu->depth > 0 ? npu->depth : *slots;
    *slots = *slots < ENCODE_ROUNDS_MAX ? ENCODE_ROUNDS_MAX : *slots;
    *slots = *slots > HCCL_SLOTS_MAX ? HCCL_SLOTS_MAX : *slots;
}

static mpinpu_status_t engine_start(engine_t *engine)
{
    char why[HCCL_SAID_BYTES] = "";
    mpinpu_status_t status = cann_open(&engine->cann, why, sizeof why);

    if (status == MPINPU_OK) {
        status = cann_start(&engine->cann, why, sizeof why);
    }
    if (status == MPINPU_OK) {
        engine->version = atlas_version(engine->cann.version);
        engine->product = atlas_product_find(engine->cann.soc, why, sizeof why);
        status = engine->product != NULL ? MPINPU_OK : MPINPU_ERR_UNSUPPORTED;
    }
    if (status != MPINPU_OK) {
        log_debug("no NPU: %s", why);
        why_set(engine, why);
        return status;
    }
    hccl_memory_choose(&engine->config, engine->product, &engine->slot_bytes, &engine->slots);
    status = environment_open(engine);
    if (status == MPINPU_OK) {
        status = device_choose(engine);
    }
    if (status == MPINPU_OK) {
        status = device_number(engine);
    }
    if (status == MPINPU_OK && engine->config.reproducible) {
        hccl_environment_reproducible(&engine->environment, engine->product, reproducible_set, engine);
    }
    return status;
}

static void hccl_close(engine_t *engine)
{
    aclrtContext saved;

    if (engine == NULL) {
        return;
    }
    if (engine->npu.context != NULL) {
        (void)hccl_device_enter(engine, &saved);
        hccl_groups_close(engine);
        hccl_device_reset(engine);
        hccl_device_leave(engine, saved);
    }
    hccl_shares_close(engine);
    (void)pthread_mutex_destroy(&engine->lock);
    free(engine);
}

static mpinpu_status_t hccl_open(const engine_config_t *config, engine_t **engine)
{
    engine_t *made = calloc(1, sizeof *made);

    if (made == NULL) {
        return MPINPU_ERR_NO_MEMORY;
    }
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return MPINPU_ERR_NO_MEMORY;
    }
    made->config = *config;
    made->status = engine_start(made);
    made->host = transport_host_digest();
    if (made->status == MPINPU_OK &&
        getrandom(&made->process, sizeof made->process, 0) != (ssize_t)sizeof made->process) {
        why_set(made, "no random number to tell processes apart");
        made->status = MPINPU_ERR_UNSUPPORTED;
    }
    if (made->status == MPINPU_OK && hccl_speaks(made)) {
        hccl_host_warn(made);
    }
    *engine = made;
    return MPINPU_OK;
}

static bool hccl_ready(const engine_t *engine)
{
    return engine->status == MPINPU_OK;
}

static bool hccl_supports(const engine_t *engine, dtype_t dtype, op_t op)
{
    encode_device_t device = {0};

    if (engine->status != MPINPU_OK) {
        return false;
    }
    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int o = 0; o < OP_COUNT; o++) {
            if (atlas_serves(engine->product, engine->version, COLLECTIVE_ALLREDUCE, (dtype_t)d, (op_t)o)) {
                device.reduces[d] = (uint16_t)(device.reduces[d] | 1U << o);
            }
        }
        device.wraps[d] = UINT16_MAX;
    }
    return encoding_find(&device, dtype, op, 2, ENCODE_LIKE_HOST) != NULL;
}

/* What the communicator fails with from now on; the first time it is said. */
static void failure_say(engine_comm_t *comm, const collective_t *collective, const char *why)
{
    if (comm->failure[0] == '\0') {
        (void)snprintf(comm->failure, sizeof comm->failure, "%s on the NPUs: %.*s",
                       collective_kind_name(collective->kind), HCCL_SAID_BYTES - 64, why);
        /* The rank that had it says it for all. */
        log_line(comm->cause.rank == comm->rank ? LOG_WARN : LOG_INFO, "%s", comm->failure);
    }
}

/* Takes the device for this call: MPINPU_OK, or a status and no device. Where threads may call at once, ranks could
   take their devices for different communicators and wait for each other for ever: so nobody waits for a device, and if
   not all ranks have theirs, none uses it. There a rank that knows of a failure must tell it here too. */
static mpinpu_status_t device_take(engine_comm_t *comm, const collective_t *collective)
{
    engine_t *engine = comm->engine;
    mpinpu_status_t status = hccl_alarm_hear(comm);
    char why[HCCL_CAUSE_BYTES] = "";

    if (!comm->vote) {
        if (status == MPINPU_OK || comm->failure[0] == '\0') {
            pthread_mutex_lock(&engine->lock);
            return MPINPU_OK;
        }
        return status;
    }
    const bool taken = pthread_mutex_trylock(&engine->lock) == 0;
    status = hccl_agree(comm, taken ? MPINPU_OK : MPINPU_ERR_UNSUPPORTED, "", why, sizeof why);
    if (status != MPINPU_OK && taken) {
        pthread_mutex_unlock(&engine->lock);
    }
    if (status != MPINPU_OK && status != MPINPU_ERR_UNSUPPORTED) {
        failure_say(comm, collective, why);
    }
    return status;
}

/* With the device: makes the group where there is none yet. */
static bool comm_prepare(engine_comm_t *comm, mpinpu_status_t ready)
{
    char why[256] = "";

    if (comm->prepared) {
        return true;
    }
    mpinpu_status_t status = hccl_group_make(comm, ready, why, sizeof why);
    if (status == MPINPU_OK) {
        log_info("%u NPUs serve a communicator of %u ranks", comm->nowners, comm->size);
        return true;
    }
    comm->refused = true;
    if (comm->rank == 0) {
        log_line(comm->engine->refusal_said ? LOG_INFO : LOG_WARN,
                 "the NPUs do not serve a communicator of %u ranks, the host CPUs do it instead: %s", comm->size, why);
        comm->engine->refusal_said = true;
    }
    return false;
}

/* The group breaks for its other communicators too, which may number the ranks otherwise. */
static void group_break(hccl_group_t *group, const engine_comm_t *comm)
{
    if (group->failed.status == MPINPU_OK) {
        group->failed = comm->cause;
        group->failed.rank = UINT32_MAX;
        for (uint32_t p = 0; p < group->size; p++) {
            group->failed.rank = comm->owners.order[p] == comm->cause.rank ? p : group->failed.rank;
        }
    }
}

/* A collective failed here or elsewhere: all ranks are to know, and nothing of it may go on on the device. */
static mpinpu_status_t comm_fail(engine_comm_t *comm, const collective_t *collective, uint32_t rank,
                                 mpinpu_status_t status, const char *text)
{
    char why[HCCL_SAID_BYTES];

    hccl_alarm_raise(comm, rank, status, text);
    (void)snprintf(why, sizeof why, "rank %u: %s", comm->cause.rank, comm->cause.text);
    failure_say(comm, collective, why);
    if (comm->owner) {
        group_break(comm->group, comm);
        hccl_device_abandon(comm->engine); /* made ready again by who uses it next */
    }
    return comm->cause.status;
}

/* Whether this owner can take part: a failure that it knows of, of this communicator or of another that shares the HCCL
   communicator, and the device. */
static mpinpu_status_t owner_ready(engine_comm_t *comm, mpinpu_status_t ready)
{
    const hccl_cause_t *broken = &comm->group->failed;

    if (broken->status != MPINPU_OK) {
        hccl_alarm_raise(comm, broken->rank < comm->nowners ? comm->owners.order[broken->rank] : comm->rank,
                         broken->status, broken->text);
    }
    mpinpu_status_t status = comm->cause.status != MPINPU_OK ? comm->cause.status : ready;
    if (status == MPINPU_OK) {
        status = hccl_device_open(comm->engine);
    }
    return status == MPINPU_OK ? hccl_device_memory(comm->engine) : status;
}

/* With the device, in its context or, as `ready` says, not. */
static mpinpu_status_t comm_run(engine_comm_t *comm, const collective_t *collective, bool direct, mpinpu_status_t ready)
{
    engine_t *engine = comm->engine;
    hccl_plan_t plan;

    comm->uses++;
    comm->whole = collective;
    /* Only now is it known what wraps. */
    if (!comm_prepare(comm, ready) || !hccl_plan_make(comm, collective, &plan)) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    /* A member does as its owner does, whatever it has heard. */
    mpinpu_status_t status = comm->owner ? owner_ready(comm, ready) : MPINPU_OK;
    status = (direct ? hccl_direct_run : hccl_staging_run)(comm, collective, &plan, status);
    return status == MPINPU_OK ? MPINPU_OK : comm_fail(comm, collective, comm->rank, status, engine->said);
}

static mpinpu_status_t hccl_run(engine_comm_t *comm, const collective_t *called)
{
    engine_t *engine = comm->engine;
    collective_t collective = *called;
    aclrtContext saved = NULL;
    hccl_plan_t plan;
    bool direct;

    /* What is decided here is the same on all ranks, also after a failure that some of them do not know of yet. */
    if (comm->refused || !hccl_plan_make(comm, called, &plan)) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    direct = hccl_direct_serves(comm, called, &plan);
    if (!hccl_pays(comm, called, direct)) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    if (!comm->prepared && comm->calls < engine->config.npu.after) {
        comm->calls++;
        return MPINPU_ERR_UNSUPPORTED;
    }
    mpinpu_status_t status = hccl_direct_place(comm, &collective, &direct);
    if (status != MPINPU_OK && status != MPINPU_ERR_UNSUPPORTED) {
        failure_say(comm, called, "a rank's buffers on its NPU cannot be used");
    }
    if (status == MPINPU_OK) {
        status = device_take(comm, &collective);
    }
    if (status != MPINPU_OK) {
        return status;
    }
    status = comm_run(comm, &collective, direct, comm->owner ? hccl_device_enter(engine, &saved) : MPINPU_OK);
    hccl_device_leave(engine, saved);
    pthread_mutex_unlock(&engine->lock);
    return status;
}

static const char *hccl_comm_failure(const engine_comm_t *comm)
{
    return comm->failure;
}

const engine_vtable_t engine_hccl = {
    .name = "hccl",
    .open = hccl_open,
    .close = hccl_close,
    .ready = hccl_ready,
    .comm_open = hccl_comm_open,
    .comm_close = hccl_comm_close,
    .supports = hccl_supports,
    .run = hccl_run,
    .comm_failure = hccl_comm_failure,
    .describe = hccl_describe,
    .times = hccl_times,
};
