/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_THREAD_MULTIPLE: four threads, each with its own communicator, issue blocking, nonblocking and persistent
   collectives, and messages, and complete them in an order of their own; each makes and frees communicators meanwhile,
   and the main thread does, too. Usage: threads_nonblocking [TURNS]. Closes trap 37. */
#include "tests/jobs/pending.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, TURNS = 60, BATCH = 6, ENTRIES = BATCH + 2 };

static MPI_Comm comms[THREADS + 1];
static int turns = TURNS;

static void batch_make(pending_t *pending, uint64_t random, MPI_Comm comm)
{
    static const char *const types[] = {"MPI_DOUBLE", "MPI_INT", "MPI_SHORT"};
    static const size_t totals[] = {1, 9, 400, 5000, 40000};

    pending_make(pending, (job_kind_t)(random % 3), types[(random >> 8) % 3],
                 (random >> 16) % 2 == 0 ? PATTERN_SUM : PATTERN_MAX, totals[(random >> 24) % 5],
                 (random >> 32) % 3 == 0, comm);
}

/* Several outstanding with a message beside them, a blocking one behind, completed in one of three ways. */
static void turn_batch(int me, int turn, MPI_Comm comm)
{
    pending_t pending[BATCH];
    pending_t between;
    MPI_Request requests[ENTRIES];
    const uint64_t number = (uint64_t)me * 100000 + (uint64_t)turn;
    const int right = (job.rank + 1) % job.size;
    const int left = (job.rank + job.size - 1) % job.size;
    int sent = me * 1000 + turn * 10 + job.rank;
    int received = -1;

    MPI_Irecv(&received, 1, MPI_INT, left, 8, comm, &requests[BATCH]);
    for (int m = 0; m < BATCH; m++) {
        batch_make(&pending[m], job_mix(number, (uint64_t)m), comm);
        pending_fill(&pending[m], (size_t)turn * BATCH + (size_t)m);
        pending_issue(&pending[m], &requests[m]);
    }
    MPI_Isend(&sent, 1, MPI_INT, right, 8, comm, &requests[BATCH + 1]);
    if (turn % 3 == 0) {
        batch_make(&between, job_mix(number, 99), comm);
        pending_fill(&between, (size_t)turn);
        pending_run(&between);
        pending_check(&between, "thread: a blocking one behind");
        pending_free(&between);
    }
    for (int done = 0; turn % 4 == 1 && done < ENTRIES; done++) {
        int index = 0;
        MPI_Waitany(ENTRIES, requests, &index, MPI_STATUS_IGNORE);
    }
    for (int done = 0; turn % 4 == 2 && !done;) {
        MPI_Testall(ENTRIES, requests, &done, MPI_STATUSES_IGNORE);
    }
    MPI_Waitall(ENTRIES, requests, MPI_STATUSES_IGNORE);
    JOB_CHECK(received == me * 1000 + turn * 10 + left, "thread %d, turn %d: the message is %d", me, turn, received);
    for (int m = 0; m < BATCH; m++) {
        pending_check(&pending[m], "thread");
        pending_free(&pending[m]);
    }
}

/* A communicator of the thread's own, whose first call is nonblocking at odd turns and blocking at even ones. */
static void turn_communicator(int me, int turn, MPI_Comm parent)
{
    pending_t pending;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm fresh = MPI_COMM_NULL;

    MPI_Comm_split(parent, turn % 8 == 0 ? job.rank % 2 : 0, job.rank, &fresh);
    batch_make(&pending, job_mix((uint64_t)me, (uint64_t)turn), fresh);
    pending_fill(&pending, (size_t)turn);
    if (turn % 2 == 0) {
        pending_run(&pending);
    } else {
        pending_issue(&pending, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    pending_check(&pending, "thread: a new communicator");
    pending_free(&pending);
    MPI_Comm_free(&fresh);
}

static void turn_persistent(pending_t *pending, MPI_Request *request, int turn)
{
    if (*request != MPI_REQUEST_NULL) {
        pending_fill(pending, (size_t)turn);
        job_count_start(pending->kind + JOB_ALLREDUCE_INIT, true, pending->comm);
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        pending_check(pending, "thread: persistent");
    }
}

static void *work(void *argument)
{
    const int me = (int)(intptr_t)argument;
    pending_t persistent;
    MPI_Request request = MPI_REQUEST_NULL;

    pending_make(&persistent, (job_kind_t)(me % 3), "MPI_DOUBLE", PATTERN_SUM, 600, false, comms[me]);
    (void)pending_init(&persistent, &request);
    for (int turn = 0; turn < turns; turn++) {
        turn_batch(me, turn, comms[me]);
        turn_persistent(&persistent, &request, turn);
        if (turn % 4 == me) {
            turn_communicator(me, turn, comms[me]);
        }
    }
    if (request != MPI_REQUEST_NULL) {
        MPI_Request_free(&request);
    }
    pending_free(&persistent);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    job_begin_thread(&argc, &argv, MPI_THREAD_MULTIPLE);
    turns = argc > 1 ? (int)strtol(argv[1], NULL, 10) : TURNS;
    for (int t = 0; t <= THREADS; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_create(&threads[t], NULL, work, (void *)(intptr_t)t);
    }
    for (int turn = 0; turn < turns / 3; turn++) {
        turn_communicator(THREADS, turn, comms[THREADS]);
    }
    for (int t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
    }
    for (int t = 0; t <= THREADS; t++) {
        MPI_Comm_free(&comms[t]);
    }
    return job_end();
}
