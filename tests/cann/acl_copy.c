/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies. A blocking one is done by the caller, without regard to streams; another when its stream comes to it. */
#define _GNU_SOURCE
#include "tests/cann/standin.h"

#include <stdlib.h>
#include <string.h>

enum { ASYNC_ALIGNMENT = 64, UNFINISHED = 0xA5 };

typedef struct copy {
    standin_task_t task;
    void *to;
    const void *from; /* NULL: memset */
    size_t count;
    aclrtMemcpyKind kind;
    int value;
    int device;
} copy_t;

/* Published speeds of PCIe (25 GB/s in, 20 GB/s out) and half the HBM's for a copy on the device. */
double standin_link_end(int device, standin_link_t link, size_t bytes)
{
    static const double speed[LINK_COUNT] = {25e9, 20e9, 400e9};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static double busy_until[STANDIN_DEVICES_MAX][LINK_COUNT];
    double now = standin_now();
    pthread_mutex_lock(&lock);
    double *busy = &busy_until[device][link];
    *busy = (*busy > now ? *busy : now) + (double)bytes / speed[link] * standin_slowdown();
    double end = *busy;
    pthread_mutex_unlock(&lock);
    return end;
}

static bool kind_to_device(aclrtMemcpyKind kind)
{
    return kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
}

static bool kind_from_device(aclrtMemcpyKind kind)
{
    return kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
}

/* With the lock held: the bytes of one side, NULL (and why) if they are not what the kind says. */
static char *side_bytes(const void *address, size_t count, bool on_device, int device, const char **why)
{
    int lies_on = device;
    if (!on_device) {
        *why = "is device memory, and the kind of the copy says host";
        return standin_is_device(address) ? NULL : (char *)(uintptr_t)address;
    }
    char *bytes = standin_device_bytes(address, count, &lies_on, why);
    if (bytes != NULL && lies_on != device) {
        *why = "lies on another device";
        return NULL;
    }
    return bytes;
}

/* The check, and with `run` the copy. */
static int copy_do(const copy_t *copy, bool run, int code)
{
    const char *why = NULL;
    standin_memory_lock();
    char *to = side_bytes(copy->to, copy->count, kind_to_device(copy->kind), copy->device, &why);
    const char *from = NULL;
    if (to != NULL && copy->from != NULL) {
        from = side_bytes(copy->from, copy->count, kind_from_device(copy->kind), copy->device, &why);
    }
    if (to == NULL || (copy->from != NULL && from == NULL)) {
        standin_memory_unlock();
        return standin_refuse(code, "EE1001: %s %p %s", to == NULL ? "destination" : "source",
                              to == NULL ? copy->to : copy->from, why);
    }
    if (run && from != NULL) {
        memmove(to, from, copy->count);
    } else if (run) {
        memset(to, copy->value, copy->count);
    }
    standin_memory_unlock();
    return ACL_SUCCESS;
}

static double copy_end(const copy_t *copy)
{
    if (standin_slowdown() <= 0 || copy->kind == ACL_MEMCPY_HOST_TO_HOST) {
        return 0;
    }
    standin_link_t link = copy->from == NULL || copy->kind == ACL_MEMCPY_DEVICE_TO_DEVICE ? LINK_ON_DEVICE
                          : copy->kind == ACL_MEMCPY_HOST_TO_DEVICE                       ? LINK_TO_DEVICE
                                                                                          : LINK_TO_HOST;
    return standin_link_end(copy->device, link, copy->count);
}

/* Who reads the destination before the copy is done must not see the right bytes by chance. */
static void copy_spoil(standin_task_t *task)
{
    const copy_t *copy = (const copy_t *)task;
    const char *why = NULL;
    standin_memory_lock();
    char *to =
        copy->kind == ACL_MEMCPY_DEVICE_TO_DEVICE || copy->kind == ACL_MEMCPY_HOST_TO_HOST || standin_slowdown() > 0
            ? NULL
            : side_bytes(copy->to, copy->count, kind_to_device(copy->kind), copy->device, &why);
    if (to != NULL) {
        memset(to, UNFINISHED, copy->count);
    }
    standin_memory_unlock();
}

static int copy_run(standin_task_t *task, standin_stream_t *stream)
{
    const copy_t *copy = (const copy_t *)task;
    double end = copy_end(copy);
    (void)stream;
    int code = copy_do(copy, true, ACL_ERROR_RT_SYS_DMA);
    if (end > 0) {
        standin_sleep_until(end);
    }
    return code;
}

static void copy_release(standin_task_t *task)
{
    free(task);
}

