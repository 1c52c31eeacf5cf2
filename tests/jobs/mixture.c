/* SPDX-License-Identifier: BSD-3-Clause */
/* Ten thousand steps at random: nonblocking, blocking and persistent collectives, messages, one-sided calls and host
   collectives on several communicators, which come and go; everything is checked. What is issued is the same on all
   ranks, by the seed; when and how it is completed is each rank's own affair.
   Usage: mixture SEED [STEPS]. */
#include "tests/jobs/pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 40, COMMS = 4, MESSAGE_MAX = 20000, STEPS = 10000 };

typedef enum content { EMPTY, COLLECTIVE, SENT, RECEIVED, OTHER } content_t;

/* Something outstanding. Its request stands in an array of its own, for the calls that take arrays. */
typedef struct slot {
    content_t content;
    pending_t pending;
    char *message;
    size_t bytes;
    int from; /* of a received message */
    uint64_t step;
} slot_t;

static slot_t slots[SLOTS];
static MPI_Request requests[SLOTS];
static MPI_Comm comms[COMMS]; /* the first is MPI_COMM_WORLD */
static pending_t persistent;
static MPI_Request persistent_request = MPI_REQUEST_NULL;
static MPI_Win window;
static long exposed;
static long added; /* to all ranks, by all */
static uint64_t seed;
static uint64_t own; /* drawn so far by this rank alone */

static uint64_t draw_own(uint64_t below)
{
    return job_mix(seed * 1000 + (uint64_t)job.rank, ++own) % below;
}

static char message_byte(int from, uint64_t step, size_t index)
{
    return (char)job_mix(step * 64 + (uint64_t)from, index / 8);
}

/* What has completed. */
static void slot_end(int number)
{
    slot_t *slot = &slots[number];

    JOB_CHECK(requests[number] == MPI_REQUEST_NULL, "step %lu: the request is not null", (unsigned long)slot->step);
    if (slot->content == COLLECTIVE) {
        char what[64];
        (void)snprintf(what, sizeof what, "issued at step %lu", (unsigned long)slot->step);
        pending_check(&slot->pending, what);
        pending_free(&slot->pending);
    }
    for (size_t i = 0; slot->content == RECEIVED && i < slot->bytes; i++) {
        if (slot->message[i] != message_byte(slot->from, slot->step, i)) {
            job_fail("message of step %lu from rank %d: wrong at byte %zu of %zu", (unsigned long)slot->step,
                     slot->from, i, slot->bytes);
            break;
        }
    }
    free(slot->message);
    *slot = (slot_t){.content = EMPTY};
}

static void some_end(int count, const int *indices)
{
    for (int i = 0; i < count; i++) {
        slot_end(indices[i]);
    }
}

/* One slot, or some of all; may wait, which is safe: all ranks have issued what this one has. */
static void complete(int number)
{
    int indices[SLOTS];
    int count = 0;
    int done = 0;

    switch (draw_own(6)) {
    case 0:
        MPI_Waitany(SLOTS, requests, &indices[0], MPI_STATUS_IGNORE);
        some_end(indices[0] != MPI_UNDEFINED, indices);
        break;
    case 1:
        MPI_Waitsome(SLOTS, requests, &count, indices, MPI_STATUSES_IGNORE);
        some_end(count != MPI_UNDEFINED ? count : 0, indices);
        break;
    case 2:
        MPI_Testsome(SLOTS, requests, &count, indices, MPI_STATUSES_IGNORE);
        some_end(count != MPI_UNDEFINED ? count : 0, indices);
        break;
    case 3:
        MPI_Testany(SLOTS, requests, &indices[0], &done, MPI_STATUS_IGNORE);
        some_end(done && indices[0] != MPI_UNDEFINED, indices);
        break;
    case 4:
        MPI_Test(&requests[number], &done, MPI_STATUS_IGNORE);
        some_end(done, &number);
        break;
    default:
        MPI_Wait(&requests[number], MPI_STATUS_IGNORE);
        slot_end(number);
        break;
    }
}

/* An empty slot; waits for one where there is none. */
static int slot_need(uint64_t step, content_t content)
{
    int number = -1;

    while (number < 0) {
        for (int s = 0; s < SLOTS && number < 0; s++) {
            number = slots[s].content == EMPTY ? s : -1;
        }
        if (number < 0) {
            complete((int)draw_own(SLOTS));
        }
    }
    slots[number] = (slot_t){.content = content, .step = step};
    return number;
}

