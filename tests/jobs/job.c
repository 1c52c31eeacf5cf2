/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/jobs/job.h"

#include "tests/jobs/device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

job_t job;

enum { JOB_FAILURES_PRINTED = 10 };

void job_begin_thread(int *argc, char ***argv, int required)
{
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(argc, argv, required, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.preloaded = getenv("JOB_PRELOADED") != NULL;
    if (provided < required) {
        job_fail("MPI gives thread level %d, the test needs %d", provided, required);
    }
}

void job_begin(int *argc, char ***argv)
{
    job_begin_thread(argc, argv, MPI_THREAD_SINGLE);
}

int job_end(void)
{
    static const char *const names[JOB_KINDS] = {
        "allreduce",      "reduce_scatter",      "reduce_scatter_block",
        "iallreduce",     "ireduce_scatter",     "ireduce_scatter_block",
        "allreduce_init", "reduce_scatter_init", "reduce_scatter_block_init",
    };
    if (job.rank == 0) {
        printf("job-calls");
        for (int k = 0; k < JOB_KINDS; k++) {
            printf(" %s=%ld", names[k], job.calls[k]);
        }
        printf("\njob-engine");
        for (int k = 0; k < JOB_KINDS; k++) {
            printf(" %s=%ld", names[k], job.engine[k]);
        }
        printf("\n");
        fflush(stdout);
    }
    if (job.failures > 0) {
        fprintf(stderr, "FAIL rank %d: %ld failures\n", job.rank, job.failures);
    }
    MPI_Finalize();
    return job.failures > 0 ? 1 : 0;
}

void job_fail(const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    long nth = __atomic_add_fetch(&job.failures, 1, __ATOMIC_RELAXED);
    if (nth <= JOB_FAILURES_PRINTED) {
        fprintf(stderr, "FAIL rank %d: %s\n", job.rank, text);
    }
}

static bool engine_does(bool some, MPI_Comm comm)
{
    int size = 0;
    MPI_Comm_size(comm, &size);
    return some && size > 1;
}

void job_count(job_kind_t kind, int status, bool some, MPI_Comm comm)
{
    if (status != MPI_SUCCESS || (kind >= JOB_ALLREDUCE_INIT && engine_does(some, comm))) {
        return;
    }
    __atomic_add_fetch(&job.calls[kind], 1, __ATOMIC_RELAXED);
    if (engine_does(some, comm)) {
        __atomic_add_fetch(&job.engine[kind], 1, __ATOMIC_RELAXED);
    }
}

void job_count_start(job_kind_t kind, bool some, MPI_Comm comm)
{
    if (engine_does(some, comm)) {
        __atomic_add_fetch(&job.calls[kind], 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&job.engine[kind], 1, __ATOMIC_RELAXED);
    }
}

static void call_begin(device_call_t *call, const void *send, void *recv, size_t sent, size_t received,
                       MPI_Datatype type)
{
    *call = (device_call_t){.send = send, .recv = recv};
    if (device_begin != NULL) {
        device_begin(call, send, recv, sent, received, type);
    }
}

static void call_end(device_call_t *call)
{
    if (device_end != NULL) {
        device_end(call);
    }
}

int job_allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    device_call_t call;
    call_begin(&call, send, recv, (size_t)count, (size_t)count, type);
    int status = MPI_Allreduce(call.send, call.recv, count, type, op, comm);
    call_end(&call);
    job_count(JOB_ALLREDUCE, status, count > 0, comm);
    return status;
}

static size_t counts_total(const int *counts, MPI_Comm comm)
{
    int size = 0;
    size_t total = 0;

    MPI_Comm_size(comm, &size);
    for (int r = 0; r < size; r++) {
        total += (size_t)counts[r];
    }
    return total;
}

static bool counts_some(const int *counts, MPI_Comm comm)
{
    return counts_total(counts, comm) > 0;
}

int job_reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    device_call_t call;
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    call_begin(&call, send, recv, counts_total(counts, comm), (size_t)counts[rank], type);
    int status = MPI_Reduce_scatter(call.send, call.recv, counts, type, op, comm);
    call_end(&call);
    job_count(JOB_REDUCE_SCATTER, status, counts_some(counts, comm), comm);
    return status;
}

int job_reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    device_call_t call;
    int size = 0;
    MPI_Comm_size(comm, &size);
    call_begin(&call, send, recv, (size_t)count * (size_t)size, (size_t)count, type);
    int status = MPI_Reduce_scatter_block(call.send, call.recv, count, type, op, comm);
    call_end(&call);
    job_count(JOB_REDUCE_SCATTER_BLOCK, status, count > 0, comm);
    return status;
}

int job_iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request)
{
    int status = MPI_Iallreduce(send, recv, count, type, op, comm, request);
    job_count(JOB_IALLREDUCE, status, count > 0, comm);
    return status;
}

int job_ireduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Request *request)
{
    int status = MPI_Ireduce_scatter(send, recv, counts, type, op, comm, request);
    job_count(JOB_IREDUCE_SCATTER, status, counts_some(counts, comm), comm);
    return status;
}

int job_ireduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request)
{
    int status = MPI_Ireduce_scatter_block(send, recv, count, type, op, comm, request);
    job_count(JOB_IREDUCE_SCATTER_BLOCK, status, count > 0, comm);
    return status;
}

/* The finaliser of splitmix64 (public domain, Sebastiano Vigna). */
uint64_t job_mix(uint64_t a, uint64_t b)
{
    uint64_t z = (a + 1) * UINT64_C(0x9e3779b97f4a7c15) + b * UINT64_C(0xd1342543de82ef95);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t job_digest(uint64_t seed, const void *bytes, size_t length)
{
    uint64_t digest = seed ^ UINT64_C(0xcbf29ce484222325);
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < length; i++) {
        digest = (digest ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return digest;
}
