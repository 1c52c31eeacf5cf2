/* SPDX-License-Identifier: BSD-3-Clause */
/* Right results of the nonblocking collectives, and of every way to complete them: kinds, types, sizes, in place and
   not; their requests in one array with a receive, a send, null and inactive ones.
   Usage: nonblocking values | big. Closes trap 21. */
#include "tests/jobs/pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The array: three kinds, in place and not, a receive, a send, a null request, an inactive persistent send. */
enum { COLLECTIVES = 6, RECEIVE = COLLECTIVES, SEND, NONE, INACTIVE, ENTRIES, ACTIVE = COLLECTIVES + 2 };

typedef enum way {
    WAY_WAIT,
    WAY_TEST,
    WAY_WAITALL,
    WAY_TESTALL,
    WAY_WAITANY,
    WAY_TESTANY,
    WAY_WAITSOME,
    WAY_TESTSOME,
    WAY_GET_STATUS,
    WAYS
} way_t;

static const char *const way_names[WAYS] = {"Wait",    "Test",     "Waitall",  "Testall",           "Waitany",
                                            "Testany", "Waitsome", "Testsome", "Request_get_status"};

/* MPI 3.1, section 3.7.3: of a null or inactive request the status is the empty one. Of a collective the standard says
   of source and tag nothing, and Open MPI leaves there what was there. */
static void empty_check(const MPI_Status *status, bool collective, const char *what)
{
    int count = -1;
    int cancelled = -1;

    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    JOB_CHECK((collective || (status->MPI_SOURCE == MPI_ANY_SOURCE && status->MPI_TAG == MPI_ANY_TAG)) && count == 0 &&
                  !cancelled,
              "%s: the status has source %d, tag %d, %d bytes, cancelled %d", what, status->MPI_SOURCE, status->MPI_TAG,
              count, cancelled);
}

/* What the statuses of the entries must say; the source of the receive is given. */
static void status_check(int entry, const MPI_Status *status, int source, const char *what)
{
    int count = -1;

    if (entry == RECEIVE) {
        MPI_Get_count(status, MPI_INT, &count);
        JOB_CHECK(status->MPI_SOURCE == source && status->MPI_TAG == 31 && count == 1,
                  "%s: the receive's status has source %d, tag %d, count %d", what, status->MPI_SOURCE, status->MPI_TAG,
                  count);
    } else if (entry != SEND) {
        empty_check(status, entry < COLLECTIVES, what);
    }
}

/* Each of the loops ends when as many as are active have been told of, each once. */
static void complete_singly(way_t way, MPI_Request *requests, int source, bool *seen)
{
    const char *what = way_names[way];

    for (int done = 0; done < ACTIVE;) {
        MPI_Status status;
        int index = -7;
        int flag = 1;
        if (way == WAY_WAITANY) {
            MPI_Waitany(ENTRIES, requests, &index, &status);
        } else {
            MPI_Testany(ENTRIES, requests, &index, &flag, &status);
        }
        if (!flag) {
            JOB_CHECK(index == MPI_UNDEFINED, "%s: nothing is done and the index is %d", what, index);
            continue;
        }
        if (index < 0 || index >= ACTIVE || seen[index]) {
            job_fail("%s: index %d of %d", what, index, done);
            return;
        }
        seen[index] = true;
        status_check(index, &status, source, what);
        done++;
    }
    MPI_Status status;
    int index = -7;
    int flag = 1;
    if (way == WAY_WAITANY) {
        MPI_Waitany(ENTRIES, requests, &index, &status);
    } else {
        MPI_Testany(ENTRIES, requests, &index, &flag, &status);
    }
    JOB_CHECK(flag && index == MPI_UNDEFINED, "%s of none active: flag %d, index %d", what, flag, index);
    empty_check(&status, false, what);
}

static void complete_some(way_t way, MPI_Request *requests, int source, bool *seen)
{
    const char *what = way_names[way];
    MPI_Status statuses[ENTRIES];
    int indices[ENTRIES];
    int some = 0;

    for (int done = 0; done < ACTIVE; done += some) {
        if (way == WAY_WAITSOME) {
            MPI_Waitsome(ENTRIES, requests, &some, indices, statuses);
            JOB_CHECK(some != 0, "%s tells of none", what);
        } else {
            MPI_Testsome(ENTRIES, requests, &some, indices, statuses);
        }
        if (some < 0 || some > ACTIVE - done) {
            job_fail("%s tells of %d after %d", what, some, done);
            return;
        }
        for (int i = 0; i < some; i++) {
            JOB_CHECK(indices[i] >= 0 && indices[i] < ACTIVE && !seen[indices[i]], "%s: index %d", what, indices[i]);
            seen[indices[i]] = true;
            status_check(indices[i], &statuses[i], source, what);
        }
    }
    if (way == WAY_WAITSOME) {
        MPI_Waitsome(ENTRIES, requests, &some, indices, statuses);
    } else {
        MPI_Testsome(ENTRIES, requests, &some, indices, statuses);
    }
    JOB_CHECK(some == MPI_UNDEFINED, "%s of none active: %d", what, some);
}

static void complete_all(way_t way, MPI_Request *requests, int source)
{
    MPI_Status statuses[ENTRIES];
    int flag = 0;

    if (way == WAY_WAITALL) {
        MPI_Waitall(ENTRIES, requests, statuses);
    }
    while (way == WAY_TESTALL && !flag) {
        MPI_Testall(ENTRIES, requests, &flag, statuses);
    }
    for (int entry = 0; entry < ENTRIES; entry++) {
        status_check(entry, &statuses[entry], source, way_names[way]);
    }
}

