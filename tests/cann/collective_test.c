/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-in's collectives: right results by several processes, for each type and op. */
#include "tests/cann/job.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

typedef struct type_case {
    HcclDataType type;
    size_t bytes;
    int fraction; /* of a 16-bit float; 0: not one */
    bool single;
    bool prod; /* on the chip of the test */
} type_case_t;

static const type_case_t types[] = {
    {HCCL_DATA_TYPE_INT8, 1, 0, false, true},   {HCCL_DATA_TYPE_INT16, 2, 0, false, false},
    {HCCL_DATA_TYPE_INT32, 4, 0, false, true},  {HCCL_DATA_TYPE_INT64, 8, 0, false, true},
    {HCCL_DATA_TYPE_FP32, 4, 0, true, true},    {HCCL_DATA_TYPE_FP16, 2, 10, false, true},
    {HCCL_DATA_TYPE_BFP16, 2, 7, false, false},
};

/* A small whole number in the bits of a type: exact in all of them. */
static void value_write(const type_case_t *type, void *to, size_t i, int value)
{
    char *place = (char *)to + i * type->bytes;
    if (type->fraction > 0) {
        int bias = type->fraction == 10 ? 15 : 127;
        unsigned size = (unsigned)abs(value);
        int exponent = 0;
        while (size >> (exponent + 1) != 0) {
            exponent++;
        }
        unsigned bits = size == 0 ? 0
                                  : ((unsigned)(exponent + bias) << type->fraction) +
                                        ((size - (1u << exponent)) << type->fraction >> exponent);
        uint16_t whole = (uint16_t)(bits | (value < 0 ? 0x8000u : 0));
        memcpy(place, &whole, sizeof whole);
    } else if (type->single) {
        float whole = (float)value;
        memcpy(place, &whole, sizeof whole);
    } else { /* two's complement, the low bytes first */
        int64_t whole = value;
        memcpy(place, &whole, type->bytes);
    }
}

/* From -3 to 3, and for products 1, 2 or -1, the 2 in few ranks. */
static int value_of(HcclReduceOp op, int rank, size_t i)
{
    int mixed = (int)((i * 5 + (size_t)rank * 3 + i / 1000) % 7) - 3;
    return op != HCCL_REDUCE_PROD ? mixed : (size_t)rank == i % 3 ? 2 : mixed < 0 ? -1 : 1;
}

static int value_reduced(HcclReduceOp op, int size, size_t i)
{
    int result = value_of(op, 0, i);
    for (int r = 1; r < size; r++) {
        int value = value_of(op, r, i);
        result = op == HCCL_REDUCE_SUM    ? result + value
                 : op == HCCL_REDUCE_PROD ? result * value
                 : op == HCCL_REDUCE_MAX  ? (value > result ? value : result)
                                          : (value < result ? value : result);
    }
    return result;
}

static void *input_make(seat_t *seat, const type_case_t *type, HcclReduceOp op, size_t count)
{
    char *bytes = calloc(count, type->bytes);
    process_require(bytes != NULL, "no memory");
    for (size_t i = 0; i < count; i++) {
        value_write(type, bytes, i, value_of(op, seat->rank, i));
    }
    void *device = device_new(seat, bytes, count * type->bytes);
    free(bytes);
    return device;
}

/* `count` results from element `first` of the reduced vector on are at `device`. */
static void result_check(seat_t *seat, const void *device, const type_case_t *type, HcclReduceOp op, size_t first,
                         size_t count)
{
    char *got = calloc(count + 1, type->bytes);
    char expected[8];
    process_require(got != NULL, "no memory");
    device_read(seat, got, device, count * type->bytes);
    for (size_t i = 0; i < count; i++) {
        value_write(type, expected, 0, value_reduced(op, seat->size, first + i));
        process_require(memcmp(got + i * type->bytes, expected, type->bytes) == 0,
                        "rank %d of %d, type %d, op %d: element %zu of %zu", seat->rank, seat->size, type->type, op, i,
                        count);
    }
    free(got);
}

