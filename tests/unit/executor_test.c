/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays the ranks of a communicator as threads of one process, their windows as plain memory: the executor and the
   straight paths run real collectives, one after another, without MPI and without UCX. Closes for the windows traps 8,
   12, 13 and 14. Built a second time with ThreadSanitizer, which sees a flag between ranks that is not release and
   acquire on any machine: trap 38. A plain program, since Criterion does not run under ThreadSanitizer. */
#include "engine/host/run.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS_MAX = 9, HALF_BYTES = 48 * 1024, GUARD = 4096 /* a page: buffers begin with one */, GUARD_BYTE = 0xa5 };

/* A second thread of a rank, which has every other turn in what the rank started. */
typedef struct aide {
    pthread_t thread;
    engine_comm_t *comm; /* NULL: it is to end */
    mpinpu_status_t status;
    sem_t turn;
    sem_t done;
} aide_t;

/* What all ranks do in one test: the same series of collectives. */
typedef struct job {
    uint32_t size;
    size_t half;
    bool raw;
    engine_t engine;
    engine_comm_t comms[RANKS_MAX];
    aide_t aides[RANKS_MAX];
    unsigned char *windows[RANKS_MAX];
    char failure[RANKS_MAX][256];
    unsigned seed;
} job_t;

typedef struct player {
    job_t *job;
    uint32_t rank;
} player_t;

static void job_open(job_t *job, uint32_t size, size_t half, bool raw, unsigned seed, bool direct)
{
    *job = (job_t){.size = size, .half = half, .raw = raw, .seed = seed};
    job->engine.config.reproducible = raw;
    job->engine.config.zero_copy = direct;
    /* Never looked into: what stands in for them exposes everything. */
    job->engine.exposures = (exposures_t *)(void *)job;
    job->engine.direct_maps = (struct direct_maps *)(void *)job;
    job->engine.crowded = true;
    job->engine.spin_polls = 4;
    size_t region = region_data_offset(size) + 2 * half;
    for (uint32_t r = 0; r < size; r++) {
        job->windows[r] = aligned_alloc(REGION_STRIDE, (region + REGION_STRIDE - 1) / REGION_STRIDE * REGION_STRIDE);
        memset(job->windows[r], 0, region_data_offset(size));
        memset(job->windows[r] + region_data_offset(size), 0xee, 2 * half);
    }
    for (uint32_t r = 0; r < size; r++) {
        engine_comm_t *comm = &job->comms[r];
        *comm = (engine_comm_t){
            .engine = &job->engine, .rank = r, .size = size, .tiny = true, .windows = true, .nhosts = 1, .half = half};
        comm->ranks = calloc(size, sizeof *comm->ranks);
        comm->host_of = calloc(size, sizeof *comm->host_of);
        comm->sources = calloc(size, sizeof *comm->sources);
        comm->part_counts = calloc(size, sizeof *comm->part_counts);
        for (uint32_t p = 0; p < size; p++) {
            comm->ranks[p].region = (region_head_t *)(void *)job->windows[p];
            comm->ranks[p].half[0] = job->windows[p] + region_data_offset(size);
            comm->ranks[p].half[1] = comm->ranks[p].half[0] + half;
        }
    }
}

static void job_close(job_t *job)
{
    for (uint32_t r = 0; r < job->size; r++) {
        host_run_free(&job->comms[r]);
        host_plans_free(&job->comms[r]);
        free(job->comms[r].ranks);
        free(job->comms[r].host_of);
        free(job->comms[r].sources);
        free(job->comms[r].part_counts);
        free(job->comms[r].vectors);
        free(job->comms[r].tmp);
        free(job->windows[r]);
    }
}

/* Rank r's input element i of collective c: small integers, so that every sum is exact. */
static int32_t input_value(uint32_t r, size_t i, unsigned c)
{
    return (int32_t)((i * 7 + (size_t)r * 131 + (size_t)c * 17) % 1009) - 300;
}

static int32_t expected_value(uint32_t size, size_t i, unsigned c)
{
    int32_t sum = 0;

    for (uint32_t r = 0; r < size; r++) {
        sum += input_value(r, i, c);
    }
    return sum;
}

typedef struct shape {
    collective_kind_t kind;
    size_t count;
    int counts[RANKS_MAX];
    bool in_place;
} shape_t;

/* Whether the result is the whole vector, not a block. */
static bool shape_whole(collective_kind_t kind)
{
    return kind != COLLECTIVE_REDUCE_SCATTER && kind != COLLECTIVE_REDUCE_SCATTER_BLOCK;
}

