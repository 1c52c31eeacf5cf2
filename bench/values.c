/* SPDX-License-Identifier: BSD-3-Clause */
#include "values.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Sums of 8-bit types stay below 2^7 up to 254 ranks: some host MPIs saturate there, others wrap. */
static int64_t value_sum(int64_t rank, int64_t ranks, int64_t index, bool narrow)
{
    (void)ranks;
    return (rank + index) % (narrow ? 2 : 13);
}

/* One rank brings the factor, all others 1, so no product overflows. */
static int64_t value_prod(int64_t rank, int64_t ranks, int64_t index, bool narrow)
{
    (void)narrow;
    return index % ranks == rank ? 2 + index % 3 : 1;
}

static int64_t value_order(int64_t rank, int64_t ranks, int64_t index, bool narrow)
{
    (void)ranks;
    (void)narrow;
    return (rank * 5 + index) % 13;
}

/* One rank decides. */
static int64_t value_land(int64_t rank, int64_t ranks, int64_t index, bool narrow)
{
    (void)narrow;
    return index % ranks == rank ? index % 2 : 1 + rank % 3;
}

static int64_t value_lor(int64_t rank, int64_t ranks, int64_t index, bool narrow)
{
    (void)narrow;
    return index % ranks == rank ? index % 2 : 0;
}

static int64_t value_bits(int64_t rank, int64_t ranks, int64_t index, bool narrow)
{
    (void)ranks;
    (void)narrow;
    return (rank * 37 + index * 11) % 128;
}

/* At each index every seventh rank clears some bits, so the result is seldom 0. */
static int64_t value_band(int64_t rank, int64_t ranks, int64_t index, bool narrow)
{
    return rank % 7 == index % 7 ? value_bits(rank, ranks, index, narrow) : 127;
}

/* Of all values above: of 2 and 13; of 2, 3 and the ranks; of 128 and 7. */
static int64_t period_short(int64_t ranks)
{
    (void)ranks;
    return 26;
}

static int64_t period_ranks(int64_t ranks)
{
    return 6 * ranks;
}

static int64_t period_bits(int64_t ranks)
{
    (void)ranks;
    return 896;
}

#define APPLY(name, expression)                       \
    static int64_t apply_##name(int64_t a, int64_t b) \
    {                                                 \
        return expression;                            \
    }
APPLY(sum, a + b)
APPLY(prod, (a) * (b))
APPLY(min, a < b ? a : b)
APPLY(max, a > b ? a : b)
APPLY(land, a &&b)
APPLY(lor, a || b)
APPLY(lxor, !a != !b)
APPLY(band, (a) & (b))
APPLY(bor, a | b)
APPLY(bxor, a ^ b)

enum { NUMBER = CLASS_INTEGER | CLASS_REAL | CLASS_COMPLEX, ORDERED = CLASS_INTEGER | CLASS_REAL };

static const value_op_t ops[] = {
    {"sum", "MPI_SUM", MPI_SUM, NUMBER, value_sum, period_short, apply_sum},
    {"prod", "MPI_PROD", MPI_PROD, NUMBER, value_prod, period_ranks, apply_prod},
    {"min", "MPI_MIN", MPI_MIN, ORDERED, value_order, period_short, apply_min},
    {"max", "MPI_MAX", MPI_MAX, ORDERED, value_order, period_short, apply_max},
    {"land", "MPI_LAND", MPI_LAND, CLASS_INTEGER, value_land, period_ranks, apply_land},
    {"lor", "MPI_LOR", MPI_LOR, CLASS_INTEGER, value_lor, period_ranks, apply_lor},
    {"lxor", "MPI_LXOR", MPI_LXOR, CLASS_INTEGER, value_bits, period_bits, apply_lxor},
    {"band", "MPI_BAND", MPI_BAND, CLASS_INTEGER, value_band, period_bits, apply_band},
    {"bor", "MPI_BOR", MPI_BOR, CLASS_INTEGER, value_bits, period_bits, apply_bor},
    {"bxor", "MPI_BXOR", MPI_BXOR, CLASS_INTEGER, value_bits, period_bits, apply_bxor},
};

/* TYPE(name, MPI handle, C type) */
#define REAL_TYPE_TABLE(TYPE)                         \
    TYPE(char, MPI_SIGNED_CHAR, signed char, INTEGER) \
    TYPE(short, MPI_SHORT, short, INTEGER)            \
    TYPE(int, MPI_INT, int, INTEGER)                  \
    TYPE(long, MPI_LONG, long, INTEGER)               \
    TYPE(int8, MPI_INT8_T, int8_t, INTEGER)           \
    TYPE(int16, MPI_INT16_T, int16_t, INTEGER)        \
    TYPE(int32, MPI_INT32_T, int32_t, INTEGER)        \
    TYPE(int64, MPI_INT64_T, int64_t, INTEGER)        \
    TYPE(uint8, MPI_UINT8_T, uint8_t, INTEGER)        \
    TYPE(uint16, MPI_UINT16_T, uint16_t, INTEGER)     \
    TYPE(uint32, MPI_UINT32_T, uint32_t, INTEGER)     \
    TYPE(uint64, MPI_UINT64_T, uint64_t, INTEGER)     \
    TYPE(float, MPI_FLOAT, float, REAL)               \
    TYPE(double, MPI_DOUBLE, double, REAL)
