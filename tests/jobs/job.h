/* SPDX-License-Identifier: BSD-3-Clause */
/* What the job tests share: start and end, failures, and calls of the collectives that keep count of what the
   engine must have done. A test program knows nothing of the library: it is a plain MPI program that checks its own
   results. The script that runs it compares the counts that job_end prints with the library's report. */
#ifndef TESTS_JOBS_JOB_H
#define TESTS_JOBS_JOB_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum job_kind {
    JOB_ALLREDUCE,
    JOB_REDUCE_SCATTER,
    JOB_REDUCE_SCATTER_BLOCK,
    JOB_IALLREDUCE,
    JOB_IREDUCE_SCATTER,
    JOB_IREDUCE_SCATTER_BLOCK,
    JOB_ALLREDUCE_INIT,
    JOB_REDUCE_SCATTER_INIT,
    JOB_REDUCE_SCATTER_BLOCK_INIT,
    JOB_KINDS
} job_kind_t;

typedef struct job {
    int rank; /* in MPI_COMM_WORLD */
    int size;
    bool preloaded; /* JOB_PRELOADED is set: checks that bare Open MPI does not pass are made too */
    long failures;
    long calls[JOB_KINDS];  /* calls that returned MPI_SUCCESS */
    long engine[JOB_KINDS]; /* of these, the ones that the engine must have done */
} job_t;

extern job_t job;

/* MPI_Init, and fills in `job`. */
void job_begin(int *argc, char ***argv);
void job_begin_thread(int *argc, char ***argv, int required);

/* Rank 0 prints its counts ("job-calls allreduce=N ...", "job-engine ..."), then MPI_Finalize. Returns main's status: 0
   when this rank had no failure. */
int job_end(void);

/* Counts a failure of this rank and prints it, headed by the rank; only the first few are printed. Any thread. */
void job_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define JOB_CHECK(condition, ...)  \
    do {                           \
        if (!(condition)) {        \
            job_fail(__VA_ARGS__); \
        }                          \
    } while (0)

/* The collectives, counted. A call counts as the engine's where the communicator has at least two ranks and the
   total count is not 0. Any thread. */
int job_allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int job_reduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int job_reduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);

int job_iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request *request);
int job_ireduce_scatter(const void *send, void *recv, const int *counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Request *request);
int job_ireduce_scatter_block(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                              MPI_Request *request);

/* Counts a call that was made otherwise: `some` says that it has elements. Of persistent ones that are the engine's the
   starts count, not the call. */
void job_count(job_kind_t kind, int status, bool some, MPI_Comm comm);
void job_count_start(job_kind_t kind, bool some, MPI_Comm comm);

/* A hash of two numbers: test data that looks random and is the same everywhere. */
uint64_t job_mix(uint64_t a, uint64_t b);

/* FNV-1a digest of bytes, going on from `seed` (0 to begin). */
uint64_t job_digest(uint64_t seed, const void *bytes, size_t length);

#endif
