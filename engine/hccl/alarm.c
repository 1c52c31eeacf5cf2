/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a communicator tell each other while they wait for the devices. HCCL itself knows of a peer that
   failed only when HCCL_EXEC_TIMEOUT is over, half an hour: so a rank that fails tells all others, and who waits looks
   for such a word. And who waits for long tells some of the others, which then can name those that have not come.
   Nothing is sent while all goes well. */
#include "engine/hccl/hccl.h"

#include "transport/log.h"

#include <stdio.h>
#include <string.h>

typedef enum word_kind { WORD_FAILED = 1, WORD_WAITS } word_kind_t;

typedef struct word {
    uint32_t kind;
    uint32_t rank; /* of whom it tells */
    int32_t status;
    uint32_t unused;
    uint64_t use; /* WORD_WAITS: the use of the devices that it waits in */
    char text[HCCL_CAUSE_BYTES];
} word_t;

_Static_assert(sizeof(word_t) == ENGINE_WORD_BYTES, "a word is one of those that the host engine carries");

/* How many owners hear that one waits for long, so that the words do not go up with the square of the ranks; and how
   long after the first they speak: so much a second of MPINPU_STALL_S, but no longer than for this. */
enum { LISTENERS = 8, LISTEN_PART = 2 };
static const int64_t listen_ns = INT64_C(2000000000);

static void cause_keep(hccl_cause_t *cause, mpinpu_status_t status, uint32_t rank, const char *text)
{
    *cause = (hccl_cause_t){.status = status, .rank = rank};
    (void)snprintf(cause->text, sizeof cause->text, "%.*s", HCCL_CAUSE_BYTES - 1, text);
}

/* An owner waits for the device when all of its group have come. */
static void waits_keep(engine_comm_t *comm, uint32_t owner, uint64_t use)
{
    const owners_t *owners = &comm->owners;
    const uint32_t place = owners->of_rank[owner];

    for (uint32_t i = owners->first[place]; i < owners->first[place + 1]; i++) {
        comm->waits[owners->grouped[i]] = use;
    }
}

static void words_take(engine_comm_t *comm)
{
    const engine_exchange_t *exchange = &comm->exchange;
    word_t word;

    while (exchange->word_take != NULL && exchange->word_take(exchange->words, &word)) {
        if (word.rank >= comm->size) {
            continue;
        }
        if (word.kind == WORD_WAITS) {
            waits_keep(comm, word.rank, word.use);
        } else if (comm->cause.status == MPINPU_OK && word.status > MPINPU_OK && word.status < MPINPU_STATUS_COUNT) {
            word.text[sizeof word.text - 1] = '\0';
            cause_keep(&comm->cause, (mpinpu_status_t)word.status, word.rank, word.text);
        }
    }
}

mpinpu_status_t hccl_alarm_hear(engine_comm_t *comm)
{
    words_take(comm);
    return comm->cause.status;
}

void hccl_alarm_raise(engine_comm_t *comm, uint32_t rank, mpinpu_status_t status, const char *text)
{
    const engine_exchange_t *exchange = &comm->exchange;
    word_t word = {.kind = WORD_FAILED, .rank = rank, .status = (int32_t)status};

    /* What was heard is the cause of what failed here, and everybody hears it. */
    if (hccl_alarm_hear(comm) != MPINPU_OK) {
        return;
    }
    cause_keep(&comm->cause, status, rank, text);
    memcpy(word.text, comm->cause.text, sizeof word.text);
    for (uint32_t r = 0; r < comm->size && exchange->word_send != NULL; r++) {
        if (r != comm->rank) {
            exchange->word_send(exchange->words, r, &word);
        }
    }
}

