/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong between ranks on the stand-in: late and lost ones, other orders, missing synchronisation; and the
   account of what is left. */
#include "tests/cann/job.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static HcclResult allreduce(seat_t *seat, void *memory, HcclComm comm, aclrtStream stream)
{
    return seat->cann.HcclAllReduce(memory, memory, 16, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream);
}

static void late(double seconds)
{
    struct timespec time = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static void synchronize(seat_t *seat, aclrtStream stream, aclError expected, const char *words)
{
    aclError code = seat->cann.aclrtSynchronizeStream(stream);
    const char *text = seat->cann.aclGetRecentErrMsg();
    process_require(code == expected && (words == NULL || (text != NULL && strstr(text, words) != NULL)),
                    "rank %d: synchronising gives %d, not %d: %s", seat->rank, code, expected,
                    text != NULL ? text : "");
}

/* A communicator and 64 bytes, the links made. */
static void *ready(seat_t *seat, process_t *self, HcclComm *comm)
{
    seat_take(seat, self->rank);
    expect_code(seat, job_communicator(seat, self, comm), HCCL_SUCCESS);
    void *memory = device_new(seat, NULL, 64);
    expect_code(seat, allreduce(seat, memory, *comm, seat->stream), HCCL_SUCCESS);
    synchronize(seat, seat->stream, ACL_SUCCESS, NULL);
    return memory;
}

static void run(int size, process_body_t body)
{
    job_install("8.2.RC1");
    setenv("CANN_HASTE", "300", 1);        /* 120 s become 0.4 s */
    setenv("HCCL_EXEC_TIMEOUT", "150", 1); /* 0.5 s */
    cr_assert_eq(processes_run(size, 30, 0, body, NULL), 0);
}

static void body_late_to_join(process_t *self)
{
    HcclRootInfo all[3];
    HcclRootInfo mine;
    HcclComm comm = NULL;
    seat_t seat;
    seat_take(&seat, self->rank);
    memset(&mine, 0, sizeof mine);
    if (self->rank == 0) {
        expect_code(&seat, seat.cann.HcclGetRootInfo(&mine), HCCL_SUCCESS);
    }
    process_allgather(self, &mine, all, sizeof mine);
    if (self->rank == 2) {
        late(1.5);
    }
    expect_code(&seat, seat.cann.HcclCommInitRootInfo(3, &all[0], (uint32_t)self->rank, &comm), HCCL_E_TIMEOUT);
}

Test(failure, who_joins_late_makes_all_time_out)
{
    run(3, body_late_to_join);
}

static void body_late_to_link(process_t *self)
{
    HcclComm comm = NULL;
    seat_t seat;
    seat_take(&seat, self->rank);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    void *memory = device_new(&seat, NULL, 64);
    if (self->rank == 1) {
        late(1.5);
        return;
    }
    expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_E_TIMEOUT);
    expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_E_INTERNAL); /* it is of no use any more */
}

Test(failure, the_first_collective_waits_for_all)
{
    run(2, body_late_to_link);
}