static void synchronize(seat_t *seat)
{
    expect_code(seat, seat->cann.aclrtSynchronizeStream(seat->stream), ACL_SUCCESS);
}

static void allreduce(seat_t *seat, HcclComm comm, const type_case_t *type, HcclReduceOp op, size_t count,
                      bool in_place)
{
    void *send = input_make(seat, type, op, count);
    void *recv = in_place ? send : device_new(seat, NULL, count * type->bytes);
    expect_code(seat, seat->cann.HcclAllReduce(send, recv, count, type->type, op, comm, seat->stream), HCCL_SUCCESS);
    synchronize(seat);
    result_check(seat, recv, type, op, 0, count);
    expect_code(seat, seat->cann.aclrtFree(send), ACL_SUCCESS);
    if (!in_place) {
        expect_code(seat, seat->cann.aclrtFree(recv), ACL_SUCCESS);
    }
}

static void reduce_scatter(seat_t *seat, HcclComm comm, const type_case_t *type, HcclReduceOp op, size_t count)
{
    void *send = input_make(seat, type, op, count * (size_t)seat->size);
    void *recv = device_new(seat, NULL, count * type->bytes);
    expect_code(seat, seat->cann.HcclReduceScatter(send, recv, count, type->type, op, comm, seat->stream),
                HCCL_SUCCESS);
    synchronize(seat);
    result_check(seat, recv, type, op, count * (size_t)seat->rank, count);
    expect_code(seat, seat->cann.aclrtFree(send), ACL_SUCCESS);
    expect_code(seat, seat->cann.aclrtFree(recv), ACL_SUCCESS);
}

static void reduce_scatter_v(seat_t *seat, HcclComm comm, const type_case_t *type, HcclReduceOp op)
{
    uint64_t counts[PROCESSES_MAX];
    uint64_t places[PROCESSES_MAX];
    size_t total = 0;
    for (int r = 0; r < seat->size; r++) {
        counts[r] = r == 1 ? 0 : 1000u * (unsigned)r + 7;
        places[r] = total;
        total += counts[r];
    }
    void *send = input_make(seat, type, op, total);
    void *recv = device_new(seat, NULL, (counts[seat->rank] + 1) * type->bytes);
    expect_code(seat,
                seat->cann.HcclReduceScatterV(send, counts, places, recv, counts[seat->rank], type->type, op, comm,
                                              seat->stream),
                HCCL_SUCCESS);
    synchronize(seat);
    if (counts[seat->rank] > 0) {
        result_check(seat, recv, type, op, places[seat->rank], counts[seat->rank]);
    }
    expect_code(seat, seat->cann.aclrtFree(send), ACL_SUCCESS);
    expect_code(seat, seat->cann.aclrtFree(recv), ACL_SUCCESS);
}

static void body_values(process_t *self)
{
    seat_t seat;
    HcclComm comm = NULL;
    uint32_t number = 99;
    seat_take(&seat, self->rank);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.HcclGetRankSize(comm, &number), HCCL_SUCCESS);
    process_require((int)number == self->size, "size %u", number);
    expect_code(&seat, seat.cann.HcclGetRankId(comm, &number), HCCL_SUCCESS);
    process_require((int)number == self->rank, "rank %u", number);
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (HcclReduceOp op = HCCL_REDUCE_SUM; op <= HCCL_REDUCE_MIN; op++) {
            if (op == HCCL_REDUCE_PROD && !types[t].prod) {
                continue;
            }
            allreduce(&seat, comm, &types[t], op, 1, false);
            allreduce(&seat, comm, &types[t], op, 1237, true);
            reduce_scatter(&seat, comm, &types[t], op, 411);
            if (op != HCCL_REDUCE_PROD && types[t].type != HCCL_DATA_TYPE_INT64) {
                reduce_scatter_v(&seat, comm, &types[t], op);
            }
        }
    }
    expect_code(&seat, seat.cann.HcclCommDestroy(comm), HCCL_SUCCESS);
    seat_leave(&seat, self->rank);
}

