/* SPDX-License-Identifier: BSD-3-Clause */
/* Streams: a queue and a thread each. A task is done some time after it was added, never within the call. */
#define _GNU_SOURCE
#include "tests/cann/standin.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct standin_stream {
    standin_stream_t *next;
    const standin_context_t *context;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    standin_task_t *first;
    standin_task_t **last;
    long pending; /* added and not done */
    bool closing; /* the thread ends when nothing is pending */
    atomic_bool stopping;
    bool stop_on_failure;
    bool mode_set;
    unsigned seed;
    int error; /* of the first task that failed */
    char said[512];
};

static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static standin_stream_t *streams;

bool standin_stream_stopping(standin_stream_t *stream)
{
    return atomic_load(&stream->stopping);
}

int standin_stream_device(const standin_stream_t *stream)
{
    return stream->context->device;
}

/* A task comes late by a time that differs, up to CANN_DELAY microseconds. */
static void task_delay(standin_stream_t *stream)
{
    double most = standin_slowdown() > 0 ? 0 : 1e-6 * standin_number("CANN_DELAY", 100);
    if (most > 0) {
        standin_sleep_until(standin_now() + most * (double)(rand_r(&stream->seed) % 1000) / 1000.0);
    }
}

static void task_do(standin_stream_t *stream, standin_task_t *task, bool skip)
{
    int code = ACL_SUCCESS;
    if (atomic_load(&stream->stopping)) {
        code = standin_fail(ACL_ERROR_RT_STREAM_ABORT, "EE9999: the stream was aborted");
    } else if (!skip) {
        code = standin_enter("task"); /* faults can be asked for in the n-th task of the process */
        if (code == ACL_SUCCESS) {
            if (task->spoil != NULL) {
                task->spoil(task);
            }
            task_delay(stream);
            code = task->run(task, stream);
        }
    }
    task->release(task);
    pthread_mutex_lock(&stream->lock);
    if (code != ACL_SUCCESS && stream->error == ACL_SUCCESS) {
        stream->error = code;
        snprintf(stream->said, sizeof stream->said, "%s", standin_said());
    }
    stream->pending--;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
}

static void *stream_main(void *argument)
{
    standin_stream_t *stream = argument;
    pthread_mutex_lock(&stream->lock);
    while (true) {
        while (stream->first == NULL && !stream->closing) {
            pthread_cond_wait(&stream->changed, &stream->lock);
        }
        standin_task_t *task = stream->first;
        if (task == NULL) {
            break;
        }
        stream->first = task->next;
        if (stream->first == NULL) {
            stream->last = &stream->first;
        }
        bool skip = stream->error != ACL_SUCCESS && stream->stop_on_failure;
        pthread_mutex_unlock(&stream->lock);
        task_do(stream, task, skip);
        pthread_mutex_lock(&stream->lock);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

void standin_stream_add(standin_stream_t *stream, standin_task_t *task)
{
    pthread_mutex_lock(&stream->lock);
    task->next = NULL;
    *stream->last = task;
    stream->last = &task->next;
    stream->pending++;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
}

void standin_stream_wait(standin_stream_t *stream)
{
    pthread_mutex_lock(&stream->lock);
    while (stream->pending > 0) {
        pthread_cond_wait(&stream->changed, &stream->lock);
    }
    pthread_mutex_unlock(&stream->lock);
}

standin_stream_t *standin_stream_find(aclrtStream handle, const standin_context_t *context, int *code)
{
    *code = ACL_SUCCESS;
    if (handle == NULL) {
        *code = standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: the stream is NULL");
        return NULL;
    }
    pthread_mutex_lock(&streams_lock);
    standin_stream_t *stream = streams;
    while (stream != NULL && stream != handle) {
        stream = stream->next;
    }
    pthread_mutex_unlock(&streams_lock);
    if (stream == NULL) {
        *code = standin_refuse(ACL_ERROR_RT_INVALID_HANDLE, "EE1001: %p is no stream", handle);
    } else if (stream->context != context) {
        *code = standin_refuse(ACL_ERROR_RT_STREAM_CONTEXT, "EE1001: the stream is of another context");
        stream = NULL;
    }
    return stream;
}

/* For the entry points: the thread's context, then the stream in it. */
static standin_stream_t *stream_get(aclrtStream handle, int *code)
{
    const standin_context_t *context = standin_context(code);
    return context == NULL ? NULL : standin_stream_find(handle, context, code);
}

static int stream_create(aclrtStream *handle)
{
    int code;
    const standin_context_t *context = standin_context(&code);
    if (context == NULL) {
        return code;
    }
    if (handle == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: the pointer is NULL");
    }
    standin_stream_t *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        return standin_fail(ACL_ERROR_BAD_ALLOC, "EL0004: no memory");
    }
    stream->context = context;
    stream->last = &stream->first;
    stream->seed = (unsigned)(uintptr_t)stream ^ (unsigned)(standin_now() * 1e6);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&stream->changed, &monotonic);
    if (pthread_create(&stream->thread, NULL, stream_main, stream) != 0) {
        free(stream);
        return standin_fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "EL0005: no thread for the stream");
    }
    pthread_mutex_lock(&streams_lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&streams_lock);
    standin_account(ACCOUNT_STREAMS, 1);
    *handle = stream;
    return ACL_SUCCESS;
}

aclError aclrtCreateStream(aclrtStream *stream)
{
    STANDIN_ENTER(aclrtCreateStream);
    return stream_create(stream);
}

aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority, uint32_t flag)
{
    STANDIN_ENTER(aclrtCreateStreamWithConfig);
    if (priority > 7 || flag > 0x3F) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0001: priority %u or flag %u is not allowed", priority, flag);
    }
    return stream_create(stream);
}

