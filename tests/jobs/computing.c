/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that computes, and calls no MPI, while a nonblocking collective is outstanding.
   Usage: computing thread | none MODE FILE: whether the library is to have a thread of its own then; FILE is made by
   the last rank once it has its result. MODE: waits    the last rank waits in MPI_Wait, the others compute until FILE
   is there; forks    the same, and they fork meanwhile; exits    and end without MPI_Finalize before; persists the same
   as waits with a persistent one. */
#define _GNU_SOURCE
#include "tests/jobs/pattern.h"

#include <dirent.h>
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* So large that each rank must take part again and again. */
enum { COUNT = 1 << 20 };

static int32_t *in;
static int32_t *out;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A line of a file of the library's thread that begins with `word`, as a number; -1: there is no such thread. */
static long thread_number(const char *word)
{
    char name[300];
    char line[200];
    long number = -1;
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;

    while (folder != NULL && number < 0 && (entry = readdir(folder)) != NULL) {
        (void)snprintf(name, sizeof name, "/proc/self/task/%s/status", entry->d_name);
        FILE *file = fopen(name, "r");
        bool ours = false;
        while (file != NULL && fgets(line, sizeof line, file) != NULL) {
            ours = ours || strcmp(line, "Name:\tmpinpu\n") == 0;
            if (ours && strncmp(line, word, strlen(word)) == 0) {
                number = strtol(line + strlen(word), NULL, 10);
            }
        }
        if (file != NULL) {
            (void)fclose(file);
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return number;
}

static bool thread_there(void)
{
    return thread_number("Pid:") >= 0;
}

/* While nothing is outstanding the thread does not run at all, once it has seen that. */
static void check_rests(void)
{
    long before = -1;
    long after = 0;

    for (int i = 0; i < 100 && before != after; i++) {
        before = thread_number("voluntary_ctxt_switches:");
        usleep(50000);
        after = thread_number("voluntary_ctxt_switches:");
    }
    JOB_CHECK(before == after, "the thread runs while nothing is outstanding");
}

static bool file_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* No call of MPI in here. True: the file came. */
static bool compute_until(const char *path, double seconds)
{
    const double end = now() + seconds;
    volatile double value = 1;

    while (!file_there(path) && now() < end) {
        for (int i = 0; i < 20000; i++) {
            value = value * 1.0000001;
        }
    }
    return file_there(path);
}

static void fork_and_end(void)
{
    const pid_t child = fork();
    int status = -1;

    if (child == 0) {
        free(malloc(1 << 22));
        exit(7); /* with all handlers */
    }
    JOB_CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7,
              "a forked child ended with status %x", (unsigned)status);
}

static void issue(bool persists, MPI_Request *request)
{
    if (persists) {
        MPIX_Allreduce_init(in, out, COUNT, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request);
        job_count(JOB_ALLREDUCE_INIT, MPI_SUCCESS, true, MPI_COMM_WORLD);
        MPI_Start(request);
        job_count_start(JOB_ALLREDUCE_INIT, true, MPI_COMM_WORLD);
    } else {
        job_iallreduce(in, out, COUNT, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD, request);
    }
}

/* Whether another rank waited for this one as long as it computed. Where nobody stands in for it, that is so but for
   rare chances: what this rank did in the call itself was enough. */
static bool turn(const char *mode, bool thread, const char *path)
{
    bool waited = false;
    const bool persists = strcmp(mode, "persists") == 0;
    const bool waits = job.rank == job.size - 1;
    MPI_Request request;

    issue(persists, &request);
    if (waits) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        FILE *file = fopen(path, "w");
        JOB_CHECK(file != NULL && fclose(file) == 0, "%s cannot be made", path);
    } else if (thread) {
        if (strcmp(mode, "forks") == 0) {
            fork_and_end();
        }
        JOB_CHECK(compute_until(path, 20), "the other rank's collective did not end while this one computed");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        waited = !compute_until(path, 0.3);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (persists) {
        MPI_Request_free(&request);
    }
    for (int i = 0; i < COUNT; i++) {
        if (out[i] != job.size * (job.size - 1) / 2 + job.size * (i % 1000)) {
            job_fail("[%d]: %d", i, out[i]);
            break;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (waits) {
        (void)unlink(path);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return waited;
}

int main(int argc, char **argv)
{
    const bool thread = argc > 1 && strcmp(argv[1], "thread") == 0;
    const char *mode = argc > 2 ? argv[2] : "";
    const char *path = argc > 3 ? argv[3] : "";
    int one = 1;
    int sum = 0;

    job_begin(&argc, &argv);
    in = malloc(COUNT * sizeof *in);
    out = malloc(COUNT * sizeof *out);
    for (int i = 0; i < COUNT; i++) {
        in[i] = job.rank + i % 1000;
    }
    job_allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (getenv("MPINPU_WINDOWS") == NULL) {
        JOB_CHECK(!thread_there(), "a thread before the first nonblocking collective");
    }
    MPI_Request request;
    job_iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (thread || getenv("MPINPU_WINDOWS") == NULL) {
        JOB_CHECK(thread_there() == thread, "a thread: %d, expected %d", thread_there(), thread);
    }
    if (thread && getenv("MPINPU_WINDOWS") == NULL) {
        check_rests();
    }
    if (strcmp(mode, "exits") == 0) {
        issue(false, &request);
        exit(3);
    }
    int waited = 0;
    for (int t = 0; t < 4; t++) {
        waited += turn(mode, thread, path) ? 1 : 0;
    }
    JOB_CHECK(thread || job.rank == job.size - 1 || waited > 0, "nobody waited for this rank: this shows nothing");
    free(in);
    free(out);
    return job_end();
}
