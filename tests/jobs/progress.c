/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that waits inside a collective keeps the host MPI going: its own large send, synchronous send or exposed
   window is served meanwhile. Usage: progress isend | issend | window Closes trap 1. */
#include "tests/jobs/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGE = 1024 * 1024, REDUCED_MAX = 256 * 1024 };

static char *message;
static double *in;
static double *out;
static int *counts;

static void pause_ms(long ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

/* One collective of each kind in turn, with its result checked. */
static void collective(int turn, size_t count)
{
    const pattern_type_t *type = pattern_type_named("MPI_DOUBLE");
    const pattern_op_t *op = &pattern_ops()[PATTERN_SUM];
    size_t block = count / (size_t)job.size + 1;
    size_t total = turn % 3 == 0 ? count : block * (size_t)job.size;
    pattern_fill(type, op, job.rank, in, 0, total);
    switch (turn % 3) {
    case 0:
        job_allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, out, 0, count, "allreduce");
        break;
    case 1:
        for (int r = 0; r < job.size; r++) {
            counts[r] = (int)block;
        }
        job_reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, out, block * (size_t)job.rank, block, "reduce_scatter");
        break;
    default:
        job_reduce_scatter_block(in, out, (int)block, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        pattern_check(type, op, job.size, out, block * (size_t)job.rank, block, "reduce_scatter_block");
        break;
    }
}

static void message_check(int from)
{
    for (int i = 0; i < MESSAGE; i += 4093) {
        if (message[i] != (char)(from + i)) {
            job_fail("message from rank %d: byte %d: got %d, expected %d", from, i, message[i], (char)(from + i));
            return;
        }
    }
}

static void message_fill(int from)
{
    for (int i = 0; i < MESSAGE; i++) {
        message[i] = (char)(from + i);
    }
}

/* `from` sends and goes into the collective; `to` receives later, then comes. The others come at once. */
static void test_send(bool synchronous, int from, int to, int turn, size_t count)
{
    MPI_Request request = MPI_REQUEST_NULL;
    if (job.rank == from) {
        message_fill(from);
        if (synchronous) {
            MPI_Issend(message, MESSAGE, MPI_BYTE, to, 7, MPI_COMM_WORLD, &request);
        } else {
            MPI_Isend(message, MESSAGE, MPI_BYTE, to, 7, MPI_COMM_WORLD, &request);
        }
    } else if (job.rank == to) {
        pause_ms(30);
        memset(message, 0, MESSAGE);
        MPI_Recv(message, MESSAGE, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        message_check(from);
    }
    collective(turn, count);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* `from` exposes memory and goes into the collective; `to` reads it by passive target, then comes. */
static void test_window(int from, int to, int turn, size_t count)
{
    MPI_Win window = MPI_WIN_NULL;
    char *exposed = NULL;
    /* allocated by the program, not by MPI: then Open MPI's osc/pt2pt serves it, by messages to the target */
    exposed = malloc(MESSAGE);
    MPI_Win_create(exposed, MESSAGE, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (job.rank == from) {
        message_fill(from);
        memcpy(exposed, message, MESSAGE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == to) {
        pause_ms(30);
        memset(message, 0, MESSAGE);
        MPI_Win_lock(MPI_LOCK_SHARED, from, 0, window);
        MPI_Get(message, MESSAGE, MPI_BYTE, from, 0, MESSAGE, MPI_BYTE, window);
        MPI_Win_unlock(from, window);
        message_check(from);
    }
    collective(turn, count);
    MPI_Win_free(&window);
    free(exposed);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    message = malloc(MESSAGE);
    in = malloc((REDUCED_MAX + 64) * sizeof(double));
    out = malloc((REDUCED_MAX + 64) * sizeof(double));
    counts = malloc((size_t)job.size * sizeof(int));
    const char *what = argc > 1 ? argv[1] : "";
    for (int turn = 0; turn < 6; turn++) {
        for (size_t count = 1; count <= REDUCED_MAX; count *= 512) {
            for (int reverse = 0; reverse < 2; reverse++) {
                int from = reverse ? job.size - 1 : 0;
                int to = reverse ? 0 : job.size - 1;
                if (strcmp(what, "window") == 0) {
                    test_window(from, to, turn, count);
                } else {
                    test_send(strcmp(what, "issend") == 0, from, to, turn, count);
                }
            }
        }
    }
    free(message);
    free(in);
    free(out);
    free(counts);
    return job_end();
}