static void collective_make(pending_t *pending, uint64_t random, MPI_Comm comm)
{
    static const char *const types[] = {"MPI_DOUBLE", "MPI_INT", "MPI_UNSIGNED_CHAR", "MPI_LONG"};
    static const pattern_op_id_t ops[] = {PATTERN_SUM, PATTERN_MIN, PATTERN_MAX};
    static const size_t totals[] = {1, 2, 5, 33, 100, 700, 3000, 30000};

    pending_make(pending, (job_kind_t)((random >> 8) % 3), types[(random >> 12) % 4], ops[(random >> 16) % 3],
                 totals[(random >> 20) % 8], (random >> 28) % 4 == 0, comm);
}

static void step_issue(uint64_t step, uint64_t random)
{
    const int number = slot_need(step, COLLECTIVE);

    collective_make(&slots[number].pending, random, comms[(random >> 32) % COMMS]);
    pending_fill(&slots[number].pending, step);
    pending_issue(&slots[number].pending, &requests[number]);
}

static void step_blocking(uint64_t step, uint64_t random)
{
    pending_t pending;

    collective_make(&pending, random, comms[(random >> 32) % COMMS]);
    pending_fill(&pending, step);
    pending_run(&pending);
    pending_check(&pending, "a blocking one");
    pending_free(&pending);
}

static void receive_issue(uint64_t step, size_t bytes, int from)
{
    const int number = slot_need(step, RECEIVED);

    slots[number].message = malloc(bytes + 1);
    slots[number].bytes = bytes;
    slots[number].from = from;
    MPI_Irecv(slots[number].message, (int)bytes, MPI_BYTE, from, (int)(step % 30000), MPI_COMM_WORLD,
              &requests[number]);
}

static void send_issue(uint64_t step, size_t bytes, int to, bool synchronous)
{
    const int number = slot_need(step, SENT);

    slots[number].message = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; i++) {
        slots[number].message[i] = message_byte(job.rank, step, i);
    }
    (synchronous ? MPI_Issend : MPI_Isend)(slots[number].message, (int)bytes, MPI_BYTE, to, (int)(step % 30000),
                                           MPI_COMM_WORLD, &requests[number]);
}

/* The receive comes first: with an empty slot for only one of the two, a rank may wait for what the other one brings.
 */
static void step_message(uint64_t step, uint64_t random)
{
    const int distance = (int)((random >> 8) % (uint64_t)job.size);
    const size_t bytes = (random >> 16) % 8 == 0 ? MESSAGE_MAX : (random >> 20) % 200;

    receive_issue(step, bytes, (job.rank + job.size - distance) % job.size);
    send_issue(step, bytes, (job.rank + distance) % job.size, (random >> 24) % 3 == 0);
}

