/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a program takes from start to end, in two environments by turns: as it is, and with LD_PRELOAD set.
   Usage: exec_time LIBRARY ROUNDS PROGRAM [ARGUMENTS]. Prints the two medians in milliseconds. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_ROUNDS = 100000 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Milliseconds from start to end; ends this program where the other fails. */
static double run(char **arguments, char **environment)
{
    struct timespec start;
    struct timespec end;
    pid_t child;
    int status = 0;
    int error;

    clock_gettime(CLOCK_MONOTONIC, &start);
    error = posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environment);
    if (error != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "exec_time: %s failed: %s\n", arguments[0], error != 0 ? strerror(error) : "exit status not 0");
        exit(1);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - start.tv_sec) * 1e3 + (double)(end.tv_nsec - start.tv_nsec) * 1e-6;
}

/* The environment with LD_PRELOAD set to library (NULL: without it). Lives to the end of the program. */
static char **environment_with(const char *library)
{
    size_t count = 0;
    size_t kept = 0;
    char **result;

    while (environ[count] != NULL) {
        count++;
    }
    result = calloc(count + 2, sizeof(*result));
    if (result == NULL) {
        exit(1);
    }
    for (size_t i = 0; i < count; i++) {
        if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0) {
            result[kept++] = environ[i];
        }
    }
    if (library != NULL && asprintf(&result[kept], "LD_PRELOAD=%s", library) < 0) {
        exit(1);
    }
    return result;
}

int main(int argc, char **argv)
{
    const long rounds = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
    char **bare;
    char **preloaded;
    double *times[2];

    if (rounds < 1 || rounds > MOST_ROUNDS) {
        fprintf(stderr, "Usage: exec_time LIBRARY ROUNDS PROGRAM [ARGUMENTS]; ROUNDS from 1 to %d\n", MOST_ROUNDS);
        return 2;
    }
    bare = environment_with(NULL);
    preloaded = environment_with(argv[1]);
    times[0] = calloc((size_t)rounds, sizeof(double));
    times[1] = calloc((size_t)rounds, sizeof(double));
    if (times[0] == NULL || times[1] == NULL) {
        return 1;
    }
    for (long i = 0; i < rounds; i++) {
        times[0][i] = run(argv + 3, bare);
        times[1][i] = run(argv + 3, preloaded);
    }
    qsort(times[0], (size_t)rounds, sizeof(double), by_value);
    qsort(times[1], (size_t)rounds, sizeof(double), by_value);
    printf("%.3f %.3f\n", times[0][rounds / 2], times[1][rounds / 2]);
    free(times[1]);
    free(times[0]);
    free(preloaded);
    free(bare);
    return 0;
}
