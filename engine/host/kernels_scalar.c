/* SPDX-License-Identifier: BSD-3-Clause */
/* The folds that do not vectorise: long double, and products of complex numbers, which C repairs where both parts come
   out as NaN (C11 annex G), and Open MPI with it. Compiled once, for the base instruction set. */
#include "engine/host/kernels_ops.h"

#include <stdint.h>

#define COMPLEX_PROD(NAME, type) \
    ELEMENT(NAME, type)          \
    FLOAT_FOLD(FOLD_SCALAR, NAME, PROD, type, b *a)

FLOAT_FOLDS(FOLD_SCALAR, FLONG, long double)
FOLD_AS_REALS(CLONG, SUM, FLONG)
COMPLEX_PROD(C32, _Complex float)
COMPLEX_PROD(C64, _Complex double)
COMPLEX_PROD(CLONG, _Complex long double)
PAIR_FOLDS(FLONG_I32, long double, int32_t)

const kernel_table_t kernel_table_scalar = {
    FLOAT_ROW(FLONG),
    [DTYPE_C32] = {[OP_PROD] = fold_C32_PROD},
    [DTYPE_C64] = {[OP_PROD] = fold_C64_PROD},
    [DTYPE_CLONG] = {SUM_ROW(CLONG)},
    PAIR_ROW(FLONG_I32),
};