static void in_processes(int size, process_body_t body, void *argument)
{
    job_install("8.2.RC1");
    cr_assert_eq(processes_run(size, 60, 0, body, argument), 0);
}

Test(collective, values_1)
{
    in_processes(1, body_values, NULL);
}

Test(collective, values_2)
{
    in_processes(2, body_values, NULL);
}

Test(collective, values_3)
{
    in_processes(3, body_values, NULL);
}

Test(collective, values_8)
{
    setenv("CANN_DELAY", "0", 1);
    in_processes(8, body_values, NULL);
}

/* Longer than what passes in one piece, and in a stream without a wait between. */
static void body_long(process_t *self)
{
    const type_case_t *type = &types[4];
    size_t count = 700001;
    seat_t seat;
    HcclComm comm = NULL;
    seat_take(&seat, self->rank);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    allreduce(&seat, comm, type, HCCL_REDUCE_SUM, count, false);
    reduce_scatter(&seat, comm, type, HCCL_REDUCE_SUM, count);
    void *input = input_make(&seat, type, HCCL_REDUCE_SUM, count);
    void *second = device_new(&seat, NULL, count * type->bytes);
    void *third = device_new(&seat, NULL, count * type->bytes);
    expect_code(&seat, seat.cann.HcclAllReduce(input, second, count, type->type, HCCL_REDUCE_SUM, comm, seat.stream),
                HCCL_SUCCESS);
    expect_code(&seat, seat.cann.HcclAllReduce(second, third, count, type->type, HCCL_REDUCE_MAX, comm, seat.stream),
                HCCL_SUCCESS);
    synchronize(&seat);
    result_check(&seat, third, type, HCCL_REDUCE_SUM, 0, count);
}

Test(collective, long_vectors)
{
    in_processes(3, body_long, NULL);
}

static void body_moves(process_t *self)
{
    enum { COUNT = 300000 };
    seat_t seat;
    HcclComm comm = NULL;
    int *mine = malloc(COUNT * sizeof *mine);
    int *all = malloc(COUNT * sizeof *all * (size_t)self->size);
    process_require(mine != NULL && all != NULL, "no memory");
    for (int i = 0; i < COUNT; i++) {
        mine[i] = self->rank * COUNT + i;
    }
    seat_take(&seat, self->rank);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    void *send = device_new(&seat, mine, COUNT * sizeof *mine);
    void *recv = device_new(&seat, NULL, COUNT * sizeof *mine * (size_t)self->size);
    expect_code(&seat, seat.cann.HcclAllGather(send, recv, COUNT, HCCL_DATA_TYPE_INT32, comm, seat.stream),
                HCCL_SUCCESS);
    synchronize(&seat);
    device_read(&seat, all, recv, COUNT * sizeof *mine * (size_t)self->size);
    for (int i = 0; i < COUNT * self->size; i++) {
        process_require(all[i] == i, "allgather: element %d is %d", i, all[i]);
    }
    expect_code(&seat, seat.cann.HcclBroadcast(send, COUNT, HCCL_DATA_TYPE_INT32, 2, comm, seat.stream), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.HcclBarrier(comm, seat.stream), HCCL_SUCCESS);
    synchronize(&seat);
    device_read(&seat, all, send, COUNT * sizeof *mine);
    for (int i = 0; i < COUNT; i++) {
        process_require(all[i] == 2 * COUNT + i, "broadcast: element %d is %d", i, all[i]);
    }
}

Test(collective, allgather_broadcast_barrier)
{
    in_processes(4, body_moves, NULL);
}

/* 8-bit sums past the end of the type wrap, or saturate where the device is set so. */
static void body_overflow(process_t *self)
{
    seat_t seat;
    HcclComm comm = NULL;
    signed char value = 100;
    seat_take(&seat, self->rank);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    void *memory = device_new(&seat, &value, 1);
    expect_code(&seat,
                seat.cann.HcclAllReduce(memory, memory, 1, HCCL_DATA_TYPE_INT8, HCCL_REDUCE_SUM, comm, seat.stream),
                HCCL_SUCCESS);
    synchronize(&seat);
    device_read(&seat, &value, memory, 1);
    process_require(value == *(const int *)self->argument, "100 + 100 gives %d", value);
}

