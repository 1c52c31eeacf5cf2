/* SPDX-License-Identifier: BSD-3-Clause */
/* Test data: for every predefined datatype and op, what each rank contributes at each index, and what the reduction
   over all ranks must give. Chosen so that every order of reduction gives the same exact value. The reference folds
   with plain C on int64 or long double, so it shares no code with what it checks. Values repeat after
   PATTERN_PERIOD, a prime, so that a piece put to a wrong place shows. */
#ifndef TESTS_JOBS_PATTERN_H
#define TESTS_JOBS_PATTERN_H

#include "tests/jobs/job.h"

enum { PATTERN_PERIOD = 251 };

typedef enum pattern_class {
    PATTERN_SIGNED,
    PATTERN_UNSIGNED,
    PATTERN_FORTRAN_INTEGER,
    PATTERN_MULTI_LANGUAGE, /* AINT, OFFSET, COUNT */
    PATTERN_BOOLEAN,        /* C and C++ bool, Fortran logical */
    PATTERN_BYTE,
    PATTERN_FLOAT,
    PATTERN_COMPLEX,
    PATTERN_PAIR,
} pattern_class_t;

typedef struct pattern_type {
    MPI_Datatype handle;
    const char *name;
    pattern_class_t class;
    size_t size;           /* extent in bytes */
    pattern_class_t first; /* of a pair: class and bytes of the value */
    size_t first_size;
    pattern_class_t second; /* and of the index */
    size_t second_size;
    size_t second_offset;
} pattern_type_t;

typedef enum pattern_op_id {
    PATTERN_SUM,
    PATTERN_PROD,
    PATTERN_MIN,
    PATTERN_MAX,
    PATTERN_LAND,
    PATTERN_LOR,
    PATTERN_LXOR,
    PATTERN_BAND,
    PATTERN_BOR,
    PATTERN_BXOR,
    PATTERN_MINLOC,
    PATTERN_MAXLOC,
    PATTERN_OPS
} pattern_op_id_t;

typedef struct pattern_op {
    MPI_Op handle;
    const char *name;
    pattern_op_id_t id;
} pattern_op_t;

/* All types, and all ops (PATTERN_OPS of them, by id). */
const pattern_type_t *pattern_types(size_t *count);
const pattern_op_t *pattern_ops(void);

/* The type of this handle's name ("MPI_INT"); aborts the job where there is none. */
const pattern_type_t *pattern_type_named(const char *name);

/* Whether the MPI standard (3.1, section 5.9.2) defines the op on the type. */
bool pattern_defined(const pattern_type_t *type, const pattern_op_t *op);

/* Writes rank's contribution for indices first .. first + count. Gaps of padded types get 0xEE. */
void pattern_fill(const pattern_type_t *type, const pattern_op_t *op, int rank, void *buffer, size_t first,
                  size_t count);

/* Whether buffer holds the reduction over `ranks` ranks for indices first .. first + count; a wrong element is a
   job_fail with index, value and expected value, headed by `what`. */
bool pattern_check(const pattern_type_t *type, const pattern_op_t *op, int ranks, const void *buffer, size_t first,
                   size_t count, const char *what);

#endif
