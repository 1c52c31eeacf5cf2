/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL communicators: costly, so few, shared and kept. All ranks make one, or none does. */
#include "engine/hccl/hccl.h"

#include "transport/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* What each rank says before a group is made. */
typedef struct group_word {
    int32_t status;
    uint32_t rank;  /* whose status it is */
    uint64_t match; /* the group that it has for these processes; 0: none */
    char why[HCCL_WHY_BYTES];
} group_word_t;

_Static_assert(sizeof(group_word_t) <= 256, "a rank's word is bounded");

/* What the first HCCL rank hands round. */
typedef struct group_root {
    int32_t status;
    char why[HCCL_WHY_BYTES];
    uint64_t id;
    HcclRootInfo info;
} group_root_t;

static void why_set(char why[HCCL_WHY_BYTES], const char *said)
{
    (void)snprintf(why, HCCL_WHY_BYTES, "%.*s", HCCL_WHY_BYTES - 1, said);
}

static mpinpu_status_t words_judge(const engine_comm_t *comm, const group_word_t *words, char *why, size_t why_bytes)
{
    for (uint32_t r = 0; r < comm->size; r++) {
        if (words[r].status != MPINPU_OK) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 ": %.*s", words[r].rank, HCCL_WHY_BYTES - 1, words[r].why);
            return (mpinpu_status_t)words[r].status;
        }
    }
    return MPINPU_OK;
}

static mpinpu_status_t words_exchange(const engine_comm_t *comm, const group_word_t *mine, group_word_t **words,
                                      char *why, size_t why_bytes)
{
    group_word_t *all = malloc((size_t)comm->size * sizeof *all);
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    if (all != NULL) {
        status = comm->exchange.allgather(comm->exchange.context, mine, all, sizeof *mine);
    }
    if (status != MPINPU_OK) {
        (void)snprintf(why, why_bytes, "%s", status_name(status));
        free(all);
        return status;
    }
    *words = all;
    return MPINPU_OK;
}

mpinpu_status_t hccl_agree(const engine_comm_t *comm, mpinpu_status_t status, const char *said, char *why,
                           size_t why_bytes)
{
    const bool other = comm->cause.status != MPINPU_OK;
    group_word_t mine = {.status = (int32_t)(other ? comm->cause.status : status),
                         .rank = other ? comm->cause.rank : comm->rank};
    group_word_t *words = NULL;

    why_set(mine.why, other ? comm->cause.text : said);
    status = words_exchange(comm, &mine, &words, why, why_bytes);
    if (status == MPINPU_OK) {
        status = words_judge(comm, words, why, why_bytes);
        free(words);
    }
    return status;
}

static hccl_group_t *group_match(engine_comm_t *comm)
{
    for (int g = 0; g < HCCL_GROUPS_MAX; g++) {
        hccl_group_t *group = &comm->engine->groups[g];
        if (group->id != 0 && group->failed.status == MPINPU_OK && group->size == comm->nowners &&
            memcmp(group->processes, comm->processes, comm->nowners * sizeof *group->processes) == 0) {
            return group;
        }
    }
    return NULL;
}

static void group_end(engine_t *engine, hccl_group_t *group)
{
    if (group->comm != NULL && !hccl_device_busy(engine)) {
        HcclResult code = engine->cann.HcclCommDestroy(group->comm);
        if (code != HCCL_SUCCESS) {
            (void)hccl_check(engine, "HcclCommDestroy", code);
            log_info("%s", engine->said);
        }
    }
    free(group->processes);
    *group = (hccl_group_t){0};
}

/* An unused entry; one that no communicator uses is given up for it. NULL: all are in use. */
static hccl_group_t *group_room(engine_t *engine)
{
    hccl_group_t *idle = NULL;

    for (int g = 0; g < HCCL_GROUPS_MAX; g++) {
        if (engine->groups[g].id == 0) {
            return &engine->groups[g];
        }
        idle = engine->groups[g].users == 0 ? &engine->groups[g] : idle;
    }
    if (idle != NULL) {
        group_end(engine, idle);
    }
    return idle;
}

static void root_fill(engine_t *engine, group_root_t *root)
{
    mpinpu_status_t status = hccl_check(engine, "HcclGetRootInfo", engine->cann.HcclGetRootInfo(&root->info));

    if (status == MPINPU_OK &&
        (getrandom(&root->id, sizeof root->id, 0) != (ssize_t)sizeof root->id || root->id == 0)) {
        root->id = (uint64_t)(uintptr_t)root ^ engine->process;
    }
    root->status = (int32_t)status;
    why_set(root->why, status == MPINPU_OK ? "" : engine->said);
}

typedef struct group_joined {
    const HcclRootInfo *info;
    hccl_group_t *group;
} group_joined_t;

