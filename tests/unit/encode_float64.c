/* SPDX-License-Identifier: BSD-3-Clause */
/* float64 sums by the exact encoding, against sums without any error: what encode.h guarantees. */
#include "engine/host/kernels.h"
#include "tests/unit/encode_wire.h"
#include "tests/unit/exact_sum.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* One-word and two-word encodings, with exponents in int16 and int32. */
static const struct variant {
    wire_device_t device;
    unsigned options;
    unsigned words;
} variants[] = {{WIRE_A2, 0, 1},
                {WIRE_910, 0, 1},
                {WIRE_A2, ENCODE_EXACT, 2},
                {WIRE_910, ENCODE_EXACT, 2},
                {WIRE_950, ENCODE_EXACT, 2}};
enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* n contributions of count elements, rank by rank. */
typedef struct numbers {
    uint32_t ranks;
    size_t count;
    double *values;
} numbers_t;

/* Magnitudes and cancellation, one kind for each element. */
static double some_number(unsigned kind, uint32_t rank, double before, uint64_t *seed)
{
    const uint64_t random = wire_random(seed);
    const double sign = (random & 1) != 0 ? -1 : 1;
    const double mantissa = 1 + (double)(random >> 12) * 0x1p-52;
    const int power = (int)wire_below(seed, 2046) - 1074;
    switch (kind) {
    case 0: /* any magnitude that does not overflow */
        return sign * ldexp(mantissa, power < 1000 ? power : 1000);
    case 1: /* about 1 */
        return sign * ldexp(mantissa, (int)wire_below(seed, 12) - 6);
    case 2: /* the number before, cancelled, and a little more */
        return rank % 2 == 1 ? -before : sign * ldexp(mantissa, (int)wire_below(seed, 80));
    case 3: /* denormal, and around the least normal number */
        return sign * ldexp((double)(random >> 11), -1074 - (int)wire_below(seed, 4));
    case 4: /* integers */
        return sign * (double)(random >> 34);
    case 5: /* one large and many tiny ones */
        return rank == 0 ? mantissa : sign * ldexp(mantissa, -40 - (int)wire_below(seed, 90));
    case 6: /* all bits set, one sign: the fullest words */
        return ldexp(0x1p53 - 1, 900 - (int)wire_below(seed, 2));
    case 7: /* the same, negative */
        return -ldexp(0x1p53 - 1, -900);
    case 8: /* near the largest */
        return sign * ldexp(mantissa, 1023 - (int)wire_below(seed, 3));
    case 9: /* halves of last places: ties */
        return rank == 0 ? mantissa : sign * ldexp(1, -53 - (int)wire_below(seed, 2));
    case 10: /* zeros and a few numbers */
        return random % 16 == 1 ? mantissa : sign * 0.0;
    default: /* ties at U: powers of two over a wide range */
        return sign * ldexp(1, -(int)wire_below(seed, 130));
    }
}
enum { KINDS = 12 };

static numbers_t numbers_make(uint32_t ranks, size_t count, uint64_t seed)
{
    numbers_t numbers = {ranks, count, malloc(ranks * count * sizeof(double))};
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (size_t i = 0; i < count; i++) {
            const double before = rank == 0 ? 0 : numbers.values[(rank - 1) * count + i];
            numbers.values[rank * count + i] = some_number((unsigned)(i % KINDS), rank, before, &seed);
        }
    }
    return numbers;
}

/* The exponent u of U = 2^u for element i, by the words of encode.h; false if all are 0. */
static bool unit_of(const numbers_t *numbers, size_t i, unsigned words, int *unit, int *largest)
{
    double most = 0;
    for (uint32_t rank = 0; rank < numbers->ranks; rank++) {
        most = fmax(most, fabs(numbers->values[rank * numbers->count + i]));
    }
    int guard = 1;
    while (ldexp(1, guard) < numbers->ranks) {
        guard++;
    }
    if (most == 0) {
        return false;
    }
    *largest = ilogb(most) < -1022 ? -1022 : ilogb(most);
    *unit = words == 1 ? *largest - 62 + guard : *largest - 125 + 2 * guard;
    return true;
}

/* x / 2^unit, rounded to nearest, ties away from zero. */
static void add_rounded(exact_sum_t *sum, double x, int unit, bool *cut)
{
    int64_t integer;
    int exponent;
    exact_split(x, &integer, &exponent);
    const int places = unit - exponent;
    if (places <= 0) {
        exact_add_power(sum, integer, exponent);
        return;
    }
    const uint64_t magnitude = (uint64_t)llabs(integer);
    const uint64_t quotient = places > 62 ? 0 : (magnitude + (UINT64_C(1) << (places - 1))) >> places;
    *cut |= places > 62 ? magnitude != 0 : quotient << places != magnitude;
    exact_add_power(sum, integer < 0 ? -(int64_t)quotient : (int64_t)quotient, unit);
}

