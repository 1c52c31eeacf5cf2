/* SPDX-License-Identifier: BSD-3-Clause */
/* What the engines do not do, and nonblocking calls, with buffers on NPUs (JOB_PLACES): user ops, derived datatypes,
   one rank, many outstanding. Each result is worked out here. Usage: buffers [blocking | direct] */
#include "tests/jobs/device.h"
#include "tests/jobs/job.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000, OUTSTANDING = 12, GAP = 99 };

static void user_sum(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

/* Of pairs that are three ints apart; `count` of them. */
static void user_sum_pairs(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < 3 * *count; i++) {
        if (i % 3 != 2) {
            ((int *)inout)[i] += ((int *)in)[i];
        }
    }
}

static int value(int rank, int i)
{
    return rank * 7 + i % 113;
}

static int sum_of(int i)
{
    return job.size * (job.size - 1) / 2 * 7 + job.size * (i % 113);
}

static void test_user_op(bool in_place)
{
    int send[COUNT];
    int recv[COUNT];
    MPI_Op op;
    device_call_t call;

    MPI_Op_create(user_sum, 1, &op);
    for (int i = 0; i < COUNT; i++) {
        send[i] = recv[i] = value(job.rank, i);
    }
    device_begin(&call, in_place ? MPI_IN_PLACE : send, recv, COUNT, COUNT, MPI_INT);
    MPI_Allreduce(call.send, call.recv, COUNT, MPI_INT, op, MPI_COMM_WORLD);
    device_end(&call);
    for (int i = 0; i < COUNT; i++) {
        JOB_CHECK(recv[i] == sum_of(i), "user op [%d]: %d, not %d", i, recv[i], sum_of(i));
    }
    MPI_Op_free(&op);
}

static void test_derived(void)
{
    int send[3 * COUNT];
    int recv[3 * COUNT];
    MPI_Datatype pair;
    MPI_Datatype spaced;
    MPI_Op op;
    device_call_t call;

    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_create_resized(pair, 0, 3 * sizeof(int), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op_create(user_sum_pairs, 1, &op);
    for (int i = 0; i < 3 * COUNT; i++) {
        send[i] = value(job.rank, i);
        recv[i] = GAP;
    }
    device_begin(&call, send, recv, COUNT, COUNT, spaced);
    MPI_Allreduce(call.send, call.recv, COUNT, spaced, op, MPI_COMM_WORLD);
    device_end(&call);
    for (int i = 0; i < 3 * COUNT; i++) {
        const int expected = i % 3 == 2 ? GAP : sum_of(i);
        JOB_CHECK(recv[i] == expected, "derived [%d]: %d, not %d", i, recv[i], expected);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Type_free(&spaced);
}

static void test_one_rank(void)
{
    double send[3] = {1.5, 2.5, 3.5};
    double recv[3] = {0};
    device_call_t call;

    device_begin(&call, send, recv, 3, 3, MPI_DOUBLE);
    MPI_Allreduce(call.send, call.recv, 3, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    device_end(&call);
    JOB_CHECK(recv[0] == 1.5 && recv[1] == 2.5 && recv[2] == 3.5, "one rank: %g %g %g", recv[0], recv[1], recv[2]);
}

static void test_nonblocking(void)
{
    static const int counts[OUTSTANDING] = {1, 5, 100, 1000, 30000, 200000, 1, 64, 4096, 3, 99999, 17};
    int *send[OUTSTANDING];
    int *recv[OUTSTANDING];
    device_call_t calls[OUTSTANDING];
    MPI_Request requests[OUTSTANDING];

    for (int m = 0; m < OUTSTANDING; m++) {
        const size_t count = (size_t)counts[m];
        send[m] = malloc(count * sizeof(int));
        recv[m] = malloc(count * sizeof(int));
        for (int i = 0; i < counts[m]; i++) {
            send[m][i] = recv[m][i] = value(job.rank, i);
        }
        device_begin(&calls[m], m % 3 == 0 ? MPI_IN_PLACE : send[m], recv[m], count, count, MPI_INT);
        MPI_Iallreduce(calls[m].send, calls[m].recv, counts[m], MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[m]);
    }
    MPI_Waitall(OUTSTANDING, requests, MPI_STATUSES_IGNORE);
    for (int m = 0; m < OUTSTANDING; m++) {
        device_end(&calls[m]);
        for (int i = 0; i < counts[m]; i++) {
            JOB_CHECK(recv[m][i] == sum_of(i), "nonblocking %d [%d]: %d, not %d", m, i, recv[m][i], sum_of(i));
        }
        free(send[m]);
        free(recv[m]);
    }
}

/* What HCCL can do on the buffers as they are. */
static void test_direct(void)
{
    enum { CALLS = 30 };

    for (int c = 0; c < CALLS; c++) {
        const size_t count = 1000 + (size_t)c * 10000;
        const size_t block = count / (size_t)job.size;
        const size_t whole = c % 3 == 2 ? block * (size_t)job.size : count;
        float *send = malloc(whole * sizeof *send);
        float *recv = malloc(whole * sizeof *recv);
        device_call_t call;
        for (size_t i = 0; i < whole; i++) {
            send[i] = recv[i] = (float)(value(job.rank, (int)i) + c);
        }
        device_begin(&call, c % 3 == 1 ? MPI_IN_PLACE : send, recv, whole, c % 3 == 2 ? block : whole, MPI_FLOAT);
        if (c % 3 == 2) {
            MPI_Reduce_scatter_block(call.send, call.recv, (int)block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        } else {
            MPI_Allreduce(call.send, call.recv, (int)whole, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        }
        device_end(&call);
        const size_t first = c % 3 == 2 ? block * (size_t)job.rank : 0;
        for (size_t i = 0; i < (c % 3 == 2 ? block : whole); i++) {
            const float expected = (float)(sum_of((int)(first + i)) + job.size * c);
            JOB_CHECK(recv[i] == expected, "direct %d [%zu]: %g, not %g", c, i, recv[i], expected);
        }
        free(send);
        free(recv);
    }
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    if (argc > 1 && strcmp(argv[1], "direct") == 0) {
        test_direct();
        return job_end();
    }
    if (argc == 1) {
        test_nonblocking(); /* first on its communicator */
    }
    test_user_op(false);
    test_user_op(true);
    test_derived();
    test_one_rank();
    if (argc == 1) {
        test_nonblocking();
    }
    return job_end();
}