Test(collective, integers_wrap)
{
    int expected = -56;
    in_processes(2, body_overflow, &expected);
}

Test(collective, integers_saturate)
{
    int expected = 127;
    setenv("CANN_INTEGERS", "saturate", 1);
    in_processes(2, body_overflow, &expected);
}

/* 1e8, 1, -1e8 in another order is another number: it differs between calls, not between ranks, and not at all where
   the sums are deterministic. */
static void body_orders(process_t *self)
{
    static const float inputs[] = {1e8f, 1, -1e8f};
    bool *differ = self->argument;
    float first = 0;
    int different = 0;
    seat_t seat;
    HcclComm comm = NULL;
    seat_take(&seat, self->rank);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    for (int i = 0; i < 60; i++) {
        float all[PROCESSES_MAX];
        float mine = inputs[self->rank];
        void *memory = device_new(&seat, &mine, sizeof mine);
        expect_code(&seat,
                    seat.cann.HcclAllReduce(memory, memory, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, seat.stream),
                    HCCL_SUCCESS);
        synchronize(&seat);
        device_read(&seat, &mine, memory, sizeof mine);
        process_allgather(self, &mine, all, sizeof mine);
        process_require(all[0] == all[1] && all[1] == all[2], "the ranks differ");
        first = i == 0 ? mine : first;
        different += mine != first;
        expect_code(&seat, seat.cann.aclrtFree(memory), ACL_SUCCESS);
    }
    process_require((different > 0) == *differ, "%d of 60 differ", different);
}

Test(collective, sums_are_in_any_order)
{
    bool differ = true;
    in_processes(3, body_orders, &differ);
}

Test(collective, sums_are_in_one_order_if_asked)
{
    bool differ = false;
    setenv("HCCL_DETERMINISTIC", "true", 1);
    in_processes(3, body_orders, &differ);
}

/* Timing mode: no sooner than the published speeds say, whatever this machine can do. */
static void body_timing(process_t *self)
{
    enum { BYTES = 1 << 20 };
    seat_t seat;
    HcclComm comm = NULL;
    aclrtEvent event[3] = {NULL, NULL, NULL};
    void *pinned = NULL;
    float copied = 0;
    float reduced = 0;
    seat_take(&seat, self->rank);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtMallocHost(&pinned, BYTES), ACL_SUCCESS);
    void *memory = device_new(&seat, NULL, BYTES);
    for (int i = 0; i < 3; i++) {
        expect_code(&seat, seat.cann.aclrtCreateEvent(&event[i]), ACL_SUCCESS);
    }
    expect_code(&seat, seat.cann.HcclBarrier(comm, seat.stream), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtRecordEvent(event[0], seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtMemcpyAsync(memory, BYTES, pinned, BYTES, ACL_MEMCPY_HOST_TO_DEVICE, seat.stream),
                ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtRecordEvent(event[1], seat.stream), ACL_SUCCESS);
    expect_code(
        &seat,
        seat.cann.HcclAllReduce(memory, memory, BYTES / 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, seat.stream),
        HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtRecordEvent(event[2], seat.stream), ACL_SUCCESS);
    synchronize(&seat);
    expect_code(&seat, seat.cann.aclrtEventElapsedTime(&copied, event[0], event[1]), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtEventElapsedTime(&reduced, event[1], event[2]), ACL_SUCCESS);
    /* 50 times slower than 25 GB/s, and than two halves of 56 GB/s and 20 us each, ms. */
    process_require(copied >= 50e3F * BYTES / 25e9F, "the copy took %f ms", (double)copied);
    process_require(reduced >= 50e3F * 2 * (20e-6F + BYTES / 2.0F / 56e9F), "the allreduce took %f ms",
                    (double)reduced);
}

Test(collective, takes_its_time)
{
    setenv("CANN_TIMING", "50", 1);
    in_processes(2, body_timing, NULL);
}
