/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/encode_wire.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

const char *const wire_isas[4] = {"base", "avx2", "avx512", "sve"};

#define BIT(op)  (1U << OP_##op)
#define SUMMABLE (BIT(SUM) | BIT(MIN) | BIT(MAX))
#define ALL_OPS  (SUMMABLE | BIT(PROD))

encode_device_t wire_device(wire_device_t which)
{
    encode_device_t device = {.reduces = {[DTYPE_I8] = ALL_OPS,
                                          [DTYPE_I16] = SUMMABLE,
                                          [DTYPE_I32] = ALL_OPS,
                                          [DTYPE_I64] = ALL_OPS,
                                          [DTYPE_F16] = ALL_OPS,
                                          [DTYPE_BF16] = SUMMABLE,
                                          [DTYPE_F32] = ALL_OPS}};
    if (which == WIRE_910) {
        device.reduces[DTYPE_I16] = 0;
        device.reduces[DTYPE_BF16] = 0;
    }
    if (which == WIRE_950) {
        device.reduces[DTYPE_F64] = ALL_OPS;
        device.reduces[DTYPE_U64] = ALL_OPS;
    }
    for (int dtype = DTYPE_I8; dtype <= DTYPE_U64; dtype++) {
        device.wraps[dtype] = which == WIRE_A2_SATURATES ? 0 : device.reduces[dtype] & (BIT(SUM) | BIT(PROD));
    }
    return device;
}

uint64_t wire_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = *seed;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

uint64_t wire_below(uint64_t *seed, uint64_t bound)
{
    return wire_random(seed) % bound;
}

typedef __int128 wide_t;

static wide_t wide_result(op_t op, wide_t a, wide_t b)
{
    switch (op) {
    case OP_SUM:
        return a + b;
    case OP_PROD:
        return a * b;
    case OP_MIN:
        return a < b ? a : b;
    case OP_MAX:
        return a > b ? a : b;
    default:
        cr_assert_fail("a device has no %s", op_name(op));
        return 0;
    }
}

static wide_t wide_clamp(wide_t value, wide_t least, wide_t most)
{
    return value < least ? least : value > most ? most : value;
}

#define INTEGERS(DTYPE, type, least, most)                                \
    case DTYPE_##DTYPE:                                                   \
        for (size_t i = 0; i < count; i++) {                              \
            type a, b;                                                    \
            memcpy(&a, (char *)into + i * sizeof a, sizeof a);            \
            memcpy(&b, (const char *)from + i * sizeof b, sizeof b);      \
            const wide_t wide = wide_result(op, a, b);                    \
            a = (type)(saturates ? wide_clamp(wide, least, most) : wide); \
            memcpy((char *)into + i * sizeof a, &a, sizeof a);            \
        }                                                                 \
        break;

#define FLOATS(DTYPE, type)                                                                       \
    case DTYPE_##DTYPE:                                                                           \
        for (size_t i = 0; i < count; i++) {                                                      \
            type a, b;                                                                            \
            memcpy(&a, (char *)into + i * sizeof a, sizeof a);                                    \
            memcpy(&b, (const char *)from + i * sizeof b, sizeof b);                              \
            a = op == OP_SUM ? a + b : op == OP_PROD ? a * b : (op == OP_MIN) == (b < a) ? b : a; \
            memcpy((char *)into + i * sizeof a, &a, sizeof a);                                    \
        }                                                                                         \
        break;

static void wire_combine(bool saturates, dtype_t dtype, op_t op, void *into, const void *from, size_t count)
{
    switch (dtype) {
        INTEGERS(I8, int8_t, INT8_MIN, INT8_MAX)
        INTEGERS(I16, int16_t, INT16_MIN, INT16_MAX)
        INTEGERS(I32, int32_t, INT32_MIN, INT32_MAX)
        INTEGERS(I64, int64_t, INT64_MIN, INT64_MAX)
        INTEGERS(U64, uint64_t, 0, UINT64_MAX)
        FLOATS(F32, float)
        FLOATS(F64, double)
    default:
        cr_assert_fail("a device has no %s", dtype_name(dtype));
    }
}

/* Guard bytes behind each buffer. */
enum { GUARD = 16 };

static unsigned char *guarded(size_t bytes)
{
    unsigned char *const buffer = malloc(bytes + GUARD);
    cr_assert_not_null(buffer);
    memset(buffer, 0xa5, bytes + GUARD);
    return buffer;
}

static void unguard(unsigned char *buffer, size_t bytes)
{
    for (int i = 0; i < GUARD; i++) {
        cr_assert_eq(buffer[bytes + i], 0xa5, "written behind the end");
    }
    free(buffer);
}

/* Encodes or decodes in pieces of random lengths. */
static void wire_pieces(bool encodes, const encoding_t *encoding, unsigned round, const encode_ranks_t *ranks,
                        char *user, char *state, char *wire, size_t count, uint64_t *seed)
{
    for (size_t at = 0; at < count;) {
        const size_t left = count - at;
        const size_t n = left < 4 || wire_below(seed, 2) == 0 ? left : 1 + wire_below(seed, left);
        char *const w = wire + encoding_wire_bytes(encoding, round, at);
        char *const u = user + at * dtype_size(encoding->dtype);
        char *const s = state + encoding_state_bytes(encoding, at);
        if (encodes) {
            encoding_encode(encoding, round, ranks, u, s, w, n);
        } else {
            encoding_decode(encoding, round, ranks, w, s, u, n);
        }
        at += n;
    }
}

void wire_reduce(wire_device_t device, const encoding_t *encoding, uint32_t ranks, const void *const *users, void *out,
                 size_t count, uint64_t seed)
{
    const size_t state_bytes = encoding_state_bytes(encoding, count);
    unsigned char *const state = guarded(state_bytes);
    unsigned char **const wires = calloc(ranks, sizeof *wires);
    for (unsigned r = 0; r < encoding->rounds; r++) {
        const encode_round_t *const round = &encoding->round[r];
        const size_t bytes = encoding_wire_bytes(encoding, r, count);
        for (uint32_t rank = 0; rank < ranks; rank++) {
            wires[rank] = guarded(bytes);
            const encode_ranks_t contribution = {ranks, rank};
            wire_pieces(true, encoding, r, &contribution, (char *)users[rank], (char *)state, (char *)wires[rank],
                        count, &seed);
        }
        /* Any two of those that are left become one. */
        for (uint32_t left = ranks; left > 1; left--) {
            const uint32_t from = (uint32_t)wire_below(&seed, left);
            const uint32_t into = (from + 1 + (uint32_t)wire_below(&seed, left - 1)) % left;
            wire_combine(device == WIRE_A2_SATURATES, round->dtype, round->op, wires[into], wires[from],
                         encoding_wire_count(encoding, r, count));
            unguard(wires[from], bytes);
            wires[from] = wires[left - 1];
        }
        const encode_ranks_t any = {ranks, (uint32_t)wire_below(&seed, ranks)};
        wire_pieces(false, encoding, r, &any, out, (char *)state, (char *)wires[0], count, &seed);
        unguard(wires[0], bytes);
    }
    free(wires);
    unguard(state, state_bytes);
}
