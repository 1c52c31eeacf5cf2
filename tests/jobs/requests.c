/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of nonblocking and persistent collectives: many outstanding on several communicators, completed in an order
   that differs among the ranks; order of issue against blocking calls; Fortran's handles; freed and cancelled; the
   communicator freed first; persistent ones.
   Usage: requests many | order | handles | freed | cancelled | persistent |
   persistent-freed. Closes traps 22, 23, 24, 25. */
#include "tests/jobs/pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 200, COMMS = 5, ORDERED = 100, STARTS = 1000, PERSISTENT = 6 };

static const char *const types[] = {"MPI_DOUBLE", "MPI_INT", "MPI_SHORT", "MPI_LONG", "MPI_FLOAT_INT"};

static pattern_op_id_t op_of(size_t type, uint64_t random)
{
    static const pattern_op_id_t ops[] = {PATTERN_SUM, PATTERN_MAX, PATTERN_MIN};

    return type == 4 ? PATTERN_MAXLOC : ops[random % 3];
}

/* One of any kind, the same on all ranks. */
static void random_make(pending_t *pending, uint64_t number, MPI_Comm comm)
{
    static const size_t totals[] = {1, 3, 16, 200, 1500, 9000, 60000};
    const uint64_t random = job_mix(number, 77);
    const size_t type = random % 5;

    pending_make(pending, (job_kind_t)(random >> 8) % 3, types[type], op_of(type, random >> 16),
                 totals[(random >> 24) % 7], (random >> 32) % 3 == 0, comm);
    pending_fill(pending, number);
}

static void test_many(void)
{
    pending_t *pending = calloc(MANY, sizeof *pending);
    MPI_Request requests[MANY];
    int order[MANY];
    MPI_Comm comms[COMMS] = {MPI_COMM_WORLD};

    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, job.rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -job.rank, &comms[3]);
    MPI_Comm_split(MPI_COMM_WORLD, job.rank / 2, job.rank, &comms[4]);
    for (int m = 0; m < MANY; m++) {
        random_make(&pending[m], (uint64_t)m, comms[job_mix((uint64_t)m, 5) % COMMS]);
        pending_issue(&pending[m], &requests[m]);
        order[m] = m;
    }
    for (int m = MANY - 1; m >= 0; m--) {
        const int other = (int)(job_mix((uint64_t)m, 1000 + (uint64_t)job.rank) % (uint64_t)(m + 1));
        const int next = order[other];
        order[other] = order[m];
        int done = 0;
        while (m % 3 == 0 && !done) {
            MPI_Test(&requests[next], &done, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&requests[next], MPI_STATUS_IGNORE);
        pending_check(&pending[next], "many");
        pending_free(&pending[next]);
    }
    for (int c = 1; c < COMMS; c++) {
        MPI_Comm_free(&comms[c]);
    }
    free(pending);
}

/* A hundred without a wait, a blocking one after every seventh, and one on another communicator between. */
static void test_order(void)
{
    pending_t pending[ORDERED];
    pending_t between;
    MPI_Request requests[ORDERED];
    MPI_Comm comm = MPI_COMM_NULL;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int round = 0; round < 2; round++) {
        for (int m = 0; m < ORDERED; m++) {
            const size_t total = round == 0 ? 40 : m % 2 == 0 ? 5000 : 1;
            pending_make(&pending[m], JOB_ALLREDUCE, "MPI_LONG", PATTERN_SUM, total, false, comm);
            pending_fill(&pending[m], (size_t)round * 1000 + (size_t)m);
            pending_issue(&pending[m], &requests[m]);
            if (m % 7 == 3) {
                pending_make(&between, (job_kind_t)(m % 3), "MPI_LONG", PATTERN_SUM, total, false,
                             m % 2 == 0 ? comm : MPI_COMM_WORLD);
                pending_fill(&between, 5000 + (size_t)m);
                pending_run(&between);
                pending_check(&between, "a blocking one between");
                pending_free(&between);
            }
        }
        MPI_Waitall(ORDERED, requests, MPI_STATUSES_IGNORE);
        for (int m = 0; m < ORDERED; m++) {
            pending_check(&pending[m], "one of a hundred");
            pending_free(&pending[m]);
        }
    }
    MPI_Comm_free(&comm);
}

