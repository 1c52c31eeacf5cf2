/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/jobs/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One element, in the widest form: integers in `i` (wrapped to the type's width), the rest in re and im. */
typedef struct value {
    int64_t i;
    long double re;
    long double im;
    int64_t index;
    long double index_re; /* of 2REAL and 2DOUBLE_PRECISION */
} value_t;

/* Cuts to the width, and extends by the sign where there is one. */
static int64_t wrap(uint64_t bits, size_t size, bool is_signed)
{
    switch (size) {
    case 1:
        return is_signed ? (int8_t)bits : (uint8_t)bits;
    case 2:
        return is_signed ? (int16_t)bits : (uint16_t)bits;
    case 4:
        return is_signed ? (int32_t)bits : (int64_t)(uint32_t)bits;
    default:
        return (int64_t)bits;
    }
}

static bool class_signed(pattern_class_t class)
{
    return class == PATTERN_SIGNED || class == PATTERN_FORTRAN_INTEGER || class == PATTERN_MULTI_LANGUAGE;
}

/* An integer contribution; sums and products of up to 8 ranks stay in range. */
static int64_t integer_value(pattern_class_t class, size_t size, pattern_op_id_t op, int rank, size_t index)
{
    bool is_signed = class_signed(class);
    uint64_t h = job_mix((uint64_t)rank, index);
    switch (op) {
    case PATTERN_SUM: {
        int64_t span = size == 8 ? INT64_MAX : (INT64_C(1) << (8 * size - 1)) - 1;
        int64_t v = (int64_t)(h % (uint64_t)(span / 8));
        return is_signed && (h >> 63) != 0 ? -v : v;
    }
    case PATTERN_PROD: {
        int64_t v = (h + (uint64_t)rank) % 3 == 0 ? 2 : 1;
        return is_signed && (h >> 40) % 5 == 0 ? -v : v;
    }
    case PATTERN_MIN:
    case PATTERN_MAX: {
        /* both ends of the range are among the values, and at some indices all ranks have the same end */
        uint64_t low = is_signed ? UINT64_C(1) << (8 * size - 1) : 0;
        uint64_t high = is_signed ? low - 1 : UINT64_MAX;
        uint64_t choice = index % 7 == 0 ? index % 2 : (h >> 32) % 16;
        return wrap(choice == 0 ? low : choice == 1 ? high : h, size, is_signed);
    }
    case PATTERN_LAND:
        return h % 11 == 0 ? 0 : wrap(h | 1, size, is_signed);
    case PATTERN_LOR:
        return h % 11 == 0 ? wrap(h | 4, size, is_signed) : 0;
    case PATTERN_LXOR:
        return h % 2 == 0 ? 0 : wrap(h | 2, size, is_signed);
    case PATTERN_BAND:
        return wrap(h | (h >> 20) | (h >> 40), size, is_signed);
    case PATTERN_BOR:
        return wrap(h & (h >> 20) & (h >> 40), size, is_signed);
    default:
        return wrap(h, size, is_signed);
    }
}

static long double float_value(pattern_op_id_t op, int rank, uint64_t h)
{
    if (op == PATTERN_PROD) {
        long double v = (h + (uint64_t)rank) % 3 == 0 ? 2.0L : (h >> 8) % 3 == 0 ? 0.5L : 1.0L;
        return (h >> 40) % 5 == 0 ? -v : v;
    }
    /* multiples of 1/8 below 2^13: sums of 8 need 19 bits */
    return (long double)((int64_t)(h % 131072) - 65536) / 8.0L;
}

static value_t pattern_value(const pattern_type_t *type, pattern_op_id_t op, int rank, size_t index)
{
    value_t v = {0};
    uint64_t h = job_mix((uint64_t)rank, index);
    switch (type->class) {
    case PATTERN_SIGNED:
    case PATTERN_UNSIGNED:
    case PATTERN_FORTRAN_INTEGER:
    case PATTERN_MULTI_LANGUAGE:
    case PATTERN_BYTE:
        v.i = integer_value(type->class, type->size, op, rank, index);
        break;
    case PATTERN_BOOLEAN:
        v.i = op == PATTERN_LAND ? h % 11 != 0 : op == PATTERN_LOR ? h % 11 == 0 : h % 2 != 0;
        break;
    case PATTERN_FLOAT:
        v.re = float_value(op, rank, h);
        break;
    case PATTERN_COMPLEX:
        v.re = float_value(op, rank, h);
        v.im = op == PATTERN_PROD ? 0 : float_value(op, rank, h >> 20);
        if (op == PATTERN_PROD && (h >> 50) % 2 == 0) {
            v.im = v.re;
            v.re = 0;
        }
        break;
    case PATTERN_PAIR:
        /* few values, so that ranks tie; indices that do not follow the ranks */
        v.i = (int64_t)(h % 4) - 2;
        v.re = (long double)v.i / 4.0L;
        v.index = (int64_t)((h >> 20) % 8) - 3;
        v.index_re = (long double)v.index;
        break;
    }
    return v;
}

static value_t pair_fold(const pattern_type_t *type, bool min, value_t a, value_t b)
{
    bool is_float = type->first == PATTERN_FLOAT;
    bool equal = is_float ? a.re == b.re : a.i == b.i;
    bool less = is_float ? a.re < b.re : a.i < b.i;
    if (equal) {
        return a.index <= b.index ? a : b;
    }
    return less == min ? a : b;
}

static value_t pattern_fold(const pattern_type_t *type, pattern_op_id_t op, value_t a, value_t b)
{
    bool is_signed = class_signed(type->class);
    bool less = is_signed ? a.i < b.i : (uint64_t)a.i < (uint64_t)b.i;
    uint64_t x = (uint64_t)a.i;
    uint64_t y = (uint64_t)b.i;
    value_t v = a;
    if (type->class == PATTERN_PAIR) {
        return pair_fold(type, op == PATTERN_MINLOC, a, b);
    }
    if (type->class == PATTERN_FLOAT) {
        v.re = op == PATTERN_SUM                      ? a.re + b.re
               : op == PATTERN_PROD                   ? a.re * b.re
               : (a.re < b.re) == (op == PATTERN_MIN) ? a.re
                                                      : b.re;
        return v;
    }
    if (type->class == PATTERN_COMPLEX) {
        v.re = op == PATTERN_SUM ? a.re + b.re : a.re * b.re - a.im * b.im;
        v.im = op == PATTERN_SUM ? a.im + b.im : a.re * b.im + a.im * b.re;
        return v;
    }
    switch (op) {
    case PATTERN_SUM:
        x += y;
        break;
    case PATTERN_PROD:
        x *= y;
        break;
    case PATTERN_MIN:
        x = less ? x : y;
        break;
    case PATTERN_MAX:
        x = less ? y : x;
        break;
    case PATTERN_LAND:
        x = x != 0 && y != 0;
        break;
    case PATTERN_LOR:
        x = x != 0 || y != 0;
        break;
    case PATTERN_LXOR:
        x = (x != 0) != (y != 0);
        break;
    case PATTERN_BAND:
        x &= y;
        break;
    case PATTERN_BOR:
        x |= y;
        break;
    default:
        x ^= y;
        break;
    }
    v.i = wrap(x, type->size, is_signed);
    return v;
}

static void integer_store(void *to, size_t size, int64_t v)
{
    /* by way of the exact width: right on either byte order */
    switch (size) {
    case 1:
        memcpy(to, &(int8_t){(int8_t)v}, 1);
        break;
    case 2:
        memcpy(to, &(int16_t){(int16_t)v}, 2);
        break;
    case 4:
        memcpy(to, &(int32_t){(int32_t)v}, 4);
        break;
    default:
        memcpy(to, &v, 8);
        break;
    }
}

static void float_store(void *to, size_t size, long double v)
{
    if (size == sizeof(float)) {
        memcpy(to, &(float){(float)v}, sizeof(float));
    } else if (size == sizeof(double)) {
        memcpy(to, &(double){(double)v}, sizeof(double));
    } else {
        memcpy(to, &v, sizeof(v));
    }
}

static int64_t integer_load(const void *from, size_t size, bool is_signed)
{
    uint64_t bits = 0;
    uint8_t b1 = 0;
    uint16_t b2 = 0;
    uint32_t b4 = 0;
    switch (size) {
    case 1:
        memcpy(&b1, from, 1);
        bits = b1;
        break;
    case 2:
        memcpy(&b2, from, 2);
        bits = b2;
        break;
    case 4:
        memcpy(&b4, from, 4);
        bits = b4;
        break;
    default:
        memcpy(&bits, from, 8);
        break;
    }
    return wrap(bits, size, is_signed);
}

static long double float_load(const void *from, size_t size)
{
    float f = 0;
    double d = 0;
    long double l = 0;
    if (size == sizeof(float)) {
        memcpy(&f, from, sizeof(f));
        return (long double)f;
    }
    if (size == sizeof(double)) {
        memcpy(&d, from, sizeof(d));
        return (long double)d;
    }
    memcpy(&l, from, sizeof(l));
    return l;
}

static void value_store(const pattern_type_t *type, char *to, value_t v)
{
    switch (type->class) {
    case PATTERN_FLOAT:
        float_store(to, type->size, v.re);
        break;
    case PATTERN_COMPLEX:
        float_store(to, type->size / 2, v.re);
        float_store(to + type->size / 2, type->size / 2, v.im);
        break;
    case PATTERN_PAIR:
        memset(to, 0xEE, type->size);
        if (type->first == PATTERN_FLOAT) {
            float_store(to, type->first_size, v.re);
        } else {
            integer_store(to, type->first_size, v.i);
        }
        if (type->second == PATTERN_FLOAT) {
            float_store(to + type->second_offset, type->second_size, v.index_re);
        } else {
            integer_store(to + type->second_offset, type->second_size, v.index);
        }
        break;
    default:
        integer_store(to, type->size, v.i);
        break;
    }
}

static value_t value_load(const pattern_type_t *type, const char *from)
{
    value_t v = {0};
    switch (type->class) {
    case PATTERN_FLOAT:
        v.re = float_load(from, type->size);
        break;
    case PATTERN_COMPLEX:
        v.re = float_load(from, type->size / 2);
        v.im = float_load(from + type->size / 2, type->size / 2);
        break;
    case PATTERN_PAIR:
        if (type->first == PATTERN_FLOAT) {
            v.re = float_load(from, type->first_size);
        } else {
            v.i = integer_load(from, type->first_size, true);
        }
        if (type->second == PATTERN_FLOAT) {
            v.index_re = float_load(from + type->second_offset, type->second_size);
        } else {
            v.index = integer_load(from + type->second_offset, type->second_size, true);
        }
        break;
    default:
        v.i = integer_load(from, type->size, class_signed(type->class));
        break;
    }
    return v;
}

static bool value_equal(const pattern_type_t *type, value_t a, value_t b)
{
    if (type->class == PATTERN_PAIR) {
        bool value = type->first == PATTERN_FLOAT ? a.re == b.re : a.i == b.i;
        return value && (type->second == PATTERN_FLOAT ? a.index_re == b.index_re : a.index == b.index);
    }
    return a.i == b.i && a.re == b.re && a.im == b.im;
}

static void value_text(const pattern_type_t *type, value_t v, char *text, size_t bytes)
{
    if (type->class == PATTERN_FLOAT) {
        snprintf(text, bytes, "%.21Lg", v.re);
    } else if (type->class == PATTERN_COMPLEX) {
        snprintf(text, bytes, "%.21Lg%+.21Lgi", v.re, v.im);
    } else if (type->class == PATTERN_PAIR) {
        snprintf(text, bytes, "(%.21Lg at %.21Lg)", type->first == PATTERN_FLOAT ? v.re : (long double)v.i,
                 type->second == PATTERN_FLOAT ? v.index_re : (long double)v.index);
    } else if (class_signed(type->class)) {
        snprintf(text, bytes, "%lld", (long long)v.i);
    } else {
        snprintf(text, bytes, "%llu", (unsigned long long)v.i);
    }
}

/* Repeats the first `have` elements of a buffer until it holds `count`. */
static void repeat(char *buffer, size_t size, size_t have, size_t count)
{
    while (have < count) {
        size_t now = have <= count - have ? have : count - have;
        memcpy(buffer + have * size, buffer, now * size);
        have += now;
    }
}

void pattern_fill(const pattern_type_t *type, const pattern_op_t *op, int rank, void *buffer, size_t first,
                  size_t count)
{
    size_t block = count < PATTERN_PERIOD ? count : PATTERN_PERIOD;
    for (size_t i = 0; i < block; i++) {
        value_store(type, (char *)buffer + i * type->size,
                    pattern_value(type, op->id, rank, (first + i) % PATTERN_PERIOD));
    }
    if (count > block) {
        repeat(buffer, type->size, block, count);
    }
}

bool pattern_check(const pattern_type_t *type, const pattern_op_t *op, int ranks, const void *buffer, size_t first,
                   size_t count, const char *what)
{
    static char expected_bytes[PATTERN_PERIOD * 32];
    value_t expected[PATTERN_PERIOD];
    size_t block = count < PATTERN_PERIOD ? count : PATTERN_PERIOD;
    for (size_t i = 0; i < block; i++) {
        expected[i] = pattern_value(type, op->id, 0, (first + i) % PATTERN_PERIOD);
        for (int r = 1; r < ranks; r++) {
            value_t next = pattern_value(type, op->id, r, (first + i) % PATTERN_PERIOD);
            expected[i] = pattern_fold(type, op->id, expected[i], next);
        }
        value_store(type, expected_bytes + i * type->size, expected[i]);
    }
    const char *got_bytes = buffer;
    for (size_t at = 0; at < count; at += block) {
        size_t now = block <= count - at ? block : count - at;
        if (memcmp(got_bytes + at * type->size, expected_bytes, now * type->size) == 0) {
            continue;
        }
        for (size_t i = 0; i < now; i++) {
            value_t got = value_load(type, got_bytes + (at + i) * type->size);
            if (!value_equal(type, got, expected[i])) {
                char got_text[128];
                char expected_text[128];
                value_text(type, got, got_text, sizeof(got_text));
                value_text(type, expected[i], expected_text, sizeof(expected_text));
                job_fail("%s %s %s: index %zu of %zu: got %s, expected %s", what, type->name, op->name, at + i, count,
                         got_text, expected_text);
                return false;
            }
        }
    }
    return true;
}
