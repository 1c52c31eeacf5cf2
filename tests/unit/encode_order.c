/* SPDX-License-Identifier: BSD-3-Clause */
/* MIN and MAX of floats by integers: what the fold in rank order gives, for every pair of special values and for many
   ranks; zeros keep the sign of the lowest rank's. And 16-bit floats in float32. */
#include "engine/float16.h"
#include "engine/host/kernels.h"
#include "tests/unit/encode_wire.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The value as double, and a value's bits. */
static double value_of(dtype_t dtype, uint64_t bits)
{
    double f64;
    memcpy(&f64, &bits, sizeof f64);
    return dtype == DTYPE_F64   ? f64
           : dtype == DTYPE_F32 ? (double)float16_from_bits32((uint32_t)bits)
           : dtype == DTYPE_F16 ? (double)float16_widen((uint16_t)bits)
                                : (double)bfloat16_widen((uint16_t)bits);
}

static uint64_t load(dtype_t dtype, const void *from, size_t i)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)from + i * dtype_size(dtype), dtype_size(dtype));
    return bits;
}

/* Patterns by width of the exponent and the fraction: zeros, ends of the denormal and normal numbers, infinities, NaNs.
 */
static uint64_t some_value(dtype_t dtype, uint64_t *seed)
{
    const unsigned fraction = dtype == DTYPE_F64 ? 52 : dtype == DTYPE_F32 ? 23 : dtype == DTYPE_F16 ? 10 : 7;
    const unsigned width = 8 * (unsigned)dtype_size(dtype);
    const uint64_t one = UINT64_C(1) << fraction;
    const uint64_t infinity = (UINT64_C(1) << (width - 1)) - one;
    const uint64_t special[] = {
        0, 0, 1, one - 1, one, infinity / 2, infinity - 1, infinity, infinity + 1, infinity + one / 2};
    const uint64_t sign = wire_below(seed, 2) << (width - 1);
    return wire_below(seed, 4) == 0 ? wire_random(seed) : sign | special[wire_below(seed, 10)];
}

static uint64_t quiet_nan(dtype_t dtype)
{
    return dtype == DTYPE_F64   ? UINT64_C(0x7ff8000000000000)
           : dtype == DTYPE_F32 ? 0x7fc00000
           : dtype == DTYPE_F16 ? 0x7e00
                                : 0x7fc0;
}

static uint64_t expected_fold(dtype_t dtype, op_t op, uint32_t ranks, const void *const *users, size_t i)
{
    uint64_t result = load(dtype, users[0], i);
    for (uint32_t rank = 1; rank < ranks; rank++) {
        const uint64_t next = load(dtype, users[rank], i);
        const double a = value_of(dtype, result), b = value_of(dtype, next);
        result = (op == OP_MIN ? b < a : b > a) ? next : result;
    }
    return isnan(value_of(dtype, result)) ? quiet_nan(dtype) : result;
}

static void check(wire_device_t which, dtype_t dtype, op_t op, uint32_t ranks, size_t count, uint64_t seed)
{
    const encode_device_t device = wire_device(which);
    const encoding_t *const encoding = encoding_find(&device, dtype, op, ranks, ENCODE_LIKE_HOST);
    cr_assert_not_null(encoding);
    const size_t size = dtype_size(dtype);
    char *const all = malloc((ranks + 1) * count * size + 1);
    const void **const users = calloc(ranks, sizeof *users);
    for (size_t rank = 0; rank < ranks; rank++) {
        users[rank] = all + 1 + rank * count * size;
        for (size_t i = 0; i < count; i++) {
            const uint64_t value = some_value(dtype, &seed);
            memcpy(all + 1 + (rank * count + i) * size, &value, size);
        }
    }
    char *const out = all + 1 + ranks * count * size;
    wire_reduce(which, encoding, ranks, users, out, count, seed);
    for (size_t i = 0; i < count; i++) {
        const uint64_t expected = expected_fold(dtype, op, ranks, users, i);
        cr_assert(load(dtype, out, i) == expected, "%s %s of %u: %#lx (%#lx, ...) is %#lx, not %#lx", dtype_name(dtype),
                  op_name(op), ranks, (unsigned long)load(dtype, users[0], i),
                  (unsigned long)load(dtype, users[ranks - 1], i), (unsigned long)load(dtype, out, i),
                  (unsigned long)expected);
    }
    free(users);
    free(all);
}

Test(encode_order, as_the_fold_in_rank_order)
{
    for (int isa = 0; isa < 4; isa++) {
        if (!kernel_isa_select(wire_isas[isa])) {
            continue;
        }
        for (int dtype = DTYPE_F16; dtype <= DTYPE_F64; dtype++) {
            for (int op = OP_MIN; op <= OP_MAX; op++) {
                for (uint32_t ranks = 1; ranks <= 9; ranks++) {
                    check(WIRE_A2, (dtype_t)dtype, (op_t)op, ranks, 1500, ranks);
                }
                check(WIRE_910, (dtype_t)dtype, (op_t)op, 9216, 3, 9);
                check(WIRE_950, (dtype_t)dtype, (op_t)op, 100, 50, 10);
            }
        }
    }
}

/* Only zeros, of both signs. */
Test(encode_order, zeros)
{
    const encode_device_t device = wire_device(WIRE_A2);
    for (unsigned signs = 0; signs < 32; signs++) {
        double values[5], out;
        const void *users[5];
        for (int i = 0; i < 5; i++) {
            values[i] = (signs >> i & 1) != 0 ? -0.0 : 0.0;
            users[i] = &values[i];
        }
        for (int op = OP_MIN; op <= OP_MAX; op++) {
            wire_reduce(WIRE_A2, encoding_find(&device, DTYPE_F64, (op_t)op, 5, 0), 5, users, &out, 1, signs);
            cr_assert(out == 0.0 && signbit(out) == signbit(values[0]));
        }
    }
}

/* 2048 + 1 + 1 is 2050 in float16, where a device that rounds at each step gives 2048; every value survives. */
Test(encode_order, halves_in_float32)
{
    const encode_device_t device = wire_device(WIRE_A2);
    const uint16_t big = 0x6800, one = 0x3c00;
    uint16_t out;
    const void *const users[] = {&big, &one, &one};
    const encoding_t *const sum = encoding_find(&device, DTYPE_F16, OP_SUM, 3, ENCODE_LIKE_HOST);
    wire_reduce(WIRE_A2, sum, 3, users, &out, 1, 1);
    cr_assert_eq(out, 0x6801);
    static uint16_t all[65536], same[65536];
    for (int dtype = DTYPE_F16; dtype <= DTYPE_BF16; dtype++) {
        for (unsigned i = 0; i < 65536; i++) {
            all[i] = (uint16_t)i;
        }
        const void *const alone[] = {all};
        wire_reduce(WIRE_A2, encoding_find(&device, (dtype_t)dtype, OP_SUM, 1, ENCODE_LIKE_HOST), 1, alone, same, 65536,
                    2);
        for (unsigned i = 0; i < 65536; i++) {
            const unsigned quiet = dtype == DTYPE_F16 ? 0x200 : 0x40;
            cr_assert_eq(same[i], isnan(value_of((dtype_t)dtype, i)) ? i | quiet : i);
        }
    }
}