/* To Fortran and back: the same request, which is complete by either name. */
static void test_handles(void)
{
    pending_t pending[3];
    MPI_Request requests[3];
    MPI_Fint fortran[3];

    for (int m = 0; m < 3; m++) {
        pending_make(&pending[m], (job_kind_t)m, "MPI_DOUBLE", PATTERN_SUM, 3000, false, MPI_COMM_WORLD);
        pending_fill(&pending[m], (size_t)m);
        pending_issue(&pending[m], &requests[m]);
        fortran[m] = MPI_Request_c2f(requests[m]);
        JOB_CHECK(MPI_Request_f2c(fortran[m]) == requests[m], "request %d is another one from Fortran", m);
        JOB_CHECK(fortran[m] != MPI_Request_c2f(MPI_REQUEST_NULL), "request %d is null in Fortran", m);
        for (int other = 0; other < m; other++) {
            JOB_CHECK(fortran[m] != fortran[other] || requests[m] == requests[other],
                      "requests %d and %d are the same in Fortran", m, other);
        }
    }
    for (int m = 2; m >= 0; m--) {
        MPI_Request back = MPI_Request_f2c(fortran[m]);
        MPI_Wait(&back, MPI_STATUS_IGNORE);
        JOB_CHECK(back == MPI_REQUEST_NULL, "request %d is not null", m);
        pending_check(&pending[m], "by Fortran's handle");
        pending_free(&pending[m]);
    }
}

/* The communicator is freed while collectives on it are outstanding (MPI 3.1, section 6.4.3: they complete normally).
 */
static void test_freed(void)
{
    for (int round = 0; round < 40; round++) {
        pending_t pending[3];
        MPI_Request requests[3];
        MPI_Comm comm = MPI_COMM_NULL;

        MPI_Comm_split(MPI_COMM_WORLD, round % 2, round % 3 == 0 ? -job.rank : job.rank, &comm);
        for (int m = 0; m < 3; m++) {
            random_make(&pending[m], (uint64_t)round * 3 + (uint64_t)m, comm);
            if (m == 2 && round % 4 == 1) {
                pending_run(&pending[m]);
                requests[m] = MPI_REQUEST_NULL;
            } else {
                pending_issue(&pending[m], &requests[m]);
            }
        }
        MPI_Comm_free(&comm);
        if (round % 2 == 0) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* which may have the handle of the other */
            int one = 1;
            int sum = 0;
            job_allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
            JOB_CHECK(sum == job.size, "after a free: %d of %d", sum, job.size);
            MPI_Comm_free(&comm);
        }
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        for (int m = 0; m < 3; m++) {
            pending_check(&pending[m], "communicator freed");
            pending_free(&pending[m]);
        }
    }
}

/* Both are errors of the program (MPI 3.1, section 5.12): it gets one, or it does not; it goes on all the same. */
static void test_cancelled(void)
{
    pending_t pending[2];
    MPI_Request requests[2];

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int m = 0; m < 2; m++) {
        pending_make(&pending[m], JOB_ALLREDUCE, "MPI_DOUBLE", PATTERN_SUM, 2000, false, MPI_COMM_WORLD);
        pending_fill(&pending[m], (size_t)m);
        pending_issue(&pending[m], &requests[m]);
    }
    const int cancelled = MPI_Cancel(&requests[0]);
    const int freed = MPI_Request_free(&requests[1]);
    if (job.rank == 0) {
        printf("requests-erroneous cancelled=%d freed=%d\n", cancelled == MPI_SUCCESS, freed == MPI_SUCCESS);
    }
    JOB_CHECK(freed != MPI_SUCCESS || requests[1] == MPI_REQUEST_NULL, "the freed request is not null");
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    pending_check(&pending[0], "cancelled");
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.preloaded || freed != MPI_SUCCESS) {
        /* The blocking one comes after all before it. */
        int one = 1;
        int sum = 0;
        job_allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        pending_check(&pending[1], "freed");
    }
    pending_free(&pending[0]); /* the other one's buffers stay until the end */
}

