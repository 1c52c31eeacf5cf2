/* SPDX-License-Identifier: BSD-3-Clause */
/* A plain MPI program: five allreduces, three reduce-scatters and two by blocks on every rank, results checked by sums
   that are known. Prints "right" on rank 0; aborts the job where a result is wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void expect(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "wrong result: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 9);
    }
}

int main(int argc, char **argv)
{
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int sum = size * (size + 1) / 2; /* of rank + 1 over all ranks */
    int *in = malloc((size_t)size * sizeof *in);
    int *counts = malloc((size_t)size * sizeof *counts);

    for (int r = 0; r < size; r++) {
        in[r] = (rank + 1) * (r + 3);
        counts[r] = 1;
    }
    for (int i = 0; i < 5; i++) {
        double value = (rank + 1) * (i + 1);
        double result = 0;
        MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        expect(result == (double)sum * (i + 1), "allreduce");
    }
    for (int i = 0; i < 3; i++) {
        int result = 0;
        MPI_Reduce_scatter(in, &result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(result == sum * (rank + 3), "reduce_scatter");
    }
    for (int i = 0; i < 2; i++) {
        int result = 0;
        MPI_Reduce_scatter_block(in, &result, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        expect(result == sum * (rank + 3), "reduce_scatter_block");
    }
    if (rank == 0) {
        puts("right");
        fflush(stdout);
    }
    free(counts);
    free(in);
    MPI_Finalize();
    return 0;
}
