/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators: made, asked, destroyed. */
#define _GNU_SOURCE
#include "tests/cann/communicator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static communicator_t *communicators;
static atomic_bool busy[STANDIN_DEVICES_MAX];

int communicator_enter(int device)
{
    if (atomic_exchange(&busy[device], true)) {
        return standin_refuse(HCCL_E_INTERNAL, "EI9999: two threads are in HCCL on device %d at once", device);
    }
    return HCCL_SUCCESS;
}

void communicator_leave(int device)
{
    atomic_store(&busy[device], false);
}

communicator_t *communicator_find(HcclComm handle, int *code)
{
    *code = HCCL_SUCCESS;
    pthread_mutex_lock(&lock);
    communicator_t *communicator = communicators;
    while (communicator != NULL && communicator != handle) {
        communicator = communicator->next;
    }
    if (communicator != NULL) {
        communicator->holders++;
    }
    pthread_mutex_unlock(&lock);
    if (communicator == NULL) {
        *code = handle == NULL ? standin_refuse(HCCL_E_PTR, "EI0003: comm is NULL")
                               : standin_refuse(HCCL_E_PARA, "EI0003: %p is no communicator", handle);
    }
    return communicator;
}

void communicator_hold(communicator_t *communicator)
{
    pthread_mutex_lock(&lock);
    communicator->holders++;
    pthread_mutex_unlock(&lock);
}

void communicator_let_go(communicator_t *communicator)
{
    pthread_mutex_lock(&lock);
    bool last = --communicator->holders == 0;
    pthread_mutex_unlock(&lock);
    if (last) {
        munmap(communicator->shared, communicator->shared_bytes);
        free(communicator);
    }
}

int communicator_buffers(communicator_t *communicator)
{
    if (communicator->buffer_taken || communicator->ranks == 1) {
        return HCCL_SUCCESS;
    }
    if (!standin_device_take(communicator->device, communicator->buffer_bytes)) {
        return standin_fail(standin_release() >= 805 ? HCCL_E_OOM : HCCL_E_MEMORY,
                            "EI0007: no device memory for the communicator's buffers of %zu bytes",
                            communicator->buffer_bytes);
    }
    communicator->buffer_taken = true;
    return HCCL_SUCCESS;
}

/* The thread's context in HCCL's codes. */
static const standin_context_t *context_get(int *code)
{
    const standin_context_t *context = standin_context(code);
    if (context == NULL) {
        *code = HCCL_E_RUNTIME;
    }
    return context;
}

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo)
{
    STANDIN_ENTER(HcclGetRootInfo);
    int code;
    if (rootInfo == NULL) {
        return standin_refuse(HCCL_E_PTR, "EI0003: rootInfo is NULL");
    }
    const standin_context_t *context = context_get(&code);
    if (context == NULL) {
        return code;
    }
    code = rules_environment();
    if (code == HCCL_SUCCESS) {
        code = communicator_enter(context->device);
    }
    if (code != HCCL_SUCCESS) {
        return code;
    }
    code = meet_device_claim(context->device);
    if (code == HCCL_SUCCESS) {
        code = meet_open(rootInfo);
    }
    communicator_leave(context->device);
    return code;
}

/* The head of a configuration, which its type only reserves. */
typedef struct config_head {
    size_t size;
    uint32_t magic;
    uint32_t version;
    uint64_t reserved;
} config_head_t;

static int config_read(communicator_t *communicator, const HcclCommConfig *config)
{
    config_head_t head;
    double megabytes = rules_buffer_mb();
    communicator->deterministic = rules_deterministic();
    if (config != NULL) {
        memcpy(&head, config, sizeof head);
        if (head.magic != HCCL_COMM_CONFIG_MAGIC_WORD || head.version < 1 ||
            head.size < offsetof(HcclCommConfig, hcclCommName) || config->hcclBufferSize == 0 ||
            (config->hcclDeterministic > 2 && config->hcclDeterministic != HCCL_COMM_CONFIG_NOT_SET)) {
            return standin_refuse(HCCL_E_PARA, "EI0003: the configuration is not one");
        }
        if (config->hcclBufferSize != HCCL_COMM_CONFIG_NOT_SET) {
            megabytes = config->hcclBufferSize;
        }
        if (config->hcclDeterministic != HCCL_COMM_CONFIG_NOT_SET) {
            communicator->deterministic = config->hcclDeterministic != 0 || communicator->deterministic;
        }
        if (head.version >= 2 && head.size >= offsetof(HcclCommConfig, hcclUdi)) {
            memcpy(communicator->name, config->hcclCommName, sizeof communicator->name - 1);
        }
    }
    communicator->buffer_bytes = (size_t)((2 * megabytes + 1) * 1048576.0);
    return HCCL_SUCCESS;
}

