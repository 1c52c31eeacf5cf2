/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call costs that the host MPI must do: an allreduce on MPI_COMM_SELF, where the call itself is nearly nothing.
   Prints one line a case: its name and the nanoseconds of a call, the median of many batches. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BATCHES = 101, CALLS = 5000 };

static void add(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    (void)datatype;
    for (int i = 0; i < *count; i++) {
        ((int *)inout)[i] += ((int *)in)[i];
    }
}

static void add_pairs(void *in, void *inout, int *count, MPI_Datatype *datatype)
{
    int ints = 2 * *count;

    add(in, inout, &ints, datatype);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static void measure(const char *name, MPI_Datatype datatype, MPI_Op op)
{
    int send[2] = {1, 2};
    int recv[2] = {0, 0};
    double batch[BATCHES];

    for (int i = 0; i < CALLS; i++) {
        MPI_Allreduce(send, recv, 1, datatype, op, MPI_COMM_SELF);
    }
    for (int b = 0; b < BATCHES; b++) {
        const double start = MPI_Wtime();

        for (int i = 0; i < CALLS; i++) {
            MPI_Allreduce(send, recv, 1, datatype, op, MPI_COMM_SELF);
        }
        batch[b] = (MPI_Wtime() - start) * 1e9 / CALLS;
    }
    qsort(batch, BATCHES, sizeof(batch[0]), by_value);
    printf("%-24s %10.2f\n", name, batch[BATCHES / 2]);
}

int main(int argc, char **argv)
{
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Op pair_op;

    MPI_Init(&argc, &argv);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add, 1, &op);
    MPI_Op_create(add_pairs, 1, &pair_op);
    measure("user-op", MPI_INT, op);
    measure("derived-type", pair, pair_op);
    measure("one-rank", MPI_INT, MPI_SUM);
    MPI_Op_free(&pair_op);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
