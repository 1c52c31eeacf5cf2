/* SPDX-License-Identifier: BSD-3-Clause */
/* The device of this process: context, streams, events, memory. */
#include "config.h" /* _GNU_SOURCE: nanosleep */

#include "engine/hccl/hccl.h"

#include "transport/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DRAIN_TRIES = 200 /* milliseconds */ };

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
        status = hccl_acl_check(engine, "aclrtMallocHost",
                                cann->aclrtMallocHost(&slot->host_out, bytes + HCCL_SHARE_WORD_BYTES));
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

/* What CANN does not take back is kept. */
static void memory_free(const cann_t *cann, void **memory)
{
    if (*memory != NULL && cann->aclrtFree(*memory) == ACL_SUCCESS) {
        *memory = NULL;
    }
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
    memory_free(cann, &slot->device_out);
    memory_free(cann, &slot->device_in);
    if (slot->host_out != NULL) {
        (void)cann->aclrtFreeHost(slot->host_out);
    }
    if (slot->host_in != NULL) {
        (void)cann->aclrtFreeHost(slot->host_in);
    }
    *slot = (hccl_slot_t){0};
}

/* The thread's context becomes the device's. */
static mpinpu_status_t context_open(engine_t *engine)
{
    const cann_t *cann = &engine->cann;
    hccl_device_t *npu = &engine->npu;

    if (npu->context != NULL) {
        return MPINPU_OK;
    }
    /* One that the application has set, too: it may reset it before we end, and CANN counts. */
    mpinpu_status_t status = hccl_acl_check(engine, "aclrtSetDevice", cann->aclrtSetDevice(engine->device));
    npu->set = status == MPINPU_OK;
    if (status == MPINPU_OK) {
        status = hccl_acl_check(engine, "aclrtGetCurrentContext", cann->aclrtGetCurrentContext(&npu->context));
    }
    return status;
}

/* The streams that are missing. */
static mpinpu_status_t streams_open(engine_t *engine)
{
    const cann_t *cann = &engine->cann;
    hccl_device_t *npu = &engine->npu;
    mpinpu_status_t status = MPINPU_OK;

    for (int s = 0; s < HCCL_STAGE_COUNT && status == MPINPU_OK; s++) {
        if (npu->streams[s] == NULL) {
            status = hccl_acl_check(engine, "aclrtCreateStream", cann->aclrtCreateStream(&npu->streams[s]));
        }
        if (status == MPINPU_OK && cann->aclrtDestroyStreamForce == NULL && npu->ends[s] == NULL) {
            status = hccl_acl_check(engine, "aclrtCreateEvent", cann->aclrtCreateEvent(&npu->ends[s]));
        }
    }
    return status;
}

/* Ends what runs on the streams. Where CANN cannot, or fails to, the device is busy till it ends by itself. */
static void streams_stop(engine_t *engine)
{
    const cann_t *cann = &engine->cann;
    hccl_device_t *npu = &engine->npu;

    for (int s = 0; s < HCCL_STAGE_COUNT; s++) {
        if (npu->streams[s] == NULL || npu->busy[s]) {
            continue;
        }
        if (cann->aclrtDestroyStreamForce != NULL) {
            npu->busy[s] = cann->aclrtDestroyStreamForce(npu->streams[s]) != ACL_SUCCESS;
            npu->streams[s] = npu->busy[s] ? npu->streams[s] : NULL;
        } else {
            npu->busy[s] = npu->ends[s] != NULL && cann->aclrtRecordEvent(npu->ends[s], npu->streams[s]) == ACL_SUCCESS;
        }
    }
}

/* Whether a stream's work has come to its end; one that CANN can end, it is asked to again, and then is gone. */
static bool stream_done(engine_t *engine, int s)
{
    const cann_t *cann = &engine->cann;
    hccl_device_t *npu = &engine->npu;
    aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;

    if (cann->aclrtDestroyStreamForce == NULL) {
        return cann->aclrtQueryEventStatus(npu->ends[s], &recorded) == ACL_SUCCESS &&
               recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE;
    }
    if (cann->aclrtDestroyStreamForce(npu->streams[s]) != ACL_SUCCESS) {
        return false;
    }
    npu->streams[s] = NULL;
    return true;
}

