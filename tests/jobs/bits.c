/* SPDX-License-Identifier: BSD-3-Clause */
/* The same bits on all ranks, call after call and (by the digest printed, which the script compares) run after run;
   special floats; integers that wrap.
   Usage: bits digest | reproducible | special | wrap
   Closes traps 10, 17. */
#include "tests/jobs/job.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1024 * 1024 + 64 };

static char *input;
static char *output;
static char *again;

/* Floats whose sum depends on the order: every fourth index is 1e8, 1, -1e8, 1 by rank; the rest is noise of many
   magnitudes. */
static double noise(int rank, size_t index)
{
    static const double trap[4] = {1e8, 1, -1e8, 1};
    if (index % 4 == 0) {
        return trap[(rank + (int)(index / 4 % 4)) % 4];
    }
    uint64_t h = job_mix((uint64_t)rank + 1000, index);
    double v = ldexp((double)(h & 0xffffff) + 1.0, (int)((h >> 32) % 40) - 40);
    return (h >> 63) != 0 ? -v : v;
}

static void noise_fill(MPI_Datatype type, int rank, void *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double v = noise(rank, i);
        if (type == MPI_FLOAT) {
            ((float *)to)[i] = (float)v;
        } else if (type == MPI_DOUBLE) {
            ((double *)to)[i] = v;
        } else {
            /* the bytes that a long double does not use would make the digest random */
            memset((long double *)to + i, 0, sizeof(long double));
            ((long double *)to)[i] = (long double)v / 3.0L;
        }
    }
}

/* A digest of the values, not of gaps inside a long double. */
static uint64_t values_digest(uint64_t seed, MPI_Datatype type, const void *values, size_t count, size_t size)
{
    if (type != MPI_LONG_DOUBLE) {
        return job_digest(seed, values, count * size);
    }
    for (size_t i = 0; i < count; i++) {
        int exponent = 0;
        long double mantissa = frexpl(((const long double *)values)[i], &exponent);
        int64_t parts[2] = {(int64_t)ldexpl(mantissa, 63), exponent};
        seed = job_digest(seed, parts, sizeof(parts));
    }
    return seed;
}

/* Whether all ranks have the same digest; returns rank 0's view of all, mixed. */
static void same_on_all(uint64_t digest, const char *what, size_t count)
{
    uint64_t *all = malloc((size_t)job.size * sizeof(*all));
    MPI_Allgather(&digest, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int r = 0; r < job.size; r++) {
        if (all[r] != all[0]) {
            job_fail("%s of %zu: rank %d has other bits than rank 0", what, count, r);
            break;
        }
    }
    free(all);
}

/* x0 + x1 + ... from the left in rank order, in the type's own arithmetic. */
static void left_fold_check(MPI_Datatype type, const void *got, size_t first, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        float f = 0;
        double d = 0;
        for (int r = 0; r < job.size; r++) {
            double v = noise(r, first + i);
            f = r == 0 ? (float)v : f + (float)v;
            d = r == 0 ? v : d + v;
        }
        double value = type == MPI_FLOAT ? (double)((const float *)got)[i] : ((const double *)got)[i];
        double expected = type == MPI_FLOAT ? (double)f : d;
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison): it is the bits that are to be the same */
        if (memcmp(&value, &expected, sizeof(value)) != 0) {
            job_fail("%s: index %zu of %zu: got %a, expected %a (a left fold in rank order)", what, i, count, value,
                     expected);
            return;
        }
    }
}

