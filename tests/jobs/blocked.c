/* SPDX-License-Identifier: BSD-3-Clause */
/* One rank has a nonblocking collective outstanding and is blocked in another MPI call, which ends only when the others
   have completed theirs: its share must go on meanwhile. Then the other way round: orders of calls among which nobody
   may wait for the other ranks. Usage: blocked calls | compute | fresh | fresh-beside | crowd. Closes traps 2, 3. */
#include "tests/jobs/pending.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MESSAGE = 300000 };

static int blocked; /* the rank that is */
static int other;   /* that it waits for */
static char *message;
static MPI_Comm second;
static MPI_Win window;
static int exposed;

/* Each in two parts: what the blocked rank is in, and what the others do when their collective is done. */
static void recv_blocked(void)
{
    int got = 0;

    MPI_Recv(&got, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    JOB_CHECK(got == 77, "Recv: %d", got);
}

static void send_after(void)
{
    int sent = 77;

    if (job.rank == other) {
        MPI_Send(&sent, 1, MPI_INT, blocked, 1, MPI_COMM_WORLD);
    }
}

static void probe_blocked(void)
{
    MPI_Status status;

    MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    JOB_CHECK(status.MPI_SOURCE == other, "Probe: a message of rank %d", status.MPI_SOURCE);
    recv_blocked();
}

static void waitall_blocked(void)
{
    int got[2] = {0, 0};
    MPI_Request requests[2];

    MPI_Irecv(&got[0], 1, MPI_INT, other, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&got[1], 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    JOB_CHECK(got[0] == 77, "Waitall: %d", got[0]);
}

static void ssend_blocked(void)
{
    MPI_Ssend(message, 1, MPI_BYTE, other, 2, MPI_COMM_WORLD);
}

static void large_blocked(void)
{
    MPI_Send(message, MESSAGE, MPI_BYTE, other, 2, MPI_COMM_WORLD);
}

static void receive_after(void)
{
    if (job.rank == other) {
        MPI_Recv(message, MESSAGE, MPI_BYTE, blocked, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void barrier_all(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast_all(void)
{
    int sent = job.rank == other ? 88 : 0;

    MPI_Bcast(&sent, 1, MPI_INT, other, MPI_COMM_WORLD);
    JOB_CHECK(sent == 88, "Bcast: %d", sent);
}

static void ibarrier_all(void)
{
    MPI_Request request;

    MPI_Ibarrier(second, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A blocking one of the same kinds, on another communicator. */
static void allreduce_all(void)
{
    pending_t pending;

    pending_make(&pending, JOB_ALLREDUCE, "MPI_DOUBLE", PATTERN_SUM, 5000, false, second);
    pending_fill(&pending, 3);
    pending_run(&pending);
    pending_check(&pending, "on another communicator");
    pending_free(&pending);
}

static void comm_dup_all(void)
{
    MPI_Comm fresh = MPI_COMM_NULL;

    MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
    MPI_Comm_free(&fresh);
}

static void comm_split_all(void)
{
    MPI_Comm fresh = MPI_COMM_NULL;

    MPI_Comm_split(second, job.rank % 2, 0, &fresh);
    MPI_Comm_free(&fresh);
}

static void fence_all(void)
{
    MPI_Win_fence(0, window);
}

static void win_create_all(void)
{
    MPI_Win fresh = MPI_WIN_NULL;

    MPI_Win_create(&exposed, sizeof exposed, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &fresh);
    MPI_Win_free(&fresh);
}

/* The other one holds the lock of its own memory. */
static void lock_before(void)
{
    if (job.rank == other) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void lock_blocked(void)
{
    int one = 1;

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, window);
    MPI_Accumulate(&one, 1, MPI_INT, other, 0, 1, MPI_INT, MPI_SUM, window);
    MPI_Win_unlock(other, window);
}

static void lock_after(void)
{
    if (job.rank == other) {
        MPI_Win_unlock(other, window);
    }
}

typedef void part_t(void);

static const struct {
    const char *name;
    part_t *before; /* all ranks, before the collective is issued; or NULL */
    part_t *blocked;
    part_t *after; /* the others */
} calls[] = {
    {"Recv", NULL, recv_blocked, send_after},
    {"Probe", NULL, probe_blocked, send_after},
    {"Waitall", NULL, waitall_blocked, send_after},
    {"Ssend", NULL, ssend_blocked, receive_after},
    {"Send", NULL, large_blocked, receive_after},
    {"Barrier", NULL, barrier_all, barrier_all},
    {"Bcast", NULL, bcast_all, bcast_all},
    {"Ibarrier", NULL, ibarrier_all, ibarrier_all},
    {"Allreduce", NULL, allreduce_all, allreduce_all},
    {"Comm_dup", NULL, comm_dup_all, comm_dup_all},
    {"Comm_split", NULL, comm_split_all, comm_split_all},
    {"Win_fence", NULL, fence_all, fence_all},
    {"Win_create", NULL, win_create_all, win_create_all},
    {"Win_lock", lock_before, lock_blocked, lock_after},
};

static void test_call(int call, job_kind_t kind, size_t total)
{
    pending_t pending;
    MPI_Request request;

    pending_make(&pending, kind, "MPI_DOUBLE", PATTERN_SUM, total, false, MPI_COMM_WORLD);
    pending_fill(&pending, (size_t)call);
    if (calls[call].before != NULL) {
        calls[call].before();
    }
    pending_issue(&pending, &request);
    if (job.rank == blocked) {
        calls[call].blocked();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        calls[call].after();
    }
    pending_check(&pending, calls[call].name);
    pending_free(&pending);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void test_calls(void)
{
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Win_create(&exposed, sizeof exposed, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    for (int call = 0; call < (int)(sizeof calls / sizeof calls[0]); call++) {
        for (int turn = 0; turn < 6; turn++) {
            static const size_t totals[] = {1, 700, 200000};
            blocked = turn % 2 == 0 ? 0 : job.size - 1;
            other = job.size - 1 - blocked;
            test_call(call, (job_kind_t)((turn + call) % 3), totals[turn / 2]);
        }
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&second);
}

/* No MPI call for a while. */
static void test_compute(void)
{
    pending_t pending;
    MPI_Request request;
    struct timespec second_long = {.tv_sec = 1};

    for (int kind = 0; kind < 3; kind++) {
        pending_make(&pending, (job_kind_t)kind, "MPI_FLOAT", PATTERN_SUM, 100000, false, MPI_COMM_WORLD);
        pending_fill(&pending, 5);
        pending_issue(&pending, &request);
        if (job.rank == 0) {
            nanosleep(&second_long, NULL);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        pending_check(&pending, "computing");
        pending_free(&pending);
    }
}

/* The first call on a new communicator is nonblocking, and some ranks come to it only by what others do behind it.
   `beside`: a nonblocking collective of another kind is behind it. */
static void fresh(bool beside)
{
    for (int turn = 0; turn < 30; turn++) {
        pending_t pending[2];
        MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Comm comm = MPI_COMM_NULL;
        const int first = turn % job.size;
        int token = turn;

        MPI_Comm_split(MPI_COMM_WORLD, 0, turn % 2 == 0 ? job.rank : -job.rank, &comm);
        for (int m = 0; m < 2; m++) {
            pending_make(&pending[m], (job_kind_t)((turn + m) % 3), "MPI_INT", PATTERN_SUM, m == 0 ? 90 : 30000, false,
                         comm);
            pending_fill(&pending[m], (size_t)turn);
        }
        if (job.rank == first) {
            pending_issue(&pending[0], &requests[0]);
            pending_issue(&pending[1], &requests[1]);
            for (int r = 0; r < job.size; r++) {
                if (r != first) {
                    MPI_Ssend(&token, 1, MPI_INT, r, 4, MPI_COMM_WORLD);
                }
            }
        } else {
            MPI_Recv(&token, 1, MPI_INT, first, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            pending_issue(&pending[0], &requests[0]);
            if (turn % 3 == 0) { /* completes before the second is issued */
                MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            }
            pending_issue(&pending[1], &requests[1]);
        }
        if (beside && turn % 2 == 0) {
            MPI_Ibarrier(comm, &requests[2]);
        }
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int m = 0; m < 2; m++) {
            pending_check(&pending[m], "new communicator");
            pending_free(&pending[m]);
        }
        MPI_Comm_free(&comm);
    }
}

static void test_fresh(void)
{
    fresh(false);
}

static void test_fresh_beside(void)
{
    fresh(true);
}

/* A large send that needs this rank, beside the collective; more ranks than CPUs. */
static void test_crowd(void)
{
    const int next = (job.rank + 1) % job.size;
    const int left = (job.rank + job.size - 1) % job.size;
    char *incoming = malloc(MESSAGE);

    for (int turn = 0; turn < 300; turn++) {
        pending_t pending;
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        const bool large = turn % 20 == 0 && job.size > 1;

        pending_make(&pending, (job_kind_t)(turn % 3), "MPI_DOUBLE", PATTERN_SUM, turn % 7 == 0 ? 3000 : 1, false,
                     MPI_COMM_WORLD);
        pending_fill(&pending, (size_t)turn);
        if (large && job.rank % 2 == 0) {
            memset(message, job.rank + turn, MESSAGE);
            MPI_Isend(message, MESSAGE, MPI_BYTE, next, 6, MPI_COMM_WORLD, &requests[1]);
        } else if (large && left % 2 == 0) {
            MPI_Recv(incoming, MESSAGE, MPI_BYTE, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            JOB_CHECK(incoming[MESSAGE - 1] == (char)(left + turn), "crowd: the message is of another turn");
        }
        pending_issue(&pending, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        if (large && job.rank % 2 == 0 && left % 2 == 0 && job.rank != left) { /* an odd number of ranks */
            MPI_Recv(incoming, MESSAGE, MPI_BYTE, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        pending_check(&pending, "crowd");
        pending_free(&pending);
    }
    free(incoming);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = {{"calls", test_calls},
                 {"compute", test_compute},
                 {"fresh", test_fresh},
                 {"fresh-beside", test_fresh_beside},
                 {"crowd", test_crowd}};

    job_begin(&argc, &argv);
    message = calloc(MESSAGE, 1);
    for (int a = 1; a < argc; a++) {
        bool found = false;
        for (size_t t = 0; t < sizeof tests / sizeof tests[0]; t++) {
            if (strcmp(argv[a], tests[t].name) == 0) {
                found = true;
                tests[t].test();
            }
        }
        JOB_CHECK(found, "no test named %s", argv[a]);
    }
    free(message);
    return job_end();
}
