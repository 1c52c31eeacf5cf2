/* SPDX-License-Identifier: BSD-3-Clause */
/* Choice of the instruction set, copies, and folds of many sources. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/host/kernels_isa.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

typedef struct kernel_isa {
    const char *name;
    bool (*runs_here)(void);
    const kernel_table_t *table;
} kernel_isa_t;

#if defined(KERNELS_HAVE_AVX2) || defined(KERNELS_HAVE_AVX512)
/* By the instruction itself: clang 14 does not know "f16c" in __builtin_cpu_supports. That the system saves the wide
   registers is part of the answer for avx2. */
static bool avx2_runs_here(void)
{
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

#if defined(KERNELS_HAVE_AVX512)
static bool avx512_runs_here(void)
{
    return avx2_runs_here() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

#if defined(KERNELS_HAVE_SVE)
static bool sve_runs_here(void)
{
    const unsigned long hwcap_sve = 1UL << 22; /* linux, arch/arm64/include/uapi/asm/hwcap.h */
    return (getauxval(AT_HWCAP) & hwcap_sve) != 0;
}
#endif

static bool base_runs_here(void)
{
    return true;
}

/* The best first. */
static const kernel_isa_t kernel_isas[] = {
#ifdef KERNELS_HAVE_AVX512
    {"avx512", avx512_runs_here, &kernel_table_avx512},
#endif
#ifdef KERNELS_HAVE_AVX2
    {"avx2", avx2_runs_here, &kernel_table_avx2},
#endif
#ifdef KERNELS_HAVE_SVE
    {"sve", sve_runs_here, &kernel_table_sve},
#endif
    {"base", base_runs_here, &kernel_table_base},
};

/* Any thread may make the choice, all make the same; what it points to is constant, so no order is needed. */
static _Atomic(const kernel_isa_t *) kernel_isa_chosen;

static const kernel_isa_t *kernel_isa_get(void)
{
    const kernel_isa_t *isa = atomic_load_explicit(&kernel_isa_chosen, memory_order_relaxed);
    if (isa == NULL) {
        for (isa = kernel_isas; !isa->runs_here(); isa++) {
        }
        atomic_store_explicit(&kernel_isa_chosen, isa, memory_order_relaxed);
    }
    return isa;
}

const char *kernel_isa_name(void)
{
    return kernel_isa_get()->name;
}

bool kernel_isa_select(const char *name)
{
    for (size_t i = 0; i < sizeof kernel_isas / sizeof kernel_isas[0]; i++) {
        if (strcmp(kernel_isas[i].name, name) == 0 && kernel_isas[i].runs_here()) {
            atomic_store_explicit(&kernel_isa_chosen, &kernel_isas[i], memory_order_relaxed);
            return true;
        }
    }
    return false;
}

kernel_fold_t kernel_fold_find(dtype_t dtype, op_t op)
{
    const kernel_fold_t fold = (*kernel_isa_get()->table)[dtype][op];
    return fold != NULL ? fold : kernel_table_scalar[dtype][op];
}

/* What a padded element is made of: `value` bytes at 0, and an int32 at `index`. */
static void padded_copy(void *dst, const void *src, size_t count, size_t extent, size_t value, size_t index)
{
    for (size_t i = 0; i < count; i++) {
        char *to = (char *)dst + i * extent;
        const char *from = (const char *)src + i * extent;
        memcpy(to, from, value);
        memcpy(to + index, from + index, sizeof(int32_t));
    }
}

void kernel_copy(dtype_t dtype, void *dst, const void *src, size_t count)
{
    if (dst == src || count == 0) {
        return;
    }
    switch (dtype) {
    case DTYPE_F64_I32:
    case DTYPE_I64_I32:
        padded_copy(dst, src, count, 16, 8, 8);
        return;
    case DTYPE_I16_I32:
        padded_copy(dst, src, count, 8, 2, 4);
        return;
    case DTYPE_FLONG_I32:
        padded_copy(dst, src, count, 2 * sizeof(long double), sizeof(long double), sizeof(long double));
        return;
    default:
        memcpy(dst, src, count * dtype_size(dtype));
    }
}

void kernel_fold_blocks(kernel_fold_t fold, size_t block, void *dst, const void *const *src, unsigned nsrc,
                        size_t count)
{
    alignas(64) char part[KERNEL_BLOCK_BYTES];
    size_t offset = 0;
    while (count > 0) {
        const size_t n = count < block ? count : block;
        /* All sources of a block but the last few are read before dst, which may be one of them, is written. */
        const void *some[4] = {(const char *)src[0] + offset};
        unsigned done = 1;
        do {
            unsigned nsome = 1;
            while (nsome < 4 && done < nsrc) {
                some[nsome++] = (const char *)src[done++] + offset;
            }
            fold(done < nsrc ? part : (char *)dst + offset, some, nsome, n);
            some[0] = part;
        } while (done < nsrc);
        count -= n;
        offset += KERNEL_BLOCK_BYTES;
    }
}
