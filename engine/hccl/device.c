/* SPDX-License-Identifier: BSD-3-Clause */
/* The device of this process: context, streams, events, memory; and waiting for it. */
#include "engine/hccl/hccl.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Polls at full speed before the CPU is offered to others, and polls between two looks at the clock. */
enum { POLLS_BEFORE_YIELD = 200, POLLS_A_LOOK = 64 };
/* How often the streams and the communicator are asked whether something broke. */
static const int64_t look_ns = INT64_C(20000000);

static int64_t clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* "Not supported" must not reach who takes it for the agreed answer of all ranks. */
static mpinpu_status_t device_status(mpinpu_status_t status)
{
    return status == MPINPU_OK || status == MPINPU_ERR_UNSUPPORTED ? MPINPU_ERR_DEVICE : status;
}

mpinpu_status_t hccl_acl_check(engine_t *engine, const char *what, aclError code)
{
    if (code == ACL_SUCCESS) {
        return MPINPU_OK;
    }
    return device_status(cann_acl_explain(&engine->cann, what, code, engine->said, sizeof engine->said));
}

mpinpu_status_t hccl_check(engine_t *engine, const char *what, HcclResult code)
{
    if (code == HCCL_SUCCESS) {
        return MPINPU_OK;
    }
    return device_status(cann_hccl_explain(&engine->cann, what, code, engine->said, sizeof engine->said));
}

