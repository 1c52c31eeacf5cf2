/* SPDX-License-Identifier: BSD-3-Clause */
/* The handles of mpinpu.h: first use by several threads, every op in the collectives that reduce (with whole numbers,
   which every order gives exactly), none before MPI_Init and after MPI_Finalize. Compiles as C and as C++. */
#include "mpi_compat/mpinpu.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, RANKS_MAX = 16 };

static int rank, size, failures;

static void check(int right, const char *what, int at)
{
    if (!right && failures++ < 10) {
        printf("rank %d: %s is wrong at %d\n", rank, what, at);
    }
}

/* Whole numbers up to 2048 (float16) and 256 (bfloat16), exactly. */
static uint16_t half_of(int brain, unsigned whole)
{
    const int digits = brain ? 7 : 10;
    if (whole == 0) {
        return 0;
    }
    int exponent = 0;
    while (whole >> (exponent + 1) != 0) {
        exponent++;
    }
    const unsigned fraction = exponent <= digits ? whole << (digits - exponent) : whole >> (exponent - digits);
    return (uint16_t)(((unsigned)(exponent + (brain ? 127 : 15)) << digits) + fraction - (1U << digits));
}

static void check_exact(int brain)
{
    const MPI_Datatype type = brain ? mpinpu_bfloat16() : mpinpu_float16();
    const MPI_Op ops[] = {mpinpu_sum(), mpinpu_prod(), mpinpu_min(), mpinpu_max()};
    uint16_t mine[COUNT], all[COUNT], block[COUNT];
    int counts[RANKS_MAX];
    for (int i = 0; i < COUNT; i++) {
        mine[i] = half_of(brain, (unsigned)((rank + i) % 3 + 1));
    }
    for (int o = 0; o < 4; o++) {
        uint16_t expected[COUNT];
        for (int i = 0; i < COUNT; i++) {
            unsigned fold = (unsigned)(i % 3 + 1);
            for (int r = 1; r < size; r++) {
                const unsigned next = (unsigned)((r + i) % 3 + 1);
                fold = o == 0 ? fold + next : o == 1 ? fold * next : (o == 2) == (next < fold) ? next : fold;
            }
            expected[i] = half_of(brain, fold);
        }
        MPI_Allreduce(mine, all, COUNT, type, ops[o], MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++) {
            check(all[i] == expected[i], "allreduce", i);
        }
        MPI_Reduce(mine, all, COUNT, type, ops[o], 0, MPI_COMM_WORLD);
        for (int i = 0; rank == 0 && i < COUNT; i++) {
            check(all[i] == expected[i], "reduce", i);
        }
        const int each = COUNT / size;
        MPI_Reduce_scatter_block(mine, block, each, type, ops[o], MPI_COMM_WORLD);
        for (int i = 0; i < each; i++) {
            check(block[i] == expected[rank * each + i], "reduce_scatter_block", i);
        }
        int first = 0;
        for (int r = 0; r < size; r++) {
            counts[r] = r % 2 == 0 ? 7 : 0;
            first += r < rank ? counts[r] : 0;
        }
        MPI_Reduce_scatter(mine, block, counts, type, ops[o], MPI_COMM_WORLD);
        for (int i = 0; i < counts[rank]; i++) {
            check(block[i] == expected[first + i], "reduce_scatter", i);
        }
    }
}

static void *first_use(void *op)
{
    *(MPI_Op *)op = mpinpu_max();
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    check(mpinpu_max() == MPI_OP_NULL && mpinpu_float16() == MPI_DATATYPE_NULL, "a handle before MPI_Init", 0);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided == MPI_THREAD_MULTIPLE) {
        pthread_t threads[4];
        MPI_Op ops[4];
        for (int t = 0; t < 4; t++) {
            pthread_create(&threads[t], NULL, first_use, &ops[t]);
        }
        for (int t = 0; t < 4; t++) {
            pthread_join(threads[t], NULL);
            check(ops[t] == mpinpu_max() && ops[t] != MPI_OP_NULL, "first use by threads", t);
        }
    }
    for (int brain = 0; brain < 2; brain++) {
        check_exact(brain);
    }
    /* For the script: 4 a type of each collective that the engine serves. */
    const int engine = size > 1;
    if (rank == 0) {
        printf("job-calls allreduce=8 reduce_scatter=8 reduce_scatter_block=8\n");
        printf("job-engine allreduce=%d reduce_scatter=%d reduce_scatter_block=%d\n", 8 * engine, 8 * engine,
               8 * engine);
    }
    MPI_Finalize();
    check(mpinpu_sum() == MPI_OP_NULL, "the op after MPI_Finalize", 0);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
