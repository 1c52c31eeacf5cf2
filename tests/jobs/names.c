/* SPDX-License-Identifier: BSD-3-Clause */
/* Each intercepted function by its MPI_ and its PMPI_ name, once with a vector and once in place; rank 0 says how often
   it called each. Functions that the loaded MPI may lack are called where the program finds them. The sums are integers
   whose formula is known. With NAMES_LACKS_LARGE set, the loaded MPI has no _c functions. */
#include "tests/jobs/job.h"

#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 300, ROUNDS = 3 };

/* What a newer MPI declares, and this one's mpi.h may lack. */
#define PERSISTENT_DECLARE(NAME, count_t)                                                                   \
    extern int NAME(const void *, void *, count_t, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request *) \
        __attribute__((weak));
#define NONBLOCKING_DECLARE(NAME, count_t) \
    extern int NAME(const void *, void *, count_t, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *) __attribute__((weak));
#define BLOCKING_DECLARE(NAME, count_t) \
    extern int NAME(const void *, void *, count_t, MPI_Datatype, MPI_Op, MPI_Comm) __attribute__((weak));
#define BOTH_NAMES(DECLARE, NAME, count_t) DECLARE(NAME, count_t) DECLARE(P##NAME, count_t)
BOTH_NAMES(PERSISTENT_DECLARE, MPIX_Allreduce_init, int)
BOTH_NAMES(PERSISTENT_DECLARE, MPIX_Reduce_scatter_init, const int *)
BOTH_NAMES(PERSISTENT_DECLARE, MPIX_Reduce_scatter_block_init, int)
BOTH_NAMES(PERSISTENT_DECLARE, MPI_Allreduce_init, int)
BOTH_NAMES(PERSISTENT_DECLARE, MPI_Reduce_scatter_init, const int *)
BOTH_NAMES(PERSISTENT_DECLARE, MPI_Reduce_scatter_block_init, int)
BOTH_NAMES(BLOCKING_DECLARE, MPI_Allreduce_c, MPI_Count)
BOTH_NAMES(BLOCKING_DECLARE, MPI_Reduce_scatter_c, const MPI_Count *)
BOTH_NAMES(BLOCKING_DECLARE, MPI_Reduce_scatter_block_c, MPI_Count)
BOTH_NAMES(NONBLOCKING_DECLARE, MPI_Iallreduce_c, MPI_Count)
BOTH_NAMES(NONBLOCKING_DECLARE, MPI_Ireduce_scatter_block_c, MPI_Count)
BOTH_NAMES(PERSISTENT_DECLARE, MPI_Allreduce_init_c, MPI_Count)
BOTH_NAMES(PERSISTENT_DECLARE, MPI_Reduce_scatter_block_init_c, MPI_Count)

static int *input;  /* COUNT elements a rank */
static int *output; /* the same */
static int *counts; /* COUNT a rank, one more or less */
static MPI_Count *large_counts;
static int first; /* element of this rank's block, by counts */
static int found; /* functions */

static int value_of(int element, int of, int round)
{
    return (element % 1009 + 1) * (of + 1) + round;
}

/* The sum of value_of over all ranks. */
static int sum_of(int element, int round)
{
    return (element % 1009 + 1) * (job.size * (job.size + 1) / 2) + job.size * round;
}

static void fill(int *buffer, int round)
{
    for (int e = 0; e < COUNT * job.size; e++) {
        buffer[e] = value_of(e, job.rank, round);
        output[e] = buffer == output ? output[e] : -1;
    }
}

static void check(job_kind_t kind, const char *name, int round)
{
    const int start = kind == JOB_ALLREDUCE ? 0 : kind == JOB_REDUCE_SCATTER ? first : COUNT * job.rank;
    const int length = kind == JOB_ALLREDUCE ? COUNT : kind == JOB_REDUCE_SCATTER ? counts[job.rank] : COUNT;

    for (int e = 0; e < length; e++) {
        JOB_CHECK(output[e] == sum_of(start + e, round), "%s: element %d is %d, not %d", name, e, output[e],
                  sum_of(start + e, round));
    }
}

/* SEND is the vector, or MPI_IN_PLACE. */
#define EACH_PLACE(kind, name, round, CALL)                                 \
    for (int place = 0; place < 2; place++) {                               \
        const void *send = place == 0 ? (const void *)input : MPI_IN_PLACE; \
        fill(place == 0 ? input : output, round);                           \
        CALL;                                                               \
        check(kind, name, round);                                           \
    }

static void started(const char *name, MPI_Request *request)
{
    MPI_Wait(request, MPI_STATUS_IGNORE);
    JOB_CHECK(*request == MPI_REQUEST_NULL, "%s: the request stays", name);
}

#define BLOCKING(kind, NAME, count)                                                     \
    if ((NAME) != NULL) {                                                               \
        found++;                                                                        \
        EACH_PLACE(kind, #NAME, 0, {                                                    \
            int status = (NAME)(send, output, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD); \
            JOB_CHECK(status == MPI_SUCCESS, "%s: %d", #NAME, status);                  \
            job_count(kind, status, true, MPI_COMM_WORLD);                              \
        })                                                                              \
    }