static mpinpu_status_t slot_open(engine_t *engine, hccl_slot_t *slot)
{
    const cann_t *cann = &engine->cann;
    const size_t bytes = engine->slot_bytes;
    mpinpu_status_t status = hccl_acl_check(engine, "aclrtMallocHost", cann->aclrtMallocHost(&slot->host_in, bytes));

    if (status == MPINPU_OK) {
        status = hccl_acl_check(engine, "aclrtMallocHost", cann->aclrtMallocHost(&slot->host_out, bytes));
    }
    if (status == MPINPU_OK) {
        status = hccl_acl_check(engine, "aclrtMalloc",
                                cann->aclrtMalloc(&slot->device_in, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    if (status == MPINPU_OK) {
        status = hccl_acl_check(engine, "aclrtMalloc",
                                cann->aclrtMalloc(&slot->device_out, bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    }
    for (int s = 0; s < HCCL_STAGE_COUNT && status == MPINPU_OK; s++) {
        status = hccl_acl_check(engine, "aclrtCreateEvent", cann->aclrtCreateEvent(&slot->done[s]));
        if (status == MPINPU_OK && hccl_times_events(engine)) {
            status = hccl_acl_check(engine, "aclrtCreateEvent", cann->aclrtCreateEvent(&slot->begun[s]));
        }
    }
    if (status == MPINPU_OK) {
        slot->state = malloc(bytes / HCCL_STATE_PART);
        if (slot->state == NULL) {
            (void)snprintf(engine->said, sizeof engine->said, "no memory for %zu bytes of staging", bytes);
            status = MPINPU_ERR_NO_MEMORY;
        }
    }
    return status;
}

static void slot_close(const cann_t *cann, hccl_slot_t *slot)
{
    free(slot->state);
    for (int s = 0; s < HCCL_STAGE_COUNT; s++) {
        if (slot->done[s] != NULL) {
            (void)cann->aclrtDestroyEvent(slot->done[s]);
        }
        if (slot->begun[s] != NULL) {
            (void)cann->aclrtDestroyEvent(slot->begun[s]);
        }
    }
    if (slot->device_out != NULL) {
        (void)cann->aclrtFree(slot->device_out);
    }
    if (slot->device_in != NULL) {
        (void)cann->aclrtFree(slot->device_in);
    }
    if (slot->host_out != NULL) {
        (void)cann->aclrtFreeHost(slot->host_out);
    }
    if (slot->host_in != NULL) {
        (void)cann->aclrtFreeHost(slot->host_in);
    }
    *slot = (hccl_slot_t){0};
}

/* The stream, with what still runs on it. */
static void stream_close(const cann_t *cann, aclrtStream stream)
{
    if (cann->aclrtDestroyStreamForce != NULL) {
        (void)cann->aclrtDestroyStreamForce(stream);
        return;
    }
    (void)cann->aclrtSynchronizeStream(stream);
    (void)cann->aclrtDestroyStream(stream);
}

/* The thread's context becomes the device's. */
static mpinpu_status_t context_open(engine_t *engine)
{
    const cann_t *cann = &engine->cann;
    hccl_device_t *npu = &engine->npu;
    mpinpu_status_t status = MPINPU_OK;

    if (npu->context != NULL) {
        return MPINPU_OK;
    }
    if (!engine->device_given) {
        status = hccl_acl_check(engine, "aclrtSetDevice", cann->aclrtSetDevice(engine->device));
        npu->set = status == MPINPU_OK;
    }
    if (status == MPINPU_OK) {
        status = hccl_acl_check(engine, "aclrtGetCurrentContext", cann->aclrtGetCurrentContext(&npu->context));
    }
    return status;
}

/* The streams that are missing. */
static mpinpu_status_t streams_open(engine_t *engine)
{
    hccl_device_t *npu = &engine->npu;
    mpinpu_status_t status = MPINPU_OK;

    for (int s = 0; s < HCCL_STAGE_COUNT && status == MPINPU_OK; s++) {
        if (npu->streams[s] == NULL) {
            status = hccl_acl_check(engine, "aclrtCreateStream", engine->cann.aclrtCreateStream(&npu->streams[s]));
        }
    }
    return status;
}

static void streams_close(engine_t *engine)
{
    for (int s = 0; s < HCCL_STAGE_COUNT; s++) {
        if (engine->npu.streams[s] != NULL) {
            stream_close(&engine->cann, engine->npu.streams[s]);
            engine->npu.streams[s] = NULL;
        }
    }
}

mpinpu_status_t hccl_device_open(engine_t *engine)
{
    hccl_device_t *npu = &engine->npu;

    if (npu->open) {
        return streams_open(engine);
    }
    mpinpu_status_t status = context_open(engine);
    if (status == MPINPU_OK) {
        status = streams_open(engine);
    }
    for (uint32_t s = 0; s < engine->slots && status == MPINPU_OK; s++) {
        status = slot_open(engine, &npu->slots[s]);
    }
    npu->open = true;
    if (status != MPINPU_OK) {
        hccl_device_close(engine);
    }
    return status;
}

void hccl_device_abandon(engine_t *engine)
{
    if (engine->npu.open) {
        streams_close(engine);
    }
}

void hccl_device_close(engine_t *engine)
{
    const cann_t *cann = &engine->cann;
    hccl_device_t *npu = &engine->npu;

    if (!npu->open) {
        return;
    }
    streams_close(engine);
    for (uint32_t s = 0; s < engine->slots; s++) {
        slot_close(cann, &npu->slots[s]);
    }
    npu->open = false;
}

void hccl_device_reset(engine_t *engine)
{
    hccl_device_close(engine);
    if (engine->npu.set) {
        (void)engine->cann.aclrtResetDevice(engine->device);
    }
    engine->npu = (hccl_device_t){0};
}

mpinpu_status_t hccl_device_enter(engine_t *engine, aclrtContext *saved)
{
    const cann_t *cann = &engine->cann;

    *saved = NULL;
    if (cann->aclrtGetCurrentContext(saved) != ACL_SUCCESS) {
        *saved = NULL; /* a thread without one */
    }
    if (engine->npu.context == NULL) {
        return MPINPU_OK;
    }
    if (*saved == engine->npu.context) {
        *saved = NULL;
        return MPINPU_OK;
    }
    return hccl_acl_check(engine, "aclrtSetCurrentContext", cann->aclrtSetCurrentContext(engine->npu.context));
}

void hccl_device_leave(engine_t *engine, aclrtContext saved)
{
    if (saved != NULL) {
        (void)engine->cann.aclrtSetCurrentContext(saved);
    }
}

/* Whether something broke that would keep an event from ever coming. */
static mpinpu_status_t device_look(engine_t *engine, HcclComm comm)
{
    const cann_t *cann = &engine->cann;
    aclrtStreamStatus stream = ACL_STREAM_STATUS_NOT_READY;
    HcclResult result = HCCL_SUCCESS;
    mpinpu_status_t status = MPINPU_OK;

    for (int s = 0; s < HCCL_STAGE_COUNT && status == MPINPU_OK && cann->aclrtStreamQuery != NULL; s++) {
        status = hccl_acl_check(engine, "work on the device", cann->aclrtStreamQuery(engine->npu.streams[s], &stream));
    }
    if (status == MPINPU_OK && comm != NULL && cann->HcclGetCommAsyncError != NULL &&
        cann->HcclGetCommAsyncError(comm, &result) == HCCL_SUCCESS) {
        status = hccl_check(engine, "a link of the communicator", result);
    }
    return status;
}

mpinpu_status_t hccl_device_wait(engine_t *engine, HcclComm comm, const hccl_slot_t *slot, hccl_stage_t stage)
{
    const cann_t *cann = &engine->cann;
    int64_t looked = 0;

    for (unsigned polls = 1;; polls++) {
        aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
        mpinpu_status_t status =
            hccl_acl_check(engine, "aclrtQueryEventStatus", cann->aclrtQueryEventStatus(slot->done[stage], &recorded));
        if (status != MPINPU_OK || recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE) {
            return status;
        }
        if (engine->config.progress != NULL) {
            engine->config.progress();
        }
        if (polls > POLLS_BEFORE_YIELD) {
            (void)sched_yield();
        }
        if (polls % POLLS_A_LOOK == 0) {
            int64_t now = clock_ns();
            if (now - looked > look_ns) {
                looked = now;
                status = device_look(engine, comm);
            }
            if (status != MPINPU_OK) {
                return status;
            }
        }
    }
}

mpinpu_status_t hccl_device_finish(engine_t *engine)
{
    mpinpu_status_t status = MPINPU_OK;

    /* The last piece of work on each stream is an event that has come, so this does not wait. */
    for (int s = 0; s < HCCL_STAGE_COUNT && status == MPINPU_OK; s++) {
        status =
            hccl_acl_check(engine, "work on the device", engine->cann.aclrtSynchronizeStream(engine->npu.streams[s]));
    }
    return status;
}
