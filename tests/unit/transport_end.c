/* SPDX-License-Identifier: BSD-3-Clause */
/* How it ends: peers gone, nothing lost, nothing left behind. */
#include "tests/unit/transport_processes.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <time.h>

enum { WINDOW_BYTES = 1 << 20 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Segments this user's kernel holds that process `pid` made. */
static int segments_of(pid_t pid)
{
    struct shm_info all;
    int found = 0;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)&all);
    for (int i = 0; i <= last; i++) {
        struct shmid_ds segment;
        found += shmctl(i, SHM_STAT, &segment) >= 0 && segment.shm_cpid == pid;
    }
    return found;
}

static int files_in_shm(void)
{
    DIR *folder = opendir("/dev/shm");
    int found = 0;
    if (folder == NULL) {
        return 0;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        found += strncmp(entry->d_name, "ucx_shm", 7) == 0;
    }
    closedir(folder);
    return found;
}

enum end_kind { END_CLOSE, END_EXIT, END_KILLED };

static struct {
    enum end_kind kind;
    int report; /* pipe: each process writes its id */
} end_case;

static void leave(process_t *self)
{
    party_t party;
    pid_t pid = getpid();
    party_meet(&party, self, WINDOW_BYTES, false);
    memset(party_window(&party, 1 - self->rank), 1, 64);
    party_greet(&party, 1 - self->rank);
    process_require(segments_of(pid) > 0 || getenv("UCX_TLS") != NULL, "the test sees no segments at all");
    process_require(write(end_case.report, &pid, sizeof pid) == sizeof pid, "pipe");
    process_barrier(self);
    if (end_case.kind == END_KILLED) {
        kill(pid, SIGKILL);
    }
    if (end_case.kind == END_CLOSE) {
        transport_close(party.transport);
    }
}

static void nothing_is_left(enum end_kind kind)
{
    int report[2];
    pid_t pids[2];
    int files = files_in_shm();
    cr_assert_eq(pipe(report), 0);
    end_case.kind = kind;
    end_case.report = report[1];
    cr_assert_eq(processes_run(2, 50, kind == END_KILLED ? 3 : 0, leave, NULL), 0);
    cr_assert_eq(read(report[0], pids, sizeof pids), (ssize_t)sizeof pids);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(segments_of(pids[i]), 0, "segments are left");
    }
    cr_assert_leq(files_in_shm(), files, "files are left in /dev/shm");
}

Test(transport_end, nothing_is_left_after_close, .timeout = 60)
{
    nothing_is_left(END_CLOSE);
}

Test(transport_end, nothing_is_left_after_exit, .timeout = 60)
{
    nothing_is_left(END_EXIT);
}

Test(transport_end, nothing_is_left_after_kill, .timeout = 60)
{
    nothing_is_left(END_KILLED);
}

Test(transport_end, nothing_is_left_with_posix, .timeout = 60)
{
    setenv("UCX_TLS", "posix,self,tcp", 1);
    nothing_is_left(END_CLOSE);
    nothing_is_left(END_EXIT);
    nothing_is_left(END_KILLED);
}

/* One is killed in the middle; the other has sent it messages it will never take, and still closes in time. */
static void close_without_peer(process_t *self)
{
    enum { MESSAGES = 300 };
    static char buffer[20000];
    party_t party;
    party_meet(&party, self, WINDOW_BYTES, self->argument != NULL);
    transport_request_t request;
    party_greet(&party, 1 - self->rank);
    process_barrier(self);
    if (self->rank == 1) {
        raise(SIGKILL);
    }
    char end;
    process_require(read(self->sockets[1], &end, 1) == 0, "process 1 lives");
    for (int i = 0; i < MESSAGES; i++) {
        /* An error is right too, once UCX has noticed. */
        if (transport_send(party.transport, party.peers[1], 2, buffer, sizeof buffer, &request) == MPINPU_OK) {
            transport_request_cancel(party.transport, &request);
        }
        transport_progress(party.transport);
    }
    double start = now();
    transport_close(party.transport);
    process_require(now() - start < 10, "closing took %.1f s", now() - start);
}

