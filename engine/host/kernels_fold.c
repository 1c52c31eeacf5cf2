/* SPDX-License-Identifier: BSD-3-Clause */
/* The folds. Compiled once for each instruction set, with KERNEL_TABLE the name of its table. What an op does with two
   elements is what Open MPI 4.1's own functions do in MPI_Reduce_local(a, b); the same bits on every instruction
   set. */
#include "engine/host/kernels_half.h"
#include "engine/host/kernels_shapes.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#ifndef KERNEL_TABLE
#error "KERNEL_TABLE names the table that this build makes"
#endif

static_assert(sizeof(bool) == 1, "BOOL is folded as U8");

#define ELEMENT_OP(NAME, OP, type, expression)     \
    KERNEL_INLINE type NAME##_##OP(type a, type b) \
    {                                              \
        return (expression);                       \
    }

/* Equal and unordered elements: the lower rank's stays. */
#define MINIMUM (b < a ? b : a)
#define MAXIMUM (b > a ? b : a)

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
#define FLOAT_FOLD(SHAPE, NAME, OP, type, expression) \
    ELEMENT_OP(NAME, OP, type, expression)            \
    SHAPE(NAME, type, OP)

#define FLOAT_FOLDS(SHAPE, NAME, type)          \
    ELEMENT(NAME, type)                         \
    FLOAT_FOLD(SHAPE, NAME, SUM, type, b + a)   \
    FLOAT_FOLD(SHAPE, NAME, PROD, type, b *a)   \
    FLOAT_FOLD(SHAPE, NAME, MIN, type, MINIMUM) \
    FLOAT_FOLD(SHAPE, NAME, MAX, type, MAXIMUM)

FLOAT_FOLDS(FOLD_VECTOR, F32, float)
FLOAT_FOLDS(FOLD_VECTOR, F64, double)
FLOAT_FOLDS(FOLD_SCALAR, FLONG, long double)

ELEMENT(F16, uint16_t)
ELEMENT(BF16, uint16_t)
#ifdef __F16C__
#define FOLD_F16(OP) FOLD_HALF_F16C(F16, OP)
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

/* Complex numbers. */
FOLD_AS_REALS(C32, SUM, F32)
FOLD_AS_REALS(C64, SUM, F64)
FOLD_AS_REALS(CLONG, SUM, FLONG)
#define COMPLEX_PROD(NAME, type) \
    ELEMENT(NAME, type)          \
    FLOAT_FOLD(FOLD_SCALAR, NAME, PROD, type, b *a)
/* Scalar: C's product repairs one whose parts both come out as NaN (C11 annex G), as Open MPI's does. */
COMPLEX_PROD(C32, _Complex float)
COMPLEX_PROD(C64, _Complex double)
COMPLEX_PROD(CLONG, _Complex long double)

/* Value and index. Equal values: the higher rank's value (it differs in the sign of zero) and the lower index. Neither
   closer nor equal, as with NaN: the higher rank's pair. */
#define PAIR_OP(NAME, OP, closer)                                       \
    KERNEL_INLINE NAME##_pair NAME##_##OP(NAME##_pair a, NAME##_pair b) \
    {                                                                   \
        NAME##_pair pair = b;                                           \
        pair.index = b.index < a.index ? b.index : a.index;             \
        pair.index = a.value == b.value ? pair.index : b.index;         \
        pair.index = a.value closer b.value ? a.index : pair.index;     \
        pair.value = a.value closer b.value ? a.value : b.value;        \
        return pair;                                                    \
    }                                                                   \
    FOLD_PAIR(NAME, NAME##_pair, OP)

#define PAIR_FOLDS(NAME, value_type, index_type)                \
    typedef struct __attribute__((may_alias)) {                 \
        value_type value;                                       \
        index_type index;                                       \
    } NAME##_pair;                                              \
    typedef NAME##_pair NAME##_any __attribute__((aligned(1))); \
    PAIR_OP(NAME, MINLOC, <)                                    \
    PAIR_OP(NAME, MAXLOC, >)

PAIR_FOLDS(F32_I32, float, int32_t)
PAIR_FOLDS(F64_I32, double, int32_t)
PAIR_FOLDS(I64_I32, int64_t, int32_t)
PAIR_FOLDS(I16_I32, int16_t, int32_t)
PAIR_FOLDS(FLONG_I32, long double, int32_t)
PAIR_FOLDS(I32_I32, int32_t, int32_t)
PAIR_FOLDS(F32_F32, float, float)
PAIR_FOLDS(F64_F64, double, double)

/* The table: classes of ops, as MPI has them. */
#define LOGICAL_ROW(NAME)    [OP_LAND] = fold_##NAME##_LAND, [OP_LOR] = fold_##NAME##_LOR, [OP_LXOR] = fold_##NAME##_LXOR
#define BITWISE_ROW(NAME)    [OP_BAND] = fold_##NAME##_BAND, [OP_BOR] = fold_##NAME##_BOR, [OP_BXOR] = fold_##NAME##_BXOR
#define SUM_ROW(NAME)        [OP_SUM] = fold_##NAME##_SUM, [OP_PROD] = fold_##NAME##_PROD
#define MINMAX_ROW(NAME)     [OP_MIN] = fold_##NAME##_MIN, [OP_MAX] = fold_##NAME##_MAX
#define INTEGER_ROW(NAME, U) [DTYPE_##NAME] = {SUM_ROW(U), MINMAX_ROW(NAME), LOGICAL_ROW(U), BITWISE_ROW(U)}
#define FLOAT_ROW(NAME)      [DTYPE_##NAME] = {SUM_ROW(NAME), MINMAX_ROW(NAME)}
#define COMPLEX_ROW(NAME)    [DTYPE_##NAME] = {SUM_ROW(NAME)}
#define PAIR_ROW(NAME)       [DTYPE_##NAME] = {[OP_MINLOC] = fold_##NAME##_MINLOC, [OP_MAXLOC] = fold_##NAME##_MAXLOC}

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
    FLOAT_ROW(FLONG),
    COMPLEX_ROW(C32),
    COMPLEX_ROW(C64),
    COMPLEX_ROW(CLONG),
    PAIR_ROW(F32_I32),
    PAIR_ROW(F64_I32),
    PAIR_ROW(I64_I32),
    PAIR_ROW(I16_I32),
    PAIR_ROW(FLONG_I32),
    PAIR_ROW(I32_I32),
    PAIR_ROW(F32_F32),
    PAIR_ROW(F64_F64),
    [DTYPE_BOOL] = {LOGICAL_ROW(U8)},
};
