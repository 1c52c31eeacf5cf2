/* SPDX-License-Identifier: BSD-3-Clause */
/* 16-bit floats by mpinpu.h: sums that every order gives exactly, with and without the library; and with it, sums that
   come out otherwise unless they are accumulated in 32 bits and rounded once.
   Closes trap 17 for 16-bit floats. */
#include "mpi_compat/mpinpu.h"
#include "tests/jobs/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MAX = 300 * 1000, PERIOD = 97 };

/* A format: bits of its significand without the leading one, and its smallest normal exponent. */
typedef struct format {
    const char *name;
    int fraction;
    int least;
} format_t;

static const format_t formats[2] = {{"float16", 10, -14}, {"bfloat16", 7, -126}};

/* Nearest number of the format, ties to even, as bits. Finite values in range only. */
static uint16_t encode(const format_t *format, double value)
{
    uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent = 0;
    double magnitude = fabs(value);
    if (magnitude == 0) {
        return sign;
    }
    (void)frexp(magnitude, &exponent);
    exponent = exponent - 1 < format->least ? format->least : exponent - 1;
    /* in units of the last place; nearbyint rounds ties to even */
    double units = nearbyint(ldexp(magnitude, format->fraction - exponent));
    return (uint16_t)(sign | (uint16_t)(((exponent - format->least) << format->fraction) + (int)units));
}

static double decode(const format_t *format, uint16_t bits)
{
    int magnitude = bits & 0x7fff;
    int exponent = magnitude >> format->fraction;
    int fraction = magnitude & ((1 << format->fraction) - 1);
    double value = exponent == 0
                       ? ldexp(fraction, format->least - format->fraction)
                       : ldexp(fraction + (1 << format->fraction), exponent - 1 + format->least - format->fraction);
    return (bits & 0x8000) != 0 ? -value : value;
}

typedef enum data {
    DATA_EXACT, /* small integers and halves */
    DATA_ONCE,  /* one rank has a number so large that each of the others alone is half a unit in its last place */
    DATA_COUNT
} data_t;

static double contribution(const format_t *format, data_t data, int rank, size_t index)
{
    uint64_t h = job_mix((uint64_t)rank, index % PERIOD);
    if (data == DATA_EXACT) {
        return (double)(h % 15) / 2 - 3;
    }
    /* 2^(fraction + 1) has a unit of 2 */
    return rank == (int)(index % PERIOD) % job.size ? ldexp(1, format->fraction + 1) : 1;
}

static uint16_t expected_of(const format_t *format, data_t data, int op, size_t index)
{
    double value = contribution(format, data, 0, index);
    for (int r = 1; r < job.size; r++) {
        double next = contribution(format, data, r, index);
        switch (op) {
        case 0:
            value += next;
            break;
        case 1:
            value = next < value ? next : value;
            break;
        default:
            value = next > value ? next : value;
            break;
        }
    }
    return encode(format, value);
}

static void check(const format_t *format, data_t data, int op, const uint16_t *got, size_t first, size_t count,
                  const char *what)
{
    static const char *const names[3] = {"sum", "min", "max"};
    for (size_t i = 0; i < count; i++) {
        uint16_t expected = expected_of(format, data, op, first + i);
        if (got[i] != expected && !((got[i] | expected) == 0x8000)) { /* the sign of a zero is free */
            job_fail("%s, %s %s of %s data: index %zu of %zu: got %g (%04x), expected %g (%04x)", what, format->name,
                     names[op], data == DATA_EXACT ? "exact" : "once rounded", i, count, decode(format, got[i]), got[i],
                     decode(format, expected), expected);
            return;
        }
    }
}

static void fill(const format_t *format, data_t data, uint16_t *to, size_t count)
{
    for (size_t i = 0; i < count && i < PERIOD; i++) {
        to[i] = encode(format, contribution(format, data, job.rank, i));
    }
    for (size_t i = PERIOD; i < count; i++) {
        to[i] = to[i - PERIOD];
    }
}