static mpinpu_status_t communicator_make(engine_comm_t *comm, const group_joined_t *joined)
{
    const cann_t *cann = &comm->engine->cann;
    HcclCommConfig config;

    if (!comm->engine->deterministic) {
        return hccl_check(comm->engine, "HcclCommInitRootInfo",
                          cann->HcclCommInitRootInfo(comm->nowners, joined->info, comm->place, &joined->group->comm));
    }
    cann_comm_config_init(&config);
    config.hcclDeterministic = 1;
    return hccl_check(
        comm->engine, "HcclCommInitRootInfoConfig",
        cann->HcclCommInitRootInfoConfig(comm->nowners, joined->info, comm->place, &config, &joined->group->comm));
}

/* In a thread of its own: waits for all ranks. The slots' memory of the device comes after it, on each product. */
static mpinpu_status_t group_join(engine_comm_t *comm, void *argument)
{
    hccl_device_memory_free(comm->engine);
    const mpinpu_status_t status = communicator_make(comm, argument);
    return status == MPINPU_OK ? hccl_device_memory(comm->engine) : status;
}

/* And this, while links are built. */
static mpinpu_status_t group_try(engine_comm_t *comm, void *argument)
{
    return hccl_trial_issue(comm, argument);
}

/* What a rank's device found wrong the others hear at once: they wait for it. */
static mpinpu_status_t group_judge(engine_comm_t *comm, hccl_group_t *group)
{
    mpinpu_status_t status = hccl_trial_judge(comm, group);

    if (status != MPINPU_OK) {
        hccl_alarm_raise(comm, comm->rank, status, comm->engine->said);
    }
    return status;
}

/* What wraps must be the same on all devices, since the plans rest on it; all ranks learn it. */
static mpinpu_status_t wraps_agree(engine_comm_t *comm, const hccl_group_t *group, char *why, size_t why_bytes)
{
    group_word_t mine = {.status = MPINPU_OK};
    group_word_t *words = NULL;
    const uint32_t *order = comm->owners.order;

    _Static_assert(sizeof comm->wraps <= sizeof mine.why, "what wraps fits in a word");
    if (comm->owner) {
        memcpy(mine.why, group->wraps, sizeof group->wraps);
    }
    mpinpu_status_t status = words_exchange(comm, &mine, &words, why, why_bytes);
    for (uint32_t p = 1; p < comm->nowners && status == MPINPU_OK; p++) {
        if (memcmp(words[order[p]].why, words[order[0]].why, sizeof comm->wraps) != 0) {
            (void)snprintf(why, why_bytes,
                           "integers overflow otherwise on the NPU of rank %" PRIu32 " than on that of rank %" PRIu32,
                           order[p], order[0]);
            status = MPINPU_ERR_DISAGREE;
        }
    }
    if (status == MPINPU_OK) {
        memcpy(comm->wraps, words[order[0]].why, sizeof comm->wraps);
    }
    free(words);
    return status;
}

/* What an owner does in a step; the others wait for the outcome. */
static mpinpu_status_t step_agree(engine_comm_t *comm, mpinpu_status_t status, char *why, size_t why_bytes)
{
    return hccl_agree(comm, comm->owner ? status : MPINPU_OK, comm->engine->said, why, why_bytes);
}

/* The root's word comes to all; then all owners join, all issue the trial, and all judge it: agreed on after each step,
   so that nobody waits on the device for one who does not come. A member's group is NULL. */
static mpinpu_status_t group_build(engine_comm_t *comm, hccl_group_t *group, char *why, size_t why_bytes)
{
    engine_t *engine = comm->engine;
    const uint32_t first = comm->owners.order[0];
    group_root_t *root = calloc(1, sizeof *root);
    mpinpu_status_t status =
        hccl_agree(comm, root != NULL ? MPINPU_OK : MPINPU_ERR_NO_MEMORY, "no memory", why, why_bytes);

    if (status != MPINPU_OK) {
        free(root);
        return status;
    }
    if (comm->rank == first) {
        root_fill(engine, root);
    }
    status = comm->exchange.broadcast(comm->exchange.context, root, sizeof *root, (int)first);
    if (status == MPINPU_OK && root->status != MPINPU_OK) {
        (void)snprintf(why, why_bytes, "rank %" PRIu32 ": %.*s", first, HCCL_WHY_BYTES - 1, root->why);
        status = (mpinpu_status_t)root->status;
    }
    if (status == MPINPU_OK) {
        group_joined_t joined = {.info = &root->info, .group = group};
        status =
            step_agree(comm, comm->owner ? hccl_device_call(comm, group_join, &joined) : MPINPU_OK, why, why_bytes);
    }
    if (status == MPINPU_OK) {
        status = step_agree(comm, comm->owner ? hccl_device_call(comm, group_try, group) : MPINPU_OK, why, why_bytes);
    }
    if (status == MPINPU_OK) {
        status = step_agree(comm, comm->owner ? group_judge(comm, group) : MPINPU_OK, why, why_bytes);
    }
    if (comm->owner) {
        group->id = root->id;
    }
    free(root);
    return status;
}

