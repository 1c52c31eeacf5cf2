/* SPDX-License-Identifier: BSD-3-Clause */
/* The folds that vectorise. Compiled once for each instruction set, with KERNEL_TABLE the name of its table; the same
   bits on each. */
#include "engine/host/kernels_half.h"
#include "engine/host/kernels_ops.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef KERNEL_TABLE
#error "KERNEL_TABLE names the table that this build makes"
#endif

static_assert(sizeof(bool) == 1, "BOOL is folded as U8");

/* Integers. Sums and products are made unsigned in `wide`, where overflow wraps, and serve both signs. */
#define INTEGER_FOLD(NAME, OP, type, expression)   \
    ELEMENT_OP(NAME, OP, type, (type)(expression)) \
    FOLD_VECTOR(NAME, type, OP)

#define INTEGER_FOLDS(S, stype, U, utype, wide)                           \
    ELEMENT(S, stype)                                                     \
    ELEMENT(U, utype)                                                     \
    INTEGER_FOLD(U, SUM, utype, (wide)b + (wide)a)                        \
    INTEGER_FOLD(U, PROD, utype, (wide)b *(wide)a)                        \
    INTEGER_FOLD(U, MIN, utype, MINIMUM)                                  \
    INTEGER_FOLD(U, MAX, utype, MAXIMUM)                                  \
    INTEGER_FOLD(S, MIN, stype, MINIMUM)                                  \
    INTEGER_FOLD(S, MAX, stype, MAXIMUM)                                  \
    INTEGER_FOLD(U, LAND, utype, (unsigned)(b != 0) & (unsigned)(a != 0)) \
    INTEGER_FOLD(U, LOR, utype, (unsigned)(b != 0) | (unsigned)(a != 0))  \
    INTEGER_FOLD(U, LXOR, utype, (unsigned)(b != 0) ^ (unsigned)(a != 0)) \
    INTEGER_FOLD(U, BAND, utype, b &a)                                    \
    INTEGER_FOLD(U, BOR, utype, b | a)                                    \
    INTEGER_FOLD(U, BXOR, utype, b ^ a)

INTEGER_FOLDS(I8, int8_t, U8, uint8_t, unsigned)
INTEGER_FOLDS(I16, int16_t, U16, uint16_t, unsigned)
INTEGER_FOLDS(I32, int32_t, U32, uint32_t, uint32_t)
INTEGER_FOLDS(I64, int64_t, U64, uint64_t, uint64_t)

/* Floats. */
FLOAT_FOLDS(FOLD_VECTOR, F32, float)
FLOAT_FOLDS(FOLD_VECTOR, F64, double)

ELEMENT(F16, uint16_t)
ELEMENT(BF16, uint16_t)
#ifdef HALF_LANES
#define FOLD_F16(OP) FOLD_HALF_LANES(F16, OP)
#else
#define FOLD_F16(OP) FOLD_HALF_PORTABLE(F16, OP, float16_widen, float16_narrow)
#endif
#define FOLD_BF16(OP) FOLD_HALF_PORTABLE(BF16, OP, bfloat16_widen, bfloat16_narrow)
FOLD_F16(SUM)
FOLD_F16(PROD)
FOLD_F16(MIN)
FOLD_F16(MAX)
FOLD_BF16(SUM)
FOLD_BF16(PROD)
FOLD_BF16(MIN)
FOLD_BF16(MAX)

FOLD_AS_REALS(C32, SUM, F32)
FOLD_AS_REALS(C64, SUM, F64)

PAIR_FOLDS(F32_I32, float, int32_t)
PAIR_FOLDS(F64_I32, double, int32_t)
PAIR_FOLDS(I64_I32, int64_t, int32_t)
PAIR_FOLDS(I16_I32, int16_t, int32_t)
PAIR_FOLDS(I32_I32, int32_t, int32_t)
PAIR_FOLDS(F32_F32, float, float)
PAIR_FOLDS(F64_F64, double, double)

const kernel_table_t KERNEL_TABLE = {
    INTEGER_ROW(I8, U8),
    INTEGER_ROW(I16, U16),
    INTEGER_ROW(I32, U32),
    INTEGER_ROW(I64, U64),
    INTEGER_ROW(U8, U8),
    INTEGER_ROW(U16, U16),
    INTEGER_ROW(U32, U32),
    INTEGER_ROW(U64, U64),
    FLOAT_ROW(F16),
    FLOAT_ROW(BF16),
    FLOAT_ROW(F32),
    FLOAT_ROW(F64),
    [DTYPE_C32] = {[OP_SUM] = fold_C32_SUM},
    [DTYPE_C64] = {[OP_SUM] = fold_C64_SUM},
    PAIR_ROW(F32_I32),
    PAIR_ROW(F64_I32),
    PAIR_ROW(I64_I32),
    PAIR_ROW(I16_I32),
    PAIR_ROW(I32_I32),
    PAIR_ROW(F32_F32),
    PAIR_ROW(F64_F64),
    [DTYPE_BOOL] = {LOGICAL_ROW(U8)},
};
