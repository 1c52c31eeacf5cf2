/* SPDX-License-Identifier: BSD-3-Clause */
/* A rank that has waited for too long asks those that it waits for, who ask nobody but tell whom they wait for in turn,
   which are asked then: so it comes to the ranks that do not answer, since they are not in the collective. Nothing is
   sent before. */
#include "config.h" /* _GNU_SOURCE: clock_gettime */

#include "engine/host/stall.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Rounds of a long wait between two looks at the clock; and time between two looks at what others say. */
enum { ROUNDS_A_LOOK = 16 };
static const int64_t hear_ns = INT64_C(5000000);
/* Others are answered by who has waited for so long. */
static const int64_t answer_ns = INT64_C(50000000);
/* How long answers are awaited: so much a second of MPINPU_STALL_S, but no longer than for this. */
enum { ANSWERS_PART = 4 };
static const int64_t answers_most_ns = INT64_C(2000000000);

enum { ASKED_MOST = 64, TOLD_MOST = 32 };

typedef enum word_kind { WORD_ASKS = 1, WORD_TELLS } word_kind_t;

typedef struct word {
    uint32_t kind;
    uint32_t rank;   /* who sends it */
    uint64_t number; /* of the asking */
    uint32_t n;
    uint32_t ranks[TOLD_MOST]; /* WORD_TELLS: for whom it waits */
} word_t;

_Static_assert(sizeof(word_t) <= ENGINE_WORD_BYTES, "a word is one of those that words.c carries");

/* Who was asked, the last time. */
typedef struct host_stall {
    uint64_t number;
    uint32_t n;
    struct {
        uint32_t rank;
        bool answered;
    } asked[ASKED_MOST];
} host_stall_t;

/* A look at a wait. */
typedef struct look {
    engine_comm_t *comm;
    wait_t *wait;
    stall_awaits_t *awaits;
    const void *waiter;
    int64_t now;
} look_t;

