/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/processes.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void process_write(process_t *self, int peer, const void *bytes, size_t count)
{
    const char *next = bytes;
    while (count > 0) {
        ssize_t wrote = send(self->sockets[peer], next, count, MSG_NOSIGNAL);
        if (wrote < 0 && errno == EINTR) {
            continue;
        }
        process_require(wrote > 0, "write to process %d: %s", peer, strerror(errno));
        next += wrote;
        count -= (size_t)wrote;
    }
}

void process_read(process_t *self, int peer, void *bytes, size_t count)
{
    char *next = bytes;
    while (count > 0) {
        ssize_t got = recv(self->sockets[peer], next, count, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        process_require(got > 0, "read from process %d: %s", peer, got == 0 ? "it has ended" : strerror(errno));
        next += got;
        count -= (size_t)got;
    }
}

void process_allgather(process_t *self, const void *mine, void *all, size_t bytes)
{
    for (int peer = 0; peer < self->size; peer++) {
        if (peer != self->rank) {
            process_write(self, peer, mine, bytes);
        }
    }
    for (int peer = 0; peer < self->size; peer++) {
        char *place = (char *)all + (size_t)peer * bytes;
        if (peer == self->rank) {
            memmove(place, mine, bytes);
        } else {
            process_read(self, peer, place, bytes);
        }
    }
}

void process_barrier(process_t *self)
{
    char mine = 0;
    char all[PROCESSES_MAX];
    process_allgather(self, &mine, all, 1);
}

static void stacks_print(pid_t pid)
{
    char number[24];
    snprintf(number, sizeof number, "%d", (int)pid);
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execlp("gdb", "gdb", "-batch", "-p", number, "-ex", "thread apply all backtrace", (char *)NULL);
        _exit(127);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
    }
}

static void process_start(int rank, int size, int (*pairs)[PROCESSES_MAX], process_body_t body, void *argument)
{
    process_t self = {.rank = rank, .size = size, .argument = argument};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < size; i++) {
        for (int j = 0; j < size; j++) {
            if (i == rank) {
                self.sockets[j] = pairs[i][j];
            } else if (pairs[i][j] >= 0) {
                close(pairs[i][j]);
            }
        }
    }
    body(&self);
    exit(0); /* with what UCX has registered to run at exit */
}

/* One that has ended, or that time is up: 0 if all went well. */
static int process_end(pid_t pid, int rank, double deadline, int may_die)
{
    int status = 0;
    int late = 0;
    while (waitpid(pid, &status, late ? 0 : WNOHANG) == 0) {
        if (now() > deadline) {
            fprintf(stderr, "process %d has not ended in time\n", rank);
            stacks_print(pid);
            kill(pid, SIGKILL);
            late = 1;
        } else {
            poll(NULL, 0, 2);
        }
    }
    if (late || (!may_die && status != 0)) {
        fprintf(stderr, "process %d: wait status 0x%x\n", rank, (unsigned)status);
        return 1;
    }
    return 0;
}

int processes_run(int size, double seconds, unsigned may_die, process_body_t body, void *argument)
{
    int pairs[PROCESSES_MAX][PROCESSES_MAX];
    pid_t pids[PROCESSES_MAX];
    int failed = 0;
    memset(pairs, -1, sizeof pairs);
    for (int i = 0; i < size; i++) {
        for (int j = i + 1; j < size; j++) {
            int pair[2];
            if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
                perror("socketpair");
                return size;
            }
            pairs[i][j] = pair[0];
            pairs[j][i] = pair[1];
        }
    }
    fflush(NULL);
    for (int i = 0; i < size; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            process_start(i, size, pairs, body, argument);
        }
    }
    for (int i = 0; i < size; i++) {
        for (int j = 0; j < size; j++) {
            if (pairs[i][j] >= 0) {
                close(pairs[i][j]);
            }
        }
    }
    double deadline = now() + seconds;
    for (int i = 0; i < size; i++) {
        failed += pids[i] < 0 ? 1 : process_end(pids[i], i, deadline, (may_die >> i & 1) != 0);
    }
    return failed;
}