/* After streams_stop: destroys the streams that are done; false if some are not. */
static bool streams_close(engine_t *engine)
{
    hccl_device_t *npu = &engine->npu;
    bool closed = true;

    for (int s = 0; s < HCCL_STAGE_COUNT; s++) {
        npu->busy[s] = npu->busy[s] && !stream_done(engine, s);
        closed = closed && !npu->busy[s];
        if (!npu->busy[s] && npu->streams[s] != NULL) {
            (void)engine->cann.aclrtDestroyStream(npu->streams[s]);
            npu->streams[s] = NULL;
        }
    }
    return closed;
}

/* The same, with some patience for work that is about to be done. */
static bool streams_drain(engine_t *engine)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    bool closed = streams_close(engine);

    for (int tried = 0; tried < DRAIN_TRIES && !closed; tried++) {
        (void)nanosleep(&pause, NULL);
        closed = streams_close(engine);
    }
    return closed;
}

bool hccl_device_busy(engine_t *engine)
{
    bool busy = false;

    for (int s = 0; s < HCCL_STAGE_COUNT; s++) {
        busy = busy || engine->npu.busy[s];
    }
    return busy && !streams_close(engine);
}

mpinpu_status_t hccl_device_open(engine_t *engine)
{
    hccl_device_t *npu = &engine->npu;
    mpinpu_status_t status = context_open(engine);

    if (status == MPINPU_OK && npu->open && hccl_device_busy(engine)) {
        (void)snprintf(engine->said, sizeof engine->said,
                       "work that failed is still on the device, and this CANN cannot end it; from CANN 8.0 on it can");
        return MPINPU_ERR_DEVICE;
    }
    if (status == MPINPU_OK) {
        status = streams_open(engine);
    }
    for (uint32_t s = 0; s < engine->slots && status == MPINPU_OK && !npu->open; s++) {
        status = slot_open(engine, &npu->slots[s]);
    }
    if (status != MPINPU_OK && !npu->open) {
        npu->open = true;
        hccl_device_close(engine);
    }
    npu->open = npu->open || status == MPINPU_OK;
    return status;
}

mpinpu_status_t hccl_device_memory(engine_t *engine)
{
    mpinpu_status_t status = MPINPU_OK;

    for (uint32_t s = 0; s < 2 * engine->slots && status == MPINPU_OK; s++) {
        hccl_slot_t *slot = &engine->npu.slots[s / 2];
        void **memory = s % 2 == 0 ? &slot->device_in : &slot->device_out;
        if (*memory == NULL) {
            status = hccl_acl_check(engine, "aclrtMalloc",
                                    engine->cann.aclrtMalloc(memory, engine->slot_bytes, ACL_MEM_MALLOC_HUGE_FIRST));
        }
    }
    return status;
}

void hccl_device_memory_free(engine_t *engine)
{
    for (uint32_t s = 0; s < engine->slots; s++) {
        memory_free(&engine->cann, &engine->npu.slots[s].device_in);
        memory_free(&engine->cann, &engine->npu.slots[s].device_out);
    }
}

void hccl_device_abandon(engine_t *engine)
{
    streams_stop(engine);
}

void hccl_device_close(engine_t *engine)
{
    const cann_t *cann = &engine->cann;
    hccl_device_t *npu = &engine->npu;

    if (!npu->open) {
        return;
    }
    streams_stop(engine);
    if (!streams_drain(engine)) {
        return; /* the work uses what else there is */
    }
    for (int s = 0; s < HCCL_STAGE_COUNT; s++) {
        if (npu->ends[s] != NULL) {
            (void)cann->aclrtDestroyEvent(npu->ends[s]);
            npu->ends[s] = NULL;
        }
    }
    for (uint32_t s = 0; s < engine->slots; s++) {
        slot_close(cann, &npu->slots[s]);
    }
    npu->open = false;
}

void hccl_device_reset(engine_t *engine)
{
    hccl_device_close(engine);
    if (hccl_device_busy(engine)) {
        log_info("work that failed is left on the device, since this CANN cannot end it");
    }
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
