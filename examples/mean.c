/* SPDX-License-Identifier: BSD-3-Clause */
/* Mean and spread of numbers that lie across the ranks: two allreduces. */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { NUMBERS = 100000 };

int main(int argc, char **argv)
{
    static double number[NUMBERS];
    double part[2] = {0, 0}; /* sum, sum of squares */
    double whole[2];
    double least = INFINITY;
    double mean;
    int rank;
    int ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < NUMBERS; i++) {
        number[i] = (i * 7 + rank) % 100;
        part[0] += number[i];
        part[1] += number[i] * number[i];
        least = fmin(least, number[i]);
    }
    MPI_Allreduce(part, whole, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
    mean = whole[0] / NUMBERS / ranks;
    if (rank == 0) {
        printf("%d numbers on %d ranks: mean %.3f, deviation %.3f, least %.0f\n", NUMBERS * ranks, ranks, mean,
               sqrt(whole[1] / NUMBERS / ranks - mean * mean), least);
    }
    MPI_Finalize();
    return 0;
}
