/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies leave gaps alone; one NaN keeps its payload through every fold. */
#include "engine/host/kernels.h"
#include "tests/unit/kernels_oracle.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <string.h>

Test(kernels_copy, fields_and_no_gap)
{
    enum { COUNT = 9, BYTES = 2 * sizeof(long double) * COUNT };
    for (unsigned dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        char from[BYTES], to[BYTES];
        const size_t size = dtype_size((dtype_t)dtype);
        unsigned long state = dtype;
        bool gap = false;
        for (size_t i = 0; i < COUNT; i++) {
            oracle_value((dtype_t)dtype, &state, from + i * size);
        }
        memset(to, 0x77, sizeof to);
        kernel_copy((dtype_t)dtype, to, from, COUNT - 1);
        for (size_t i = 0; i < COUNT * size; i++) {
            const oracle_byte_t byte = oracle_byte((dtype_t)dtype, i % size);
            const bool copied = byte == ORACLE_VALUE && i < (COUNT - 1) * size;
            gap = gap || byte == ORACLE_GAP;
            cr_assert(byte == ORACLE_IDLE || to[i] == (copied ? from[i] : 0x77), "%s: byte %zu",
                      dtype_name((dtype_t)dtype), i);
        }
        cr_expect(gap == dtype_padded((dtype_t)dtype), "%s: padded or not", dtype_name((dtype_t)dtype));
    }
}

Test(kernels_copy, onto_itself_and_nothing)
{
    double values[2] = {1, 2};
    kernel_copy(DTYPE_F64, values, values, 2);
    kernel_copy(DTYPE_F64, values, NULL, 0);
    cr_expect(eq(dbl, values[0], 1));
    cr_expect(eq(dbl, values[1], 2));
}

/* In every lane and every place among the sources, signalling NaNs made quiet. */
Test(kernels_copy, one_nan_keeps_its_payload)
{
    static const char *const isas[] = {"base", "avx2", "avx512", "sve"};
    enum { COUNT = 77, SOURCES = 6 };
    for (size_t k = 0; k < sizeof isas / sizeof isas[0]; k++) {
        if (!kernel_isa_select(isas[k])) {
            continue;
        }
        for (unsigned nsrc = 2; nsrc <= SOURCES; nsrc++) {
            for (unsigned which = 0; which < nsrc; which++) {
                static uint32_t values[SOURCES][COUNT];
                uint32_t got[COUNT];
                const void *src[SOURCES];
                for (unsigned s = 0; s < nsrc; s++) {
                    for (unsigned i = 0; i < COUNT; i++) {
                        values[s][i] = s == which ? 0x7f800001 + i : 0x3f800000;
                    }
                    src[s] = values[s];
                }
                for (int op = OP_SUM; op <= OP_PROD; op++) {
                    kernel_fold_find(DTYPE_F32, (op_t)op)(got, src, nsrc, COUNT);
                    for (unsigned i = 0; i < COUNT; i++) {
                        cr_assert(eq(u32, got[i], 0x7fc00001 + i), "%s", isas[k]);
                    }
                }
            }
        }
    }
}
