/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls each intercepted function by both names and prints what they return, and errno, which was 77 before. Arguments:
   "once"; "chdir", the same from another folder; "threads", at once from eight threads, one line if all got the same;
   "fork", at once from a parent and a child, a line each; "every", what each MPI has alone; "persistent",
   MPI_Allreduce_init alone; "large", PMPI_Allreduce_c alone; "look", for each function that only some MPIs have what
   the one returns that dlsym finds, or 0. */
#define _GNU_SOURCE
#include "fake_mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 8, LINE_BYTES = 400 };

static pthread_barrier_t barrier;

static void result_add(char line[LINE_BYTES], int result)
{
    const size_t length = strlen(line);

    snprintf(line + length, LINE_BYTES - length, "%d ", result);
}

#define ARGUMENTS(counts, mode)               FAKE_SEND, FAKE_RECV, FAKE_##counts, FAKE_TYPE, FAKE_OP, FAKE_COMM FAKE_ARGUMENTS_##mode
#define CALL_MPI(number, NAME, counts, mode)  result_add(line, NAME(ARGUMENTS(counts, mode)));
#define CALL_PMPI(number, NAME, counts, mode) result_add(line, P##NAME(ARGUMENTS(counts, mode)));
#define CALL_FOUND(number, NAME, counts, mode)                                   \
    {                                                                            \
        void *found = dlsym(RTLD_DEFAULT, #NAME);                                \
        __typeof(&(NAME)) function;                                              \
        memcpy(&function, &found, sizeof function);                              \
        result_add(line, found != NULL ? function(ARGUMENTS(counts, mode)) : 0); \
    }

static void calls_make(char line[LINE_BYTES])
{
    errno = 77;
    line[0] = '\0';
    FAKE_EVERY(CALL_MPI)
    FAKE_SOME(CALL_MPI)
    FAKE_EVERY(CALL_PMPI)
    FAKE_SOME(CALL_PMPI)
    const size_t length = strlen(line);
    snprintf(line + length, LINE_BYTES - length, "errno %d", errno);
}

/* What the mode is to call; false: no such mode. */
static bool some_calls_make(const char *mode, char line[LINE_BYTES])
{
    line[0] = '\0';
    if (strcmp(mode, "every") == 0) {
        FAKE_EVERY(CALL_MPI)
        FAKE_EVERY(CALL_PMPI)
    } else if (strcmp(mode, "look") == 0) {
        FAKE_SOME(CALL_FOUND)
    } else if (strcmp(mode, "persistent") == 0) {
        CALL_MPI(0, MPI_Allreduce_init, int, info)
    } else if (strcmp(mode, "large") == 0) {
        CALL_PMPI(0, MPI_Allreduce_c, large, blocking)
    } else {
        return false;
    }
    return true;
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

    if (some_calls_make(mode, line)) {
        puts(line);
        return 0;
    }
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
