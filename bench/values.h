/* SPDX-License-Identifier: BSD-3-Clause */
/* What is reduced: the datatypes and ops of the benchmark, the values each rank contributes, and the exact result,
   computed in 64-bit integers without MPI. Values repeat with a short period, so that a buffer is filled and checked at
   the speed of memory. */
#ifndef BENCH_VALUES_H
#define BENCH_VALUES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLASS_INTEGER = 1, CLASS_REAL = 2, CLASS_COMPLEX = 4 };

typedef struct value_type {
    const char *name;
    const char *mpi_name;
    MPI_Datatype handle;
    size_t bytes;
    unsigned class;
    void (*store)(void *array, size_t index, int64_t real, int64_t imaginary);
} value_type_t;

typedef struct value_op {
    const char *name;
    const char *mpi_name;
    MPI_Op handle;
    unsigned classes; /* of types that MPI allows with it */
    /* What `rank` of `ranks` contributes at `index`: a small integer, of this period in the index. Narrow: the type has
       8 bits. */
    int64_t (*value)(int64_t rank, int64_t ranks, int64_t index, bool narrow);
    int64_t (*period)(int64_t ranks);
    int64_t (*apply)(int64_t a, int64_t b);
} value_op_t;

/* Finds by name ("float", "MPI_FLOAT", any case). NULL: unknown. Static memory. */
const value_type_t *value_type_find(const char *name);
const value_op_t *value_op_find(const char *name);

/* The name at `index` of those allowed; NULL behind the last. Static memory. */
const char *value_type_name(size_t index);
const char *value_op_name(size_t index);

/* This rank's contribution and the result, each a number of periods. */
typedef struct values {
    size_t element; /* bytes */
    size_t length;  /* elements in each array: whole periods, a few KiB */
    char *input;
    char *result;
} values_t;

/* Computes them. False: out of memory. */
bool values_make(const value_type_t *type, const value_op_t *op, int rank, int ranks, values_t *values);
void values_free(values_t *values);

/* Writes `count` elements of input. `turn` shifts the values, so that another turn gives other data. */
void values_fill(const values_t *values, size_t turn, void *buffer, size_t count);

/* Whether `buffer` holds, bit for bit, the elements [offset, offset + count) of the result of this turn. */
bool values_match(const values_t *values, size_t turn, const void *buffer, size_t offset, size_t count);

#endif
