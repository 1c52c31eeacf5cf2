/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for the device, or for CANN to return: the host MPI is driven meanwhile, and it is looked whether something
   broke, here or on another rank. */
#include "engine/hccl/hccl.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* Polls at full speed before the CPU is offered to others, polls before it is left to them (some milliseconds), and
   polls between two looks at the clock. */
enum { POLLS_BEFORE_YIELD = 200, POLLS_BEFORE_SLEEP = 2000, POLLS_A_LOOK = 64 };
/* Short beside what was waited for by then. */
static const struct timespec poll_pause = {.tv_nsec = 20000};
/* How often the streams and the communicator are asked whether something broke. */
static const int64_t look_ns = INT64_C(20000000);

int64_t hccl_clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Whether something broke that would keep an event from ever coming. */
static mpinpu_status_t device_look(engine_t *engine, HcclComm hccl)
{
    const cann_t *cann = &engine->cann;
    aclrtStreamStatus stream = ACL_STREAM_STATUS_NOT_READY;
    HcclResult result = HCCL_SUCCESS;
    mpinpu_status_t status = MPINPU_OK;

    for (int s = 0; s < HCCL_STAGE_COUNT && status == MPINPU_OK && cann->aclrtStreamQuery != NULL; s++) {
        if (engine->npu.streams[s] == NULL) {
            continue;
        }
        status = hccl_acl_check(engine, "work on the device", cann->aclrtStreamQuery(engine->npu.streams[s], &stream));
    }
    if (status == MPINPU_OK && hccl != NULL && cann->HcclGetCommAsyncError != NULL &&
        cann->HcclGetCommAsyncError(hccl, &result) == HCCL_SUCCESS) {
        status = hccl_check(engine, "a link of the communicator", result);
    }
    return status;
}

mpinpu_status_t hccl_device_cause(engine_t *engine, mpinpu_status_t status)
{
    enum { LOOKS = 20 };
    static const struct timespec pause = {.tv_nsec = 1000000};
    char said[HCCL_SAID_BYTES];

    memcpy(said, engine->said, sizeof said);
    /* A stream tells of what failed when it has come to its end, which then is near. */
    for (int look = 0; look < LOOKS; look++) {
        const mpinpu_status_t cause = device_look(engine, NULL);
        if (cause != MPINPU_OK) {
            return cause;
        }
        (void)nanosleep(&pause, NULL);
    }
    memcpy(engine->said, said, sizeof said);
    return status;
}

/* A wait: when it began, and when last something else than its end was looked for. */
typedef struct watch {
    unsigned polls;
    int64_t began;
    int64_t looked;
} watch_t;

/* After a poll that found nothing: drives the host MPI. True at times, when it is worth to look for trouble. */
static bool watch_step(const engine_t *engine, watch_t *watch)
{
    if (engine->config.progress != NULL) {
        engine->config.progress();
    }
    if (++watch->polls > POLLS_BEFORE_SLEEP) {
        (void)nanosleep(&poll_pause, NULL);
    } else if (watch->polls > POLLS_BEFORE_YIELD) {
        (void)sched_yield();
    }
    if (watch->polls % POLLS_A_LOOK != 0) {
        return false;
    }
    const int64_t now = hccl_clock_ns();
    watch->began = watch->began == 0 ? now : watch->began;
    if (now - watch->looked <= look_ns) {
        return false;
    }
    watch->looked = now;
    return true;
}

mpinpu_status_t hccl_device_wait(engine_comm_t *comm, HcclComm hccl, const hccl_slot_t *slot, hccl_stage_t stage)
{
    engine_t *engine = comm->engine;
    watch_t watch = {0};

    while (true) {
        aclrtEventRecordedStatus recorded = ACL_EVENT_RECORDED_STATUS_NOT_READY;
        mpinpu_status_t status = hccl_acl_check(engine, "aclrtQueryEventStatus",
                                                engine->cann.aclrtQueryEventStatus(slot->done[stage], &recorded));
        if (status != MPINPU_OK || recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE) {
            return status;
        }
        if (watch_step(engine, &watch)) {
            status = hccl_alarm_hear(comm);
            if (status == MPINPU_OK) {
                status = device_look(engine, hccl);
            }
            if (status != MPINPU_OK) {
                return status;
            }
            hccl_alarm_wait(comm, watch.looked - watch.began);
        }
    }
}

/* A call in a thread of its own. */
typedef struct helper {
    engine_comm_t *comm;
    mpinpu_status_t (*function)(engine_comm_t *comm, void *argument);
    void *argument;
    mpinpu_status_t status;
    atomic_bool done; /* release when the rest is written, acquire when read */
} helper_t;

static void *call_main(void *argument)
{
    helper_t *call = argument;
    engine_t *engine = call->comm->engine;

    call->status =
        hccl_acl_check(engine, "aclrtSetCurrentContext", engine->cann.aclrtSetCurrentContext(engine->npu.context));
    if (call->status == MPINPU_OK) {
        call->status = call->function(call->comm, call->argument);
    }
    atomic_store_explicit(&call->done, true, memory_order_release);
    return NULL;
}

mpinpu_status_t hccl_device_call(engine_comm_t *comm, mpinpu_status_t (*function)(engine_comm_t *comm, void *argument),
                                 void *argument)
{
    static const struct timespec pause = {.tv_nsec = 20000};
    helper_t call = {.comm = comm, .function = function, .argument = argument};
    watch_t watch = {0};
    pthread_t thread;
    sigset_t all;
    sigset_t before;

    /* The program's signals are for the program's threads. */
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = pthread_create(&thread, NULL, call_main, &call) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!started) {
        return function(comm, argument);
    }
    while (!atomic_load_explicit(&call.done, memory_order_acquire)) {
        if (watch_step(comm->engine, &watch)) {
            (void)hccl_alarm_hear(comm); /* the call comes to its end in any case */
            hccl_alarm_wait(comm, watch.looked - watch.began);
        }
        (void)nanosleep(&pause, NULL);
    }
    (void)pthread_join(thread, NULL);
    return call.status;
}

mpinpu_status_t hccl_device_finish(engine_t *engine)
{
    enum { FINISH_MILLISECONDS = 10000 };
    const cann_t *cann = &engine->cann;
    mpinpu_status_t status = MPINPU_OK;

    /* The last piece of work on each stream is an event that has come, so this does not wait. */
    for (int s = 0; s < HCCL_STAGE_COUNT && status == MPINPU_OK; s++) {
        const aclrtStream stream = engine->npu.streams[s];
        status = hccl_acl_check(engine, "work on the device",
                                cann->aclrtSynchronizeStreamWithTimeout != NULL
                                    ? cann->aclrtSynchronizeStreamWithTimeout(stream, FINISH_MILLISECONDS)
                                    : cann->aclrtSynchronizeStream(stream));
    }
    return status;
}
