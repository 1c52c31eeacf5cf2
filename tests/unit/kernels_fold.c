/* SPDX-License-Identifier: BSD-3-Clause */
/* Every fold of every instruction set against the oracle: numbers of sources, counts around vector widths and block
   ends, misaligned buffers, dst apart and as each of the sources. */
#include "engine/host/kernels.h"
#include "tests/unit/kernels_oracle.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES_MAX = 9 };
static const size_t guard = 64; /* bytes in front of and behind a vector */

static const char *const isas[] = {"base", "avx2", "avx512", "sve"};

static const size_t small_counts[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 23, 31, 32, 33, 47, 63, 64, 65, 79};

typedef struct sweep {
    dtype_t dtype;
    op_t op;
    size_t size;
    size_t nelements;
    char *sources[SOURCES_MAX];
    char *expected[SOURCES_MAX + 1]; /* by number of sources */
    char *work[SOURCES_MAX];
    char *dst;
} sweep_t;

static char *sweep_memory(size_t bytes)
{
    char *const memory = calloc(1, bytes + 2 * guard);
    cr_assert(ne(ptr, memory, NULL));
    return memory;
}

static void sweep_open(sweep_t *sweep, dtype_t dtype, op_t op)
{
    sweep->dtype = dtype;
    sweep->op = op;
    sweep->size = dtype_size(dtype);
    sweep->nelements = 4096 / sweep->size + 80;
    const size_t bytes = sweep->nelements * sweep->size;
    unsigned long state = 1 + 100 * (unsigned long)dtype + (unsigned long)op;
    for (unsigned s = 0; s < SOURCES_MAX; s++) {
        sweep->sources[s] = sweep_memory(bytes);
        sweep->work[s] = sweep_memory(bytes);
        for (size_t i = 0; i < sweep->nelements; i++) {
            oracle_value(dtype, &state, sweep->sources[s] + i * sweep->size);
        }
    }
    for (unsigned n = 1; n <= SOURCES_MAX; n++) {
        sweep->expected[n] = sweep_memory(bytes);
        for (size_t i = 0; i < sweep->nelements; i++) {
            const void *elements[SOURCES_MAX];
            for (unsigned s = 0; s < n; s++) {
                elements[s] = sweep->sources[s] + i * sweep->size;
            }
            oracle_fold(dtype, op, elements, n, sweep->expected[n] + i * sweep->size);
        }
    }
    sweep->dst = sweep_memory(bytes);
}

static void sweep_close(sweep_t *sweep)
{
    for (unsigned s = 0; s < SOURCES_MAX; s++) {
        free(sweep->sources[s]);
        free(sweep->work[s]);
        free(sweep->expected[s + 1]);
    }
    free(sweep->dst);
}

/* One fold. alias: the source that is dst, or nsrc for none. shift: bytes by which dst and every other source are off.
 */
static void sweep_fold(const sweep_t *sweep, const char *isa, unsigned nsrc, size_t count, unsigned alias, size_t shift)
{
    const size_t bytes = count * sweep->size;
    const void *src[SOURCES_MAX];
    for (unsigned s = 0; s < nsrc; s++) {
        char *const at = sweep->work[s] + guard + (s % 2 == 0 ? shift : 0);
        memcpy(at, sweep->sources[s], bytes);
        memset(at + bytes, 0x77, guard - shift);
        src[s] = at;
    }
    char *dst = sweep->dst + guard + shift;
    if (alias < nsrc) {
        dst = sweep->work[alias] + (guard + (alias % 2 == 0 ? shift : 0));
    } else {
        memset(sweep->dst, 0x77, bytes + 2 * guard);
    }
    kernel_fold_find(sweep->dtype, sweep->op)(dst, src, nsrc, count);

    for (size_t i = 0; i < count; i++) {
        const char *const got = dst + i * sweep->size;
        cr_assert(
            oracle_equal(sweep->dtype, nsrc == 1 ? OP_MIN : sweep->op, sweep->expected[nsrc] + i * sweep->size, got),
            "%s, %s of %s: element %zu of %zu is wrong, %u sources, dst is source %u, shift %zu", isa,
            op_name(sweep->op), dtype_name(sweep->dtype), i, count, nsrc, alias, shift);
        for (size_t b = 0; b < sweep->size; b++) {
            cr_assert(oracle_byte(sweep->dtype, b) != ORACLE_GAP || got[b] == (alias < nsrc ? 0x5a : 0x77),
                      "%s, %s of %s: the gap of element %zu was written", isa, op_name(sweep->op),
                      dtype_name(sweep->dtype), i);
        }
    }
    for (size_t b = 0; b < guard - shift; b++) {
        cr_assert(dst[bytes + b] == 0x77, "%s, %s of %s: written past the end, count %zu", isa, op_name(sweep->op),
                  dtype_name(sweep->dtype), count);
    }
    for (unsigned s = 0; s < nsrc; s++) {
        cr_assert(s == alias || memcmp(src[s], sweep->sources[s], bytes) == 0, "%s, %s of %s: source %u was written",
                  isa, op_name(sweep->op), dtype_name(sweep->dtype), s);
    }
}

