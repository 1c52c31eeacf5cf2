/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that end otherwise than they should: the script looks at what is left behind.
   Usage: ends unfreed | exit | _exit | abort | kill | kill-inside | segv
   Closes trap 28 with ends.sh. */
#include "tests/jobs/job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double in[50000];
static double out[50000];

static void some(MPI_Comm comm, int times)
{
    int size = 0;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < times; i++) {
        in[0] = i;
        job_allreduce(in, out, i % 2 == 0 ? 3 : 50000, MPI_DOUBLE, MPI_SUM, comm);
        JOB_CHECK(out[0] == (double)i * size, "got %g, expected %g", out[0], (double)i * size);
    }
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Comm copies[5];
    for (int c = 0; c < 5; c++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copies[c]);
        some(copies[c], 4);
    }
    some(MPI_COMM_WORLD, 20);
    bool last = job.rank == job.size - 1;
    if (strcmp(how, "unfreed") == 0) {
        return job_end();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 0) {
        printf("ends: %s\n", how);
        fflush(stdout);
    }
    if (strcmp(how, "exit") == 0) {
        exit(job.failures > 0);
    } else if (strcmp(how, "_exit") == 0) {
        _exit(job.failures > 0);
    } else if (strcmp(how, "abort") == 0 && last) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    } else if (strcmp(how, "kill") == 0 && last) {
        raise(SIGKILL);
    } else if (strcmp(how, "segv") == 0 && last) {
        raise(SIGSEGV);
    } else if (strcmp(how, "kill-inside") == 0 && last) {
        /* dies while the others, and itself, are inside collectives */
        alarm(1);
        signal(SIGALRM, SIG_DFL);
    }
    for (;;) {
        some(MPI_COMM_WORLD, 20);
    }
}
