/* SPDX-License-Identifier: BSD-3-Clause */
/* The process is the program's: its signal handlers, its alternate signal stack, its environment and the code of libc
   are the same after the first collective as before. */
#define _GNU_SOURCE
#include "tests/jobs/job.h"

#include <dlfcn.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_BYTES = 24, TEXTS = 100000 };

static const char *const functions[] = {"mmap", "munmap", "mremap", "shmat", "shmdt", "brk", "sbrk", "madvise", "free"};
enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

typedef struct process {
    struct sigaction actions[NSIG];
    stack_t stack;
    unsigned char code[FUNCTIONS][CODE_BYTES];
    char environment[TEXTS];
} process_t;

extern char **environ;

static void handler(int signal)
{
    (void)signal;
}

static void process_read(process_t *process)
{
    memset(process, 0, sizeof *process);
    for (int s = 1; s < NSIG; s++) {
        sigaction(s, NULL, &process->actions[s]);
    }
    sigaltstack(NULL, &process->stack);
    for (int f = 0; f < FUNCTIONS; f++) {
        const void *function = dlsym(RTLD_NEXT, functions[f]);
        if (function != NULL) {
            memcpy(process->code[f], function, CODE_BYTES);
        }
    }
    size_t used = 0;
    for (char **variable = environ; *variable != NULL; variable++) {
        int wrote = snprintf(process->environment + used, TEXTS - used, "%s\n", *variable);
        used += wrote > 0 && (size_t)wrote < TEXTS - used ? (size_t)wrote : 0;
    }
}

static int process_compare(const process_t *before, const process_t *after)
{
    int differences = 0;
    for (int s = 1; s < NSIG; s++) {
        if (before->actions[s].sa_sigaction != after->actions[s].sa_sigaction) {
            fprintf(stderr, "the handler of signal %d has changed\n", s);
            differences++;
        }
    }
    if (before->stack.ss_sp != after->stack.ss_sp || before->stack.ss_flags != after->stack.ss_flags) {
        fprintf(stderr, "the alternate signal stack has changed\n");
        differences++;
    }
    for (int f = 0; f < FUNCTIONS; f++) {
        if (memcmp(before->code[f], after->code[f], CODE_BYTES) != 0) {
            fprintf(stderr, "the code of %s has changed\n", functions[f]);
            differences++;
        }
    }
    if (strcmp(before->environment, after->environment) != 0) {
        fprintf(stderr, "the environment has changed\n");
        differences++;
    }
    return differences;
}

int main(int argc, char **argv)
{
    static process_t before;
    static process_t after;
    job_begin(&argc, &argv);
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    process_read(&before);
    double mine[1000];
    double sum[1000];
    for (int i = 0; i < 1000; i++) {
        mine[i] = i;
    }
    for (int i = 0; i < 3; i++) {
        job_allreduce(mine, sum, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        JOB_CHECK(sum[999] == 999.0 * job.size, "sum %g", sum[999]);
    }
    process_read(&after);
    JOB_CHECK(process_compare(&before, &after) == 0, "the process is not as it was");
    return job_end();
}
