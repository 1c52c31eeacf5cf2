/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers past 2 and 4 GiB, in place. Two ranks take 5 GB of memory (blocks, bytes) or 9 GB.
   Usage: large blocks | bytes | doubles | block
   Closes trap 20. */
#include "tests/jobs/job.h"

#include <stdlib.h>
#include <string.h>

static void *memory(size_t bytes)
{
    void *at = malloc(bytes);
    if (at == NULL) {
        job_fail("no memory for %zu bytes", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return at;
}

/* 2^29 + 5 doubles: 4 GiB and 40 bytes. */
static void test_doubles(void)
{
    size_t count = ((size_t)1 << 29) + 5;
    double *buffer = memory(count * sizeof(double));
    for (size_t i = 0; i < count; i++) {
        buffer[i] = (double)(i * ((size_t)job.rank + 1) % 1000003);
    }
    job_allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++) {
        double expected = 0;
        for (size_t r = 1; r <= (size_t)job.size; r++) {
            expected += (double)(i * r % 1000003);
        }
        if (buffer[i] != expected) {
            job_fail("allreduce of %zu doubles: index %zu: got %g, expected %g", count, i, buffer[i], expected);
            break;
        }
    }
    free(buffer);
}

/* 2^31 - 1 bytes: the largest count there is. */
static void test_bytes(void)
{
    size_t count = 2147483647;
    unsigned char *buffer = memory(count);
    for (size_t i = 0; i < count; i++) {
        buffer[i] = (unsigned char)(i / 251 + i * ((size_t)job.rank + 1));
    }
    job_allreduce(MPI_IN_PLACE, buffer, (int)count, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
    for (size_t i = 0; i < count; i++) {
        unsigned char expected = 0;
        for (size_t r = 1; r <= (size_t)job.size; r++) {
            expected ^= (unsigned char)(i / 251 + i * r);
        }
        if (buffer[i] != expected) {
            job_fail("allreduce of %zu bytes: index %zu: got %d, expected %d", count, i, buffer[i], expected);
            break;
        }
    }
    free(buffer);
}

/* Blocks of 1.2 * 10^9 bytes: with two ranks 2.4 * 10^9 elements and bytes, past 2^31 of both. */
static void test_blocks(void)
{
    size_t block = 1200000000;
    size_t count = block * (size_t)job.size;
    unsigned char *buffer = memory(count);
    for (size_t i = 0; i < count; i++) {
        buffer[i] = (unsigned char)((i >> 8) * 7 + i + (size_t)job.rank);
    }
    job_reduce_scatter_block(MPI_IN_PLACE, buffer, (int)block, MPI_UNSIGNED_CHAR, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < block; i++) {
        size_t at = block * (size_t)job.rank + i;
        size_t size = (size_t)job.size;
        unsigned char expected = (unsigned char)(((at >> 8) * 7 + at) * size + size * (size - 1) / 2);
        if (buffer[i] != expected) {
            job_fail("reduce_scatter_block of %zu bytes: index %zu: got %d, expected %d", block, i, buffer[i],
                     expected);
            break;
        }
    }
    free(buffer);
}

/* Blocks of 2^28 ints: 1 GiB each, so that the second begins at 2^30 bytes and the whole passes 2^31 with three ranks.
 */
static void test_block(void)
{
    size_t block = (size_t)1 << 28;
    size_t count = block * (size_t)job.size;
    int *buffer = memory(count * sizeof(int));
    for (size_t i = 0; i < count; i++) {
        buffer[i] = (int)(i % 1000003) + job.rank;
    }
    job_reduce_scatter_block(MPI_IN_PLACE, buffer, (int)block, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < block; i++) {
        int expected = (int)((block * (size_t)job.rank + i) % 1000003) * job.size + job.size * (job.size - 1) / 2;
        if (buffer[i] != expected) {
            job_fail("reduce_scatter_block of %zu ints: index %zu: got %d, expected %d", block, i, buffer[i], expected);
            break;
        }
    }
    free(buffer);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "blocks") == 0) {
        test_blocks();
    } else if (strcmp(what, "doubles") == 0) {
        test_doubles();
    } else if (strcmp(what, "bytes") == 0) {
        test_bytes();
    } else if (strcmp(what, "block") == 0) {
        test_block();
    } else {
        job_fail("no test named %s", what);
    }
    return job_end();
}