#define COMPLEX_TYPE_TABLE(TYPE)                       \
    TYPE(complex, MPI_C_FLOAT_COMPLEX, float, COMPLEX) \
    TYPE(double_complex, MPI_C_DOUBLE_COMPLEX, double, COMPLEX)

#define STORE_REAL(name, handle, ctype, class)                                             \
    static void store_##handle(void *array, size_t index, int64_t real, int64_t imaginary) \
    {                                                                                      \
        (void)imaginary;                                                                   \
        ((ctype *)array)[index] = (ctype)real;                                             \
    }
REAL_TYPE_TABLE(STORE_REAL)

#define STORE_COMPLEX(name, handle, ctype, class)                                          \
    static void store_##handle(void *array, size_t index, int64_t real, int64_t imaginary) \
    {                                                                                      \
        ((ctype *)array)[2 * index] = (ctype)real;                                         \
        ((ctype *)array)[2 * index + 1] = (ctype)imaginary;                                \
    }
COMPLEX_TYPE_TABLE(STORE_COMPLEX)

static const value_type_t types[] = {
#define ROW_REAL(name, handle, ctype, class) {#name, #handle, handle, sizeof(ctype), CLASS_##class, store_##handle},
#define ROW_COMPLEX(name, handle, ctype, class) \
    {#name, #handle, handle, 2 * sizeof(ctype), CLASS_##class, store_##handle},
    REAL_TYPE_TABLE(ROW_REAL) COMPLEX_TYPE_TABLE(ROW_COMPLEX)};

enum { NTYPES = sizeof(types) / sizeof(types[0]), NOPS = sizeof(ops) / sizeof(ops[0]) };

const value_type_t *value_type_find(const char *name)
{
    for (size_t i = 0; i < NTYPES; i++) {
        if (strcasecmp(name, types[i].name) == 0 || strcasecmp(name, types[i].mpi_name) == 0) {
            return &types[i];
        }
    }
    return NULL;
}

const value_op_t *value_op_find(const char *name)
{
    for (size_t i = 0; i < NOPS; i++) {
        if (strcasecmp(name, ops[i].name) == 0 || strcasecmp(name, ops[i].mpi_name) == 0) {
            return &ops[i];
        }
    }
    return NULL;
}

const char *value_type_name(size_t index)
{
    return index < NTYPES ? types[index].name : NULL;
}

const char *value_op_name(size_t index)
{
    return index < NOPS ? ops[index].name : NULL;
}

/* The result at an index: all contributions folded in rank order. */
static int64_t folded(const value_op_t *op, int ranks, int64_t index, bool narrow)
{
    int64_t result = op->value(0, ranks, index, narrow);

    for (int rank = 1; rank < ranks; rank++) {
        result = op->apply(result, op->value(rank, ranks, index, narrow));
    }
    return result;
}

bool values_make(const value_type_t *type, const value_op_t *op, int rank, int ranks, values_t *values)
{
    const size_t period = (size_t)op->period(ranks);
    const size_t repeats = 1 + 4096 / period;
    const bool narrow = type->bytes == 1;
    const bool two_parts = type->class == CLASS_COMPLEX && op->handle == MPI_SUM;

    values->element = type->bytes;
    values->length = period * repeats;
    values->input = malloc(values->length * type->bytes);
    values->result = malloc(values->length * type->bytes);
    if (values->input == NULL || values->result == NULL) {
        values_free(values);
        return false;
    }
    for (size_t i = 0; i < period; i++) {
        const int64_t index = (int64_t)i;

        type->store(values->input, i, op->value(rank, ranks, index, narrow),
                    two_parts ? op->value(rank, ranks, index + 1, narrow) : 0);
        type->store(values->result, i, folded(op, ranks, index, narrow),
                    two_parts ? folded(op, ranks, index + 1, narrow) : 0);
    }
    for (size_t i = 1; i < repeats; i++) {
        memcpy(values->input + i * period * type->bytes, values->input, period * type->bytes);
        memcpy(values->result + i * period * type->bytes, values->result, period * type->bytes);
    }
    return true;
}

void values_free(values_t *values)
{
    free(values->input);
    free(values->result);
    values->input = NULL;
    values->result = NULL;
}

void values_fill(const values_t *values, size_t turn, void *buffer, size_t count)
{
    char *to = buffer;
    size_t at = turn % values->length;

    while (count > 0) {
        const size_t n = count < values->length - at ? count : values->length - at;

        memcpy(to, values->input + at * values->element, n * values->element);
        to += n * values->element;
        count -= n;
        at = 0;
    }
}

bool values_match(const values_t *values, size_t turn, const void *buffer, size_t offset, size_t count)
{
    const char *from = buffer;
    size_t at = (turn + offset) % values->length;

    while (count > 0) {
        const size_t n = count < values->length - at ? count : values->length - at;

        if (memcmp(from, values->result + at * values->element, n * values->element) != 0) {
            return false;
        }
        from += n * values->element;
        count -= n;
        at = 0;
    }
    return true;
}