/* Beside a persistent send and receive; the data is that of the start. */
static void persistent_starts(void)
{
    static const size_t totals[PERSISTENT] = {1, 30, 1031, 0, 5000, 64};
    pending_t pending[PERSISTENT];
    MPI_Request requests[PERSISTENT + 2];
    int sent = -1;
    int received = -1;
    const int left = (job.rank + job.size - 1) % job.size;

    for (int m = 0; m < PERSISTENT; m++) {
        pending_make(&pending[m], (job_kind_t)(m % 3), m < 3 ? "MPI_DOUBLE" : "MPI_SHORT", PATTERN_SUM, totals[m],
                     m > 3, MPI_COMM_WORLD);
        pending_fill(&pending[m], 99999);
        pending_init(&pending[m], &requests[m]);
        JOB_CHECK(requests[m] != MPI_REQUEST_NULL, "persistent request %d is null", m);
    }
    MPI_Send_init(&sent, 1, MPI_INT, (job.rank + 1) % job.size, 3, MPI_COMM_WORLD, &requests[PERSISTENT]);
    MPI_Recv_init(&received, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[PERSISTENT + 1]);
    for (int start = 0; start < STARTS; start++) {
        for (int m = 0; m < PERSISTENT; m++) {
            pending_fill(&pending[m], (size_t)start * 7 + (size_t)m);
        }
        sent = start * 10 + job.rank;
        if (start % 3 == 0) {
            MPI_Startall(PERSISTENT + 2, requests);
        } else {
            for (int m = 0; m < PERSISTENT + 2; m++) {
                MPI_Start(&requests[m]);
            }
        }
        for (int m = 0; m < PERSISTENT; m++) {
            job_count_start(pending[m].kind + JOB_ALLREDUCE_INIT, pending[m].total > 0, MPI_COMM_WORLD);
        }
        for (int m = 0; m < PERSISTENT + 2 && start % 2 == 0; m++) {
            MPI_Wait(&requests[PERSISTENT + 1 - m], MPI_STATUS_IGNORE);
        }
        MPI_Waitall(PERSISTENT + 2, requests, MPI_STATUSES_IGNORE);
        JOB_CHECK(received == start * 10 + left, "start %d: the message is %d", start, received);
        for (int m = 0; m < PERSISTENT; m++) {
            JOB_CHECK(requests[m] != MPI_REQUEST_NULL, "persistent request %d is null after start %d", m, start);
            pending_check(&pending[m], "persistent");
        }
    }
    for (int m = 0; m < PERSISTENT + 2; m++) {
        MPI_Request_free(&requests[m]);
        JOB_CHECK(requests[m] == MPI_REQUEST_NULL, "persistent request %d is not null after free", m);
    }
    for (int m = 0; m < PERSISTENT; m++) {
        pending_free(&pending[m]);
    }
}

/* Never started; and started when the communicator is freed. */
static void persistent_freed(void)
{
    for (int round = 0; round < 10; round++) {
        pending_t pending[2];
        MPI_Request requests[2];
        MPI_Comm comm = MPI_COMM_NULL;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int m = 0; m < 2; m++) {
            pending_make(&pending[m], (job_kind_t)((round + m) % 3), "MPI_INT", PATTERN_MAX, 700, false, comm);
            pending_fill(&pending[m], (size_t)round);
            pending_init(&pending[m], &requests[m]);
        }
        MPI_Request_free(&requests[0]);
        MPI_Start(&requests[1]);
        job_count_start(pending[1].kind + JOB_ALLREDUCE_INIT, true, comm);
        MPI_Comm_free(&comm);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        pending_check(&pending[1], "persistent, communicator freed");
        MPI_Request_free(&requests[1]);
        pending_free(&pending[0]);
        pending_free(&pending[1]);
    }
}

/* Where this MPI has persistent collectives. */
static void persistent_run(void (*test)(void))
{
    pending_t probe;
    MPI_Request request = MPI_REQUEST_NULL;

    pending_make(&probe, JOB_ALLREDUCE, "MPI_INT", PATTERN_SUM, 1, false, MPI_COMM_WORLD);
    if (pending_init(&probe, &request)) {
        MPI_Request_free(&request);
        test();
    } else if (job.rank == 0) {
        puts("this MPI has no persistent collectives");
    }
    pending_free(&probe);
}

static void test_persistent(void)
{
    persistent_run(persistent_starts);
}

static void test_persistent_freed(void)
{
    persistent_run(persistent_freed);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = {{"many", test_many},
                 {"order", test_order},
                 {"handles", test_handles},
                 {"freed", test_freed},
                 {"cancelled", test_cancelled},
                 {"persistent", test_persistent},
                 {"persistent-freed", test_persistent_freed}};

    job_begin(&argc, &argv);
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
    return job_end();
}