/* One after the other, the last first. */
static void complete_each(way_t way, MPI_Request *requests, int source)
{
    for (int entry = ENTRIES - 1; entry >= 0; entry--) {
        MPI_Status status;
        int flag = 0;
        while (way == WAY_TEST && !flag) {
            MPI_Test(&requests[entry], &flag, &status);
        }
        /* It tells of completion, again and again, and the request stays. */
        for (int times = 0; way == WAY_GET_STATUS && times < 2; times += flag) {
            const MPI_Request before = requests[entry];
            MPI_Request_get_status(requests[entry], &flag, &status);
            JOB_CHECK(requests[entry] == before, "Request_get_status: entry %d is another one", entry);
            JOB_CHECK(flag || times == 0, "Request_get_status takes back that entry %d is complete", entry);
            if (flag) {
                status_check(entry, &status, source, "Request_get_status");
            }
        }
        if (way != WAY_TEST) {
            MPI_Wait(&requests[entry], &status);
        }
        status_check(entry, &status, source, way_names[way]);
    }
}

static void complete(way_t way, MPI_Request *requests, int source)
{
    bool seen[ENTRIES] = {false};

    switch (way) {
    case WAY_WAITANY:
    case WAY_TESTANY:
        complete_singly(way, requests, source, seen);
        break;
    case WAY_WAITSOME:
    case WAY_TESTSOME:
        complete_some(way, requests, source, seen);
        break;
    case WAY_WAITALL:
    case WAY_TESTALL:
        complete_all(way, requests, source);
        break;
    default:
        complete_each(way, requests, source);
        break;
    }
}

static void batch(const char *type, pattern_op_id_t op, size_t total, way_t way, MPI_Comm comm)
{
    static size_t seed;
    pending_t pending[COLLECTIVES];
    MPI_Request requests[ENTRIES];
    const int left = (job.rank + job.size - 1) % job.size;
    const int sent = job.rank * 10 + (int)way;
    int received = -1;
    char what[64];

    (void)snprintf(what, sizeof what, "%s, %s", way_names[way], type);
    requests[NONE] = MPI_REQUEST_NULL;
    MPI_Send_init(&sent, 1, MPI_INT, left, 32, comm, &requests[INACTIVE]);
    for (int c = 0; c < COLLECTIVES; c++) {
        pending_make(&pending[c], (job_kind_t)(c % 3), type, op, total, c >= 3, comm);
        pending_fill(&pending[c], seed++);
        const int status = pending_issue(&pending[c], &requests[c]);
        JOB_CHECK(status == MPI_SUCCESS && requests[c] != MPI_REQUEST_NULL, "%s: error %d at the start", what, status);
        if (c == 2) {
            MPI_Isend(&sent, 1, MPI_INT, (job.rank + 1) % job.size, 31, comm, &requests[SEND]);
        }
    }
    MPI_Irecv(&received, 1, MPI_INT, left, 31, comm, &requests[RECEIVE]);
    complete(way, requests, left);
    for (int entry = 0; entry < INACTIVE; entry++) {
        JOB_CHECK(requests[entry] == MPI_REQUEST_NULL, "%s: entry %d is not null", what, entry);
    }
    JOB_CHECK(received == left * 10 + (int)way, "%s: the message is %d", what, received);
    for (int c = 0; c < COLLECTIVES; c++) {
        pending_check(&pending[c], what);
        pending_free(&pending[c]);
    }
    MPI_Request_free(&requests[INACTIVE]);
}

static void test_values(void)
{
    static const struct {
        const char *type;
        pattern_op_id_t op;
    } chosen[] = {{"MPI_DOUBLE", PATTERN_SUM},        {"MPI_SIGNED_CHAR", PATTERN_MAX},
                  {"MPI_UNSIGNED", PATTERN_BXOR},     {"MPI_LONG_DOUBLE", PATTERN_SUM},
                  {"MPI_DOUBLE_INT", PATTERN_MINLOC}, {"MPI_C_DOUBLE_COMPLEX", PATTERN_PROD},
                  {"MPI_SHORT", PATTERN_LAND}};
    static const size_t totals[] = {0, 1, 2, 7, 64, 1031};
    const int ntypes = sizeof chosen / sizeof chosen[0];
    int turn = 0;

    for (int t = 0; t < ntypes; t++) {
        for (int n = 0; n < (int)(sizeof totals / sizeof totals[0]); n++) {
            for (int way = 0; way < WAYS; way++) {
                if (t == 0 || way % 3 == turn++ % 3) {
                    batch(chosen[t].type, chosen[t].op, totals[n], (way_t)way, MPI_COMM_WORLD);
                }
            }
        }
    }
    for (int way = 0; way < WAYS; way++) {
        batch("MPI_DOUBLE", PATTERN_SUM, 512, (way_t)way, MPI_COMM_WORLD);
        batch("MPI_FLOAT", PATTERN_MAX, 20000, (way_t)way, MPI_COMM_WORLD);
    }
}

static void test_big(void)
{
    batch("MPI_DOUBLE", PATTERN_SUM, 131072, WAY_WAITALL, MPI_COMM_WORLD);
    batch("MPI_DOUBLE", PATTERN_SUM, 131071, WAY_TESTSOME, MPI_COMM_WORLD);
    batch("MPI_INT", PATTERN_BOR, 262145, WAY_WAITANY, MPI_COMM_WORLD);
    batch("MPI_FLOAT", PATTERN_SUM, 2097152, WAY_TESTALL, MPI_COMM_WORLD);
    batch("MPI_DOUBLE", PATTERN_MIN, 1048577, WAY_GET_STATUS, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "values") == 0) {
            test_values();
        } else if (strcmp(argv[a], "big") == 0) {
            test_big();
        } else {
            job_fail("no test named %s", argv[a]);
        }
    }
    return job_end();
}