static void test_format(int f, data_t data, uint16_t *in, uint16_t *out)
{
    static const size_t counts[] = {1, 2, 15, 33, 1000, 20011, COUNT_MAX};
    const format_t *format = &formats[f];
    MPI_Datatype type = f == 0 ? mpinpu_float16() : mpinpu_bfloat16();
    const MPI_Op ops[3] = {mpinpu_sum(), mpinpu_min(), mpinpu_max()};
    int *blocks = malloc((size_t)job.size * sizeof(int));
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    JOB_CHECK(bytes == 2, "%s has %d bytes", format->name, bytes);
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        size_t count = counts[c];
        for (int op = 0; op < 3; op++) {
            fill(format, data, in, count);
            job_allreduce(in, out, (int)count, type, ops[op], MPI_COMM_WORLD);
            check(format, data, op, out, 0, count, "allreduce");
            memcpy(out, in, count * 2);
            job_allreduce(MPI_IN_PLACE, out, (int)count, type, ops[op], MPI_COMM_WORLD);
            check(format, data, op, out, 0, count, "allreduce in place");
            size_t block = count / (size_t)job.size;
            job_reduce_scatter_block(in, out, (int)block, type, ops[op], MPI_COMM_WORLD);
            check(format, data, op, out, block * (size_t)job.rank, block, "reduce_scatter_block");
            for (int r = 0; r < job.size; r++) {
                blocks[r] = r == 0 ? (int)(count - block * (size_t)(job.size - 1)) : (int)block;
            }
            job_reduce_scatter(in, out, blocks, type, ops[op], MPI_COMM_WORLD);
            size_t first = job.rank == 0 ? 0 : (size_t)blocks[0] + block * (size_t)(job.rank - 1);
            check(format, data, op, out, first, (size_t)blocks[job.rank], "reduce_scatter");
        }
    }
    free(blocks);
}

/* Products of powers of two; a NaN stays a NaN. */
static void test_rest(int f, uint16_t *in, uint16_t *out)
{
    const format_t *format = &formats[f];
    MPI_Datatype type = f == 0 ? mpinpu_float16() : mpinpu_bfloat16();
    uint16_t infinity = (uint16_t)(0x7fff >> format->fraction << format->fraction);
    for (size_t i = 0; i < 100; i++) {
        in[i] = encode(format, ldexp((job.rank + (int)i) % 2 == 0 ? 1 : -1, (int)(i % 3) - 1));
    }
    job_allreduce(in, out, 100, type, mpinpu_prod(), MPI_COMM_WORLD);
    for (size_t i = 0; i < 100; i++) {
        double product = 1;
        for (int r = 0; r < job.size; r++) {
            product *= ldexp((r + (int)i) % 2 == 0 ? 1 : -1, (int)(i % 3) - 1);
        }
        JOB_CHECK(out[i] == encode(format, product), "%s prod: index %zu: got %g, expected %g", format->name, i,
                  decode(format, out[i]), product);
    }
    for (size_t i = 0; i < 100; i++) {
        in[i] = (int)(i % (size_t)job.size) == job.rank ? (uint16_t)(infinity | 1) : encode(format, 1);
    }
    job_allreduce(in, out, 100, type, mpinpu_sum(), MPI_COMM_WORLD);
    for (size_t i = 0; i < 100; i++) {
        JOB_CHECK((out[i] & 0x7fff) > infinity, "%s sum with a NaN: index %zu: got bits %04x", format->name, i, out[i]);
    }
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    uint16_t *in = malloc(COUNT_MAX * sizeof(*in));
    uint16_t *out = malloc((COUNT_MAX + 64) * sizeof(*out));
    for (int f = 0; f < 2; f++) {
        test_format(f, DATA_EXACT, in, out);
        if (job.preloaded) {
            test_format(f, DATA_ONCE, in, out);
        }
        test_rest(f, in, out);
    }
    free(in);
    free(out);
    return job_end();
}