#define NONBLOCKING(kind, NAME, count)                                                            \
    if ((NAME) != NULL) {                                                                         \
        found++;                                                                                  \
        EACH_PLACE(kind, #NAME, 0, {                                                              \
            MPI_Request request = MPI_REQUEST_NULL;                                               \
            int status = (NAME)(send, output, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request); \
            JOB_CHECK(status == MPI_SUCCESS, "%s: %d", #NAME, status);                            \
            job_count((kind) + JOB_IALLREDUCE, status, true, MPI_COMM_WORLD);                     \
            started(#NAME, &request);                                                             \
        })                                                                                        \
    }
/* The data of a round is that at MPI_Start. */
#define PERSISTENT(kind, NAME, count)                                                                         \
    if ((NAME) != NULL) {                                                                                     \
        MPI_Request request = MPI_REQUEST_NULL;                                                               \
        int status = (NAME)(input, output, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request); \
        found++;                                                                                              \
        JOB_CHECK(status == MPI_SUCCESS && request != MPI_REQUEST_NULL, "%s: %d", #NAME, status);             \
        job_count((kind) + JOB_ALLREDUCE_INIT, status, true, MPI_COMM_WORLD);                                 \
        for (int round = 0; round < ROUNDS; round++) {                                                        \
            fill(input, round);                                                                               \
            MPI_Start(&request);                                                                              \
            job_count_start((kind) + JOB_ALLREDUCE_INIT, true, MPI_COMM_WORLD);                               \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                            \
            JOB_CHECK(request != MPI_REQUEST_NULL, "%s: the request is gone after a round", #NAME);           \
            check(kind, #NAME, round);                                                                        \
        }                                                                                                     \
        MPI_Request_free(&request);                                                                           \
        JOB_CHECK(request == MPI_REQUEST_NULL, "%s: the freed request stays", #NAME);                         \
    }
#define BOTH(SHAPE, kind, NAME, count) \
    SHAPE(kind, NAME, count)           \
    SHAPE(kind, P##NAME, count)

static void every_function(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Waddress" /* those that each MPI has are there */
    BOTH(BLOCKING, JOB_ALLREDUCE, MPI_Allreduce, COUNT)
    BOTH(BLOCKING, JOB_REDUCE_SCATTER, MPI_Reduce_scatter, counts)
    BOTH(BLOCKING, JOB_REDUCE_SCATTER_BLOCK, MPI_Reduce_scatter_block, COUNT)
    BOTH(NONBLOCKING, JOB_ALLREDUCE, MPI_Iallreduce, COUNT)
    BOTH(NONBLOCKING, JOB_REDUCE_SCATTER, MPI_Ireduce_scatter, counts)
    BOTH(NONBLOCKING, JOB_REDUCE_SCATTER_BLOCK, MPI_Ireduce_scatter_block, COUNT)
#pragma GCC diagnostic pop
    BOTH(PERSISTENT, JOB_ALLREDUCE, MPIX_Allreduce_init, COUNT)
    BOTH(PERSISTENT, JOB_REDUCE_SCATTER, MPIX_Reduce_scatter_init, counts)
    BOTH(PERSISTENT, JOB_REDUCE_SCATTER_BLOCK, MPIX_Reduce_scatter_block_init, COUNT)
    BOTH(PERSISTENT, JOB_ALLREDUCE, MPI_Allreduce_init, COUNT)
    BOTH(PERSISTENT, JOB_REDUCE_SCATTER, MPI_Reduce_scatter_init, counts)
    BOTH(PERSISTENT, JOB_REDUCE_SCATTER_BLOCK, MPI_Reduce_scatter_block_init, COUNT)
    BOTH(BLOCKING, JOB_ALLREDUCE, MPI_Allreduce_c, COUNT)
    BOTH(BLOCKING, JOB_REDUCE_SCATTER, MPI_Reduce_scatter_c, large_counts)
    BOTH(BLOCKING, JOB_REDUCE_SCATTER_BLOCK, MPI_Reduce_scatter_block_c, COUNT)
    BOTH(NONBLOCKING, JOB_ALLREDUCE, MPI_Iallreduce_c, COUNT)
    BOTH(NONBLOCKING, JOB_REDUCE_SCATTER_BLOCK, MPI_Ireduce_scatter_block_c, COUNT)
    BOTH(PERSISTENT, JOB_ALLREDUCE, MPI_Allreduce_init_c, COUNT)
    BOTH(PERSISTENT, JOB_REDUCE_SCATTER_BLOCK, MPI_Reduce_scatter_block_init_c, COUNT)
}

/* A count past an int, where no function of the loaded MPI takes it, is an error of the communicator. */
static void too_large(void)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int status = MPI_Allreduce_c(input, output, (MPI_Count)1 << 31, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    JOB_CHECK(status != MPI_SUCCESS, "2^31 elements are reduced by an MPI that has no MPI_Allreduce_c");
    MPI_Error_string(status, text, &length);
    JOB_CHECK(strstr(text, "MPI_Allreduce_c") != NULL, "2^31 elements: the error says \"%s\"", text);
    status = MPI_Allreduce_c(input, output, -5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    job.calls[JOB_ALLREDUCE]++; /* one with ints, which the host MPI refuses */
    JOB_CHECK(status == MPI_ERR_COUNT, "-5 elements: error %d", status);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    const size_t elements = (size_t)COUNT * (size_t)job.size;

    input = malloc(elements * sizeof *input);
    output = malloc(elements * sizeof *output);
    counts = malloc((size_t)job.size * sizeof *counts);
    large_counts = malloc((size_t)job.size * sizeof *large_counts);
    for (int r = 0; r < job.size; r++) {
        counts[r] = COUNT - r;
        large_counts[r] = counts[r];
        first += r < job.rank ? counts[r] : 0;
    }
    every_function();
    if (job.preloaded && MPI_Allreduce_c != NULL && getenv("NAMES_LACKS_LARGE") != NULL) {
        too_large();
    }
    if (job.rank == 0) {
        printf("names-found functions=%d\n", found);
    }
    free(large_counts);
    free(counts);
    free(output);
    free(input);
    return job_end();
}
