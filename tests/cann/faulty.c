/* SPDX-License-Identifier: BSD-3-Clause */
/* A plain MPI program whose collectives may fail: it goes on until one returns an error, and checks what came before.
   Each rank prints "rank R: right N errors N", and the error's class and text. A wrong number, a send buffer that
   changed, or an error that does not come by the error handler, once a call and with a text, is a failure. With `late`
   the last rank comes 4 s late to one call, with `killed` it is killed there. */
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int handled;
static int handled_code;

/* The signature is MPI's. */
static void handler(MPI_Comm *comm, int *code, ...) /* NOLINT(cert-dcl50-cpp) */
{
    (void)comm;
    handled++;
    handled_code = *code;
}

/* Prints what MPI says of the code; the number of things that are wrong with it. */
static int error_say(int rank, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    int class = 0;
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
    printf("rank %d: class %s: %s\n", rank,
           class == MPI_ERR_OTHER    ? "MPI_ERR_OTHER"
           : class == MPI_ERR_NO_MEM ? "MPI_ERR_NO_MEM"
                                     : "unexpected",
           text);
    return (handled != 1) + (handled_code != code) + (strncmp(text, "mpinpu: ", 8) != 0);
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
    MPI_Errhandler errhandler;
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler);
    int *send = malloc(COUNT * sizeof *send);
    int *recv = malloc(COUNT * sizeof *recv);
    const int block = COUNT / size;
    for (int call = 0; call < CALLS && errors == 0; call++) {
        const bool scatter = call % 3 == 2;
        for (int i = 0; i < COUNT; i++) {
            send[i] = i % 1000 + call + rank;
            recv[i] = -1;
        }
        if (call == 6 && rank == size - 1 && argc > 1) {
            if (strcmp(argv[1], "killed") == 0) {
                raise(SIGKILL);
            }
            sleep(4);
        }
        int code = scatter ? MPI_Reduce_scatter_block(send, recv, block, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
                           : MPI_Allreduce(send, recv, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (code != MPI_SUCCESS) {
            errors++;
            wrong += error_say(rank, code);
            /* It fails on, and says the same. */
            wrong += MPI_Allreduce(send, recv, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != code || handled != 2;
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
        printf("FAIL rank %d: something is wrong\n", rank);
    }
    MPI_Errhandler_free(&errhandler);
    free(recv);
    free(send);
    MPI_Finalize();
    return wrong > 0 ? 1 : 0;
}
