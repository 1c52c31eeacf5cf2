/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/kernels_oracle.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* A float with more than twice the digits of double. */
#if LDBL_MANT_DIG == 113
typedef long double wide_t;
#else
typedef __float128 wide_t;
#endif

/* The compiler's own runtime: C's product of complex numbers. */
float _Complex __mulsc3(float a, float b, float c, float d);      /* NOLINT(bugprone-reserved-identifier) */
double _Complex __muldc3(double a, double b, double c, double d); /* NOLINT(bugprone-reserved-identifier) */
#if LDBL_MANT_DIG == 64
long double _Complex __mulxc3(long double a, long double b, long double c, long double d); /* NOLINT */
#define oracle_mullc3 __mulxc3
#else
long double _Complex __multc3(long double a, long double b, long double c, long double d); /* NOLINT */
#define oracle_mullc3 __multc3
#endif

typedef enum field_kind { FIELD_SIGNED, FIELD_UNSIGNED, FIELD_FLOAT, FIELD_HALF } field_kind_t;

/* What a type is made of: `n` fields. A pair is a value and an index. */
typedef struct layout {
    unsigned n;
    bool complex;
    struct {
        field_kind_t kind;
        size_t bytes;
        size_t offset;
    } fields[2];
} layout_t;

#define ONE(kind, type)                               \
    {                                                 \
        .n = 1, .fields = { {kind, sizeof(type), 0} } \
    }
#define COMPLEX_OF(type)                              \
    {                                                 \
        .n = 2, .complex = true, .fields = {          \
            {FIELD_FLOAT, sizeof(type), 0},           \
            {FIELD_FLOAT, sizeof(type), sizeof(type)} \
        }                                             \
    }
#define PAIR_OF(kind, type, index_kind, index_type, at)                                     \
    {                                                                                       \
        .n = 2, .fields = { {kind, sizeof(type), 0}, {index_kind, sizeof(index_type), at} } \
    }

static const layout_t layouts[DTYPE_COUNT] = {
    [DTYPE_I8] = ONE(FIELD_SIGNED, int8_t),
    [DTYPE_I16] = ONE(FIELD_SIGNED, int16_t),
    [DTYPE_I32] = ONE(FIELD_SIGNED, int32_t),
    [DTYPE_I64] = ONE(FIELD_SIGNED, int64_t),
    [DTYPE_U8] = ONE(FIELD_UNSIGNED, uint8_t),
    [DTYPE_U16] = ONE(FIELD_UNSIGNED, uint16_t),
    [DTYPE_U32] = ONE(FIELD_UNSIGNED, uint32_t),
    [DTYPE_U64] = ONE(FIELD_UNSIGNED, uint64_t),
    [DTYPE_BOOL] = ONE(FIELD_UNSIGNED, bool),
    [DTYPE_F16] = ONE(FIELD_HALF, uint16_t),
    [DTYPE_BF16] = ONE(FIELD_HALF, uint16_t),
    [DTYPE_F32] = ONE(FIELD_FLOAT, float),
    [DTYPE_F64] = ONE(FIELD_FLOAT, double),
    [DTYPE_FLONG] = ONE(FIELD_FLOAT, long double),
    [DTYPE_C32] = COMPLEX_OF(float),
    [DTYPE_C64] = COMPLEX_OF(double),
    [DTYPE_CLONG] = COMPLEX_OF(long double),
    [DTYPE_F32_I32] = PAIR_OF(FIELD_FLOAT, float, FIELD_SIGNED, int32_t, 4),
    [DTYPE_F64_I32] = PAIR_OF(FIELD_FLOAT, double, FIELD_SIGNED, int32_t, 8),
    [DTYPE_I64_I32] = PAIR_OF(FIELD_SIGNED, int64_t, FIELD_SIGNED, int32_t, 8),
    [DTYPE_I16_I32] = PAIR_OF(FIELD_SIGNED, int16_t, FIELD_SIGNED, int32_t, 4),
    [DTYPE_FLONG_I32] = PAIR_OF(FIELD_FLOAT, long double, FIELD_SIGNED, int32_t, sizeof(long double)),
    [DTYPE_I32_I32] = PAIR_OF(FIELD_SIGNED, int32_t, FIELD_SIGNED, int32_t, 4),
    [DTYPE_F32_F32] = PAIR_OF(FIELD_FLOAT, float, FIELD_FLOAT, float, 4),
    [DTYPE_F64_F64] = PAIR_OF(FIELD_FLOAT, double, FIELD_FLOAT, double, 8),
};

