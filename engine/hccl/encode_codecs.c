/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops that encode and decode. Compiled once for each instruction set, with ENCODE_FUNCTIONS the name of its
   table; the same bits on each. Elements are read and written through types of alignment 1: Fortran programs pass
   misaligned buffers. */
#include "engine/float16.h"
#include "engine/hccl/encode_fixed.h"
#include "engine/hccl/encode_order.h"

#ifndef ENCODE_FUNCTIONS
#error "ENCODE_FUNCTIONS names the table that this build makes"
#endif

#define ANY __attribute__((aligned(1), may_alias))
typedef uint8_t any8_t ANY;
typedef uint16_t any16_t ANY;
typedef uint32_t any32_t ANY;
typedef uint64_t any64_t ANY;
typedef int8_t anyi8_t ANY;
typedef int16_t anyi16_t ANY;
typedef int32_t anyi32_t ANY;
typedef encode_level_t any_level_t ANY;

/* No element depends on another. */
#define SIMD _Pragma("omp simd")

/* A codec of one round: `encoded` is made of x, `decoded` of w. */
#define CODEC_ONE(NAME, USER, WIRE, encoded, decoded)                                                               \
    static void encode_##NAME(const encode_ranks_t *ranks, const void *user, const void *state, void *wire,         \
                              size_t count)                                                                         \
    {                                                                                                               \
        const uint32_t place = ranks->place, total = ranks->count;                                                  \
        const USER##_t *const restrict from = user;                                                                 \
        WIRE##_t *const restrict to = wire;                                                                         \
        (void)place, (void)total, (void)state;                                                                      \
        SIMD for (size_t i = 0; i < count; i++)                                                                     \
        {                                                                                                           \
            const USER##_t x = from[i];                                                                             \
            to[i] = (WIRE##_t)(encoded);                                                                            \
        }                                                                                                           \
    }                                                                                                               \
    static void decode_##NAME(const encode_ranks_t *ranks, const void *wire, void *state, void *user, size_t count) \
    {                                                                                                               \
        const uint32_t total = ranks->count;                                                                        \
        const WIRE##_t *const restrict from = wire;                                                                 \
        USER##_t *const restrict to = user;                                                                         \
        (void)total, (void)state;                                                                                   \
        SIMD for (size_t i = 0; i < count; i++)                                                                     \
        {                                                                                                           \
            const WIRE##_t w = from[i];                                                                             \
            to[i] = (USER##_t)(decoded);                                                                            \
        }                                                                                                           \
    }

static void bytes_copy(void *to, const void *from, size_t bytes)
{
    if (to != from && bytes > 0) {
        memcpy(to, from, bytes);
    }
}

#define CODEC_COPY(bits)                                                                                         \
    static void encode_COPY_##bits(const encode_ranks_t *ranks, const void *user, const void *state, void *wire, \
                                   size_t count)                                                                 \
    {                                                                                                            \
        (void)ranks, (void)state;                                                                                \
        bytes_copy(wire, user, count *((bits) / 8));                                                             \
    }                                                                                                            \
    static void decode_COPY_##bits(const encode_ranks_t *ranks, const void *wire, void *state, void *user,       \
                                   size_t count)                                                                 \
    {                                                                                                            \
        (void)ranks, (void)state;                                                                                \
        bytes_copy(user, wire, count *((bits) / 8));                                                             \
    }
CODEC_COPY(8)
CODEC_COPY(16)
CODEC_COPY(32)
CODEC_COPY(64)

#define TOP(bits) (UINT64_C(1) << ((bits)-1))
CODEC_ONE(FLIP_8, any8, any8, x ^ TOP(8), w ^ TOP(8))
CODEC_ONE(FLIP_16, any16, any16, x ^ TOP(16), w ^ TOP(16))
CODEC_ONE(FLIP_32, any32, any32, x ^ TOP(32), w ^ TOP(32))
CODEC_ONE(FLIP_64, any64, any64, x ^ TOP(64), w ^ TOP(64))

