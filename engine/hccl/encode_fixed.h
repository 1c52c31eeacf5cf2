/* SPDX-License-Identifier: BSD-3-Clause */
/* One float64 of a sum: its level, and its multiple of U (encode.h) in one word or two. No branches, so that loops over
   these vectorise; no floating-point arithmetic but in the last step. */
#ifndef ENGINE_HCCL_ENCODE_FIXED_H
#define ENGINE_HCCL_ENCODE_FIXED_H

#include "engine/hccl/encode_codecs.h"

#include <string.h>

#define FLOAT64_SIGN     (UINT64_C(1) << 63)
#define FLOAT64_INFINITY (UINT64_C(0x7ff) << 52)
#define FLOAT64_NAN      (UINT64_C(0x7ff8) << 48)

/* If a level is LEVEL_SPECIAL, the (upper) words count: infinities, from these bits up. */
enum { SPECIAL_MINUS = 21, SPECIAL_NAN = 42 };

/* Bits that a sum of `count` needs above its terms' bits, at least 1: ceil(log2(count)). */
static inline int fixed_guard(uint32_t count)
{
    int guard = 1;
    while (guard < 32 && (UINT64_C(1) << guard) < count) {
        guard++;
    }
    return guard;
}

static inline double fixed_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t fixed_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline int64_t fixed_exponent(uint64_t value)
{
    const int64_t exponent = (int64_t)(value >> 52 & 0x7ff);
    return exponent < 1 ? 1 : exponent;
}

static inline encode_level_t fixed_level(uint64_t value)
{
    const int64_t exponent = fixed_exponent(value);
    const int64_t zero = value >> 63 != 0 ? LEVEL_MINUS_ZERO : LEVEL_ZERO;
    return (encode_level_t)((value << 1) == 0 ? zero : exponent + 1);
}

static inline uint64_t fixed_magnitude(uint64_t value)
{
    const uint64_t fraction = value & ((UINT64_C(1) << 52) - 1);
    return (value << 1 >> 53) == 0 ? fraction : fraction | UINT64_C(1) << 52;
}

static inline uint64_t fixed_special(uint64_t value)
{
    const uint64_t infinity = value >> 63 != 0 ? UINT64_C(1) << SPECIAL_MINUS : 1;
    const uint64_t special = (value & ~FLOAT64_SIGN) == FLOAT64_INFINITY ? infinity : UINT64_C(1) << SPECIAL_NAN;
    return (value & ~FLOAT64_SIGN) >= FLOAT64_INFINITY ? special : 0;
}

static inline uint64_t fixed_signed(uint64_t magnitude, uint64_t value)
{
    const uint64_t mask = 0 - (value >> 63);
    return (magnitude ^ mask) - mask;
}

/* How far the exponent of the highest level is above the value's. */
static inline uint64_t fixed_distance(uint64_t value, encode_level_t level)
{
    return (uint64_t)(level - 1 - fixed_exponent(value));
}

static inline uint64_t fixed_least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* word / 2^shift, rounded to nearest, ties up; word < 2^63. */
static inline uint64_t fixed_round(uint64_t word, uint64_t shift)
{
    return ((word << 1 >> fixed_least(shift, 63)) + 1) >> 1;
}

/* The words of a sum of `count`: an element of the highest level is shifted up by `top`; the upper of two words counts
   2^lower. */
typedef struct fixed_window {
    int32_t top;
    int32_t lower;
} fixed_window_t;

static inline fixed_window_t fixed_window(uint32_t count, unsigned words)
{
    const int32_t lower = 63 - fixed_guard(count);
    return (fixed_window_t){.top = (int32_t)words * lower - 53, .lower = lower};
}

/* `special` says whether the level may be LEVEL_SPECIAL, here and below. */
static inline uint64_t fixed_encode_1(uint64_t value, encode_level_t level, fixed_window_t window, bool special)
{
    const uint64_t magnitude = fixed_magnitude(value) << window.top;
    const uint64_t finite = fixed_signed(fixed_round(magnitude, fixed_distance(value, level)), value);
    return special && level == LEVEL_SPECIAL ? fixed_special(value) : finite;
}