static void sweep_run(dtype_t dtype, op_t op)
{
    sweep_t sweep;
    sweep_open(&sweep, dtype, op);
    const size_t block = 4096 / sweep.size;
    const size_t large_counts[] = {block - 1, block, block + 1, block + 67};
    for (size_t k = 0; k < sizeof isas / sizeof isas[0]; k++) {
        if (!kernel_isa_select(isas[k])) {
            continue;
        }
        for (unsigned nsrc = 1; nsrc <= SOURCES_MAX; nsrc++) {
            for (unsigned alias = 0; alias <= nsrc; alias++) {
                for (size_t c = 0; c < sizeof small_counts / sizeof small_counts[0]; c++) {
                    sweep_fold(&sweep, isas[k], nsrc, small_counts[c], alias, 0);
                    sweep_fold(&sweep, isas[k], nsrc, small_counts[c], alias, 1 + c % 7);
                }
            }
            for (size_t c = 0; c < sizeof large_counts / sizeof large_counts[0]; c++) {
                sweep_fold(&sweep, isas[k], nsrc, large_counts[c], nsrc, 0);
                sweep_fold(&sweep, isas[k], nsrc, large_counts[c], (unsigned)c % nsrc, 4);
            }
        }
    }
    sweep_close(&sweep);
}

static void sweep_dtypes(dtype_t first, dtype_t last)
{
    for (unsigned dtype = first; dtype <= last; dtype++) {
        for (unsigned op = 0; op < OP_COUNT; op++) {
            if (oracle_defined((dtype_t)dtype, (op_t)op)) {
                sweep_run((dtype_t)dtype, (op_t)op);
            }
        }
    }
}

Test(kernels_fold, signed_integers)
{
    sweep_dtypes(DTYPE_I8, DTYPE_I64);
}

Test(kernels_fold, unsigned_integers)
{
    sweep_dtypes(DTYPE_U8, DTYPE_U64);
}

Test(kernels_fold, bool_and_halves)
{
    sweep_dtypes(DTYPE_BOOL, DTYPE_BF16);
}

Test(kernels_fold, floats)
{
    sweep_dtypes(DTYPE_F32, DTYPE_FLONG);
}

Test(kernels_fold, complex_numbers)
{
    sweep_dtypes(DTYPE_C32, DTYPE_CLONG);
}

Test(kernels_fold, pairs)
{
    sweep_dtypes(DTYPE_F32_I32, DTYPE_F64_F64);
}

Test(kernels_fold, defined_where_mpi_defines)
{
    for (size_t k = 0; k < sizeof isas / sizeof isas[0]; k++) {
        if (!kernel_isa_select(isas[k])) {
            continue;
        }
        for (unsigned dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            for (unsigned op = 0; op < OP_COUNT; op++) {
                const bool found = kernel_fold_find((dtype_t)dtype, (op_t)op) != NULL;
                cr_expect(found == oracle_defined((dtype_t)dtype, (op_t)op), "%s: %s of %s", isas[k], op_name((op_t)op),
                          dtype_name((dtype_t)dtype));
            }
        }
    }
}

Test(kernels_fold, isa_by_name)
{
    cr_expect(kernel_isa_select("base"));
    cr_expect(eq(str, (char *)kernel_isa_name(), "base"));
    cr_expect(not(kernel_isa_select("none such")));
    cr_expect(eq(str, (char *)kernel_isa_name(), "base"));
}
