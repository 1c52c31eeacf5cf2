/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: four threads on four communicators, while another makes and frees communicators.
   Closes what part of trap 37 belongs to blocking calls. */
#include "tests/jobs/job.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, TIMES = 150, COUNT = 30000 };

static MPI_Comm comms[THREADS + 1];

static void *work(void *argument)
{
    int me = (int)(intptr_t)argument;
    double *in = malloc(COUNT * sizeof(double));
    double *out = malloc(COUNT * sizeof(double));
    for (int i = 0; i < TIMES; i++) {
        int count = i % 3 == 0 ? 1 : i % 3 == 1 ? 700 : COUNT;
        double sum = job.size * (job.size + 1) / 2.0;
        for (int k = 0; k < count; k++) {
            in[k] = (job.rank + 1.0) * (me + 1) * (k % 100 + i);
        }
        job_allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comms[me]);
        for (int k = 0; k < count; k++) {
            double expected = sum * (me + 1) * (k % 100 + i);
            if (out[k] != expected) {
                job_fail("thread %d, call %d: index %d of %d: got %g, expected %g", me, i, k, count, out[k], expected);
                break;
            }
        }
    }
    free(in);
    free(out);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    job_begin_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    for (int t = 0; t <= THREADS; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t);
    }
    for (int i = 0; i < 20; i++) {
        MPI_Comm part = MPI_COMM_NULL;
        int one = 1;
        int size = 0;
        int sum = 0;
        MPI_Comm_split(comms[THREADS], i % 2 == 0 ? 0 : job.rank % 2, job.rank, &part);
        MPI_Comm_size(part, &size);
        job_allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
        JOB_CHECK(sum == size, "new communicator %d: got %d, expected %d", i, sum, size);
        MPI_Comm_free(&part);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    for (int t = 0; t <= THREADS; t++) {
        MPI_Comm_free(&comms[t]);
    }
    return job_end();
}
