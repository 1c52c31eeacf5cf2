/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's arithmetic: integers wrap (CANN_INTEGERS=saturate: they saturate), 16-bit floats round at each step. */
#include "tests/cann/communicator.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool saturating(void)
{
    const char *text = getenv("CANN_INTEGERS");
    return text != NULL && strcmp(text, "saturate") == 0;
}

static __int128 integer_one(HcclReduceOp op, __int128 a, __int128 b)
{
    switch (op) {
    case HCCL_REDUCE_SUM:
        return a + b;
    case HCCL_REDUCE_PROD:
        return a * b;
    case HCCL_REDUCE_MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

static double float_one(HcclReduceOp op, double a, double b)
{
    switch (op) {
    case HCCL_REDUCE_SUM:
        return a + b;
    case HCCL_REDUCE_PROD:
        return a * b;
    case HCCL_REDUCE_MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

#define INTEGERS(TYPE, LEAST, MOST)                                              \
    do {                                                                         \
        typedef TYPE value_t;                                                    \
        value_t *to = into;                                                      \
        const value_t *by = from;                                                \
        bool clip = saturating();                                                \
        for (size_t i = 0; i < count; i++) {                                     \
            __int128 wide = integer_one(op, to[i], by[i]);                       \
            if (clip) {                                                          \
                wide = wide < (LEAST) ? (LEAST) : wide > (MOST) ? (MOST) : wide; \
            }                                                                    \
            to[i] = (value_t)wide;                                               \
        }                                                                        \
    } while (0)

/* The double of a 16-bit float of `fraction` fraction bits and `bias`. */
static double narrow_read(uint16_t bits, int fraction, int bias)
{
    int exponent = (bits & 0x7FFF) >> fraction;
    int mantissa = bits & ((1 << fraction) - 1);
    double value;
    if (exponent == 2 * bias + 1) {
        value = mantissa != 0 ? NAN : INFINITY;
    } else if (exponent == 0) {
        value = ldexp(mantissa, 1 - bias - fraction);
    } else {
        value = ldexp(mantissa + (1 << fraction), exponent - bias - fraction);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

/* To nearest, ties to even: the default rounding of nearbyint. */
static uint16_t narrow_write(double value, int fraction, int bias)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    uint16_t infinite = (uint16_t)((2 * bias + 1) << fraction);
    int exponent;
    if (isnan(value)) {
        return (uint16_t)(sign | infinite | 1 << (fraction - 1));
    }
    if (isinf(value) || value == 0) {
        return (uint16_t)(sign | (value == 0 ? 0 : infinite));
    }
    frexp(value, &exponent); /* value = m * 2^exponent, m from 1/2 */
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    double units = nearbyint(ldexp(fabs(value), fraction - exponent)); /* may carry into the exponent, rightly */
    long bits = (long)units + ((long)(exponent + bias - 1) << fraction);
    return bits >= infinite ? (uint16_t)(sign | infinite) : (uint16_t)(sign | (uint16_t)bits);
}

static void narrow(HcclReduceOp op, uint16_t *to, const uint16_t *by, size_t count, int fraction)
{
    int bias = fraction == 10 ? 15 : 127;
    for (size_t i = 0; i < count; i++) {
        double value = float_one(op, narrow_read(to[i], fraction, bias), narrow_read(by[i], fraction, bias));
        to[i] = narrow_write(value, fraction, bias);
    }
}

static void singles(HcclReduceOp op, float *to, const float *by, size_t count)
{
    if (op == HCCL_REDUCE_SUM) { /* the one that large tests use */
        for (size_t i = 0; i < count; i++) {
            to[i] += by[i];
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = (float)float_one(op, to[i], by[i]);
    }
}

static void doubles(HcclReduceOp op, double *to, const double *by, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = float_one(op, to[i], by[i]);
    }
}

void reduce_into(HcclDataType type, HcclReduceOp op, void *into, const void *from, size_t count)
{
    switch (type) {
    case HCCL_DATA_TYPE_INT8:
        INTEGERS(int8_t, INT8_MIN, INT8_MAX);
        break;
    case HCCL_DATA_TYPE_INT16:
        INTEGERS(int16_t, INT16_MIN, INT16_MAX);
        break;
    case HCCL_DATA_TYPE_INT32:
        INTEGERS(int32_t, INT32_MIN, INT32_MAX);
        break;
    case HCCL_DATA_TYPE_INT64:
        INTEGERS(int64_t, INT64_MIN, INT64_MAX);
        break;
    case HCCL_DATA_TYPE_UINT64:
        INTEGERS(uint64_t, 0, UINT64_MAX);
        break;
    case HCCL_DATA_TYPE_FP16:
        narrow(op, into, from, count, 10);
        break;
    case HCCL_DATA_TYPE_BFP16:
        narrow(op, into, from, count, 7);
        break;
    case HCCL_DATA_TYPE_FP32:
        singles(op, into, from, count);
        break;
    case HCCL_DATA_TYPE_FP64:
        doubles(op, into, from, count);
        break;
    default:
        abort(); /* the rules have let none through */
    }
}