static mpinpu_status_t group_new(engine_comm_t *comm, hccl_group_t *group, char *why, size_t why_bytes)
{
    const size_t bytes = comm->nowners * sizeof *comm->processes;
    bool room = true;

    if (comm->owner) {
        *group = (hccl_group_t){.size = comm->nowners, .processes = malloc(bytes)};
        room = group->processes != NULL;
    }
    mpinpu_status_t status = hccl_agree(comm, room ? MPINPU_OK : MPINPU_ERR_NO_MEMORY, "no memory", why, why_bytes);
    if (status == MPINPU_OK) {
        if (comm->owner) {
            memcpy(group->processes, comm->processes, bytes);
        }
        status = group_build(comm, group, why, why_bytes);
    }
    if (status != MPINPU_OK && comm->owner) {
        /* A trial that some rank did not join would hang on the device. */
        hccl_device_abandon(comm->engine);
        group_end(comm->engine, group);
    }
    return status;
}

static bool groups_any(const engine_t *engine)
{
    for (int g = 0; g < HCCL_GROUPS_MAX; g++) {
        if (engine->groups[g].id != 0) {
            return true;
        }
    }
    return false;
}

/* What this rank says before a group is made or found. An owner's `match` is the group that it has. */
static group_word_t word_make(engine_comm_t *comm, const hccl_group_t *match, mpinpu_status_t ready)
{
    engine_t *engine = comm->engine;
    group_word_t mine = {.rank = comm->rank, .match = match != NULL ? match->id : 0};

    if (!comm->owner) {
        ready = hccl_shares_open(comm);
    } else if (ready == MPINPU_OK) {
        ready = hccl_device_open(engine);
    }
    mine.status = (int32_t)ready;
    why_set(mine.why, ready == MPINPU_OK ? "" : engine->said);
    if (comm->owner && match == NULL && ready == MPINPU_OK && group_room(engine) == NULL) {
        mine.status = MPINPU_ERR_NO_MEMORY;
        (void)snprintf(mine.why, sizeof mine.why, "it has %d HCCL communicators in use already", HCCL_GROUPS_MAX);
    }
    return mine;
}

/* Whether all owners have the same group for these processes: some may have one that others have given up, and it
   serves no more. */
static bool words_match(const engine_comm_t *comm, const group_word_t *words)
{
    const uint32_t *order = comm->owners.order;
    bool same = words[order[0]].match != 0;

    for (uint32_t p = 1; p < comm->nowners; p++) {
        same = same && words[order[p]].match == words[order[0]].match;
    }
    return same;
}

/* Fills in comm->wraps. */
static mpinpu_status_t group_find(engine_comm_t *comm, hccl_group_t **group, mpinpu_status_t ready, char *why,
                                  size_t why_bytes)
{
    hccl_group_t *found = comm->owner ? group_match(comm) : NULL;
    const group_word_t mine = word_make(comm, found, ready);
    group_word_t *words = NULL;
    mpinpu_status_t status = words_exchange(comm, &mine, &words, why, why_bytes);

    if (status != MPINPU_OK) {
        return status;
    }
    status = words_judge(comm, words, why, why_bytes);
    const bool same = status == MPINPU_OK && words_match(comm, words);
    free(words);
    if (status == MPINPU_OK && !same) {
        found = comm->owner ? group_room(comm->engine) : NULL;
        status = hccl_agree(comm, found != NULL || !comm->owner ? MPINPU_OK : MPINPU_ERR_NO_MEMORY,
                            "all its HCCL communicators are in use", why, why_bytes);
        if (status == MPINPU_OK) {
            status = group_new(comm, found, why, why_bytes);
        }
    }
    *group = found;
    if (status == MPINPU_OK && same && comm->nowners == comm->size) {
        memcpy(comm->wraps, found->wraps, sizeof comm->wraps);
    } else if (status == MPINPU_OK) {
        status = wraps_agree(comm, found, why, why_bytes);
    }
    return status;
}

mpinpu_status_t hccl_group_make(engine_comm_t *comm, mpinpu_status_t ready, char *why, size_t why_bytes)
{
    engine_t *engine = comm->engine;
    hccl_group_t *group = NULL;
    mpinpu_status_t status = group_find(comm, &group, ready, why, why_bytes);

    if (status == MPINPU_OK) {
        status = hccl_share_open(comm, why, why_bytes);
    }
    if (status != MPINPU_OK) {
        if (!groups_any(engine)) {
            hccl_device_close(engine);
        }
        return status;
    }
    if (comm->owner) {
        group->users++;
        comm->group = group;
    }
    comm->prepared = true;
    return MPINPU_OK;
}

void hccl_group_leave(engine_comm_t *comm)
{
    engine_t *engine = comm->engine;
    hccl_group_t *group = comm->group;

    comm->group = NULL;
    if (group == NULL || --group->users > 0 || group->failed.status == MPINPU_OK) {
        return;
    }
    group_end(engine, group);
}

void hccl_groups_close(engine_t *engine)
{
    for (int g = 0; g < HCCL_GROUPS_MAX; g++) {
        if (engine->groups[g].id != 0) {
            group_end(engine, &engine->groups[g]);
        }
    }
}
