/* SPDX-License-Identifier: BSD-3-Clause */
/* Events. Each recording has a number; who waits, waits for the number that was the last when it asked. */
#define _GNU_SOURCE
#include "tests/cann/standin.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

typedef struct event {
    struct event *next;
    uint32_t flag;
    int holders; /* the handle, and each task that names the event */
    long recorded;
    long reached;
    double when; /* it was reached */
} event_t;

typedef struct event_task {
    standin_task_t task;
    event_t *event;
    long number;
} event_task_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static event_t *events;

/* With the lock held. */
static event_t *event_find(aclrtEvent handle, int *code)
{
    event_t *event = events;
    while (event != NULL && event != handle) {
        event = event->next;
    }
    if (event == NULL) {
        *code = standin_refuse(ACL_ERROR_RT_INVALID_HANDLE, "EE1001: %p is no event", handle);
    }
    return event;
}

static void event_let_go(event_t *event)
{
    if (--event->holders == 0) {
        free(event);
    }
}

static int event_create(aclrtEvent *handle, uint32_t flag)
{
    int code;
    if (standin_context(&code) == NULL) {
        return code;
    }
    if (handle == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: the pointer is NULL");
    }
    event_t *event = calloc(1, sizeof *event);
    if (event == NULL) {
        return standin_fail(ACL_ERROR_BAD_ALLOC, "EL0004: no memory");
    }
    event->flag = flag;
    event->holders = 1;
    pthread_mutex_lock(&lock);
    event->next = events;
    events = event;
    pthread_mutex_unlock(&lock);
    standin_account(ACCOUNT_EVENTS, 1);
    *handle = event;
    return ACL_SUCCESS;
}

aclError aclrtCreateEvent(aclrtEvent *event)
{
    STANDIN_ENTER(aclrtCreateEvent);
    return event_create(event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE);
}

aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag)
{
    STANDIN_ENTER(aclrtCreateEventWithFlag);
    if (flag == 0 || (flag & ~(uint32_t)(ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE | 0x2)) != 0) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0001: the flag %u is not allowed", flag);
    }
    return event_create(event, flag);
}

