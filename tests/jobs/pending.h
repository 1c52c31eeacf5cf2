/* SPDX-License-Identifier: BSD-3-Clause */
/* A collective with buffers of its own, which is issued at one time and checked at another. Its data is the pattern
   from an index on, so that two that follow each other differ. */
#ifndef TESTS_JOBS_PENDING_H
#define TESTS_JOBS_PENDING_H

#include "tests/jobs/pattern.h"

typedef struct pending {
    job_kind_t kind; /* of the blocking three */
    const pattern_type_t *type;
    const pattern_op_t *op;
    bool in_place;
    MPI_Comm comm;
    int rank;
    int size;
    size_t total; /* elements of the whole input */
    size_t first; /* of this rank's result */
    size_t mine;
    size_t seed; /* where the pattern began at the last fill */
    int *counts; /* of each rank's block; count of allreduce: counts[0] */
    char *send;
    char *recv;
    size_t room; /* bytes of recv, which has guards behind */
} pending_t;

/* The buffers. The reduce-scatters have uneven counts, by blocks even ones; so `total` may be rounded up. */
void pending_make(pending_t *pending, job_kind_t kind, const char *type, pattern_op_id_t op, size_t total,
                  bool in_place, MPI_Comm comm);
void pending_free(pending_t *pending);

/* This rank's contribution: the pattern from `seed` on. */
void pending_fill(pending_t *pending, size_t seed);

/* Issues it, counted. */
int pending_issue(pending_t *pending, MPI_Request *request);
/* Does it at once. */
int pending_run(pending_t *pending);
/* Makes a persistent request by MPIX_..._init, counted. False: this MPI has none. */
bool pending_init(pending_t *pending, MPI_Request *request);

/* Whether the result of what was filled last is there, and nothing behind it; else job_fail. */
bool pending_check(const pending_t *pending, const char *what);

#endif
