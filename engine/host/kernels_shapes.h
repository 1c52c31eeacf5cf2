/* SPDX-License-Identifier: BSD-3-Clause */
/* The shapes that a fold's loop can have. Each is a macro that makes `fold_NAME_OP`, a kernel_fold_t, from an inline
   function NAME_OP(a, b): a is the fold of the lower ranks so far, b the next rank's element. Elements are read and
   written through types of alignment 1, since Fortran programs pass misaligned buffers; the loops then have no
   prologue, which makes short vectors quick. */
#ifndef ENGINE_HOST_KERNELS_SHAPES_H
#define ENGINE_HOST_KERNELS_SHAPES_H

#include "engine/host/kernels_isa.h"

#include <string.h>

#define KERNEL_INLINE   static inline __attribute__((always_inline))
#define KERNEL_NOINLINE static __attribute__((noinline))
#define KERNEL_SIMD     _Pragma("omp simd") /* dst is a source or apart from it: no element depends on another */

#define ELEMENT(NAME, type) typedef type NAME##_any __attribute__((aligned(1), may_alias));

/* fold_NAME_OP: a body for 2, 3 and 4 sources each, and `many` for more. */
#define FOLD_ENTRY(NAME, OP, many)                                                                 \
    KERNEL_NOINLINE void fold2_##NAME##_##OP(void *dst, const void *const *src, size_t count)      \
    {                                                                                              \
        body_##NAME##_##OP(dst, src, 2, count);                                                    \
    }                                                                                              \
    KERNEL_NOINLINE void fold3_##NAME##_##OP(void *dst, const void *const *src, size_t count)      \
    {                                                                                              \
        body_##NAME##_##OP(dst, src, 3, count);                                                    \
    }                                                                                              \
    KERNEL_NOINLINE void fold4_##NAME##_##OP(void *dst, const void *const *src, size_t count)      \
    {                                                                                              \
        body_##NAME##_##OP(dst, src, 4, count);                                                    \
    }                                                                                              \
    static void fold_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count) \
    {                                                                                              \
        if (nsrc == 2) {                                                                           \
            fold2_##NAME##_##OP(dst, src, count);                                                  \
        } else if (nsrc == 3) {                                                                    \
            fold3_##NAME##_##OP(dst, src, count);                                                  \
        } else if (nsrc == 4) {                                                                    \
            fold4_##NAME##_##OP(dst, src, count);                                                  \
        } else if (nsrc == 1) {                                                                    \
            kernel_copy(DTYPE_##NAME, dst, src[0], count);                                         \
        } else {                                                                                   \
            many;                                                                                  \
        }                                                                                          \
    }

/* The same, with more than 4 sources folded block by block of up to 4. */
#define FOLD_ENTRY_BLOCKS(NAME, type, OP)                                                           \
    static void fold_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count); \
    FOLD_ENTRY(NAME, OP,                                                                            \
               kernel_fold_blocks(fold_##NAME##_##OP, KERNEL_BLOCK_BYTES / sizeof(type), dst, src, nsrc, count))

#define FOLD_SOURCES(NAME)                                   \
    NAME##_any *const d = dst;                               \
    const NAME##_any *const s0 = src[0], *const s1 = src[1]; \
    const NAME##_any *const s2 = src[nsrc > 2 ? 2 : 0];      \
    const NAME##_any *const s3 = src[nsrc > 3 ? 3 : 0];

/* The fold of element i; nsrc is a constant where this is inlined. */
#define FOLD_ELEMENT(NAME, type, OP)                                                                           \
    KERNEL_INLINE type element_##NAME##_##OP(const NAME##_any *s0, const NAME##_any *s1, const NAME##_any *s2, \
                                             const NAME##_any *s3, unsigned nsrc, size_t i)                    \
    {                                                                                                          \
        type a = NAME##_##OP(s0[i], s1[i]);                                                                    \
        if (nsrc > 2) {                                                                                        \
            a = NAME##_##OP(a, s2[i]);                                                                         \
        }                                                                                                      \
        if (nsrc > 3) {                                                                                        \
            a = NAME##_##OP(a, s3[i]);                                                                         \
        }                                                                                                      \
        return a;                                                                                              \
    }

/* What is left behind the last full vector goes in strips of halving lengths, each one short vector. A strip is made
   beside dst and then copied, so that the compiler may load all of it before it stores. */
#define FOLD_STRIP(NAME, type, OP, n)                                       \
    if ((n) * sizeof(type) < 64 && (count & (n)) != 0) {                    \
        type strip[n];                                                      \
        KERNEL_SIMD for (size_t j = 0; j < (n); j++)                        \
        {                                                                   \
            strip[j] = element_##NAME##_##OP(s0, s1, s2, s3, nsrc, at + j); \
        }                                                                   \
        memcpy(d + at, strip, sizeof strip);                                \
        at += (n);                                                          \
    }

/* Vectorised by the compiler. */
#define FOLD_VECTOR_BODY(NAME, type, OP)                                                                  \
    KERNEL_INLINE void body_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count) \
    {                                                                                                     \
        FOLD_SOURCES(NAME)                                                                                \
        size_t at = count & ~(64 / sizeof(type) - 1);                                                     \
        KERNEL_SIMD for (size_t i = 0; i < at; i++)                                                       \
        {                                                                                                 \
            d[i] = element_##NAME##_##OP(s0, s1, s2, s3, nsrc, i);                                        \
        }                                                                                                 \
        FOLD_STRIP(NAME, type, OP, 32)                                                                    \
        FOLD_STRIP(NAME, type, OP, 16)                                                                    \
        FOLD_STRIP(NAME, type, OP, 8)                                                                     \
        FOLD_STRIP(NAME, type, OP, 4)                                                                     \
        FOLD_STRIP(NAME, type, OP, 2)                                                                     \
        if ((count & 1) != 0) {                                                                           \
            d[at] = element_##NAME##_##OP(s0, s1, s2, s3, nsrc, at);                                      \
        }                                                                                                 \
    }

#define FOLD_VECTOR(NAME, type, OP)  \
    FOLD_ELEMENT(NAME, type, OP)     \
    FOLD_VECTOR_BODY(NAME, type, OP) \
    FOLD_ENTRY_BLOCKS(NAME, type, OP)

/* For types that no vector unit knows. */
#define FOLD_SCALAR(NAME, type, OP)                                                                       \
    FOLD_ELEMENT(NAME, type, OP)                                                                          \
    KERNEL_INLINE void body_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count) \
    {                                                                                                     \
        FOLD_SOURCES(NAME)                                                                                \
        for (size_t i = 0; i < count; i++) {                                                              \
            d[i] = element_##NAME##_##OP(s0, s1, s2, s3, nsrc, i);                                        \
        }                                                                                                 \
    }                                                                                                     \
    FOLD_ENTRY_BLOCKS(NAME, type, OP)

/* For value and index, MINLOC and MAXLOC: fields alone are written, never the padding. */
#define FOLD_PAIR(NAME, type, OP)                                                                         \
    FOLD_ELEMENT(NAME, type, OP)                                                                          \
    KERNEL_INLINE void body_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count) \
    {                                                                                                     \
        FOLD_SOURCES(NAME)                                                                                \
        for (size_t i = 0; i < count; i++) {                                                              \
            const type pair = element_##NAME##_##OP(s0, s1, s2, s3, nsrc, i);                             \
            d[i].value = pair.value;                                                                      \
            d[i].index = pair.index;                                                                      \
        }                                                                                                 \
    }                                                                                                     \
    FOLD_ENTRY_BLOCKS(NAME, type, OP)

/* Sums of complex numbers are sums of twice as many reals. */
#define FOLD_AS_REALS(NAME, OP, REAL)                                                              \
    static void fold_##NAME##_##OP(void *dst, const void *const *src, unsigned nsrc, size_t count) \
    {                                                                                              \
        fold_##REAL##_##OP(dst, src, nsrc, 2 * count);                                             \
    }

#endif