static void check_element(const numbers_t *numbers, size_t i, unsigned words, double got)
{
    exact_sum_t exact = {{0}}, rounded = {{0}};
    int unit = 0, largest = 0;
    bool cut = false, minus = true;
    const bool some = unit_of(numbers, i, words, &unit, &largest);
    for (uint32_t rank = 0; rank < numbers->ranks; rank++) {
        const double x = numbers->values[rank * numbers->count + i];
        minus &= x == 0 && signbit(x) != 0;
        exact_add(&exact, x);
        if (some) {
            add_rounded(&rounded, x, unit, &cut);
        }
    }
    const double documented = minus ? -0.0 : exact_nearest(&rounded);
    cr_assert(bits_of(got) == bits_of(documented), "%u ranks, %u words, kind %zu: %a, not %a", numbers->ranks, words,
              i % KINDS, got, documented);
    if (!cut) {
        cr_assert_eq(got, exact_nearest(&exact), "%u ranks, %u words: not the exact sum", numbers->ranks, words);
        return;
    }
    /* Before the last rounding the error is at most that many halves of U: rounding is monotonous. */
    const int64_t halves = unit > largest - 52 ? numbers->ranks : numbers->ranks - 1;
    exact_sum_t least = exact, most = exact;
    exact_add_power(&least, -halves, unit - 1);
    exact_add_power(&most, halves, unit - 1);
    cr_assert(exact_nearest(&least) <= got && got <= exact_nearest(&most), "%u ranks, %u words, kind %zu: error of %a",
              numbers->ranks, words, i % KINDS, got);
}

static void check_variant(const struct variant *variant, const numbers_t *numbers, uint64_t seed)
{
    const encode_device_t device = wire_device(variant->device);
    const encoding_t *const encoding = encoding_find(&device, DTYPE_F64, OP_SUM, numbers->ranks, variant->options);
    cr_assert_not_null(encoding);
    const unsigned words = encoding->round[1].words;
    cr_assert_eq(words, numbers->ranks > 1024 ? 2 : variant->words);
    const void **const users = calloc(numbers->ranks, sizeof *users);
    for (uint32_t rank = 0; rank < numbers->ranks; rank++) {
        users[rank] = numbers->values + rank * numbers->count;
    }
    double *const out = malloc(2 * numbers->count * sizeof *out), *const again = out + numbers->count;
    wire_reduce(variant->device, encoding, numbers->ranks, users, out, numbers->count, seed);
    wire_reduce(variant->device, encoding, numbers->ranks, users, again, numbers->count, seed + 1);
    for (size_t i = 0; i < numbers->count; i++) {
        cr_assert(bits_of(out[i]) == bits_of(again[i]), "another order gives %a, not %a", again[i], out[i]);
        check_element(numbers, i, words, out[i]);
    }
    free(out);
    free(users);
}

static void check_ranks(uint32_t ranks, size_t count, uint64_t seed)
{
    const numbers_t numbers = numbers_make(ranks, count, seed);
    for (int v = 0; v < VARIANTS; v++) {
        check_variant(&variants[v], &numbers, seed);
    }
    free(numbers.values);
}

#define EACH_ISA                      \
    for (int isa = 0; isa < 4; isa++) \
        if (kernel_isa_select(wire_isas[isa]))

Test(encode_float64, few_ranks)
{
    EACH_ISA
    {
        for (uint32_t ranks = 1; ranks <= 20; ranks++) {
            check_ranks(ranks, (size_t)KINDS * 60, ranks);
        }
    }
}

Test(encode_float64, many_ranks)
{
    static const uint32_t sizes[] = {31,   32,   33,   64,   100,  128,  511,  512, 513,
                                     1000, 1023, 1024, 1025, 2048, 3000, 4097, 9216};
    EACH_ISA
    {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
            check_ranks(sizes[s], (size_t)KINDS * (sizes[s] < 200 ? 8 : 2), s);
        }
    }
    uint64_t seed = 1;
    for (int i = 0; i < 12; i++) {
        check_ranks(2 + (uint32_t)wire_below(&seed, 9215), KINDS, seed);
    }
}

