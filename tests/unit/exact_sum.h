/* SPDX-License-Identifier: BSD-3-Clause */
/* Sums of float64 without any error: an accumulator wide enough for every bit of every number (Kulisch). */
#ifndef TESTS_UNIT_EXACT_SUM_H
#define TESTS_UNIT_EXACT_SUM_H

#include <stdint.h>

enum { EXACT_LIMBS = 80, EXACT_LOWEST = -1280 };

/* The sum of limb[i] * 2^(32 i - 1280); all zeros to begin with. Limbs take a few million numbers before they overflow.
 */
typedef struct exact_sum {
    int64_t limb[EXACT_LIMBS];
} exact_sum_t;

/* Adds times * 2^exponent; |times| < 2^62, exponent at least -1280. */
void exact_add_power(exact_sum_t *sum, int64_t times, int exponent);

/* Adds a finite number. */
void exact_add(exact_sum_t *sum, double number);

/* The nearest float64, ties to even; infinity where that overflows; 0.0 for 0. */
double exact_nearest(const exact_sum_t *sum);

/* A finite number as *integer * 2^*exponent with |*integer| < 2^53 and *exponent at least -1074. */
void exact_split(double number, int64_t *integer, int *exponent);

#endif
