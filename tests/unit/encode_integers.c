/* SPDX-License-Identifier: BSD-3-Clause */
/* Integers and logicals: exhaustively for 8 bits, at the ends and at random for the wider ones. */
#include "engine/host/kernels.h"
#include "tests/unit/encode_wire.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint64_t load(dtype_t dtype, const void *from, size_t i)
{
    uint64_t bits = 0;
    const size_t size = dtype_size(dtype);
    memcpy(&bits, (const char *)from + i * size, size); /* little-endian, as all machines with NPUs are */
    return bits;
}

static bool is_signed(dtype_t dtype)
{
    return dtype <= DTYPE_I64;
}

/* The number with its sign. */
static __int128 number(dtype_t dtype, uint64_t bits)
{
    const unsigned width = 8 * (unsigned)dtype_size(dtype);
    const bool negative = is_signed(dtype) && bits >> (width - 1) != 0;
    return negative ? (__int128)bits - ((__int128)1 << width) : (__int128)bits;
}

static uint64_t expected_fold(dtype_t dtype, op_t op, uint32_t ranks, const void *const *users, size_t i)
{
    uint64_t result = load(dtype, users[0], i);
    if (op == OP_LAND || op == OP_LOR || op == OP_LXOR) {
        result = result != 0;
    }
    for (uint32_t rank = 1; rank < ranks; rank++) {
        const uint64_t next = load(dtype, users[rank], i);
        const bool less = number(dtype, next) < number(dtype, result);
        switch (op) {
        case OP_SUM:
            result += next;
            break;
        case OP_PROD:
            result *= next;
            break;
        case OP_MIN:
            result = less ? next : result;
            break;
        case OP_MAX:
            result = less ? result : next;
            break;
        case OP_LAND:
            result = result != 0 && next != 0;
            break;
        case OP_LOR:
            result = result != 0 || next != 0;
            break;
        case OP_LXOR:
            result = (result != 0) != (next != 0);
            break;
        default:
            cr_assert_fail("no %s", op_name(op));
        }
        const unsigned width = 8 * (unsigned)dtype_size(dtype);
        result = width == 64 ? result : result & ((UINT64_C(1) << width) - 1);
    }
    return result;
}

static void check(wire_device_t which, dtype_t dtype, op_t op, uint32_t ranks, const void *const *users, size_t count)
{
    const encode_device_t device = wire_device(which);
    const encoding_t *const encoding = encoding_find(&device, dtype, op, ranks, 0);
    if (encoding == NULL) {
        return;
    }
    const size_t bytes = count * dtype_size(dtype);
    char *const out = malloc(bytes + 1);
    out[bytes] = 77;
    wire_reduce(which, encoding, ranks, users, out, count, ranks);
    for (size_t i = 0; i < count; i++) {
        const uint64_t expected = expected_fold(dtype, op, ranks, users, i);
        cr_assert(load(dtype, out, i) == expected, "device %d, %s %s of %u: element %zu is %#lx, not %#lx", which,
                  dtype_name(dtype), op_name(op), ranks, i, (unsigned long)load(dtype, out, i),
                  (unsigned long)expected);
    }
    cr_assert_eq(out[bytes], 77);
    free(out);
}

#define EACH_CASE                                              \
    for (int isa = 0; isa < 4; isa++)                          \
        if (kernel_isa_select(wire_isas[isa]))                 \
            for (int which = 0; which < WIRE_DEVICES; which++) \
                for (int op = OP_SUM; op <= OP_LXOR; op++)

Test(encode_integers, every_pair_of_bytes)
{
    static uint8_t a[65536], b[65536];
    for (int i = 0; i < 65536; i++) {
        a[i] = (uint8_t)i;
        b[i] = (uint8_t)(i >> 8);
    }
    const void *const users[] = {a, b};
    EACH_CASE
    {
        check((wire_device_t)which, DTYPE_I8, (op_t)op, 2, users, 65536);
        check((wire_device_t)which, DTYPE_U8, (op_t)op, 2, users, 65536);
        check((wire_device_t)which, DTYPE_BOOL, (op_t)op, 2, users, 65536);
    }
}

/* Ends, numbers near them, and random bits. */
static uint64_t some_value(dtype_t dtype, uint64_t *seed)
{
    const unsigned width = 8 * (unsigned)dtype_size(dtype);
    const uint64_t top = UINT64_C(1) << (width - 1);
    const uint64_t ends[] = {0, 1, 2, UINT64_MAX, top, top - 1, top + 1, UINT64_MAX - 1};
    switch (wire_below(seed, 4)) {
    case 0:
        return wire_random(seed);
    case 1:
        return wire_random(seed) % 5;
    case 2:
        return 0;
    default:
        return ends[wire_below(seed, 8)];
    }
}

static void check_random(wire_device_t which, op_t op, uint32_t ranks, size_t count, bool ends)
{
    static const dtype_t dtypes[] = {DTYPE_I8,  DTYPE_I16, DTYPE_I32, DTYPE_I64, DTYPE_U8,
                                     DTYPE_U16, DTYPE_U32, DTYPE_U64, DTYPE_BOOL};
    uint64_t seed = ranks + 17 * (unsigned)op;
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
        const size_t size = dtype_size(dtypes[t]);
        char *const all = malloc(ranks * count * size + 1);
        const void **const users = calloc(ranks, sizeof *users);
        for (size_t rank = 0; rank < ranks; rank++) {
            users[rank] = all + 1 + rank * count * size; /* misaligned */
            for (size_t i = 0; i < count; i++) {
                const uint64_t top = UINT64_C(1) << (8 * size - 1);
                const uint64_t end[] = {top - 1, top, UINT64_MAX};
                const uint64_t value = ends && i < 3 ? end[i] : some_value(dtypes[t], &seed);
                memcpy(all + 1 + (rank * count + i) * size, &value, size);
            }
        }
        check(which, dtypes[t], op, ranks, users, count);
        free(users);
        free(all);
    }
}

Test(encode_integers, all_widths)
{
    EACH_CASE
    {
        for (uint32_t ranks = 1; ranks <= 9; ranks++) {
            check_random((wire_device_t)which, (op_t)op, ranks, 83, false);
        }
        check_random((wire_device_t)which, (op_t)op, 128, 5, true);
    }
}

/* As many contributions as a wider type takes, all at the ends. */
Test(encode_integers, many_ranks)
{
    for (int op = OP_SUM; op <= OP_LXOR; op++) {
        check_random(WIRE_A2, (op_t)op, 9216, 4, true);
        check_random(WIRE_A2_SATURATES, (op_t)op, 9216, 4, true);
    }
    check_random(WIRE_A2_SATURATES, OP_SUM, 32768, 3, true);
    check_random(WIRE_A2_SATURATES, OP_SUM, 65536, 3, true);
}