static void body_lost(process_t *self)
{
    HcclComm comm = NULL;
    seat_t seat;
    void *memory = ready(&seat, self, &comm);
    if (self->rank == 1) {
        raise(SIGKILL);
    }
    expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStreamWithTimeout(seat.stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    synchronize(&seat, seat.stream, ACL_ERROR_RT_FFTS_PLUS_TIMEOUT, "EI0002");
}

Test(failure, a_lost_rank_shows_after_the_time_out)
{
    job_install("8.2.RC1");
    setenv("CANN_HASTE", "300", 1);
    setenv("HCCL_EXEC_TIMEOUT", "150", 1);
    cr_assert_eq(processes_run(2, 30, 1u << 1, body_lost, NULL), 0);
}

static void body_other(process_t *self)
{
    HcclComm comm = NULL;
    seat_t seat;
    void *memory = ready(&seat, self, &comm);
    expect_code(&seat,
                seat.cann.HcclAllReduce(memory, memory, self->rank == 0 ? 16 : 8, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM,
                                        comm, seat.stream),
                HCCL_SUCCESS);
    synchronize(&seat, seat.stream, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, "EI0005");
}

Test(failure, ranks_that_mean_different_counts)
{
    run(2, body_other);
}

/* Two communicators in opposite orders, which MPI allows: on a device it is a deadlock. */
static void body_orders(process_t *self)
{
    HcclComm first = NULL;
    HcclComm second = NULL;
    aclrtStream other = NULL;
    seat_t seat;
    void *memory = ready(&seat, self, &first);
    expect_code(&seat, seat.cann.aclrtCreateStream(&other), ACL_SUCCESS);
    expect_code(&seat, job_communicator(&seat, self, &second), HCCL_SUCCESS);
    void *more = device_new(&seat, NULL, 64);
    expect_code(&seat, allreduce(&seat, more, second, other), HCCL_SUCCESS);
    synchronize(&seat, other, ACL_SUCCESS, NULL);
    for (int i = 0; i < 2; i++) {
        bool the_first = (i == 0) == (self->rank == 0);
        expect_code(
            &seat,
            allreduce(&seat, the_first ? memory : more, the_first ? first : second, the_first ? seat.stream : other),
            HCCL_SUCCESS);
    }
    /* When one has timed out, the other may find its partner yet. */
    aclError codes[] = {seat.cann.aclrtSynchronizeStream(seat.stream), seat.cann.aclrtSynchronizeStream(other)};
    process_require(codes[0] == ACL_ERROR_RT_FFTS_PLUS_TIMEOUT || codes[1] == ACL_ERROR_RT_FFTS_PLUS_TIMEOUT,
                    "rank %d: %d and %d", self->rank, codes[0], codes[1]);
}

Test(failure, opposite_orders_do_not_end)
{
    run(2, body_orders);
}

/* Two collectives of one communicator on two streams: right with an event between them, an error without. */
static void body_two_streams(process_t *self)
{
    HcclComm comm = NULL;
    aclrtStream other = NULL;
    aclrtEvent event = NULL;
    seat_t seat;
    void *memory = ready(&seat, self, &comm);
    void *more = device_new(&seat, NULL, 64);
    expect_code(&seat, seat.cann.aclrtCreateStream(&other), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtCreateEvent(&event), ACL_SUCCESS);
    expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtRecordEvent(event, seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtStreamWaitEvent(other, event), ACL_SUCCESS);
    expect_code(&seat, allreduce(&seat, more, comm, other), HCCL_SUCCESS);
    synchronize(&seat, other, ACL_SUCCESS, NULL);
    synchronize(&seat, seat.stream, ACL_SUCCESS, NULL);
    /* The first stream is held up by a long queue, so that the other comes first. */
    void *pinned = NULL;
    expect_code(&seat, seat.cann.aclrtMallocHost(&pinned, 64), ACL_SUCCESS);
    for (int i = 0; i < 20; i++) {
        expect_code(&seat, seat.cann.aclrtMemcpyAsync(pinned, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST, seat.stream),
                    ACL_SUCCESS);
    }
    expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_SUCCESS);
    expect_code(&seat, allreduce(&seat, more, comm, other), HCCL_SUCCESS);
    synchronize(&seat, other, ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, "EI0002");
}

Test(failure, two_streams_need_an_event)
{
    setenv("CANN_DELAY", "2000", 1);
    run(2, body_two_streams);
}

static void body_destroyed(process_t *self)
{
    HcclComm comm = NULL;
    seat_t seat;
    void *memory = ready(&seat, self, &comm);
    if (self->rank == 0) {
        expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_SUCCESS);
        expect_code(&seat, seat.cann.HcclCommDestroy(comm), HCCL_SUCCESS);
        synchronize(&seat, seat.stream, ACL_ERROR_RT_SYS_DMA, "EI0012");
    }
    process_barrier(self);
}

Test(failure, a_communicator_destroyed_too_early)
{
    run(2, body_destroyed);
}

static void body_freed(process_t *self)
{
    HcclComm comm = NULL;
    seat_t seat;
    void *memory = ready(&seat, self, &comm);
    expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtFree(memory), ACL_SUCCESS);
    synchronize(&seat, seat.stream, ACL_ERROR_RT_SYS_DMA, "EI0012");
}

Test(failure, memory_freed_too_early)
{
    setenv("CANN_DELAY", "100000", 1);
    run(1, body_freed);
}

/* --- threads --- */

static seat_t thread_seat;
static HcclComm thread_comm;

static void *thread_main(void *argument)
{
    expect_code(&thread_seat, thread_seat.cann.aclrtSetDevice(0), ACL_SUCCESS);
    /* The other thread is in HCCL for as long as it waits for a rank that does not come. */
    expect_code(&thread_seat, allreduce(&thread_seat, argument, thread_comm, thread_seat.stream), HCCL_E_INTERNAL);
    return NULL;
}