aclError aclrtDestroyEvent(aclrtEvent handle)
{
    STANDIN_ENTER(aclrtDestroyEvent);
    int code;
    if (standin_context(&code) == NULL) {
        return code;
    }
    pthread_mutex_lock(&lock);
    event_t *event = event_find(handle, &code);
    if (event != NULL) {
        event_t **place = &events;
        while (*place != event) {
            place = &(*place)->next;
        }
        *place = event->next;
        event_let_go(event);
        standin_account(ACCOUNT_EVENTS, -1);
        code = ACL_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static void event_task_release(standin_task_t *task)
{
    event_task_t *mine = (event_task_t *)task;
    pthread_mutex_lock(&lock);
    event_let_go(mine->event);
    pthread_mutex_unlock(&lock);
    free(mine);
}

static int record_run(standin_task_t *task, standin_stream_t *stream)
{
    event_task_t *mine = (event_task_t *)task;
    (void)stream;
    pthread_mutex_lock(&lock);
    if (mine->number > mine->event->reached) {
        mine->event->reached = mine->number;
        mine->event->when = standin_now();
    }
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}

/* Until the event is reached, the stream is stopped, or `deadline` (0: none) has passed; with the lock held. */
static bool event_wait(const event_t *event, long number, standin_stream_t *stream, double deadline)
{
    while (event->reached < number) {
        if ((stream != NULL && standin_stream_stopping(stream)) || (deadline != 0 && standin_now() >= deadline)) {
            return false;
        }
        struct timespec soon;
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 1000000;
        if (soon.tv_nsec >= 1000000000) {
            soon.tv_sec++;
            soon.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&changed, &lock, &soon);
    }
    return true;
}

static int wait_run(standin_task_t *task, standin_stream_t *stream)
{
    event_task_t *mine = (event_task_t *)task;
    pthread_mutex_lock(&lock);
    bool reached = event_wait(mine->event, mine->number, stream, 0);
    pthread_mutex_unlock(&lock);
    return reached ? ACL_SUCCESS : standin_fail(ACL_ERROR_RT_STREAM_ABORT, "EE9999: the stream was aborted");
}

/* A recording (or a waiting) is put into the stream; an event that was never recorded can not be waited for. */
static int event_add(aclrtEvent handle, aclrtStream stream_handle, bool record)
{
    int code;
    const standin_context_t *context = standin_context(&code);
    standin_stream_t *stream = context == NULL ? NULL : standin_stream_find(stream_handle, context, &code);
    event_task_t *mine = stream == NULL ? NULL : calloc(1, sizeof *mine);
    if (mine == NULL) {
        return code;
    }
    pthread_mutex_lock(&lock);
    event_t *event = event_find(handle, &code);
    if (event != NULL && !record && (event->flag & ACL_EVENT_SYNC) == 0) {
        code = standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: the event was made without ACL_EVENT_SYNC");
        event = NULL;
    } else if (event != NULL && !record && event->recorded == 0) {
        code = standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: the event was never recorded");
        event = NULL;
    }
    if (event == NULL) {
        pthread_mutex_unlock(&lock);
        free(mine);
        return code;
    }
    event->holders++;
    mine->event = event;
    mine->number = record ? ++event->recorded : event->recorded;
    mine->task.run = record ? record_run : wait_run;
    mine->task.release = event_task_release;
    pthread_mutex_unlock(&lock);
    standin_stream_add(stream, &mine->task);
    return ACL_SUCCESS;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)
{
    STANDIN_ENTER(aclrtRecordEvent);
    return event_add(event, stream, true);
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)
{
    STANDIN_ENTER(aclrtStreamWaitEvent);
    return event_add(event, stream, false);
}

aclError aclrtQueryEventStatus(aclrtEvent handle, aclrtEventRecordedStatus *status)
{
    STANDIN_ENTER(aclrtQueryEventStatus);
    int code;
    if (standin_context(&code) == NULL) {
        return code;
    }
    pthread_mutex_lock(&lock);
    const event_t *event = event_find(handle, &code);
    if (event != NULL && (status == NULL || event->recorded == 0)) {
        code = standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: status is NULL, or the event was never recorded");
    } else if (event != NULL) {
        *status = event->reached >= event->recorded ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                                    : ACL_EVENT_RECORDED_STATUS_NOT_READY;
        code = ACL_SUCCESS;
    }
    pthread_mutex_unlock(&lock);
    return code;
}

static int event_synchronize(aclrtEvent handle, double deadline)
{
    int code;
    if (standin_context(&code) == NULL) {
        return code;
    }
    pthread_mutex_lock(&lock);
    event_t *event = event_find(handle, &code);
    if (event != NULL && event->recorded == 0) {
        code = standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: the event was never recorded");
    } else if (event != NULL) {
        event->holders++;
        code = event_wait(event, event->recorded, NULL, deadline)
                   ? ACL_SUCCESS
                   : standin_fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "EE1002: the event is not reached in time");
        event_let_go(event);
    }
    pthread_mutex_unlock(&lock);
    return code;
}

aclError aclrtSynchronizeEvent(aclrtEvent event)
{
    STANDIN_ENTER(aclrtSynchronizeEvent);
    return event_synchronize(event, 0);
}

aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout)
{
    STANDIN_ENTER(aclrtSynchronizeEventWithTimeout);
    return event_synchronize(event, timeout < 0 ? 0 : standin_now() + 1e-3 * timeout);
}

aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent, aclrtEvent endEvent)
{
    STANDIN_ENTER(aclrtEventElapsedTime);
    int code = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    const event_t *start = event_find(startEvent, &code);
    const event_t *end = start == NULL ? NULL : event_find(endEvent, &code);
    if (end != NULL && (ms == NULL || start->reached == 0 || end->reached == 0 ||
                        (start->flag & end->flag & ACL_EVENT_TIME_LINE) == 0)) {
        code = standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: not reached, or made without ACL_EVENT_TIME_LINE");
    } else if (end != NULL) {
        *ms = (float)(1e3 * (end->when - start->when));
    }
    pthread_mutex_unlock(&lock);
    return code;
}