static uint64_t digest_one(MPI_Datatype type, size_t size, size_t count, bool reproducible)
{
    noise_fill(type, job.rank, input, count);
    job_allreduce(input, output, (int)count, type, MPI_SUM, MPI_COMM_WORLD);
    uint64_t digest = values_digest(0, type, output, count, size);
    same_on_all(digest, "allreduce", count);

    noise_fill(type, job.rank, again, count);
    job_allreduce(MPI_IN_PLACE, again, (int)count, type, MPI_SUM, MPI_COMM_WORLD);
    JOB_CHECK(values_digest(0, type, again, count, size) == digest, "allreduce of %zu: in place has other bits", count);
    job_allreduce(input, again, (int)count, type, MPI_SUM, MPI_COMM_WORLD);
    JOB_CHECK(values_digest(0, type, again, count, size) == digest, "allreduce of %zu: other bits at the second call",
              count);

    int *counts = malloc((size_t)job.size * sizeof(int));
    size_t first = 0;
    for (int r = 0; r < job.size; r++) {
        counts[r] = (int)(count / (size_t)job.size + ((size_t)r < count % (size_t)job.size ? 1 : 0));
        first += r < job.rank ? (size_t)counts[r] : 0;
    }
    size_t mine = (size_t)counts[job.rank];
    job_reduce_scatter(input, again, counts, type, MPI_SUM, MPI_COMM_WORLD);
    uint64_t scattered = values_digest(0, type, again, mine, size);
    if (reproducible && type != MPI_LONG_DOUBLE) {
        left_fold_check(type, output, 0, count, "allreduce");
        left_fold_check(type, again, first, mine, "reduce_scatter");
    }
    job_reduce_scatter(input, again, counts, type, MPI_SUM, MPI_COMM_WORLD);
    JOB_CHECK(values_digest(0, type, again, mine, size) == scattered,
              "reduce_scatter of %zu: other bits at the second call", count);
    free(counts);

    uint64_t *all = malloc((size_t)job.size * sizeof(*all));
    MPI_Allgather(&scattered, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    digest = job_digest(digest, all, (size_t)job.size * sizeof(*all));
    free(all);
    return digest;
}

static void test_digest(bool reproducible)
{
    static const size_t bytes[] = {8,    32,   64,    128,   256,   512,    1024,   2048,
                                   4096, 8192, 16384, 32768, 65536, 262144, 1048576};
    const MPI_Datatype types[] = {MPI_FLOAT, MPI_DOUBLE, MPI_LONG_DOUBLE};
    const size_t sizes[] = {sizeof(float), sizeof(double), sizeof(long double)};
    uint64_t digest = 0;
    for (int t = 0; t < 3; t++) {
        for (size_t b = 0; b < sizeof(bytes) / sizeof(bytes[0]); b++) {
            size_t count = bytes[b] / sizes[t];
            for (size_t near = count > 1 ? count - 1 : 1; near <= count + 1; near++) {
                uint64_t one = digest_one(types[t], sizes[t], near, reproducible);
                digest = job_digest(digest, &one, sizeof(one));
            }
        }
    }
    if (job.rank == 0) {
        printf("job-digest %016" PRIx64 "\n", digest);
    }
}

/* Prints the result of MIN, MAX and SUM on pairs of special values; the script compares with bare Open MPI. Two ranks.
 */
static void test_special(void)
{
    const double special[] = {NAN,      -NAN,      -0.0, 0.0, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308,
                              INFINITY, -INFINITY, 1.0};
    enum { SPECIALS = sizeof(special) / sizeof(special[0]), REPEAT = 5, PAIRS = SPECIALS * SPECIALS * REPEAT };
    const MPI_Op ops[] = {MPI_MIN, MPI_MAX, MPI_SUM};
    double mine[PAIRS];
    double result[PAIRS];
    float mine_f[PAIRS];
    float result_f[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        int pair = i % (SPECIALS * SPECIALS);
        mine[i] = special[job.rank == 0 ? pair / SPECIALS : job.rank == 1 ? pair % SPECIALS : 10];
        mine_f[i] = (float)mine[i];
        if (fabs(mine[i]) > 0 && fabs(mine[i]) < 1e-300) {
            mine_f[i] = (float)copysign(mine[i] < 1e-320 ? 1e-45 : 2e-39, mine[i]);
        }
    }
    for (int o = 0; o < 3; o++) {
        for (int length = 1; length <= PAIRS; length = length < 121 ? length + 40 : length * 5) {
            job_allreduce(mine, result, length, MPI_DOUBLE, ops[o], MPI_COMM_WORLD);
            job_allreduce(mine_f, result_f, length, MPI_FLOAT, ops[o], MPI_COMM_WORLD);
            for (int i = 0; i < length && job.rank == 0; i++) {
                /* which NaN comes out of an addition is the processor's matter */
                if (o == 2 && isnan(result[i])) {
                    printf("special op %d length %d index %d: nan\n", o, length, i);
                } else {
                    printf("special op %d length %d index %d: %a %a\n", o, length, i, result[i], (double)result_f[i]);
                }
            }
            same_on_all(job_digest(0, result, (size_t)length * sizeof(double)), "special values", (size_t)length);
        }
    }
}

#define WRAP_TEST(ctype, mpitype)                                                                                    \
    static void wrap_##ctype(void)                                                                                   \
    {                                                                                                                \
        ctype *in = (ctype *)input;   /* NOLINT(bugprone-macro-parentheses): a type */                               \
        ctype *out = (ctype *)output; /* NOLINT(bugprone-macro-parentheses) */                                       \
        for (int length = 1; length < 400; length = length < 70 ? length + 1 : length + 37) {                        \
            for (int product = 0; product < 2; product++) {                                                          \
                for (int i = 0; i < length; i++) {                                                                   \
                    in[i] = (ctype)job_mix((uint64_t)job.rank, (uint64_t)i);                                         \
                }                                                                                                    \
                job_allreduce(in, out, length, mpitype, product ? MPI_PROD : MPI_SUM, MPI_COMM_WORLD);               \
                for (int i = 0; i < length; i++) {                                                                   \
                    uint64_t expected = product ? 1 : 0;                                                             \
                    for (int r = 0; r < job.size; r++) {                                                             \
                        uint64_t v = job_mix((uint64_t)r, (uint64_t)i);                                              \
                        expected = product ? expected * v : expected + v;                                            \
                    }                                                                                                \
                    JOB_CHECK(out[i] == (ctype)expected, "%s %s: index %d of %d: got %lld, expected %lld", #mpitype, \
                              product ? "PROD" : "SUM", i, length, (long long)out[i], (long long)(ctype)expected);   \
                }                                                                                                    \
            }                                                                                                        \
        }                                                                                                            \
    }
WRAP_TEST(int8_t, MPI_INT8_T)
WRAP_TEST(uint8_t, MPI_UINT8_T)
WRAP_TEST(int16_t, MPI_INT16_T)
WRAP_TEST(uint16_t, MPI_UINT16_T)
WRAP_TEST(int32_t, MPI_INT32_T)
WRAP_TEST(uint64_t, MPI_UINT64_T)

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    input = malloc(BYTES_MAX);
    output = malloc(BYTES_MAX);
    again = malloc(BYTES_MAX);
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "digest") == 0) {
            test_digest(false);
        } else if (strcmp(argv[a], "reproducible") == 0) {
            test_digest(true);
        } else if (strcmp(argv[a], "special") == 0) {
            test_special();
        } else if (strcmp(argv[a], "wrap") == 0) {
            wrap_int8_t();
            wrap_uint8_t();
            wrap_int16_t();
            wrap_uint16_t();
            wrap_int32_t();
            wrap_uint64_t();
        } else {
            job_fail("no test named %s", argv[a]);
        }
    }
    free(input);
    free(output);
    free(again);
    return job_end();
}