static void *thread_join(void *argument)
{
    HcclRootInfo info;
    HcclComm comm = NULL;
    (void)argument;
    expect_code(&thread_seat, thread_seat.cann.aclrtSetDevice(0), ACL_SUCCESS);
    expect_code(&thread_seat, thread_seat.cann.HcclGetRootInfo(&info), HCCL_SUCCESS);
    expect_code(&thread_seat, thread_seat.cann.HcclCommInitRootInfo(2, &info, 0, &comm), HCCL_E_TIMEOUT);
    return NULL;
}

static void body_threads(process_t *self)
{
    pthread_t joiner;
    pthread_t caller;
    void *memory = ready(&thread_seat, self, &thread_comm);
    process_require(pthread_create(&joiner, NULL, thread_join, NULL) == 0, "no thread");
    late(0.1);
    process_require(pthread_create(&caller, NULL, thread_main, memory) == 0, "no thread");
    pthread_join(caller, NULL);
    pthread_join(joiner, NULL);
}

Test(failure, two_threads_in_hccl_at_once)
{
    run(1, body_threads);
}

/* --- faults and the account --- */

static void body_fault(process_t *self)
{
    HcclComm comm = NULL;
    HcclResult found = HCCL_SUCCESS;
    seat_t seat;
    char rank[8];
    snprintf(rank, sizeof rank, "%d", self->rank);
    setenv("CANN_RANK", rank, 1);
    setenv("CANN_FAULT", "HcclAllReduce.task:2:507056:1,HcclGetCommAsyncError.value:1:21,HcclAllReduce:3:4:0", 1);
    void *memory = ready(&seat, self, &comm);
    expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_SUCCESS);
    synchronize(&seat, seat.stream, self->rank == 1 ? ACL_ERROR_RT_LINK_ERROR : ACL_ERROR_RT_FFTS_PLUS_TIMEOUT, "E");
    expect_code(&seat, seat.cann.HcclGetCommAsyncError(comm, &found), HCCL_SUCCESS);
    process_require(found == HCCL_E_REMOTE, "%d", found);
    if (self->rank == 0) {
        expect_code(&seat, allreduce(&seat, memory, comm, seat.stream), HCCL_E_INTERNAL);
    }
}

Test(failure, faults_on_request)
{
    run(2, body_fault);
}

static void body_clean(process_t *self)
{
    HcclComm comm = NULL;
    seat_t seat;
    void *memory = ready(&seat, self, &comm);
    if (self->rank == 1) { /* leaves all but the communicator */
        void *pinned = NULL;
        aclrtEvent event = NULL;
        expect_code(&seat, seat.cann.aclrtMallocHost(&pinned, 64), ACL_SUCCESS);
        expect_code(&seat, seat.cann.aclrtCreateEvent(&event), ACL_SUCCESS);
        expect_code(&seat, seat.cann.aclrtFree(NULL), ACL_ERROR_RT_PARAM_INVALID);
        expect_code(&seat, seat.cann.HcclCommDestroy(comm), HCCL_SUCCESS);
        return;
    }
    expect_code(&seat, seat.cann.aclrtFree(memory), ACL_SUCCESS);
    expect_code(&seat, seat.cann.HcclCommDestroy(comm), HCCL_SUCCESS);
    seat_leave(&seat, self->rank);
}

Test(failure, what_is_left_is_counted)
{
    char path[] = "/tmp/mpinpu-leaks.XXXXXX";
    char text[8192] = "";
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    setenv("CANN_LEAKS", path, 1);
    run(2, body_clean);
    cr_assert_gt(read(fd, text, sizeof text - 1), 0);
    close(fd);
    unlink(path);
    cr_expect(strstr(text, ": device_bytes=0 device_memory=0 host_memory=0 streams=0 events=0 communicators=0 "
                           "devices=0 refused=0; ") != NULL,
              "%s", text);
    cr_expect(strstr(text, ": device_bytes=64 device_memory=1 host_memory=1 streams=1 events=1 communicators=0 "
                           "devices=1 refused=1; ") != NULL,
              "%s", text);
    cr_expect(strstr(text, " HcclAllReduce=1 ") != NULL && strstr(text, " HcclAllReduce.task=1") != NULL, "%s", text);
}