static void member_describe(member_t *member, const communicator_t *communicator)
{
    memset(member, 0, sizeof *member);
    member->ranks = communicator->ranks;
    member->rank = communicator->rank;
    member->device = standin_physical(communicator->device);
    member->release = standin_release();
    member->process = (int)getpid();
    snprintf(member->server, sizeof member->server, "%s", standin_server());
    snprintf(member->soc, sizeof member->soc, "%s", standin_soc());
    snprintf(member->environment, sizeof member->environment, "buffers %zu, deterministic %d",
             communicator->buffer_bytes, communicator->deterministic);
}

static int communicator_join(communicator_t *communicator, const HcclRootInfo *root_info)
{
    member_t mine;
    member_t *members = calloc(RANKS_MAX, sizeof *members);
    if (members == NULL) {
        return standin_fail(HCCL_E_MEMORY, "EI0007: no memory");
    }
    member_describe(&mine, communicator);
    int code = meet_join(root_info, &mine, members, &communicator->shared, &communicator->shared_bytes);
    if (code == HCCL_SUCCESS) {
        code = rules_topology(members, communicator->ranks, &communicator->servers, &communicator->even);
    }
    free(members);
    return code;
}

static int communicator_make(communicator_t *communicator, const HcclRootInfo *root_info, const HcclCommConfig *config)
{
    static atomic_int made;
    int code = config_read(communicator, config);
    if (code == HCCL_SUCCESS && standin_product() == PRODUCT_310P && standin_device_used(communicator->device)) {
        code = standin_refuse(HCCL_E_MEMORY, "EI9999: on this chip communicators come before other device memory");
    }
    if (code == HCCL_SUCCESS) {
        code = communicator_enter(communicator->device);
    }
    if (code != HCCL_SUCCESS) {
        return code;
    }
    code = meet_device_claim(communicator->device);
    if (code == HCCL_SUCCESS) {
        code = communicator_join(communicator, root_info);
    }
    communicator_leave(communicator->device);
    if (code == HCCL_SUCCESS && communicator->name[0] == '\0') {
        snprintf(communicator->name, sizeof communicator->name, "hccl_world_%d", atomic_fetch_add(&made, 1));
    }
    return code;
}