/* Bytes of a float that carry its value. */
static size_t float_used(size_t bytes)
{
    return bytes == sizeof(long double) && LDBL_MANT_DIG == 64 ? 10 : bytes;
}

oracle_byte_t oracle_byte(dtype_t dtype, size_t offset)
{
    const layout_t *const l = &layouts[dtype];
    for (unsigned f = 0; f < l->n; f++) {
        if (offset >= l->fields[f].offset && offset < l->fields[f].offset + l->fields[f].bytes) {
            const bool idle =
                l->fields[f].kind == FIELD_FLOAT && offset - l->fields[f].offset >= float_used(l->fields[f].bytes);
            return idle ? ORACLE_IDLE : ORACLE_VALUE;
        }
    }
    return ORACLE_GAP;
}

bool oracle_defined(dtype_t dtype, op_t op)
{
    const layout_t *const l = &layouts[dtype];
    if (op == OP_MINLOC || op == OP_MAXLOC) {
        return l->n == 2 && !l->complex;
    }
    const bool logical = op == OP_LAND || op == OP_LOR || op == OP_LXOR;
    const bool bitwise = op == OP_BAND || op == OP_BOR || op == OP_BXOR;
    if (l->n == 2) {
        return l->complex && (op == OP_SUM || op == OP_PROD);
    }
    if (dtype == DTYPE_BOOL) {
        return logical;
    }
    const bool integer = l->fields[0].kind == FIELD_SIGNED || l->fields[0].kind == FIELD_UNSIGNED;
    return integer || !(logical || bitwise);
}

static __int128 integer_load(field_kind_t kind, size_t bytes, const void *from)
{
    uint64_t raw = 0;
    memcpy(&raw, from, bytes); /* little endian, as all machines this runs on */
    __int128 value = raw;
    if (kind == FIELD_SIGNED && (raw >> (8 * bytes - 1)) != 0) {
        value -= (__int128)1 << (8 * bytes);
    }
    return value;
}

