/* SPDX-License-Identifier: BSD-3-Clause */
/* A mix of collectives, checked, for tests about what is around a program: where ranks differ (buffer alignment,
   settings, a broken UCX), a small /dev/shm, a sanitizer, another allocator, fork. Usage: steady [repeats] [fork]
   Closes trap 5 by itself; 6, 7, 31, 36 by the scripts that run it. */
#include "tests/jobs/pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT_MAX = 100 * 1000 };

/* A buffer whose alignment is this rank's own: rank r is r + 1 elements off a page. */
static double *buffer_new(size_t count)
{
    return (double *)aligned_alloc(4096, ((count + 64) * sizeof(double) + 4095) / 4096 * 4096);
}

static void mix_on(MPI_Comm comm, size_t count, double *in_base, double *out_base)
{
    const pattern_type_t *type = pattern_type_named("MPI_DOUBLE");
    const pattern_op_t *op = &pattern_ops()[PATTERN_SUM];
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    double *in = in_base + rank % 8;
    double *out = out_base + (rank * 3 + 1) % 8;

    pattern_fill(type, op, rank, in, 0, count);
    job_allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, comm);
    pattern_check(type, op, size, out, 0, count, "allreduce");

    pattern_fill(type, op, rank, out, 0, count);
    job_allreduce(MPI_IN_PLACE, out, (int)count, MPI_DOUBLE, MPI_SUM, comm);
    pattern_check(type, op, size, out, 0, count, "allreduce in place");

    size_t block = count / (size_t)size;
    if (block > 0) {
        pattern_fill(type, op, rank, in, 0, block * (size_t)size);
        job_reduce_scatter_block(in, out, (int)block, MPI_DOUBLE, MPI_SUM, comm);
        pattern_check(type, op, size, out, block * (size_t)rank, block, "reduce_scatter_block");
    }

    int *counts = calloc((size_t)size, sizeof(int));
    counts[size - 1] = (int)count;
    pattern_fill(type, op, rank, in, 0, count);
    job_reduce_scatter(in, out, counts, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == size - 1) {
        pattern_check(type, op, size, out, 0, count, "reduce_scatter");
    }
    free(counts);
}

/* Children that end in every way while the parent goes on: exec, exit with its handlers, _exit. */
static void children(void)
{
    for (int way = 0; way < 3; way++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            if (way == 0) {
                execl("/bin/true", "true", (char *)NULL);
            } else if (way == 1) {
                exit(0);
            }
            _exit(0);
        }
        int status = 0;
        JOB_CHECK(child > 0 && waitpid(child, &status, 0) == child, "fork failed");
        JOB_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child %d ended with status %d", way, status);
    }
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {1, 5, 100, 1000, 10000, COUNT_MAX};
    job_begin(&argc, &argv);
    int repeats = argc > 1 ? atoi(argv[1]) : 1;
    bool forks = argc > 2 && strcmp(argv[2], "fork") == 0;
    double *in = buffer_new(COUNT_MAX);
    double *out = buffer_new(COUNT_MAX);
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, -job.rank, &half);
    for (int i = 0; i < repeats; i++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            mix_on(MPI_COMM_WORLD, sizes[s], in, out);
            mix_on(half, sizes[s], in, out);
        }
        if (forks && i % 10 == 0) {
            children();
        }
    }
    MPI_Comm_free(&half);
    free(in);
    free(out);
    return job_end();
}