/* Tells the listeners, and those for which it drives the device, that this rank has come and waits. */
static void wait_tell(engine_comm_t *comm)
{
    const engine_exchange_t *exchange = &comm->exchange;
    const owners_t *owners = &comm->owners;
    const word_t word = {.kind = WORD_WAITS, .rank = comm->rank, .use = comm->uses};

    if (comm->told == comm->uses) {
        return;
    }
    comm->told = comm->uses;
    waits_keep(comm, comm->rank, comm->uses);
    for (uint32_t p = 0; p < LISTENERS && p < comm->nowners && exchange->word_send != NULL; p++) {
        if (p != comm->place) {
            exchange->word_send(exchange->words, owners->order[p], &word);
        }
    }
    for (uint32_t i = owners->first[comm->place] + 1; i < owners->first[comm->place + 1]; i++) {
        if (exchange->word_send != NULL) {
            exchange->word_send(exchange->words, owners->grouped[i], &word);
        }
    }
}

/* The first listener that waits speaks for all: of the ranks that have not said that they wait. */
static void wait_say(const engine_comm_t *comm, int64_t waited)
{
    engine_stall_t stall = {.owner = comm->exchange.owner,
                            .collective = comm->whole,
                            .place = " on the NPUs",
                            .waited_ns = waited,
                            .rank = comm->rank,
                            .size = comm->size};

    for (uint32_t p = 0; p < comm->place; p++) {
        if (comm->waits[comm->owners.order[p]] == comm->uses) {
            return;
        }
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        if (comm->waits[r] == comm->uses) {
            continue;
        }
        if (stall.late < ENGINE_LATE_NAMED) {
            stall.ranks[stall.late] = r;
        }
        stall.late++;
    }
    if (stall.late > 0) {
        (void)comm->engine->config.watch.stalled(&stall); /* never in the engine's thread */
    }
}

void hccl_alarm_wait(engine_comm_t *comm, int64_t waited)
{
    const int64_t patience = (int64_t)comm->engine->config.watch.stall_seconds * INT64_C(1000000000);

    if (patience == 0 || waited < patience) {
        return;
    }
    wait_tell(comm);
    if (comm->said != comm->uses && comm->place < LISTENERS &&
        waited >= patience + (patience / LISTEN_PART < listen_ns ? patience / LISTEN_PART : listen_ns)) {
        comm->said = comm->uses;
        wait_say(comm, waited);
    }
}

/* A rank has waited in its group, whose numbers the stall has. An owner speaks for those that it lacks, and tells the
   listeners that it has come, so that they name nobody of the group. */
static bool group_stalled(const engine_stall_t *group)
{
    engine_comm_t *comm = group->owner;
    const owners_t *owners = &comm->owners;
    engine_stall_t stall = *group;

    if (comm->owner) {
        wait_tell(comm);
    } else if (hccl_alarm_hear(comm) != MPINPU_OK || comm->waits[owners->order[comm->place]] == comm->uses) {
        return true; /* the owner waits too: for others */
    }
    if (comm->said == comm->uses) {
        return true;
    }
    comm->said = comm->uses;
    stall.owner = comm->exchange.owner;
    stall.collective = comm->whole;
    stall.place = " on the NPUs";
    stall.rank = comm->rank;
    stall.size = comm->size;
    for (uint32_t i = 0; i < stall.late && i < ENGINE_LATE_NAMED; i++) {
        stall.ranks[i] = owners->grouped[owners->first[comm->place] + group->ranks[i]];
    }
    return comm->engine->config.watch.stalled(&stall);
}

static void group_waited(void *owner, uint32_t rank, int64_t began_ns, int64_t ended_ns)
{
    const engine_comm_t *comm = owner;

    comm->engine->config.watch.waited(comm->exchange.owner,
                                      comm->owners.grouped[comm->owners.first[comm->place] + rank], began_ns, ended_ns);
}

void hccl_alarm_watch(engine_comm_t *comm, engine_watch_t *watch, engine_exchange_t *part)
{
    *watch = comm->engine->config.watch;
    watch->stalled = group_stalled;
    watch->waited = watch->waited != NULL ? group_waited : NULL;
    part->watch = watch;
    part->owner = comm;
}