static int communicator_init(uint32_t ranks, const HcclRootInfo *root_info, uint32_t rank, const HcclCommConfig *config,
                             HcclComm *handle)
{
    int code;
    if (root_info == NULL || handle == NULL) {
        return standin_refuse(HCCL_E_PTR, "EI0003: a pointer is NULL");
    }
    if (ranks == 0 || ranks > RANKS_MAX || rank >= ranks) {
        return standin_refuse(HCCL_E_PARA, "EI0003: rank %u of %u", rank, ranks);
    }
    const standin_context_t *context = context_get(&code);
    if (context == NULL) {
        return code;
    }
    code = rules_environment();
    communicator_t *communicator = code == HCCL_SUCCESS ? calloc(1, sizeof *communicator) : NULL;
    if (communicator == NULL) {
        return code != HCCL_SUCCESS ? code : standin_fail(HCCL_E_MEMORY, "EI0007: no memory");
    }
    communicator->holders = 1;
    communicator->ranks = ranks;
    communicator->rank = rank;
    communicator->device = context->device;
    communicator->context = context;
    code = communicator_make(communicator, root_info, config);
    if (code != HCCL_SUCCESS) {
        if (communicator->shared != NULL) {
            munmap(communicator->shared, communicator->shared_bytes);
        }
        free(communicator);
        return code;
    }
    pthread_mutex_lock(&lock);
    communicator->next = communicators;
    communicators = communicator;
    pthread_mutex_unlock(&lock);
    standin_account(ACCOUNT_COMMUNICATORS, 1);
    if (communicator->deterministic && rules_deterministic_matters()) {
        (void)standin_enter("communicator.deterministic");
    }
    *handle = communicator;
    return HCCL_SUCCESS;
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm)
{
    STANDIN_ENTER(HcclCommInitRootInfo);
    return communicator_init(nRanks, rootInfo, rank, NULL, comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                      const HcclCommConfig *config, HcclComm *comm)
{
    STANDIN_ENTER(HcclCommInitRootInfoConfig);
    return config == NULL ? standin_refuse(HCCL_E_PTR, "EI0003: config is NULL")
                          : communicator_init(nRanks, rootInfo, rank, config, comm);
}

/* What is still in a stream fails there; a call that builds links in another thread ends. */
HcclResult HcclCommDestroy(HcclComm comm)
{
    STANDIN_ENTER(HcclCommDestroy);
    if (comm == NULL) {
        return HCCL_SUCCESS;
    }
    pthread_mutex_lock(&lock);
    communicator_t **place = &communicators;
    while (*place != NULL && *place != comm) {
        place = &(*place)->next;
    }
    communicator_t *communicator = *place;
    if (communicator != NULL) {
        *place = communicator->next;
    }
    pthread_mutex_unlock(&lock);
    if (communicator == NULL) {
        return standin_refuse(HCCL_E_PARA, "EI0003: %p is no communicator", comm);
    }
    atomic_store(&communicator->destroyed, true);
    if (communicator->buffer_taken) {
        standin_device_give(communicator->device, communicator->buffer_bytes);
    }
    standin_account(ACCOUNT_COMMUNICATORS, -1);
    communicator_let_go(communicator);
    return HCCL_SUCCESS;
}

HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize)
{
    STANDIN_ENTER(HcclGetRankSize);
    int code = HCCL_E_PTR;
    communicator_t *communicator = rankSize == NULL ? NULL : communicator_find(comm, &code);
    if (communicator == NULL) {
        return rankSize != NULL ? code : standin_refuse(code, "EI0003: rankSize is NULL");
    }
    *rankSize = communicator->ranks;
    communicator_let_go(communicator);
    return HCCL_SUCCESS;
}

HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank)
{
    STANDIN_ENTER(HcclGetRankId);
    int code = HCCL_E_PTR;
    communicator_t *communicator = rank == NULL ? NULL : communicator_find(comm, &code);
    if (communicator == NULL) {
        return rank != NULL ? code : standin_refuse(code, "EI0003: rank is NULL");
    }
    *rank = communicator->rank;
    communicator_let_go(communicator);
    return HCCL_SUCCESS;
}

HcclResult HcclGetCommName(HcclComm comm, char *commName)
{
    STANDIN_ENTER(HcclGetCommName);
    int code = HCCL_E_PTR;
    communicator_t *communicator = commName == NULL ? NULL : communicator_find(comm, &code);
    if (communicator == NULL) {
        return commName != NULL ? code : standin_refuse(code, "EI0003: commName is NULL");
    }
    memcpy(commName, communicator->name, sizeof communicator->name);
    communicator_let_go(communicator);
    return HCCL_SUCCESS;
}

/* 0, or on request (CANN_FAULT=HcclGetCommAsyncError.value:n:21) what RoCE would report. */
HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError)
{
    STANDIN_ENTER(HcclGetCommAsyncError);
    int code = HCCL_E_PTR;
    communicator_t *communicator = asyncError == NULL ? NULL : communicator_find(comm, &code);
    if (communicator == NULL) {
        return asyncError != NULL ? code : standin_refuse(code, "EI0003: asyncError is NULL");
    }
    *asyncError = standin_enter("HcclGetCommAsyncError.value");
    communicator_let_go(communicator);
    return HCCL_SUCCESS;
}

const char *HcclGetErrorString(HcclResult code)
{
    static _Thread_local char text[32];
    snprintf(text, sizeof text, code == HCCL_SUCCESS ? "no error" : "HCCL error %d", (int)code);
    return text;
}

/* One more than the last feature: buffer size, determinism, name; mode of expansion; environment, rank and job. */
uint32_t HcclGetCommConfigCapability(void)
{
    int release = standin_release();
    return release >= 805 ? 11 : release >= 802 ? 7 : release >= 801 ? 4 : 3;
}
