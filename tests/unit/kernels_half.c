/* SPDX-License-Identifier: BSD-3-Clause */
/* The 16-bit floats: every value, every rounding boundary, one rounding for a whole fold, the same bits everywhere. */
#include "engine/float16.h"
#include "engine/host/kernels.h"
#include "tests/unit/kernels_oracle.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <math.h>

static const char *const isas[] = {"base", "avx2", "avx512", "sve"};

Test(kernels_half, every_value_widens)
{
    for (unsigned bits = 0; bits <= UINT16_MAX; bits++) {
        const double exact = oracle_half_value(DTYPE_F16, bits);
        const float wide = float16_widen((uint16_t)bits);
        cr_assert(isnan(exact) ? isnan(wide) : (double)wide == exact, "float16 %#x widens to %a", bits, (double)wide);
        const bool negative = signbit(wide);
        cr_assert(negative == (bits >> 15 != 0), "sign of %#x", bits);
        const double brain = oracle_half_value(DTYPE_BF16, bits);
        const float wide_brain = bfloat16_widen((uint16_t)bits);
        cr_assert(isnan(brain) ? isnan(wide_brain) : (double)wide_brain == brain, "bfloat16 %#x", bits);
    }
}

static void narrow_check(float value)
{
    const unsigned half = float16_narrow(value);
    const unsigned brain = bfloat16_narrow(value);
    cr_assert(half == oracle_half_nearest(DTYPE_F16, value), "float16 of %a is %#x, not %#x", (double)value,
              oracle_half_nearest(DTYPE_F16, value), half);
    cr_assert(brain == oracle_half_nearest(DTYPE_BF16, value), "bfloat16 of %a is %#x, not %#x", (double)value,
              oracle_half_nearest(DTYPE_BF16, value), brain);
}

Test(kernels_half, rounding_at_every_boundary)
{
    for (unsigned bits = 0; bits < 0x8000; bits++) {
        for (int type = 0; type < 2; type++) {
            const dtype_t dtype = type == 0 ? DTYPE_F16 : DTYPE_BF16;
            const double here = oracle_half_value(dtype, bits);
            const double next = oracle_half_value(dtype, bits + 1);
            if (!isfinite(here)) {
                continue;
            }
            /* Behind the largest number the boundary is where the next would be. */
            const double step = here - oracle_half_value(dtype, bits == 0 ? 1 : bits - 1);
            const float middle = (float)((here + (isfinite(next) ? next : here + step)) / 2);
            const float around[] = {(float)here, middle, nextafterf(middle, 0), nextafterf(middle, INFINITY)};
            for (int i = 0; i < 4; i++) {
                narrow_check(around[i]);
                narrow_check(-around[i]);
            }
        }
    }
    uint32_t special[] = {0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0xffa00000, 0x7fffffff, 1, 0x7f7fffff};
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        narrow_check(float16_from_bits32(special[i]));
    }
    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += 4099) {
        narrow_check(float16_from_bits32((uint32_t)bits));
    }
}

/* Every value through the conversions of each instruction set: x * 1 is x, and a NaN made quiet. */
Test(kernels_half, every_value_on_every_isa)
{
    static uint16_t all[65536], ones[65536], got[65536];
    for (int type = 0; type < 2; type++) {
        const dtype_t dtype = type == 0 ? DTYPE_F16 : DTYPE_BF16;
        for (unsigned i = 0; i < 65536; i++) {
            all[i] = (uint16_t)i;
            ones[i] = type == 0 ? 0x3c00 : 0x3f80;
        }
        for (size_t k = 0; k < sizeof isas / sizeof isas[0]; k++) {
            if (!kernel_isa_select(isas[k])) {
                continue;
            }
            const void *src[] = {all, ones};
            kernel_fold_find(dtype, OP_PROD)(got, src, 2, 65536);
            for (unsigned i = 0; i < 65536; i++) {
                const unsigned quiet = isnan(oracle_half_value(dtype, i)) ? i | (type == 0 ? 0x200 : 0x40) : i;
                cr_assert(eq(uint, got[i], quiet), "%s, %s", isas[k], dtype_name(dtype));
            }
        }
    }
}

/* 2048 + 1 + 1 in float16: rounded pair by pair it stays 2048, rounded once it is 2050. */
Test(kernels_half, rounded_once)
{
    for (size_t k = 0; k < sizeof isas / sizeof isas[0]; k++) {
        if (!kernel_isa_select(isas[k])) {
            continue;
        }
        for (unsigned nsrc = 3; nsrc <= 9; nsrc += 2) {
            enum { COUNT = 1000 };
            static uint16_t large[COUNT], one[COUNT], got[COUNT];
            const void *src[9] = {large};
            for (int i = 0; i < COUNT; i++) {
                large[i] = 0x6800;
                one[i] = 0x3c00;
            }
            for (unsigned s = 1; s < nsrc; s++) {
                src[s] = one;
            }
            kernel_fold_find(DTYPE_F16, OP_SUM)(got, src, nsrc, COUNT);
            for (int i = 0; i < COUNT; i++) {
                cr_assert(eq(dbl, oracle_half_value(DTYPE_F16, got[i]), 2048.0 + nsrc - 1));
            }
        }
    }
}

#if defined(__x86_64__)
#include <xmmintrin.h>
/* A program built with -ffast-math flushes denormal floats. Denormal float16 numbers are normal floats: they stay. */
Test(kernels_half, denormals_when_the_program_flushes)
{
    const unsigned saved = _mm_getcsr();
    for (size_t k = 0; k < sizeof isas / sizeof isas[0]; k++) {
        if (!kernel_isa_select(isas[k])) {
            continue;
        }
        static uint16_t a[1024], b[1024], got[1024];
        for (int i = 0; i < 1024; i++) {
            a[i] = (uint16_t)i;
            b[i] = 1;
        }
        const void *src[] = {a, b};
        _mm_setcsr(saved | 0x8040);
        kernel_fold_find(DTYPE_F16, OP_SUM)(got, src, 2, 1024);
        _mm_setcsr(saved);
        for (int i = 0; i < 1024; i++) {
            cr_assert(eq(uint, got[i], (unsigned)i + 1), "%s", isas[k]);
        }
    }
}
#endif
