/* SPDX-License-Identifier: BSD-3-Clause */
/* A plain MPI program whose collectives may fail: it goes on until one returns an error, and checks what came before.
   Each rank prints "rank R: right N errors N". A wrong number, or a send buffer that changed, is a failure. */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 12, COUNT = 60000 };

static bool right(const int *recv, int count, int first, int size, int call)
{
    for (int i = 0; i < count; i++) {
        const int element = first + i;
        if (recv[i] != size * (element % 1000 + call) + size * (size - 1) / 2) {
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    int errors = 0;
    int wrong = 0;
    int good = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int *send = malloc(COUNT * sizeof *send);
    int *recv = malloc(COUNT * sizeof *recv);
    const int block = COUNT / size;
    for (int call = 0; call < CALLS && errors == 0; call++) {
        const bool scatter = call % 3 == 2;
        for (int i = 0; i < COUNT; i++) {
            send[i] = i % 1000 + call + rank;
            recv[i] = -1;
        }
        int code = scatter ? MPI_Reduce_scatter_block(send, recv, block, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                           : MPI_Allreduce(send, recv, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (code != MPI_SUCCESS) {
            errors++;
        } else if (right(recv, scatter ? block : COUNT, scatter ? rank * block : 0, size, call)) {
            good++;
        } else {
            wrong++;
        }
        for (int i = 0; i < COUNT; i++) {
            wrong += send[i] != i % 1000 + call + rank;
        }
    }
    printf("rank %d: right %d errors %d\n", rank, good, errors);
    if (wrong > 0) {
        printf("FAIL rank %d: wrong numbers\n", rank);
    }
    free(recv);
    free(send);
    MPI_Finalize();
    return wrong > 0 ? 1 : 0;
}