Test(transport_end, close_without_peer, .timeout = 60)
{
    int strangers = 1;
    cr_assert_eq(processes_run(2, 25, 2, close_without_peer, NULL), 0);
    cr_assert_eq(processes_run(2, 25, 2, close_without_peer, &strangers), 0);
}

/* A peer that is gone before it was ever talked to. */
static void close_without_stranger(process_t *self)
{
    party_t party;
    transport_request_t request;
    char end;
    party_meet(&party, self, WINDOW_BYTES, self->argument != NULL);
    process_barrier(self);
    if (self->rank == 1) {
        transport_close(party.transport);
        exit(0);
    }
    process_require(read(self->sockets[1], &end, 1) == 0, "process 1 lives");
    uint64_t value = 1;
    mpinpu_status_t status = transport_send(party.transport, party.peers[1], 2, &value, sizeof value, &request);
    for (int i = 0; status == MPINPU_OK && i < 1000; i++) {
        transport_progress(party.transport);
        status = transport_request_test(party.transport, &request);
    }
    transport_close(party.transport);
}

Test(transport_end, close_without_a_peer_never_met, .timeout = 60)
{
    int strangers = 1;
    cr_assert_eq(processes_run(2, 25, 0, close_without_stranger, NULL), 0);
    cr_assert_eq(processes_run(2, 25, 0, close_without_stranger, &strangers), 0);
}

/* The sender closes and ends once its sends are done; the receiver, met before, looks only then. */
static void close_loses_nothing(process_t *self)
{
    enum { MESSAGES = 60 };
    static uint64_t values[MESSAGES];
    transport_request_t requests[MESSAGES];
    party_t party;
    party_meet(&party, self, 0, self->argument != NULL);
    party_greet(&party, 1 - self->rank);
    if (self->rank == 0) {
        for (uint64_t i = 0; i < MESSAGES; i++) {
            values[i] = i * i;
            process_require(transport_send(party.transport, party.peers[1], i, &values[i], sizeof values[i],
                                           &requests[i]) == MPINPU_OK,
                            "send");
        }
        for (int i = 0; i < MESSAGES; i++) {
            party_wait(&party, &requests[i]);
        }
        transport_close(party.transport);
        exit(0);
    }
    char end;
    process_require(read(self->sockets[0], &end, 1) == 0, "process 0 lives");
    for (uint64_t i = 0; i < MESSAGES; i++) {
        uint64_t value = 0;
        process_require(transport_receive(party.transport, i, &value, sizeof value, &requests[i]) == MPINPU_OK,
                        "receive");
        party_wait(&party, &requests[i]);
        process_require(value == i * i, "message %llu", (unsigned long long)i);
    }
    transport_close(party.transport);
}

Test(transport_end, close_loses_nothing, .timeout = 60)
{
    int strangers = 1;
    cr_assert_eq(processes_run(2, 25, 0, close_loses_nothing, NULL), 0);
    cr_assert_eq(processes_run(2, 25, 0, close_loses_nothing, &strangers), 0);
}

/* A child forked by the application ends normally, even closes what it inherited: the parent's transport lives on. */
static void fork_is_harmless(process_t *self)
{
    party_t party;
    int status;
    party_meet(&party, self, WINDOW_BYTES, false);
    volatile unsigned char *theirs = party_window(&party, 1 - self->rank);
    pid_t child = fork();
    if (child == 0) {
        transport_close(party.transport);
        exit(7);
    }
    process_require(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, "child");
    child = fork();
    if (child == 0) {
        execl("/bin/true", "true", (char *)NULL);
        _exit(1);
    }
    process_require(waitpid(child, &status, 0) == child && status == 0, "child that executes");
    memset(party.window, self->rank + 1, WINDOW_BYTES);
    process_barrier(self);
    process_require(theirs[0] == 2 - self->rank && theirs[WINDOW_BYTES - 1] == 2 - self->rank, "window");
    party_greet(&party, 1 - self->rank);
    process_barrier(self);
    transport_close(party.transport);
}

Test(transport_end, fork_is_harmless, .timeout = 60)
{
    cr_assert_eq(processes_run(2, 50, 0, fork_is_harmless, NULL), 0);
}
