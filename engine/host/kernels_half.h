/* SPDX-License-Identifier: BSD-3-Clause */
/* The shapes of folds of 16-bit floats: widened to float, folded over all sources, rounded once. */
#ifndef ENGINE_HOST_KERNELS_HALF_H
#define ENGINE_HOST_KERNELS_HALF_H

#include "engine/float16.h"
#include "engine/host/kernels_shapes.h"

#ifdef __F16C__
#include <immintrin.h>
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

#ifdef __F16C__

/* n elements as floats in the low lanes, the others 0; n is a constant: 8, or at most 4. */
KERNEL_INLINE __m256 f16c_load(const void *src, size_t at, size_t n)
{
    const uint16_t *const from = (const uint16_t *)src + at;
    if (n == 8) {
        __m128i lanes;
        memcpy(&lanes, from, sizeof lanes);
        return _mm256_cvtph_ps(lanes);
    }
    uint64_t some = 0;
    memcpy(&some, from, n * sizeof(uint16_t));
    return _mm256_cvtph_ps(_mm_cvtsi64_si128((long long)some));
}

KERNEL_INLINE void f16c_store(void *dst, size_t at, size_t n, __m256 value)
{
    uint16_t *const to = (uint16_t *)dst + at;
    const __m128i lanes = _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT);
    if (n == 8) {
        memcpy(to, &lanes, sizeof lanes);
        return;
    }
    const uint64_t some = (uint64_t)_mm_cvtsi128_si64(lanes);
    memcpy(to, &some, n * sizeof(uint16_t));
}

#define F16C_SUM(a, b)  _mm256_add_ps(b, a)
#define F16C_PROD(a, b) _mm256_mul_ps(b, a)
#define F16C_MIN(a, b)  _mm256_min_ps(b, a) /* b < a ? b : a */
#define F16C_MAX(a, b)  _mm256_max_ps(b, a) /* b > a ? b : a */

#define F16C_STRIP(OP, n)                               \
    if ((count & (n)) != 0) {                           \
        __m256 a = f16c_load(src[0], at, n);            \
        for (unsigned k = 1; k < nsrc; k++) {           \
            a = F16C_##OP(a, f16c_load(src[k], at, n)); \
        }                                               \
        f16c_store(dst, at, n, a);                      \
        at += (n);                                      \
    }

/* By the conversions of F16C, which compilers do not make of the arithmetic. */
#define FOLD_HALF_F16C(NAME, OP)                                                                          \
    KERNEL_INLINE void body_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count) \
    {                                                                                                     \
        size_t at = 0;                                                                                    \
        while (count - at >= 8) {                                                                         \
            __m256 a = f16c_load(src[0], at, 8);                                                          \
            for (unsigned k = 1; k < nsrc; k++) {                                                         \
                a = F16C_##OP(a, f16c_load(src[k], at, 8));                                               \
            }                                                                                             \
            f16c_store(dst, at, 8, a);                                                                    \
            at += 8;                                                                                      \
        }                                                                                                 \
        F16C_STRIP(OP, 4)                                                                                 \
        F16C_STRIP(OP, 2)                                                                                 \
        F16C_STRIP(OP, 1)                                                                                 \
    }                                                                                                     \
    FOLD_ENTRY(NAME, OP, body_##NAME##_##OP(dst, src, nsrc, count))

#endif
#endif