CODEC_ONE(WIDEN_I8_I32, anyi8, any32, x, w)
CODEC_ONE(WIDEN_U8_I32, any8, any32, x, w)
CODEC_ONE(WIDEN_I16_I32, anyi16, any32, x, w)
CODEC_ONE(WIDEN_U16_I32, any16, any32, x, w)
CODEC_ONE(WIDEN_I32_I64, anyi32, any64, x, w)
CODEC_ONE(WIDEN_U32_I64, any32, any64, x, w)

#define WIDE(widen, half)    float16_bits32(widen(half))
#define NARROW(narrow, bits) narrow(float16_from_bits32(bits))
CODEC_ONE(WIDEN_F16_F32, any16, any32, WIDE(float16_widen, x), NARROW(float16_narrow, w))
CODEC_ONE(WIDEN_BF16_F32, any16, any32, WIDE(bfloat16_widen, x), NARROW(bfloat16_narrow, w))

#define CODEC_TRUTH(bits)                                                \
    CODEC_ONE(TRUTH_##bits##_I8, any##bits, any8, x != 0 ? 1 : 0, w & 1) \
    CODEC_ONE(TRUTH_##bits##_I32, any##bits, any32, x != 0 ? 1 : 0, w & 1)
CODEC_TRUTH(8)
CODEC_TRUTH(16)
CODEC_TRUTH(32)
CODEC_TRUTH(64)

#define CODEC_ORDER(dtype, op, turn)                                                                       \
    CODEC_ONE(ORDER_##dtype##_##op, any16, any32, order32_encode(WIDE(HALF_WIDEN, x), place, total, turn), \
              NARROW(HALF_NARROW, order32_decode(w, total, turn)))
#define HALF_WIDEN  float16_widen
#define HALF_NARROW float16_narrow
CODEC_ORDER(F16, MIN, 0)
CODEC_ORDER(F16, MAX, UINT32_C(1) << 31)
#undef HALF_WIDEN
#undef HALF_NARROW
#define HALF_WIDEN  bfloat16_widen
#define HALF_NARROW bfloat16_narrow
CODEC_ORDER(BF16, MIN, 0)
CODEC_ORDER(BF16, MAX, UINT32_C(1) << 31)

#define CODEC_ORDER_REAL(dtype, op, bits, turn)                                                        \
    CODEC_ONE(ORDER_##dtype##_##op, any##bits, any##bits, order##bits##_encode(x, place, total, turn), \
              order##bits##_decode(w, total, turn))
CODEC_ORDER_REAL(F32, MIN, 32, 0)
CODEC_ORDER_REAL(F32, MAX, 32, UINT32_C(1) << 31)
CODEC_ORDER_REAL(F64, MIN, 64, 0)
CODEC_ORDER_REAL(F64, MAX, 64, UINT64_C(1) << 63)

/* Round 0 of a float64 sum decodes into the state. */
#define CODEC_LEVEL(NAME, WIRE)                                                                             \
    static void encode_##NAME(const encode_ranks_t *ranks, const void *user, const void *state, void *wire, \
                              size_t count)                                                                 \
    {                                                                                                       \
        const any64_t *const restrict from = user;                                                          \
        WIRE##_t *const restrict to = wire;                                                                 \
        (void)ranks, (void)state;                                                                           \
        SIMD for (size_t i = 0; i < count; i++)                                                             \
        {                                                                                                   \
            to[i] = fixed_level(from[i]);                                                                   \
        }                                                                                                   \
    }
CODEC_LEVEL(LEVEL_I16, anyi16)
CODEC_LEVEL(LEVEL_I32, anyi32)

static void decode_LEVEL_I16(const encode_ranks_t *ranks, const void *wire, void *state, void *user, size_t count)
{
    (void)ranks, (void)user;
    bytes_copy(state, wire, count * sizeof(encode_level_t));
}

static void decode_LEVEL_I32(const encode_ranks_t *ranks, const void *wire, void *state, void *user, size_t count)
{
    const anyi32_t *const restrict from = wire;
    any_level_t *const restrict to = state;
    (void)ranks, (void)user;
    SIMD for (size_t i = 0; i < count; i++)
    {
        to[i] = (encode_level_t)from[i];
    }
}

/* The words of a float64 sum, block by block: most blocks hold no infinity and no NaN, and take less work then. */
enum { FIXED_BLOCK = 512 };

static bool fixed_any_special(const any_level_t *level, size_t count)
{
    int most = 0;
    for (size_t i = 0; i < count; i++) {
        most = level[i] > most ? level[i] : most;
    }
    return most == LEVEL_SPECIAL;
}

#define FIXED_INLINE static inline __attribute__((always_inline))

FIXED_INLINE void fixed_encode_block_1(const any64_t *restrict from, const any_level_t *restrict level,
                                       any64_t *restrict to, size_t count, fixed_window_t window, bool special)
{
    SIMD for (size_t i = 0; i < count; i++)
    {
        to[i] = fixed_encode_1(from[i], level[i], window, special);
    }
}

FIXED_INLINE void fixed_decode_block_1(const any64_t *restrict from, const any_level_t *restrict level,
                                       any64_t *restrict to, size_t count, fixed_window_t window, bool special)
{
    SIMD for (size_t i = 0; i < count; i++)
    {
        to[i] = fixed_decode_1(from[i], level[i], window, special);
    }
}

/* Pairs of words go through memory of full alignment: gcc does not vectorise loops over pairs without it. */
FIXED_INLINE void fixed_encode_block_2(const any64_t *restrict from, const any_level_t *restrict level,
                                       any64_t *restrict to, size_t count, fixed_window_t window, bool special)
{
    uint64_t pairs[2 * FIXED_BLOCK];
    SIMD for (size_t i = 0; i < count; i++)
    {
        uint64_t high, low;
        fixed_encode_2(from[i], level[i], window, special, &high, &low);
        pairs[2 * i] = high;
        pairs[2 * i + 1] = low;
    }
    memcpy(to, pairs, count * 2 * sizeof pairs[0]);
}

FIXED_INLINE void fixed_decode_block_2(const any64_t *restrict from, const any_level_t *restrict level,
                                       any64_t *restrict to, size_t count, fixed_window_t window, bool special)
{
    uint64_t pairs[2 * FIXED_BLOCK];
    memcpy(pairs, from, count * 2 * sizeof pairs[0]);
    SIMD for (size_t i = 0; i < count; i++)
    {
        to[i] = fixed_decode_2(pairs[2 * i], pairs[2 * i + 1], level[i], window, special);
    }
}

/* from_words, to_words: of an element, on either side. */
#define FIXED_BLOCKS(block, from_words, to_words, words)                                     \
    for (size_t at = 0; at < count; at += FIXED_BLOCK) {                                     \
        const size_t n = count - at < FIXED_BLOCK ? count - at : FIXED_BLOCK;                \
        const fixed_window_t window = fixed_window(ranks->count, words);                     \
        if (fixed_any_special(level + at, n)) {                                              \
            block(from + (from_words)*at, level + at, to + (to_words)*at, n, window, true);  \
        } else {                                                                             \
            block(from + (from_words)*at, level + at, to + (to_words)*at, n, window, false); \
        }                                                                                    \
    }

#define CODEC_FIXED(words)                                                                                         \
    static void encode_FIXED_##words(const encode_ranks_t *ranks, const void *user, const void *state, void *wire, \
                                     size_t count)                                                                 \
    {                                                                                                              \
        const any64_t *const from = user;                                                                          \
        const any_level_t *const level = state;                                                                    \
        any64_t *const to = wire;                                                                                  \
        FIXED_BLOCKS(fixed_encode_block_##words, 1, words, words)                                                  \
    }                                                                                                              \
    static void decode_FIXED_##words(const encode_ranks_t *ranks, const void *wire, void *state, void *user,       \
                                     size_t count)                                                                 \
    {                                                                                                              \
        const any64_t *const from = wire;                                                                          \
        const any_level_t *const level = state;                                                                    \
        any64_t *const to = user;                                                                                  \
        FIXED_BLOCKS(fixed_decode_block_##words, words, 1, words)                                                  \
    }
CODEC_FIXED(1)
CODEC_FIXED(2)

const encode_functions_t ENCODE_FUNCTIONS[ENCODE_CODEC_COUNT] = {
#define CODEC(NAME) [ENCODE_CODEC_##NAME] = {encode_##NAME, decode_##NAME},
#include "engine/hccl/encode_codecs.def"
#undef CODEC
};
