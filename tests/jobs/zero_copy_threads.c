/* SPDX-License-Identifier: BSD-3-Clause */
/* Four threads, each with its communicator and buffers of its own that come and go, while one of them forks: buffers
   are shared at their place and given up beside others that are written to. Usage: zero_copy_threads [fork] */
#include "tests/jobs/job.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, TURNS = 60, USES = 6, LEAST = 1 << 17, SPREAD = 300000 };

static MPI_Comm comms[THREADS];
static bool forks;

static void child(void)
{
    const pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        _exit(0);
    }
    JOB_CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "fork failed");
}

static void reduce(float *in, float *out, size_t count, int turn, MPI_Comm comm)
{
    const float ranks = (float)job.size;

    for (size_t i = 0; i < count; i++) {
        in[i] = (float)((i + (size_t)turn) % 1000) + (float)job.rank;
    }
    job_allreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, comm);
    for (size_t i = 0; i < count; i++) {
        const float expected = (float)((i + (size_t)turn) % 1000) * ranks + ranks * (ranks - 1) / 2;
        if (out[i] != expected) {
            job_fail("turn %d, element %zu of %zu: got %g, expected %g", turn, i, count, (double)out[i],
                     (double)expected);
            return;
        }
    }
}

static void *thread_run(void *number)
{
    const size_t thread = (size_t)((MPI_Comm *)number - comms);

    for (int turn = 0; turn < TURNS; turn++) {
        const size_t count = LEAST + job_mix(thread, (uint64_t)turn) % SPREAD;
        float *in = malloc(count * sizeof *in);
        float *out = malloc(count * sizeof *out);
        for (int use = 0; use < USES; use++) {
            reduce(in, out, count, turn + use, comms[thread]);
            if (forks && thread == 0 && turn % 10 == 3 && use == 4) {
                child();
            }
        }
        free(in);
        free(out);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    job_begin_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    forks = argc > 1;
    for (int t = 0; t < THREADS; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_create(&threads[t], NULL, thread_run, &comms[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        MPI_Comm_free(&comms[t]);
    }
    return job_end();
}