/* The most contributions that the table takes, all of the fullest. */
Test(encode_float64, most_ranks)
{
    const numbers_t numbers = {UINT32_C(1) << 20, 1, malloc(sizeof(double) << 20)};
    for (size_t i = 0; i < numbers.ranks; i++) {
        numbers.values[i] = -(0x1p53 - 1);
    }
    check_variant(&variants[2], &numbers, 1);
    free(numbers.values);
    const encode_device_t device = wire_device(WIRE_A2);
    cr_assert_null(encoding_find(&device, DTYPE_F64, OP_SUM, numbers.ranks + 1, 0));
}

static const double specials[] = {
    0.0, DBL_TRUE_MIN, 0x1p-1022 - 0x1p-1074, DBL_MIN, 0x1p-53, 1.0, 1.5, 0x1p52, DBL_MAX, 0x1p1023, INFINITY, NAN};
enum { SPECIALS = sizeof specials / sizeof specials[0] };

static double special_at(int i)
{
    return i < SPECIALS ? specials[i] : -specials[i - SPECIALS];
}

/* Every pair of special values, and every triple: as additions of the machine, but that NaNs are all the same, and that
   only the result can overflow. (Of triples the infinities and NaNs alone are added by the machine.) */
Test(encode_float64, special_values)
{
    enum { ALL = 2 * SPECIALS };
    static double a[ALL * ALL * ALL], b[ALL * ALL * ALL], c[ALL * ALL * ALL], out[ALL * ALL * ALL];
    for (int i = 0; i < ALL * ALL * ALL; i++) {
        a[i] = special_at(i % ALL);
        b[i] = special_at(i / ALL % ALL);
        c[i] = special_at(i / ALL / ALL);
    }
    const void *const users[] = {a, b, c};
    EACH_ISA
    {
        for (int v = 0; v < VARIANTS; v++) {
            const encode_device_t device = wire_device(variants[v].device);
            const encoding_t *encoding = encoding_find(&device, DTYPE_F64, OP_SUM, 2, variants[v].options);
            wire_reduce(variants[v].device, encoding, 2, users, out, (size_t)ALL * ALL, 5);
            for (int i = 0; i < ALL * ALL; i++) {
                const uint64_t expected = isnan(a[i] + b[i]) ? UINT64_C(0x7ff8) << 48 : bits_of(a[i] + b[i]);
                cr_assert(bits_of(out[i]) == expected, "%a + %a is %a", a[i], b[i], out[i]);
            }
            encoding = encoding_find(&device, DTYPE_F64, OP_SUM, 3, variants[v].options);
            wire_reduce(variants[v].device, encoding, 3, users, out, (size_t)ALL * ALL * ALL, 6);
            for (int i = 0; i < ALL * ALL * ALL; i++) {
                const double sum =
                    (isfinite(a[i]) ? 0 : a[i]) + (isfinite(b[i]) ? 0 : b[i]) + (isfinite(c[i]) ? 0 : c[i]);
                if (sum == 0) {
                    const numbers_t numbers = {3, 1, (double[]){a[i], b[i], c[i]}};
                    check_element(&numbers, 0, encoding->round[1].words, out[i]);
                } else {
                    cr_assert(isnan(sum) ? bits_of(out[i]) == UINT64_C(0x7ff8) << 48 : out[i] == sum);
                }
            }
        }
    }
}

/* The examples of encode.h, and complex numbers. */
Test(encode_float64, examples)
{
    const encode_device_t device = wire_device(WIRE_A2);
    const double a[] = {1e30, 1e308, 1, -0.0}, b[] = {1, 1e308, 2, -0.0}, c[] = {-1e30, -1e308, 3, 0.0};
    const void *const users[] = {a, b, c};
    double out[4];
    wire_reduce(WIRE_A2, encoding_find(&device, DTYPE_F64, OP_SUM, 3, 0), 3, users, out, 4, 1);
    cr_assert(out[0] == 0 && out[1] == 1e308 && out[2] == 6 && bits_of(out[3]) == 0);
    wire_reduce(WIRE_A2, encoding_find(&device, DTYPE_F64, OP_SUM, 3, ENCODE_EXACT), 3, users, out, 4, 1);
    cr_assert(out[0] == 1 && out[1] == 1e308 && out[2] == 6 && bits_of(out[3]) == 0);
    const encoding_t *const complex = encoding_find(&device, DTYPE_C64, OP_SUM, 2, 0);
    cr_assert_eq(encoding_wire_bytes(complex, 0, 5), 20);
    cr_assert_eq(encoding_wire_bytes(complex, 1, 5), 80);
    wire_reduce(WIRE_A2, complex, 2, users, out, 2, 1);
    cr_assert(out[0] == 1e30 && isinf(out[1]) && out[2] == 3 && bits_of(out[3]) == bits_of(-0.0));
}
