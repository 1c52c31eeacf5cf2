/* SPDX-License-Identifier: BSD-3-Clause */
/* The 16-bit floats, IEEE binary16 (float16) and bfloat16, to and from float. Header only and without MPI: the kernels
   and the part that is linked into programs share it. No branches, so that loops over these vectorise; the same bits as
   the instructions of F16C, also where the program flushes denormals. */
#ifndef ENGINE_FLOAT16_H
#define ENGINE_FLOAT16_H

#include <stdint.h>
#include <string.h>

static inline float float16_from_bits32(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t float16_bits32(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* The float of equal value. A NaN keeps sign and payload and becomes quiet. */
static inline float float16_widen(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t magnitude = half & 0x7fff;
    const uint32_t normal = (magnitude << 13) + (112U << 23);
    const uint32_t special = (magnitude << 13) | 0x7f800000 | (magnitude > 0x7c00 ? 0x400000U : 0U);
    const uint32_t denormal = float16_bits32((float)(int32_t)magnitude * 0x1p-24F);
    const uint32_t finite = magnitude < 0x400 ? denormal : normal;
    return float16_from_bits32(sign | (magnitude < 0x7c00 ? finite : special));
}

/* The nearest float16, ties to even; infinity from 65520 up. A NaN keeps sign and the upper payload and becomes quiet.
 */
static inline uint16_t float16_narrow(float value)
{
    const uint32_t bits = float16_bits32(value);
    const uint32_t magnitude = bits & 0x7fffffff;
    const uint32_t rounded = (magnitude + 0xfff + ((magnitude >> 13) & 1) - (112U << 23)) >> 13;
    const uint32_t nan = 0x7e00 | ((magnitude >> 13) & 0x3ff);
    /* Below 2^-14 the sum with 0.5 has its last place at 2^-24, so the addition rounds as float16 does. */
    const uint32_t denormal = float16_bits32(float16_from_bits32(magnitude) + 0.5F) - 0x3f000000;
    const uint32_t finite = magnitude < 0x38800000 ? denormal : rounded;
    const uint32_t number = magnitude < 0x477ff000 ? finite : 0x7c00;
    return (uint16_t)(((bits >> 16) & 0x8000) | (magnitude > 0x7f800000 ? nan : number));
}

/* The float of equal value: bfloat16 is its upper half. */
static inline float bfloat16_widen(uint16_t half)
{
    return float16_from_bits32((uint32_t)half << 16);
}

/* The nearest bfloat16, ties to even. A NaN keeps sign and the upper payload and becomes quiet. */
static inline uint16_t bfloat16_narrow(float value)
{
    const uint32_t bits = float16_bits32(value);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const uint32_t nan = (bits >> 16) | 0x40;
    return (uint16_t)((bits & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

#endif
