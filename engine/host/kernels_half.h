/* SPDX-License-Identifier: BSD-3-Clause */
/* The shapes of folds of 16-bit floats: widened to float, folded over all sources, rounded once. */
#ifndef ENGINE_HOST_KERNELS_HALF_H
#define ENGINE_HOST_KERNELS_HALF_H

#include "engine/float16.h"
#include "engine/host/kernels_shapes.h"

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/* By the arithmetic of engine/float16.h. F32_OP folds two floats. */
#define FOLD_HALF_PORTABLE(NAME, OP, widen, narrow)                                                                \
    KERNEL_INLINE uint16_t element_##NAME##_##OP(const NAME##_any *s0, const NAME##_any *s1, const NAME##_any *s2, \
                                                 const NAME##_any *s3, unsigned nsrc, size_t i)                    \
    {                                                                                                              \
        float a = F32_##OP(widen(s0[i]), widen(s1[i]));                                                            \
        if (nsrc > 2) {                                                                                            \
            a = F32_##OP(a, widen(s2[i]));                                                                         \
        }                                                                                                          \
        if (nsrc > 3) {                                                                                            \
            a = F32_##OP(a, widen(s3[i]));                                                                         \
        }                                                                                                          \
        return narrow(a);                                                                                          \
    }                                                                                                              \
    FOLD_VECTOR_BODY(NAME, uint16_t, OP)                                                                           \
    KERNEL_NOINLINE void many_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count)        \
    {                                                                                                              \
        enum { BLOCK = 512 };                                                                                      \
        float fold[BLOCK];                                                                                         \
        for (size_t at = 0; at < count; at += BLOCK) {                                                             \
            const size_t n = count - at < BLOCK ? count - at : BLOCK;                                              \
            const NAME##_any *const s0 = (const NAME##_any *)src[0] + at;                                          \
            KERNEL_SIMD for (size_t i = 0; i < n; i++)                                                             \
            {                                                                                                      \
                fold[i] = widen(s0[i]);                                                                            \
            }                                                                                                      \
            for (unsigned k = 1; k < nsrc; k++) {                                                                  \
                const NAME##_any *const s = (const NAME##_any *)src[k] + at;                                       \
                KERNEL_SIMD for (size_t i = 0; i < n; i++)                                                         \
                {                                                                                                  \
                    fold[i] = F32_##OP(fold[i], widen(s[i]));                                                      \
                }                                                                                                  \
            }                                                                                                      \
            NAME##_any *const d = (NAME##_any *)dst + at;                                                          \
            KERNEL_SIMD for (size_t i = 0; i < n; i++)                                                             \
            {                                                                                                      \
                d[i] = narrow(fold[i]);                                                                            \
            }                                                                                                      \
        }                                                                                                          \
    }                                                                                                              \
    FOLD_ENTRY(NAME, OP, many_##NAME##_##OP(dst, src, nsrc, count))

/* Compilers do not make the instructions that convert float16 of that arithmetic. Where there are such: HALF_LANES
   elements at a time as floats, loaded and stored with the conversion. The functions for some elements take a constant
   n of at most 4; the lanes beyond are 0 and are not stored. HALF_OP(a, b) is F32_OP. */
#if defined(__F16C__)

#define HALF_LANES 8
typedef __m256 half_lanes_t;

KERNEL_INLINE half_lanes_t half_load(const void *src, size_t at)
{
    __m128i lanes;
    memcpy(&lanes, (const uint16_t *)src + at, sizeof lanes);
    return _mm256_cvtph_ps(lanes);
}

KERNEL_INLINE void half_store(void *dst, size_t at, half_lanes_t value)
{
    const __m128i lanes = _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
    memcpy((uint16_t *)dst + at, &lanes, sizeof lanes);
}

KERNEL_INLINE half_lanes_t half_load_some(const void *src, size_t at, size_t n)
{
    uint64_t some = 0;
    memcpy(&some, (const uint16_t *)src + at, n * sizeof(uint16_t));
    return _mm256_cvtph_ps(_mm_cvtsi64_si128((long long)some));
}

KERNEL_INLINE void half_store_some(void *dst, size_t at, size_t n, half_lanes_t value)
{
    const uint64_t some = (uint64_t)_mm_cvtsi128_si64(_mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
    memcpy((uint16_t *)dst + at, &some, n * sizeof(uint16_t));
}

#define HALF_SUM(a, b)  _mm256_add_ps(b, a)
#define HALF_PROD(a, b) _mm256_mul_ps(b, a)
#define HALF_MIN(a, b)  _mm256_min_ps(b, a) /* b < a ? b : a */
#define HALF_MAX(a, b)  _mm256_max_ps(b, a) /* b > a ? b : a */

#elif defined(__aarch64__)

#define HALF_LANES 4
typedef float32x4_t half_lanes_t;

KERNEL_INLINE half_lanes_t half_load_some(const void *src, size_t at, size_t n)
{
    uint64_t some = 0;
    memcpy(&some, (const uint16_t *)src + at, n * sizeof(uint16_t));
    return vcvt_f32_f16(vreinterpret_f16_u64(vcreate_u64(some)));
}

KERNEL_INLINE void half_store_some(void *dst, size_t at, size_t n, half_lanes_t value)
{
    const uint64_t some = vget_lane_u64(vreinterpret_u64_f16(vcvt_f16_f32(value)), 0);
    memcpy((uint16_t *)dst + at, &some, n * sizeof(uint16_t));
}

KERNEL_INLINE half_lanes_t half_load(const void *src, size_t at)
{
    return half_load_some(src, at, HALF_LANES);
}

KERNEL_INLINE void half_store(void *dst, size_t at, half_lanes_t value)
{
    half_store_some(dst, at, HALF_LANES, value);
}

#define HALF_SUM(a, b)  vaddq_f32(b, a)
#define HALF_PROD(a, b) vmulq_f32(b, a)
#define HALF_MIN(a, b)  vbslq_f32(vcltq_f32(b, a), b, a)
#define HALF_MAX(a, b)  vbslq_f32(vcgtq_f32(b, a), b, a)

#endif

#ifdef HALF_LANES

#define HALF_STRIP(OP, n)                                    \
    if ((n) < HALF_LANES && (count & (n)) != 0) {            \
        half_lanes_t a = half_load_some(src[0], at, n);      \
        for (unsigned k = 1; k < nsrc; k++) {                \
            a = HALF_##OP(a, half_load_some(src[k], at, n)); \
        }                                                    \
        half_store_some(dst, at, n, a);                      \
        at += (n);                                           \
    }

#define FOLD_HALF_LANES(NAME, OP)                                                                         \
    KERNEL_INLINE void body_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count) \
    {                                                                                                     \
        size_t at = 0;                                                                                    \
        while (count - at >= HALF_LANES) {                                                                \
            half_lanes_t a = half_load(src[0], at);                                                       \
            for (unsigned k = 1; k < nsrc; k++) {                                                         \
                a = HALF_##OP(a, half_load(src[k], at));                                                  \
            }                                                                                             \
            half_store(dst, at, a);                                                                       \
            at += HALF_LANES;                                                                             \
        }                                                                                                 \
        HALF_STRIP(OP, 4)                                                                                 \
        HALF_STRIP(OP, 2)                                                                                 \
        HALF_STRIP(OP, 1)                                                                                 \
    }                                                                                                     \
    FOLD_ENTRY(NAME, OP, body_##NAME##_##OP(dst, src, nsrc, count))

#endif
#endif
