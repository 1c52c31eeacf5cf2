/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls each intercepted function by both names and prints what they return, and errno, which was 77 before. Arguments:
   "once"; "chdir", the same from another folder; "threads", at once from eight threads, one line if all got the same;
   "fork", at once from a parent and a child, a line each. */
#include "fake_mpi.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, LINE_BYTES = 80 };

static pthread_barrier_t barrier;

static void calls_make(char line[LINE_BYTES])
{
    errno = 77;
    int a = MPI_Allreduce(FAKE_SEND, FAKE_RECV, FAKE_COUNT, FAKE_TYPE, FAKE_OP, FAKE_COMM);
    int b = MPI_Reduce_scatter(FAKE_SEND, FAKE_RECV, FAKE_COUNTS, FAKE_TYPE, FAKE_OP, FAKE_COMM);
    int c = MPI_Reduce_scatter_block(FAKE_SEND, FAKE_RECV, FAKE_COUNT, FAKE_TYPE, FAKE_OP, FAKE_COMM);
    int d = PMPI_Allreduce(FAKE_SEND, FAKE_RECV, FAKE_COUNT, FAKE_TYPE, FAKE_OP, FAKE_COMM);
    int e = PMPI_Reduce_scatter(FAKE_SEND, FAKE_RECV, FAKE_COUNTS, FAKE_TYPE, FAKE_OP, FAKE_COMM);
    int f = PMPI_Reduce_scatter_block(FAKE_SEND, FAKE_RECV, FAKE_COUNT, FAKE_TYPE, FAKE_OP, FAKE_COMM);
    snprintf(line, LINE_BYTES, "%d %d %d %d %d %d errno %d", a, b, c, d, e, f, errno);
}

static void *thread_main(void *line)
{
    pthread_barrier_wait(&barrier);
    calls_make(line);
    return NULL;
}

static int threads_run(void)
{
    static char lines[THREADS][LINE_BYTES];
    pthread_t threads[THREADS];

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int t = 0; t < THREADS; t++) {
        if (pthread_create(&threads[t], NULL, thread_main, lines[t]) != 0) {
            return 2;
        }
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        if (t == 0 || strcmp(lines[t], lines[0]) != 0) {
            puts(lines[t]);
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "once";
    char line[LINE_BYTES];
    pid_t child = -1;

    if (strcmp(mode, "threads") == 0) {
        return threads_run();
    }
    if (strcmp(mode, "chdir") == 0 && chdir("/") != 0) {
        return 2;
    }
    if (strcmp(mode, "fork") == 0) {
        child = fork();
    }
    calls_make(line);
    puts(line);
    fflush(stdout);
    if (child == 0) {
        _exit(0);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
    return 0;
}