/* Elements that a rank receives. */
static size_t shape_received(const collective_t *collective, uint32_t rank)
{
    if (collective->kind == COLLECTIVE_REDUCE && rank != 0) {
        return 0;
    }
    return shape_whole(collective->kind) ? collective->count : collective_block(collective, rank);
}

/* The c-th collective of a series: the same on all ranks. */
static shape_t shape_make(const job_t *job, unsigned c)
{
    static const size_t sizes[] = {1, 2, 3, 13, 14, 15, 100, 777, 1024, 4096, 4099, 12288, 20000, 65537, 81920};
    unsigned state = job->seed * 2654435761u + c * 40503u;
    shape_t shape = {.kind = (collective_kind_t)(rand_r(&state) % COLLECTIVE_KIND_END)};
    size_t size = sizes[(unsigned)rand_r(&state) % (sizeof sizes / sizeof sizes[0])];

    shape.in_place = rand_r(&state) % 2 == 0;
    shape.count = shape_whole(shape.kind) ? size : size / job->size + 1;
    if (shape.kind == COLLECTIVE_REDUCE_SCATTER) {
        for (uint32_t r = 0; r < job->size; r++) {
            shape.counts[r] = rand_r(&state) % 3 == 0 ? 0 : rand_r(&state) % (int)(size + 1);
        }
        shape.counts[(unsigned)rand_r(&state) % job->size]++;
    }
    return shape;
}

static size_t shape_before(const shape_t *shape, uint32_t rank)
{
    size_t before = 0;

    for (uint32_t r = 0; r < rank; r++) {
        before += shape->kind == COLLECTIVE_REDUCE_SCATTER ? (size_t)shape->counts[r] : shape->count;
    }
    return shape_whole(shape->kind) ? 0 : before;
}

static void *aide_play(void *argument)
{
    aide_t *aide = argument;

    for (;;) {
        (void)sem_wait(&aide->turn);
        if (aide->comm == NULL) {
            return NULL;
        }
        aide->status = host_advance(aide->comm);
        (void)sem_post(&aide->done);
    }
}

static mpinpu_status_t aide_advance(aide_t *aide, engine_comm_t *comm)
{
    aide->comm = comm;
    (void)sem_post(&aide->turn);
    (void)sem_wait(&aide->done);
    return aide->status;
}

/* Every third one as a nonblocking caller does it, by two threads in turns, every sixth as a persistent one. */
static mpinpu_status_t collective_run(engine_comm_t *comm, aide_t *aide, const collective_t *collective, unsigned c)
{
    if (c % 3 != 0) {
        return host_run(comm, collective);
    }
    engine_prepared_t *prepared = NULL;
    mpinpu_status_t status = c % 2 == 0 ? host_prepare(comm, collective, &prepared) : MPINPU_OK;
    if (status == MPINPU_OK) {
        status = host_start(comm, collective, prepared);
    }
    for (unsigned turn = c / 3; status == MPINPU_OK; turn++) {
        status = turn % 2 == 0 ? host_advance(comm) : aide_advance(aide, comm);
        if (status != MPINPU_IN_PROGRESS) {
            break;
        }
        status = MPINPU_OK;
        sched_yield();
    }
    host_unprepare(prepared);
    return status;
}

static const char *guards_check(const unsigned char *memory, size_t bytes)
{
    for (size_t g = 0; g < GUARD; g++) {
        if (memory[g] != GUARD_BYTE || memory[GUARD + bytes + g] != GUARD_BYTE) {
            return "wrote outside the buffer";
        }
    }
    return NULL;
}

static void *pages_take(size_t bytes)
{
    return aligned_alloc(GUARD, (bytes + GUARD - 1) / GUARD * GUARD);
}

