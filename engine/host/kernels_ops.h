/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ops do with two elements, by families of types: what Open MPI 4.1's own functions do in MPI_Reduce_local(a,
   b). And the rows of the tables. */
#ifndef ENGINE_HOST_KERNELS_OPS_H
#define ENGINE_HOST_KERNELS_OPS_H

#include "engine/host/kernels_shapes.h"

#define ELEMENT_OP(NAME, OP, type, expression)     \
    KERNEL_INLINE type NAME##_##OP(type a, type b) \
    {                                              \
        return (expression);                       \
    }

/* Equal and unordered elements: the lower rank's stays. */
#define MINIMUM (b < a ? b : a)
#define MAXIMUM (b > a ? b : a)

/* Floats, in one of the shapes. */
#define FLOAT_FOLD(SHAPE, NAME, OP, type, expression) \
    ELEMENT_OP(NAME, OP, type, expression)            \
    SHAPE(NAME, type, OP)

#define FLOAT_FOLDS(SHAPE, NAME, type)          \
    ELEMENT(NAME, type)                         \
    FLOAT_FOLD(SHAPE, NAME, SUM, type, b + a)   \
    FLOAT_FOLD(SHAPE, NAME, PROD, type, b *a)   \
    FLOAT_FOLD(SHAPE, NAME, MIN, type, MINIMUM) \
    FLOAT_FOLD(SHAPE, NAME, MAX, type, MAXIMUM)

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

/* The table: classes of ops, as MPI has them. */
#define LOGICAL_ROW(NAME)    [OP_LAND] = fold_##NAME##_LAND, [OP_LOR] = fold_##NAME##_LOR, [OP_LXOR] = fold_##NAME##_LXOR
#define BITWISE_ROW(NAME)    [OP_BAND] = fold_##NAME##_BAND, [OP_BOR] = fold_##NAME##_BOR, [OP_BXOR] = fold_##NAME##_BXOR
#define SUM_ROW(NAME)        [OP_SUM] = fold_##NAME##_SUM, [OP_PROD] = fold_##NAME##_PROD
#define MINMAX_ROW(NAME)     [OP_MIN] = fold_##NAME##_MIN, [OP_MAX] = fold_##NAME##_MAX
#define INTEGER_ROW(NAME, U) [DTYPE_##NAME] = {SUM_ROW(U), MINMAX_ROW(NAME), LOGICAL_ROW(U), BITWISE_ROW(U)}
#define FLOAT_ROW(NAME)      [DTYPE_##NAME] = {SUM_ROW(NAME), MINMAX_ROW(NAME)}
#define PAIR_ROW(NAME)       [DTYPE_##NAME] = {[OP_MINLOC] = fold_##NAME##_MINLOC, [OP_MAXLOC] = fold_##NAME##_MAXLOC}

#endif
