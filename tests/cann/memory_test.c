/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-in's memory, copies, streams and events: right results, and each rule broken once. */
#include "tests/cann/job.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4096 };

static seat_t seat;
static unsigned char *pinned;
static unsigned char *device;
static unsigned char plain[N];

static void take(const char *version)
{
    void *memory = NULL;
    job_install(version);
    seat_take(&seat, 0);
    expect_code(&seat, seat.cann.aclrtMallocHost(&memory, N), ACL_SUCCESS);
    pinned = memory;
    for (int i = 0; i < N; i++) {
        plain[i] = (unsigned char)(i * 7 + i / 256);
        pinned[i] = plain[i];
    }
    device = device_new(&seat, NULL, N);
}

static aclError copy(void *to, const void *from, size_t count, aclrtMemcpyKind kind)
{
    return seat.cann.aclrtMemcpy(to, count, from, count, kind);
}

static aclError copy_async(void *to, const void *from, size_t count, aclrtMemcpyKind kind)
{
    return seat.cann.aclrtMemcpyAsync(to, count, from, count, kind, seat.stream);
}

Test(memory, copies_there_and_back)
{
    unsigned char back[N];
    take("8.2.RC1");
    expect_code(&seat, copy(device, plain, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    void *second = device_new(&seat, NULL, N);
    expect_code(&seat, copy(second, device, N, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_SUCCESS);
    /* An address inside an allocation is one too. */
    expect_code(&seat, copy(back, (char *)second + 100, N - 100, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    cr_assert_arr_eq(back, plain + 100, N - 100);
    expect_code(&seat, seat.cann.aclrtMemset(second, N, 3, 64), ACL_SUCCESS);
    device_read(&seat, back, second, N);
    cr_assert_eq(back[63], 3);
    cr_assert_eq(back[64], plain[64]);
}

Test(memory, the_host_that_reads_it_faults, .signal = SIGSEGV)
{
    take("8.2.RC1");
    cr_assert_neq(*(volatile unsigned char *)device, 255);
}

Test(memory, the_host_that_writes_it_faults, .signal = SIGSEGV)
{
    take("8.2.RC1");
    *(volatile unsigned char *)(device + N - 1) = 1;
}

Test(memory, refuses_what_is_wrong)
{
    unsigned char back[N];
    take("8.2.RC1");
    void *other = device_new(&seat, NULL, 64);
    expect_code(&seat, copy(device, plain, N, ACL_MEMCPY_DEVICE_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, copy(device, plain, N, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, copy(back, plain, N, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, copy(back, device, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, copy(back, device, N, 9), ACL_ERROR_INVALID_PARAM);
    expect_code(&seat, copy(device + 1, plain, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID); /* the end */
    expect_code(&seat, copy(back, device, 0, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_INVALID_PARAM);
    expect_code(&seat, seat.cann.aclrtMemcpy(device, 8, plain, 9, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
    expect_code(&seat, copy(NULL, plain, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_INVALID_PARAM);
    expect_code(&seat, seat.cann.aclrtFree((char *)other + 8), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtFree(other), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtFree(other), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtFree(NULL), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, copy(other, plain, 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID); /* freed */
    expect_code(&seat, seat.cann.aclrtFree(pinned), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtFreeHost(device), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtMalloc(&other, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
}

Test(memory, is_limited)
{
    size_t total = 0;
    size_t left = 0;
    void *large = NULL;
    setenv("CANN_MEMORY", "64", 1);
    take("8.2.RC1");
    expect_code(&seat, seat.cann.aclrtGetMemInfo(ACL_HBM_MEM, &left, &total), ACL_SUCCESS);
    cr_assert_eq(total, 64u << 20);
    cr_assert_eq(left, total - N);
    expect_code(&seat, seat.cann.aclrtMalloc(&large, total, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    expect_code(&seat, seat.cann.aclrtMalloc(&large, left, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtFree(large), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtMalloc(&large, left, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
}

Test(memory, tells_where_it_lies)
{
    aclrtPtrAttributes attributes;
    take("8.2.RC1");
    expect_code(&seat, seat.cann.aclrtPointerGetAttributes(device + 5, &attributes), ACL_SUCCESS);
    cr_assert_eq(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
    expect_code(&seat, seat.cann.aclrtPointerGetAttributes(pinned + 5, &attributes), ACL_SUCCESS);
    cr_assert_eq(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
    expect_code(&seat, seat.cann.aclrtPointerGetAttributes(plain, &attributes), ACL_SUCCESS);
    cr_assert_eq(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
}

static void *thread_without_device(void *argument)
{
    void *memory = NULL;
    int32_t number = 0;
    (void)argument;
    expect_code(&seat, seat.cann.aclrtGetDevice(&number), ACL_ERROR_RT_CONTEXT_NULL);
    expect_code(&seat, seat.cann.aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_ERROR_RT_CONTEXT_NULL);
    expect_code(&seat, seat.cann.aclrtSetDevice(1), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_ERROR_RT_STREAM_CONTEXT);
    expect_code(&seat, copy(plain, device, 8, ACL_MEMCPY_DEVICE_TO_HOST), ACL_ERROR_RT_PARAM_INVALID); /* another's */
    expect_code(&seat, seat.cann.aclrtSetDevice(0), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_SUCCESS);
    return NULL;
}

Test(device, belongs_to_a_thread)
{
    pthread_t thread;
    take("8.2.RC1");
    cr_assert_eq(pthread_create(&thread, NULL, thread_without_device, NULL), 0);
    pthread_join(thread, NULL);
}

Test(device, must_be_started_set_and_there)
{
    char why[256];
    void *memory = NULL;
    job_install("8.2.RC1");
    setenv("ASCEND_RT_VISIBLE_DEVICES", "2,5", 1);
    process_require(cann_open(&seat.cann, why, sizeof why) == MPINPU_OK, "%s", why);
    expect_code(&seat, seat.cann.aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
    expect_code(&seat, seat.cann.aclInit(NULL), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclInit(NULL), ACL_ERROR_REPEAT_INITIALIZE);
    expect_code(&seat, seat.cann.aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
    expect_code(&seat, seat.cann.aclrtSetDevice(2), ACL_ERROR_RT_INVALID_DEVICEID);
    expect_code(&seat, seat.cann.aclrtSetDevice(1), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtResetDevice(0), ACL_ERROR_RT_INVALID_DEVICEID);
    expect_code(&seat, seat.cann.aclrtResetDevice(1), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_CONTEXT_NULL);
}

Test(copy_async, comes_later)
{
    unsigned char early[N];
    unsigned char late[N];
    setenv("CANN_DELAY", "50000", 1);
    take("8.2.RC1");
    int differed = 0;
    for (int i = 0; i < 5; i++) {
        expect_code(&seat, seat.cann.aclrtMemset(device, N, 0, N), ACL_SUCCESS);
        expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
        device_read(&seat, early, device, N);
        expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_SUCCESS);
        device_read(&seat, late, device, N);
        differed += memcmp(early, plain, N) != 0;
        cr_assert_arr_eq(late, plain, N);
    }
    cr_assert_gt(differed, 0, "a missing synchronisation was never noticed");
}

/* Two streams: with an event between them the second sees what the first wrote, without it does not. */
static int streams_differ(bool with_event)
{
    aclrtStream second = NULL;
    aclrtEvent event = NULL;
    int differed = 0;
    void *result = NULL;
    expect_code(&seat, seat.cann.aclrtCreateStream(&second), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtCreateEvent(&event), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtMallocHost(&result, N), ACL_SUCCESS);
    for (int i = 0; i < 5; i++) {
        expect_code(&seat, seat.cann.aclrtMemset(device, N, 0, N), ACL_SUCCESS);
        expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
        expect_code(&seat, seat.cann.aclrtRecordEvent(event, seat.stream), ACL_SUCCESS);
        if (with_event) {
            expect_code(&seat, seat.cann.aclrtStreamWaitEvent(second, event), ACL_SUCCESS);
        }
        expect_code(&seat, seat.cann.aclrtMemcpyAsync(result, N, device, N, ACL_MEMCPY_DEVICE_TO_HOST, second),
                    ACL_SUCCESS);
        expect_code(&seat, seat.cann.aclrtSynchronizeStream(second), ACL_SUCCESS);
        differed += memcmp(result, plain, N) != 0;
        expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_SUCCESS);
    }
    expect_code(&seat, seat.cann.aclrtDestroyEvent(event), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtDestroyStream(second), ACL_SUCCESS);
    return differed;
}

Test(copy_async, streams_are_ordered_by_events_alone)
{
    setenv("CANN_DELAY", "20000", 1);
    take("8.2.RC1");
    cr_assert_eq(streams_differ(true), 0);
    cr_assert_gt(streams_differ(false), 0);
}

Test(copy_async, refuses_unpinned_unaligned_and_host_to_host_before_8_5)
{
    void *aligned = NULL;
    take("8.2.RC1");
    cr_assert_eq(posix_memalign(&aligned, 64, N), 0);
    expect_code(&seat, copy_async(device, aligned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, copy_async(device, pinned + 4, N - 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_ADDR_UNALIGNED);
    expect_code(&seat, copy_async(device + 4, pinned, N - 4, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_ADDR_UNALIGNED);
    expect_code(&seat, copy_async(pinned, aligned, N, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_SUCCESS);
    free(aligned);
}

Test(copy_async, takes_unpinned_memory_from_8_5)
{
    unsigned char back[N];
    take("8.5.0");
    expect_code(&seat, copy_async(device + 4, plain + 3, 100, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    device_read(&seat, back, device + 4, 100); /* it is done when the call returns */
    cr_assert_arr_eq(back, plain + 3, 100);
}

Test(copy_async, to_memory_freed_before_it_fails_in_the_stream)
{
    setenv("CANN_DELAY", "20000", 1);
    take("8.2.RC1");
    expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtFree(device), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_ERROR_RT_SYS_DMA);
    const char *text = seat.cann.aclGetRecentErrMsg();
    cr_assert(text != NULL && strstr(text, "freed") != NULL, "%s", text != NULL ? text : "nothing said");
}

Test(stream, refuses_what_is_wrong)
{
    aclrtEvent event = NULL;
    aclrtEvent unsynced = NULL;
    aclrtEventRecordedStatus status;
    setenv("CANN_DELAY", "20000", 1);
    take("8.2.RC1");
    expect_code(&seat, seat.cann.aclrtCreateEvent(&event), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtCreateEventWithFlag(&unsynced, ACL_EVENT_TIME_LINE), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtStreamWaitEvent(seat.stream, event), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtQueryEventStatus(event, &status), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtSynchronizeEvent(event), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtRecordEvent(unsynced, seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtStreamWaitEvent(seat.stream, unsynced), ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtRecordEvent(event, NULL), ACL_ERROR_INVALID_PARAM);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(NULL), ACL_ERROR_INVALID_PARAM);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(event), ACL_ERROR_RT_INVALID_HANDLE);
    expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtDestroyStream(seat.stream), ACL_ERROR_RT_INTERNAL_ERROR); /* not done */
    expect_code(&seat, seat.cann.aclrtSynchronizeStreamWithTimeout(seat.stream, 0), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    expect_code(&seat, seat.cann.aclrtSynchronizeStreamWithTimeout(seat.stream, -1), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSetStreamFailureMode(seat.stream, ACL_STOP_ON_FAILURE), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSetStreamFailureMode(seat.stream, ACL_STOP_ON_FAILURE),
                ACL_ERROR_RT_PARAM_INVALID);
    expect_code(&seat, seat.cann.aclrtDestroyStream(seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtDestroyStream(seat.stream), ACL_ERROR_RT_INVALID_HANDLE);
    expect_code(&seat, seat.cann.aclrtDestroyEvent(event), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
}

Test(stream, tells_how_far_it_is)
{
    aclrtEvent event = NULL;
    aclrtEventRecordedStatus status = -1;
    aclrtStreamStatus busy = -1;
    setenv("CANN_DELAY", "20000", 1);
    take("8.2.RC1");
    expect_code(&seat, seat.cann.aclrtCreateEvent(&event), ACL_SUCCESS);
    for (int i = 0; i < 4; i++) { /* late by up to 20 ms each */
        expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    }
    expect_code(&seat, seat.cann.aclrtRecordEvent(event, seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
    cr_assert_eq(status, ACL_EVENT_RECORDED_STATUS_NOT_READY);
    expect_code(&seat, seat.cann.aclrtStreamQuery(seat.stream, &busy), ACL_SUCCESS);
    cr_assert_eq(busy, ACL_STREAM_STATUS_NOT_READY);
    expect_code(&seat, seat.cann.aclrtSynchronizeEvent(event), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtQueryEventStatus(event, &status), ACL_SUCCESS);
    cr_assert_eq(status, ACL_EVENT_RECORDED_STATUS_COMPLETE);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtStreamQuery(seat.stream, &busy), ACL_SUCCESS);
    cr_assert_eq(busy, ACL_STREAM_STATUS_COMPLETE);
}

Test(stream, an_aborted_one_is_empty_at_once)
{
    setenv("CANN_DELAY", "1000000", 1);
    take("8.2.RC1");
    for (int i = 0; i < 50; i++) {
        expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    }
    expect_code(&seat, seat.cann.aclrtStreamAbort(seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_ERROR_RT_STREAM_ABORT);
    expect_code(&seat, seat.cann.aclrtDestroyStreamForce(seat.stream), ACL_SUCCESS);
}

/* Faults on request: in the n-th call, and in a task. */
Test(fault, comes_when_asked_for)
{
    void *memory = NULL;
    job_install("8.2.RC1");
    setenv("CANN_FAULT", "aclrtMalloc:2:207001,task:2:507053", 1);
    take("8.2.RC1"); /* the first aclrtMalloc */
    expect_code(&seat, seat.cann.aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_RT_MEMORY_ALLOCATION);
    expect_code(&seat, seat.cann.aclrtMalloc(&memory, 8, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_SUCCESS);
    expect_code(&seat, copy_async(device, pinned, N, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_ERROR_RT_DEVICE_MEM_ERROR);
}