static __int128 integer_fold(op_t op, __int128 a, __int128 b)
{
    switch (op) {
    case OP_SUM:
        return a + b;
    case OP_PROD:
        return (__int128)((unsigned __int128)a * (unsigned __int128)b);
    case OP_MIN:
        return a < b ? a : b;
    case OP_MAX:
        return a < b ? b : a;
    case OP_LAND:
        return a != 0 && b != 0;
    case OP_LOR:
        return a != 0 || b != 0;
    case OP_LXOR:
        return (a != 0) != (b != 0);
    case OP_BAND:
        return a & b;
    case OP_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* Order of floats by their bits: sign and magnitude as one integer, both zeros 0. *nan is set for a NaN. */
static __int128 float_key(size_t bytes, const void *from, bool *nan)
{
    const size_t used = float_used(bytes);
    unsigned __int128 raw = 0;
    memcpy(&raw, from, used);
    const unsigned __int128 magnitude = raw & (((unsigned __int128)1 << (8 * used - 1)) - 1);
    unsigned __int128 infinity = 0;
    if (bytes == sizeof(float)) {
        const float value = INFINITY;
        memcpy(&infinity, &value, used);
    } else if (bytes == sizeof(double)) {
        const double value = (double)INFINITY;
        memcpy(&infinity, &value, used);
    } else {
        const long double value = (long double)INFINITY;
        memcpy(&infinity, &value, used);
    }
    *nan = magnitude > infinity;
    return (raw >> (8 * used - 1)) != 0 ? -(__int128)magnitude : (__int128)magnitude;
}

static void float_arithmetic(op_t op, size_t bytes, const void *a, const void *b, void *out)
{
    if (bytes == sizeof(float)) {
        float x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        const double exact = op == OP_SUM ? (double)x + (double)y : (double)x * (double)y;
        x = (float)exact;
        memcpy(out, &x, sizeof x);
    } else if (bytes == sizeof(double)) {
        double x, y;
        memcpy(&x, a, sizeof x);
        memcpy(&y, b, sizeof y);
        const wide_t exact = op == OP_SUM ? (wide_t)x + (wide_t)y : (wide_t)x * (wide_t)y;
        x = (double)exact;
        memcpy(out, &x, sizeof x);
    } else {
        volatile long double x, y; /* nothing is wider: the machine's own, one at a time */
        memcpy((void *)&x, a, sizeof x);
        memcpy((void *)&y, b, sizeof y);
        const long double result = op == OP_SUM ? x + y : x * y;
        memcpy(out, &result, float_used(sizeof result));
    }
}

static void float_fold(op_t op, size_t bytes, const void *a, const void *b, void *out)
{
    if (op == OP_SUM || op == OP_PROD) {
        float_arithmetic(op, bytes, a, b, out);
        return;
    }
    bool a_nan, b_nan;
    const __int128 x = float_key(bytes, a, &a_nan);
    const __int128 y = float_key(bytes, b, &b_nan);
    const bool take_b = !a_nan && !b_nan && (op == OP_MIN ? y < x : y > x);
    memmove(out, take_b ? b : a, float_used(bytes));
}

static void complex_product(size_t bytes, const void *a, const void *b, void *out)
{
    if (bytes == sizeof(float)) {
        float x[2], y[2];
        memcpy(x, a, sizeof x);
        memcpy(y, b, sizeof y);
        const float _Complex z = __mulsc3(y[0], y[1], x[0], x[1]);
        memcpy(out, &z, sizeof z);
    } else if (bytes == sizeof(double)) {
        double x[2], y[2];
        memcpy(x, a, sizeof x);
        memcpy(y, b, sizeof y);
        const double _Complex z = __muldc3(y[0], y[1], x[0], x[1]);
        memcpy(out, &z, sizeof z);
    } else {
        long double x[2], y[2];
        memcpy(x, a, sizeof x);
        memcpy(y, b, sizeof y);
        const long double _Complex z = oracle_mullc3(y[0], y[1], x[0], x[1]);
        memcpy(out, &z, sizeof z);
    }
}

/* Negative where a's value is closer (smaller for MINLOC), 0 where equal, positive where farther or unordered. */
static int pair_order(op_t op, const layout_t *l, const void *a, const void *b)
{
    __int128 x, y;
    bool a_nan = false, b_nan = false;
    if (l->fields[0].kind == FIELD_FLOAT) {
        x = float_key(l->fields[0].bytes, a, &a_nan);
        y = float_key(l->fields[0].bytes, b, &b_nan);
    } else {
        x = integer_load(FIELD_SIGNED, l->fields[0].bytes, a);
        y = integer_load(FIELD_SIGNED, l->fields[0].bytes, b);
    }
    if (a_nan || b_nan) {
        return 1;
    }
    if (x == y) {
        return 0;
    }
    return (x < y) == (op == OP_MINLOC) ? -1 : 1;
}

static void pair_fold(op_t op, const layout_t *l, const char *a, const char *b, char *out)
{
    const int order = pair_order(op, l, a, b);
    const char *value = order < 0 ? a : b;
    const char *index = value;
    const size_t at = l->fields[1].offset;
    const size_t bytes = l->fields[1].bytes;
    if (order == 0 && l->fields[1].kind == FIELD_SIGNED) {
        index = integer_load(FIELD_SIGNED, bytes, a + at) < integer_load(FIELD_SIGNED, bytes, b + at) ? a : b;
    } else if (order == 0) {
        bool a_nan, b_nan;
        const __int128 x = float_key(bytes, a + at, &a_nan);
        const __int128 y = float_key(bytes, b + at, &b_nan);
        index = !a_nan && !b_nan && y < x ? b : a;
    }
    char result[2 * sizeof(long double)];
    memcpy(result, value, l->fields[0].bytes);
    memcpy(result + at, index + at, bytes);
    memcpy(out, result, l->fields[0].bytes);
    memcpy(out + at, result + at, bytes);
}

static void half_fold(dtype_t dtype, op_t op, const void *const *elements, unsigned n, void *out)
{
    float fold = 0;
    for (unsigned k = 0; k < n; k++) {
        uint16_t bits;
        memcpy(&bits, elements[k], sizeof bits);
        float next = (float)oracle_half_value(dtype, bits);
        if (isnan(next)) { /* with its payload */
            const uint32_t quiet = ((uint32_t)(bits & 0x8000) << 16) | 0x7fc00000 |
                                   ((uint32_t)bits << (dtype == DTYPE_F16 ? 13 : 16) & 0x7fffff);
            memcpy(&next, &quiet, sizeof next);
        }
        if (k == 0) {
            fold = next;
        } else {
            float_fold(op, sizeof fold, &fold, &next, &fold);
        }
    }
    const uint16_t nearest = (uint16_t)oracle_half_nearest(dtype, fold);
    memcpy(out, &nearest, sizeof nearest);
}

static void element_fold(dtype_t dtype, op_t op, const char *a, const char *b, char *out)
{
    const layout_t *const l = &layouts[dtype];
    if (op == OP_MINLOC || op == OP_MAXLOC) {
        pair_fold(op, l, a, b, out);
    } else if (l->complex && op == OP_PROD) {
        complex_product(l->fields[0].bytes, a, b, out);
    } else if (l->fields[0].kind == FIELD_FLOAT) {
        for (unsigned f = 0; f < l->n; f++) {
            const size_t at = l->fields[f].offset;
            float_fold(op, l->fields[f].bytes, a + at, b + at, out + at);
        }
    } else {
        const field_kind_t kind = l->fields[0].kind;
        const size_t bytes = l->fields[0].bytes;
        const uint64_t result = (uint64_t)integer_fold(op, integer_load(kind, bytes, a), integer_load(kind, bytes, b));
        memcpy(out, &result, bytes);
    }
}

void oracle_fold(dtype_t dtype, op_t op, const void *const *elements, unsigned n, void *out)
{
    if (n > 1 && layouts[dtype].fields[0].kind == FIELD_HALF) {
        half_fold(dtype, op, elements, n, out);
        return;
    }
    char fold[2 * sizeof(long double)];
    memcpy(fold, elements[0], dtype_size(dtype));
    for (unsigned k = 1; k < n; k++) {
        element_fold(dtype, op, fold, elements[k], fold);
    }
    memcpy(out, fold, dtype_size(dtype));
}

static bool field_nan(dtype_t dtype, unsigned f, const char *element)
{
    const layout_t *const l = &layouts[dtype];
    bool nan = false;
    if (l->fields[f].kind == FIELD_FLOAT) {
        (void)float_key(l->fields[f].bytes, element + l->fields[f].offset, &nan);
    } else if (l->fields[f].kind == FIELD_HALF) {
        uint16_t bits;
        memcpy(&bits, element, sizeof bits);
        nan = isnan(oracle_half_value(dtype, bits));
    }
    return nan;
}

bool oracle_equal(dtype_t dtype, op_t op, const void *expected, const void *got)
{
    const layout_t *const l = &layouts[dtype];
    const char *const e = expected;
    const char *const g = got;
    for (unsigned f = 0; f < l->n; f++) {
        if ((op == OP_SUM || op == OP_PROD) && field_nan(dtype, f, e) && field_nan(dtype, f, g)) {
            continue;
        }
        for (size_t i = l->fields[f].offset; i < l->fields[f].offset + l->fields[f].bytes; i++) {
            if (oracle_byte(dtype, i) == ORACLE_VALUE && e[i] != g[i]) {
                return false;
            }
        }
    }
    return true;
}

static unsigned long value_random(unsigned long *state)
{
    *state = *state * 6364136223846793005UL + 1442695040888963407UL;
    return *state >> 33 ^ *state >> 17;
}

static void float_value(size_t bytes, unsigned long *state, void *to)
{
    static const double specials[] = {0.0,         -0.0, 1.0, -1.0, 1.0, 2.0, (double)INFINITY, -(double)INFINITY,
                                      (double)NAN, 1e8,  -1e8};
    const unsigned long r = value_random(state);
    const long double small = (long double)((int)(r % 2001) - 1000) / 16.0L;
    const long double value = r % 3 == 0 ? (long double)specials[value_random(state) % 11] : small;
    const float f = (float)value;
    const double d = (double)value;
    memcpy(to,
           bytes == sizeof f   ? (const void *)&f
           : bytes == sizeof d ? (const void *)&d
                               : (const void *)&value,
           float_used(bytes));
    if (r % 5 == 4 && bytes <= sizeof d) { /* any bits: denormals, huge numbers, NaNs of all kinds */
        const uint64_t any =
            (uint64_t)value_random(state) << 40 ^ (uint64_t)value_random(state) << 20 ^ value_random(state);
        memcpy(to, &any, bytes);
    }
}

void oracle_value(dtype_t dtype, unsigned long *state, void *element)
{
    const layout_t *const l = &layouts[dtype];
    memset(element, 0x5a, dtype_size(dtype));
    for (unsigned f = 0; f < l->n; f++) {
        char *const to = (char *)element + l->fields[f].offset;
        if (l->fields[f].kind == FIELD_FLOAT) {
            float_value(l->fields[f].bytes, state, to);
            continue;
        }
        /* Small ones often, so that pairs tie. */
        const unsigned long r = value_random(state);
        const uint64_t any =
            (uint64_t)value_random(state) << 40 ^ (uint64_t)value_random(state) << 20 ^ value_random(state);
        const uint64_t small = dtype == DTYPE_F16    ? (0x3c00 | (r >> 8 & 0x83ff))
                               : dtype == DTYPE_BF16 ? (0x3f80 | (r >> 8 & 0x807f))
                                                     : (uint64_t)((int64_t)(r >> 8 & 7) - 3);
        const uint64_t value = r % 2 == 0 ? any : small;
        memcpy(to, &value, l->fields[f].bytes);
    }
}