static void stream_end(standin_stream_t *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->closing = true;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

static void stream_unlist(const standin_stream_t *stream)
{
    pthread_mutex_lock(&streams_lock);
    standin_stream_t **place = &streams;
    while (*place != stream) {
        place = &(*place)->next;
    }
    *place = stream->next;
    pthread_mutex_unlock(&streams_lock);
}

static int stream_destroy(aclrtStream handle, bool force)
{
    int code;
    standin_stream_t *stream = stream_get(handle, &code);
    if (stream == NULL) {
        return code;
    }
    pthread_mutex_lock(&stream->lock);
    long pending = stream->pending;
    pthread_mutex_unlock(&stream->lock);
    if (pending > 0 && !force) {
        return standin_refuse(ACL_ERROR_RT_INTERNAL_ERROR, "EE9999: %ld tasks of the stream are not done", pending);
    }
    stream_unlist(stream);
    atomic_store(&stream->stopping, force);
    stream_end(stream);
    standin_account(ACCOUNT_STREAMS, -1);
    return ACL_SUCCESS;
}

aclError aclrtDestroyStream(aclrtStream stream)
{
    STANDIN_ENTER(aclrtDestroyStream);
    return stream_destroy(stream, false);
}

aclError aclrtDestroyStreamForce(aclrtStream stream)
{
    STANDIN_ENTER(aclrtDestroyStreamForce);
    return stream_destroy(stream, true);
}

aclError aclrtStreamAbort(aclrtStream handle)
{
    STANDIN_ENTER(aclrtStreamAbort);
    int code;
    standin_stream_t *stream = stream_get(handle, &code);
    if (stream == NULL) {
        return code;
    }
    atomic_store(&stream->stopping, true);
    standin_stream_wait(stream);
    atomic_store(&stream->stopping, false);
    return ACL_SUCCESS;
}

/* The device is reset: what runs is stopped. The streams stay in the account, since nobody destroyed them. */
void standin_streams_stop(const standin_context_t *context)
{
    pthread_mutex_lock(&streams_lock);
    for (standin_stream_t *stream = streams; stream != NULL; stream = stream->next) {
        if (stream->context == context) {
            atomic_store(&stream->stopping, true);
        }
    }
    pthread_mutex_unlock(&streams_lock);
}

/* Waits until nothing is pending or `deadline` (0: for ever) has passed, and returns what went wrong. */
static int stream_synchronize(standin_stream_t *stream, double deadline)
{
    struct timespec until = {.tv_sec = (time_t)deadline,
                             .tv_nsec = (long)((deadline - (double)(time_t)deadline) * 1e9)};
    int timed_out = 0;
    pthread_mutex_lock(&stream->lock);
    while (stream->pending > 0 && timed_out != ETIMEDOUT) {
        timed_out = deadline == 0 ? pthread_cond_wait(&stream->changed, &stream->lock)
                                  : pthread_cond_timedwait(&stream->changed, &stream->lock, &until);
    }
    int code = stream->pending > 0 ? ACL_ERROR_RT_STREAM_SYNC_TIMEOUT : stream->error;
    if (code == stream->error && code != ACL_SUCCESS) {
        standin_fail(code, "%s", stream->said);
    } else if (code != ACL_SUCCESS) {
        standin_fail(code, "EE1002: the stream is not done in time");
    }
    pthread_mutex_unlock(&stream->lock);
    return code;
}

int standin_streams_wait(const standin_context_t *context)
{
    int code = ACL_SUCCESS;
    pthread_mutex_lock(&streams_lock);
    for (standin_stream_t *stream = streams; stream != NULL && code == ACL_SUCCESS; stream = stream->next) {
        code = stream->context == context ? stream_synchronize(stream, 0) : ACL_SUCCESS;
    }
    pthread_mutex_unlock(&streams_lock);
    return code;
}

aclError aclrtSynchronizeStream(aclrtStream handle)
{
    STANDIN_ENTER(aclrtSynchronizeStream);
    int code;
    standin_stream_t *stream = stream_get(handle, &code);
    return stream == NULL ? code : stream_synchronize(stream, 0);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t timeout)
{
    STANDIN_ENTER(aclrtSynchronizeStreamWithTimeout);
    int code;
    standin_stream_t *stream = stream_get(handle, &code);
    if (stream == NULL) {
        return code;
    }
    if (timeout < -1) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0001: timeout %d is not allowed", timeout);
    }
    return stream_synchronize(stream, timeout < 0 ? 0 : standin_now() + 1e-3 * timeout);
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus *status)
{
    STANDIN_ENTER(aclrtStreamQuery);
    int code;
    standin_stream_t *stream = stream_get(handle, &code);
    if (stream == NULL) {
        return code;
    }
    if (status == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: status is NULL");
    }
    pthread_mutex_lock(&stream->lock);
    *status = stream->pending > 0 ? ACL_STREAM_STATUS_NOT_READY : ACL_STREAM_STATUS_COMPLETE;
    code = stream->pending > 0 ? ACL_SUCCESS : stream->error;
    pthread_mutex_unlock(&stream->lock);
    return code == ACL_SUCCESS ? code : standin_fail(code, "%s", stream->said);
}

aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode)
{
    STANDIN_ENTER(aclrtSetStreamFailureMode);
    int code;
    standin_stream_t *stream = stream_get(handle, &code);
    if (stream == NULL) {
        return code;
    }
    if (mode > ACL_STOP_ON_FAILURE || stream->mode_set) {
        return standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: the mode is set once for a stream, to 0 or 1");
    }
    stream->mode_set = true;
    stream->stop_on_failure = mode == ACL_STOP_ON_FAILURE;
    return ACL_SUCCESS;
}