/* What both kinds of call have in common. */
static int copy_check(copy_t *copy, size_t most)
{
    int code;
    const standin_context_t *context = standin_context(&code);
    if (context == NULL) {
        return code;
    }
    if (copy->to == NULL || copy->from == NULL || copy->count == 0 || copy->count > most) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM,
                              "EH0001: a pointer is NULL, or the count %zu is 0 or more than %zu", copy->count, most);
    }
    copy->device = context->device;
    if (copy->kind == ACL_MEMCPY_DEFAULT && standin_release() >= 805) {
        bool to = standin_is_device(copy->to);
        bool from = standin_is_device(copy->from);
        copy->kind = to ? (from ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_HOST_TO_DEVICE)
                        : (from ? ACL_MEMCPY_DEVICE_TO_HOST : ACL_MEMCPY_HOST_TO_HOST);
    }
    if ((unsigned)copy->kind > (unsigned)ACL_MEMCPY_DEVICE_TO_DEVICE) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0001: no such kind of copy: %d", (int)copy->kind);
    }
    return copy_do(copy, false, ACL_ERROR_RT_PARAM_INVALID);
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    STANDIN_ENTER(aclrtMemcpy);
    copy_t copy = {.to = dst, .from = src, .count = count, .kind = kind};
    int code = copy_check(&copy, destMax);
    if (code != ACL_SUCCESS) {
        return code;
    }
    double end = copy_end(&copy);
    code = copy_do(&copy, true, ACL_ERROR_RT_PARAM_INVALID);
    if (end > 0) {
        standin_sleep_until(end);
    }
    return code;
}

static bool side_pinned(const void *address, size_t count, bool on_device)
{
    standin_memory_lock();
    bool pinned = on_device || standin_is_pinned(address, count);
    standin_memory_unlock();
    return pinned;
}

/* Before 8.5: pinned host memory, addresses of 64 bytes, and nothing from host to host. */
static int copy_check_async(const copy_t *copy, bool pinned)
{
    if (standin_release() >= 805) {
        return ACL_SUCCESS;
    }
    if (copy->kind == ACL_MEMCPY_HOST_TO_HOST) {
        return standin_refuse(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "EE1006: no asynchronous copy from host to host");
    }
    if ((uintptr_t)copy->to % ASYNC_ALIGNMENT != 0 || (uintptr_t)copy->from % ASYNC_ALIGNMENT != 0) {
        return standin_refuse(ACL_ERROR_RT_ADDR_UNALIGNED, "EE1001: %p or %p is not aligned to 64 bytes", copy->to,
                              copy->from);
    }
    return pinned ? ACL_SUCCESS
                  : standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: the host memory is not of aclrtMallocHost");
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream_handle)
{
    STANDIN_ENTER(aclrtMemcpyAsync);
    copy_t copy = {.to = dst, .from = src, .count = count, .kind = kind};
    int code = copy_check(&copy, destMax);
    if (code != ACL_SUCCESS) {
        return code;
    }
    bool pinned = side_pinned(copy.to, count, kind_to_device(copy.kind)) &&
                  side_pinned(copy.from, count, kind_from_device(copy.kind));
    code = copy_check_async(&copy, pinned);
    standin_stream_t *stream =
        code == ACL_SUCCESS ? standin_stream_find(stream_handle, standin_context(&code), &code) : NULL;
    if (stream == NULL) {
        return code;
    }
    copy_t *task = malloc(sizeof *task);
    if (task == NULL) {
        return standin_fail(ACL_ERROR_BAD_ALLOC, "EL0004: no memory");
    }
    *task = copy;
    task->task.spoil = copy_spoil;
    task->task.run = copy_run;
    task->task.release = copy_release;
    standin_stream_add(stream, &task->task);
    if (!pinned) {
        standin_stream_wait(stream);
    }
    return ACL_SUCCESS;
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
    STANDIN_ENTER(aclrtMemset);
    int code;
    const standin_context_t *context = standin_context(&code);
    if (context == NULL) {
        return code;
    }
    if (devPtr == NULL || count == 0 || count > maxCount) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0001: the pointer is NULL, or the count %zu is not allowed",
                              count);
    }
    bool on_device = standin_is_device(devPtr);
    copy_t copy = {.to = devPtr,
                   .count = count,
                   .value = value,
                   .device = context->device,
                   .kind = on_device ? ACL_MEMCPY_DEVICE_TO_DEVICE : ACL_MEMCPY_HOST_TO_HOST};
    return copy_do(&copy, true, ACL_ERROR_RT_PARAM_INVALID);
}