/* One pair of ranks, by blocking calls. */
static void step_pair(uint64_t step, uint64_t random)
{
    const int from = (int)((random >> 8) % (uint64_t)job.size);
    const int to = (from + 1) % job.size;
    static char message[MESSAGE_MAX];
    const size_t bytes = (random >> 24) % 2 == 0 ? MESSAGE_MAX : 8;

    if (job.rank == from && job.size > 1) {
        memset(message, (int)step, bytes);
        MPI_Send(message, (int)bytes, MPI_BYTE, to, 32000, MPI_COMM_WORLD);
    } else if (job.rank == to && job.size > 1) {
        MPI_Recv(message, MESSAGE_MAX, MPI_BYTE, from, 32000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        JOB_CHECK(message[0] == (char)step && message[bytes - 1] == (char)step, "message of step %lu",
                  (unsigned long)step);
    }
}

static void step_window(uint64_t step, uint64_t random)
{
    const int from = (int)((random >> 8) % (uint64_t)job.size);
    const int target = (int)((random >> 16) % (uint64_t)job.size);
    const long value = (long)(step % 1000);

    added += value;
    if (job.rank == from) {
        MPI_Win_lock((random >> 24) % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, window);
        MPI_Accumulate(&value, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, window);
        MPI_Win_unlock(target, window);
    }
}

static void step_host(uint64_t step, uint64_t random)
{
    int root = (int)((random >> 8) % (uint64_t)job.size);
    int value = job.rank == root ? (int)step : -1;

    if ((random >> 16) % 3 == 0) {
        MPI_Barrier(comms[(random >> 32) % COMMS]);
    } else if ((random >> 16) % 3 == 1) {
        const int number = slot_need(step, OTHER);
        MPI_Ibarrier(MPI_COMM_WORLD, &requests[number]);
    } else {
        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
        JOB_CHECK(value == (int)step, "Bcast of step %lu gives %d", (unsigned long)step, value);
    }
}

/* A communicator is freed, with what is outstanding on it where that may be, and another one made. */
static void step_communicator(uint64_t random)
{
    const int number = 1 + (int)((random >> 8) % (COMMS - 1));

    for (int s = 0; s < SLOTS && !job.preloaded; s++) { /* bare Open MPI 4.1 crashes */
        if (slots[s].content == COLLECTIVE && slots[s].pending.comm == comms[number]) {
            MPI_Wait(&requests[s], MPI_STATUS_IGNORE);
            slot_end(s);
        }
    }
    MPI_Comm_free(&comms[number]);
    MPI_Comm_split(MPI_COMM_WORLD, (random >> 16) % 3 == 0 ? job.rank % 2 : 0,
                   (random >> 20) % 2 == 0 ? job.rank : -job.rank, &comms[number]);
}

static void step_persistent(uint64_t step)
{
    static bool started;

    if (persistent_request == MPI_REQUEST_NULL) {
        return;
    }
    if (started) {
        MPI_Wait(&persistent_request, MPI_STATUS_IGNORE);
        pending_check(&persistent, "persistent");
    }
    started = step != UINT64_MAX;
    if (started) {
        pending_fill(&persistent, step);
        MPI_Start(&persistent_request);
        job_count_start(persistent.kind + JOB_ALLREDUCE_INIT, true, MPI_COMM_WORLD);
    }
}

static void step_do(uint64_t step)
{
    const uint64_t random = job_mix(seed, step);
    const unsigned what = (unsigned)(random % 100);

    if (what < 35) {
        step_issue(step, random);
    } else if (what < 45) {
        step_blocking(step, random);
    } else if (what < 60) {
        step_message(step, random);
    } else if (what < 65) {
        step_pair(step, random);
    } else if (what < 68) {
        step_window(step, random);
    } else if (what < 71) {
        step_host(step, random);
    } else if (what < 73) {
        step_communicator(random);
    } else if (what < 76) {
        step_persistent(step);
    } else {
        complete((int)draw_own(SLOTS));
    }
}

static void everything_end(void)
{
    long sum = 0;
    long mine = 0;

    for (int s = 0; s < SLOTS; s++) {
        MPI_Wait(&requests[s], MPI_STATUS_IGNORE);
        slot_end(s);
    }
    step_persistent(UINT64_MAX);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, job.rank, 0, window);
    mine = exposed;
    MPI_Win_unlock(job.rank, window);
    MPI_Reduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    JOB_CHECK(job.rank != 0 || sum == added, "the windows hold %ld, and %ld were added", sum, added);
}

int main(int argc, char **argv)
{
    job_begin(&argc, &argv);
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    const uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 10) : STEPS;

    for (int s = 0; s < SLOTS; s++) {
        requests[s] = MPI_REQUEST_NULL;
    }
    comms[0] = MPI_COMM_WORLD;
    for (int c = 1; c < COMMS; c++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]);
    }
    MPI_Win_create(&exposed, sizeof exposed, sizeof exposed, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    pending_make(&persistent, JOB_ALLREDUCE, "MPI_DOUBLE", PATTERN_SUM, 300, false, MPI_COMM_WORLD);
    pending_fill(&persistent, 0);
    step_blocking(0, 0); /* on MPI_COMM_WORLD */
    (void)pending_init(&persistent, &persistent_request);
    for (uint64_t step = 0; step < steps; step++) {
        step_do(step);
    }
    everything_end();
    if (persistent_request != MPI_REQUEST_NULL) {
        MPI_Request_free(&persistent_request);
    }
    pending_free(&persistent);
    MPI_Win_free(&window);
    for (int c = 1; c < COMMS; c++) {
        MPI_Comm_free(&comms[c]);
    }
    return job_end();
}