static inline void fixed_encode_2(uint64_t value, encode_level_t level, fixed_window_t window, bool special,
                                  uint64_t *high, uint64_t *low)
{
    /* With many contributions a word is narrower than a magnitude. */
    const int32_t above = window.lower > 53 ? window.lower - 53 : 0;
    const int32_t below = window.lower < 53 ? 53 - window.lower : 0;
    const uint64_t lower = (uint64_t)window.lower;
    const uint64_t mask = (UINT64_C(1) << lower) - 1;
    const uint64_t magnitude = fixed_magnitude(value) << above;
    const uint64_t right = fixed_distance(value, level) + (uint64_t)below;
    /* Near: no bit gets lost. Far: all that is left fits one word before it is split. */
    const bool near = right <= lower;
    const uint64_t far = fixed_round(magnitude, near ? 0 : right - lower);
    const uint64_t upper = near ? magnitude >> fixed_least(right, 63) : far >> lower;
    const uint64_t rest = (near ? magnitude << (near ? lower - right : 0) : far) & mask;
    const bool count = special && level == LEVEL_SPECIAL;
    *high = count ? fixed_special(value) : fixed_signed(upper, value);
    *low = count ? 0 : fixed_signed(rest, value);
}

/* A sum of words of special elements. */
static inline uint64_t fixed_special_sum(uint64_t word)
{
    const uint64_t mask = (UINT64_C(1) << SPECIAL_MINUS) - 1;
    const uint64_t plus = word & mask;
    const uint64_t minus = word >> SPECIAL_MINUS & mask;
    const uint64_t infinity = FLOAT64_INFINITY | (minus != 0 ? FLOAT64_SIGN : 0);
    const uint64_t both = plus != 0 && minus != 0 ? FLOAT64_NAN : infinity;
    return word >> SPECIAL_NAN != 0 ? FLOAT64_NAN : both;
}

/* The nearest float64 to a signed word: both halves are exact behind the subtraction, and the sum rounds. Written out
   since few instruction sets convert vectors of 64-bit integers. */
static inline double fixed_nearest(uint64_t word)
{
    const double upper = fixed_double(((word >> 32) ^ UINT64_C(0x80000000)) | UINT64_C(0x4530000000000000));
    const double lower = fixed_double((word & UINT64_C(0xffffffff)) | UINT64_C(0x4330000000000000));
    return (upper - (0x1p84 + 0x1p63 + 0x1p52)) + lower;
}

/* nearest * 2^exponent, in two exact steps unless the result overflows; a denormal result has no more bits than fit,
   since all terms are multiples of 2^-1074. */
static inline uint64_t fixed_scale(double nearest, int64_t exponent)
{
    const int64_t half = (int64_t)((uint64_t)(exponent + 4096) >> 1) - 2048;
    const double first = fixed_double((uint64_t)(1023 + half) << 52);
    const double second = fixed_double((uint64_t)(1023 + exponent - half) << 52);
    return fixed_bits(nearest * first * second);
}

/* What the sum of `word`s is; nearest * 2^exponent is its value if it is finite. */
static inline uint64_t fixed_result(double nearest, int64_t exponent, encode_level_t level, uint64_t word, bool special)
{
    const uint64_t finite = fixed_scale(nearest, exponent);
    const uint64_t number = finite | (level == LEVEL_MINUS_ZERO ? FLOAT64_SIGN : 0);
    return special && level == LEVEL_SPECIAL ? fixed_special_sum(word) : number;
}

static inline uint64_t fixed_decode_1(uint64_t word, encode_level_t level, fixed_window_t window, bool special)
{
    return fixed_result(fixed_nearest(word), level - 1 - 1075 - window.top, level, word, special);
}

static inline uint64_t fixed_decode_2(uint64_t high, uint64_t low, encode_level_t level, fixed_window_t window,
                                      bool special)
{
    /* The same value with 0 <= rest < 2^lower. The carry is low >> lower with its sign, which few vector units can
     * shift.
     */
    const int64_t lower = window.lower;
    const uint64_t carry = ((low ^ FLOAT64_SIGN) >> lower) - (FLOAT64_SIGN >> lower);
    const uint64_t upper = high + carry;
    const uint64_t rest = low - (carry << lower);
    /* The word takes as many bits of the rest as it has room for, and whether there are more: its last place is then
       far below half of the float64's. The float64 next to it tells the room, or one less. */
    const int64_t room = 62 + 1023 - (int64_t)(fixed_bits(fixed_nearest(upper)) >> 52 & 0x7ff);
    const int64_t some = room > 0 ? room : 0;
    const int64_t taken = some < lower ? some : lower;
    const uint64_t left = (uint64_t)(lower - taken);
    const uint64_t top = rest >> left;
    const uint64_t more = top << left != rest ? 1 : 0;
    const uint64_t word = upper << (uint64_t)taken | top | more;
    return fixed_result(fixed_nearest(word), level - 1 - 1075 - window.top + (int64_t)left, level, high, special);
}

#endif