static int64_t stall_clock(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The first ranks that are waited for; returns how many there are. */
static uint32_t look_awaited(const look_t *look, uint32_t *ranks, uint32_t most)
{
    const engine_comm_t *comm = look->comm;
    uint32_t n = 0;

    for (uint32_t r = 0; r < comm->size; r++) {
        if (r != comm->rank && look->awaits(comm, look->waiter, r)) {
            if (n < most) {
                ranks[n] = r;
            }
            n++;
        }
    }
    return n;
}

static void word_send(engine_comm_t *comm, uint32_t rank, const word_t *word)
{
    unsigned char bytes[ENGINE_WORD_BYTES] = {0};

    memcpy(bytes, word, sizeof *word);
    host_comm_send_word(comm, WORDS_STALL, rank, bytes);
}

static void stall_ask(engine_comm_t *comm, uint32_t rank)
{
    host_stall_t *stall = comm->stall;
    const word_t word = {.kind = WORD_ASKS, .rank = comm->rank, .number = stall->number};

    if (rank >= comm->size || rank == comm->rank || stall->n == ASKED_MOST) {
        return;
    }
    for (uint32_t a = 0; a < stall->n; a++) {
        if (stall->asked[a].rank == rank) {
            return;
        }
    }
    stall->asked[stall->n].rank = rank;
    stall->asked[stall->n].answered = false;
    stall->n++;
    word_send(comm, rank, &word);
}

static void answer_take(const look_t *look, const word_t *word)
{
    engine_comm_t *comm = look->comm;
    host_stall_t *stall = comm->stall;

    if (!look->wait->asked || stall == NULL || word->number != stall->number) {
        return; /* too late */
    }
    for (uint32_t a = 0; a < stall->n; a++) {
        stall->asked[a].answered = stall->asked[a].answered || stall->asked[a].rank == word->rank;
    }
    for (uint32_t i = 0; i < word->n && i < TOLD_MOST; i++) {
        stall_ask(comm, word->ranks[i]);
    }
}

/* Answers, and takes answers. */
static void look_hear(const look_t *look)
{
    engine_comm_t *comm = look->comm;
    unsigned char bytes[ENGINE_WORD_BYTES];
    word_t word;

    while (host_comm_take_word(comm, WORDS_STALL, bytes)) {
        memcpy(&word, bytes, sizeof word);
        if (word.kind == WORD_TELLS) {
            answer_take(look, &word);
        } else if (word.kind == WORD_ASKS && word.rank < comm->size) {
            word_t answer = {.kind = WORD_TELLS, .rank = comm->rank, .number = word.number};
            const uint32_t awaited = look_awaited(look, answer.ranks, TOLD_MOST);
            answer.n = awaited < TOLD_MOST ? awaited : TOLD_MOST;
            word_send(comm, word.rank, &answer);
        }
    }
}

static void look_ask(const look_t *look)
{
    engine_comm_t *comm = look->comm;
    uint32_t ranks[ASKED_MOST];

    if (look->wait->asked) {
        return;
    }
    look->wait->asked = true;
    if (comm->stall == NULL) {
        comm->stall = calloc(1, sizeof *comm->stall);
    }
    if (comm->stall == NULL) {
        return;
    }
    *comm->stall = (host_stall_t){.number = comm->stall->number + 1};
    const uint32_t awaited = look_awaited(look, ranks, ASKED_MOST);
    for (uint32_t i = 0; i < awaited && i < ASKED_MOST; i++) {
        stall_ask(comm, ranks[i]);
    }
}

/* The ranks that have not answered; where all have, those that are waited for. */
static bool look_say(const look_t *look)
{
    const engine_comm_t *comm = look->comm;
    const host_stall_t *asked = comm->stall;
    engine_stall_t stall = {.owner = comm->owner,
                            .collective = comm->whole,
                            .place = "",
                            .nonblocking = look->wait->nonblocking,
                            .waited_ns = look->now - look->wait->began,
                            .rank = comm->rank,
                            .size = comm->size};

    for (uint32_t a = 0; asked != NULL && a < asked->n; a++) {
        if (asked->asked[a].answered) {
            continue;
        }
        if (stall.late < ENGINE_LATE_NAMED) {
            stall.ranks[stall.late] = asked->asked[a].rank;
        }
        stall.late++;
    }
    if (stall.late == 0) {
        stall.late = look_awaited(look, stall.ranks, ENGINE_LATE_NAMED);
    }
    return comm->watch.stalled(&stall);
}

void stall_look(engine_comm_t *comm, wait_t *wait, stall_awaits_t *awaits, const void *waiter)
{
    const engine_watch_t *watch = &comm->watch;
    look_t look = {.comm = comm, .wait = wait, .awaits = awaits, .waiter = waiter};

    if ((watch->stall_seconds == 0 && watch->waited == NULL) || wait->looks++ % ROUNDS_A_LOOK != 0) {
        return;
    }
    look.now = stall_clock();
    wait->began = wait->began == 0 ? look.now : wait->began;
    if (watch->waited != NULL && look_awaited(&look, &wait->rank, 1) > 0) {
        wait->named = true;
    }
    const int64_t patience = (int64_t)watch->stall_seconds * 1000000000;
    const int64_t waited = look.now - wait->began;
    if (patience == 0 || waited < answer_ns || look.now - wait->heard < hear_ns) {
        return;
    }
    wait->heard = look.now;
    look_hear(&look);
    if (waited < patience || wait->said) {
        return;
    }
    look_ask(&look);
    const int64_t answers = patience / ANSWERS_PART < answers_most_ns ? patience / ANSWERS_PART : answers_most_ns;
    if (waited >= patience + answers) {
        wait->said = look_say(&look);
    }
}

void stall_tell(const engine_comm_t *comm, const wait_t *wait)
{
    const engine_watch_t *watch = &comm->watch;

    if (watch->waited != NULL && wait->named) {
        watch->waited(comm->owner, wait->rank, wait->began, stall_clock());
    }
}

void stall_free(engine_comm_t *comm)
{
    free(comm->stall);
    comm->stall = NULL;
}
