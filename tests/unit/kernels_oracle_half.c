/* SPDX-License-Identifier: BSD-3-Clause */
/* The 16-bit floats as numbers, and rounding to them. */
#include "tests/unit/kernels_oracle.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

double oracle_half_value(dtype_t dtype, unsigned bits)
{
    const int digits = dtype == DTYPE_F16 ? 10 : 7;
    const int exponent_bits = 15 - digits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = (int)(bits >> digits) & ((1 << exponent_bits) - 1);
    const unsigned fraction = bits & ((1U << digits) - 1);
    double value;
    if (exponent == (1 << exponent_bits) - 1) {
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    } else if (exponent == 0) {
        value = ldexp(fraction, 1 - bias - digits);
    } else {
        value = ldexp(fraction + (1U << digits), exponent - bias - digits);
    }
    return (bits & 0x8000) != 0 ? -value : value;
}

unsigned oracle_half_nearest(dtype_t dtype, float value)
{
    const int digits = dtype == DTYPE_F16 ? 10 : 7;
    const int bias = dtype == DTYPE_F16 ? 15 : 127;
    const unsigned sign = signbit(value) ? 0x8000 : 0;
    const unsigned infinity = dtype == DTYPE_F16 ? 0x7c00 : 0x7f80;
    if (isnan(value)) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        return sign | infinity | (1U << (digits - 1)) | ((bits & 0x7fffff) >> (23 - digits));
    }
    const double magnitude = fabs((double)value);
    if (isinf(magnitude)) {
        return sign | infinity;
    }
    int exponent = 1 - bias;
    if (magnitude >= ldexp(1, 1 - bias)) {
        (void)frexp(magnitude, &exponent);
        exponent -= 1;
    }
    /* In units of the last place: a whole number below 2^53, rounded by the tie rule done by hand. */
    const double units = ldexp(magnitude, digits - exponent);
    const double floor_units = floor(units);
    uint64_t whole = (uint64_t)floor_units;
    const double rest = units - floor_units;
    if (rest > 0.5 || (rest == 0.5 && whole % 2 == 1)) {
        whole++;
    }
    /* `whole` includes the leading digit, which the exponent field below is one short for. */
    const uint64_t bits = ((uint64_t)(exponent + bias - 1) << digits) + whole;
    return sign | (bits >= infinity ? infinity : (unsigned)bits);
}
