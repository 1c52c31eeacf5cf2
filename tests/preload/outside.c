/* SPDX-License-Identifier: BSD-3-Clause */
/* An erroneous program: reduces "before" MPI_Init or "after" MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int mine = 1;
    int sum = 0;

    if (argc != 2) {
        return 2;
    }
    if (strcmp(argv[1], "after") == 0) {
        MPI_Init(NULL, NULL);
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Finalize();
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("reduced to %d\n", sum);
    return 0;
}