/* One collective of one rank; the text of a failure in `failure`. */
static void collective_play(job_t *job, uint32_t rank, unsigned c, char *failure)
{
    shape_t shape = shape_make(job, c);
    collective_t collective = {.kind = shape.kind,
                               .dtype = DTYPE_I32,
                               .op = OP_SUM,
                               .count = shape.count,
                               .counts = shape.kind == COLLECTIVE_REDUCE_SCATTER ? shape.counts : NULL};
    size_t total = collective_total(&collective, job->size);
    size_t received = shape_received(&collective, rank);
    size_t first = shape_before(&shape, rank);
    size_t recv_bytes = (shape.in_place ? total : received) * sizeof(int32_t);
    unsigned char *memory = pages_take(recv_bytes + 2 * (size_t)GUARD);
    int32_t *input = pages_take(total * sizeof *input);

    memset(memory, GUARD_BYTE, recv_bytes + 2 * (size_t)GUARD);
    int32_t *recv = (int32_t *)(void *)(memory + GUARD);
    for (size_t i = 0; i < total; i++) {
        input[i] = input_value(rank, i, c);
    }
    if (shape.in_place) {
        memcpy(recv, input, total * sizeof *input);
    }
    collective.send = shape.in_place ? recv : input;
    collective.recv = recv;
    mpinpu_status_t status = collective_run(&job->comms[rank], &job->aides[rank], &collective, c);
    const char *wrong = status != MPINPU_OK ? status_name(status) : guards_check(memory, recv_bytes);
    for (size_t i = 0; wrong == NULL && i < received; i++) {
        const int32_t expected =
            shape.kind == COLLECTIVE_BROADCAST ? input_value(0, i, c) : expected_value(job->size, first + i, c);
        if (recv[i] != expected) {
            (void)snprintf(failure, 256, "%s in_place %d total %zu rank %u [%zu]: %d, not %d",
                           collective_kind_name(shape.kind), shape.in_place, total, rank, i, recv[i], expected);
            break;
        }
    }
    for (size_t i = 0; wrong == NULL && !shape.in_place && i < total; i++) {
        wrong = input[i] != input_value(rank, i, c) ? "wrote to the send buffer" : NULL;
    }
    if (wrong != NULL) {
        (void)snprintf(failure, 256, "%s in_place %d total %zu rank %u: %s", collective_kind_name(shape.kind),
                       shape.in_place, total, rank, wrong);
    }
    free(input);
    free(memory);
}

#ifndef SERIES
#define SERIES 150 /* collectives a rank plays; fewer where each takes long */
#endif

static void *rank_play(void *argument)
{
    player_t *player = argument;
    aide_t *aide = &player->job->aides[player->rank];

    if (sem_init(&aide->turn, 0, 0) != 0 || sem_init(&aide->done, 0, 0) != 0 ||
        pthread_create(&aide->thread, NULL, aide_play, aide) != 0) {
        fprintf(stderr, "no second thread for a rank\n");
        exit(1);
    }
    /* A rank goes on after a failure, or the others would wait for it. */
    for (unsigned c = 0; c < SERIES; c++) {
        char failure[256] = "";
        collective_play(player->job, player->rank, c, failure);
        if (failure[0] != '\0' && player->job->failure[player->rank][0] == '\0') {
            memcpy(player->job->failure[player->rank], failure, sizeof failure);
        }
    }
    aide->comm = NULL;
    (void)sem_post(&aide->turn);
    (void)pthread_join(aide->thread, NULL);
    (void)sem_destroy(&aide->turn);
    (void)sem_destroy(&aide->done);
    return NULL;
}

/* Plays one series; how many ranks failed. */
static int series_play(uint32_t size, size_t half, bool raw, unsigned seed, bool direct)
{
    static job_t job;
    pthread_t threads[RANKS_MAX];
    player_t players[RANKS_MAX];
    int failed = 0;

    job_open(&job, size, half, raw, seed, direct);
    for (uint32_t r = 0; r < size; r++) {
        players[r] = (player_t){.job = &job, .rank = r};
        if (pthread_create(&threads[r], NULL, rank_play, &players[r]) != 0) {
            fprintf(stderr, "no thread for a rank\n");
            exit(1);
        }
    }
    for (uint32_t r = 0; r < size; r++) {
        pthread_join(threads[r], NULL);
    }
    for (uint32_t r = 0; r < size; r++) {
        if (job.failure[r][0] != '\0') {
            printf("%u ranks, half %zu, raw %d, direct %d, seed %u: %s\n", size, half, raw, direct, seed,
                   job.failure[r]);
            failed++;
        }
    }
    job_close(&job);
    return failed;
}

int main(void)
{
    int failed = 0;

    alarm(240); /* a rank that waits for ever ends the test */
    for (uint32_t size = 2; size <= RANKS_MAX; size++) {
        failed += series_play(size, HALF_BYTES, false, size, true);
        failed += series_play(size, HALF_BYTES, true, 50 + size, false);
        /* Windows so small that the larger collectives go through them in many rounds. */
        failed += series_play(size, (size_t)16 * 1024, size % 2 == 0, 100 + size, false);
    }
    printf("%d ranks failed\n", failed);
    return failed > 0;
}
