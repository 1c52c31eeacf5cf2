/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/exact_sum.h"

#include <math.h>
#include <stdbool.h>

void exact_split(double number, int64_t *integer, int *exponent)
{
    int power;
    const double fraction = frexp(number, &power);
    *exponent = power - 53 < -1074 ? -1074 : power - 53;
    *integer = (int64_t)ldexp(fraction, power - *exponent);
}

void exact_add_power(exact_sum_t *sum, int64_t times, int exponent)
{
    const unsigned place = (unsigned)(exponent - EXACT_LOWEST);
    const int sign = times < 0 ? -1 : 1;
    unsigned __int128 bits = (unsigned __int128)(uint64_t)(times < 0 ? -times : times) << place % 32;
    for (unsigned i = place / 32; bits != 0; i++) {
        sum->limb[i] += sign * (int64_t)(uint32_t)bits;
        bits >>= 32;
    }
}

void exact_add(exact_sum_t *sum, double number)
{
    int64_t integer;
    int exponent;
    exact_split(number, &integer, &exponent);
    exact_add_power(sum, integer, exponent);
}

/* Limbs from 0 to 2^32 - 1 of the absolute value; whether the value is negative. */
static bool exact_magnitude(const exact_sum_t *sum, uint32_t *limb)
{
    int64_t carry = 0;
    for (int i = 0; i < EXACT_LIMBS; i++) {
        const int64_t value = sum->limb[i] + carry;
        limb[i] = (uint32_t)value;
        carry = value >> 32;
    }
    if (carry >= 0) {
        return false;
    }
    uint64_t add = 1;
    for (int i = 0; i < EXACT_LIMBS; i++) {
        add += (uint32_t)~limb[i];
        limb[i] = (uint32_t)add;
        add >>= 32;
    }
    return true;
}

static unsigned exact_bit(const uint32_t *limb, int place)
{
    return limb[place / 32] >> place % 32 & 1;
}

double exact_nearest(const exact_sum_t *sum)
{
    uint32_t limb[EXACT_LIMBS];
    const bool negative = exact_magnitude(sum, limb);
    int top = 32 * EXACT_LIMBS - 1;
    while (top >= 0 && exact_bit(limb, top) == 0) {
        top--;
    }
    if (top < 0) {
        return 0.0;
    }
    const int last = top - 52 > -1074 - EXACT_LOWEST ? top - 52 : -1074 - EXACT_LOWEST;
    uint64_t kept = 0;
    for (int place = top; place >= last; place--) {
        kept = kept << 1 | exact_bit(limb, place);
    }
    bool below = false;
    for (int place = 0; place < last - 1; place++) {
        below |= exact_bit(limb, place) != 0;
    }
    if (exact_bit(limb, last - 1) != 0 && (below || kept % 2 != 0)) {
        kept++;
    }
    const double nearest = ldexp((double)kept, last + EXACT_LOWEST);
    return negative ? -nearest : nearest;
}
