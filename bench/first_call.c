/* SPDX-License-Identifier: BSD-3-Clause */
/* What the first collective on a communicator costs more than a later one: on MPI_COMM_WORLD, and on duplicates of it.
   Prints one line a case: its name and microseconds, the most over the ranks; for the duplicates the median. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LATER_CALLS = 101, DUPLICATES = 21 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Seconds of one allreduce after a barrier. */
static double call(MPI_Comm comm)
{
    int one = 1;
    int sum = 0;
    double start;

    MPI_Barrier(comm);
    start = MPI_Wtime();
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    return MPI_Wtime() - start;
}

/* Seconds that the first call takes more than the median of the later ones. */
static double set_up(MPI_Comm comm)
{
    const double first = call(comm);
    double later[LATER_CALLS];

    for (int i = 0; i < LATER_CALLS; i++) {
        later[i] = call(comm);
    }
    qsort(later, LATER_CALLS, sizeof(later[0]), by_value);
    return first - later[LATER_CALLS / 2];
}

static void print(const char *name, double seconds)
{
    double most = 0;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%-24s %10.2f\n", name, most * 1e6);
    }
}

int main(int argc, char **argv)
{
    double seconds[DUPLICATES];

    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD); /* the host MPI connects its ranks here, not in what is timed */
    print("first-on-world", set_up(MPI_COMM_WORLD));
    for (int i = 0; i < DUPLICATES; i++) {
        MPI_Comm duplicate;

        MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
        seconds[i] = set_up(duplicate);
        MPI_Comm_free(&duplicate);
    }
    qsort(seconds, DUPLICATES, sizeof(seconds[0]), by_value);
    print("first-on-duplicate", seconds[DUPLICATES / 2]);
    MPI_Finalize();
    return 0;
}
