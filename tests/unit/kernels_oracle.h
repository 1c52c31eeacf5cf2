/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernels must give, found another way: integers in 128 bits, floats in a format twice as wide and rounded
   once, comparisons by the bits. */
#ifndef TESTS_UNIT_KERNELS_ORACLE_H
#define TESTS_UNIT_KERNELS_ORACLE_H

#include "engine/collective.h"

/* What a byte of an element is. */
typedef enum oracle_byte {
    ORACLE_GAP,   /* between fields: never written */
    ORACLE_VALUE, /* compared */
    ORACLE_IDLE,  /* unused bytes inside a long double: anything */
} oracle_byte_t;

oracle_byte_t oracle_byte(dtype_t dtype, size_t offset);

/* Whether MPI has the op on the engine's type. */
bool oracle_defined(dtype_t dtype, op_t op);

/* Folds elements[0 .. n) from the left into out (value bytes only). */
void oracle_fold(dtype_t dtype, op_t op, const void *const *elements, unsigned n, void *out);

/* Whether an element is what was expected; where a sum or product is NaN, any NaN is. Gaps and idle bytes apart. */
bool oracle_equal(dtype_t dtype, op_t op, const void *expected, const void *got);

/* Fills an element with one of: random bits, a small number, a special value. */
void oracle_value(dtype_t dtype, unsigned long *state, void *element);

/* float16 or bfloat16 as a number, and the nearest one to a float. */
double oracle_half_value(dtype_t dtype, unsigned bits);
unsigned oracle_half_nearest(dtype_t dtype, float value);

#endif
