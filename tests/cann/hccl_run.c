/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives as the device does them: one after the other in the order of issue, whatever their streams and
   communicators; each rank puts its input into the memory that the ranks share, and takes its result out of it. */
#define _GNU_SOURCE
#include "tests/cann/collective.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS_MAX = 4096, SPINS = 200 };

/* The turns of a device: given out, and which are over. */
typedef struct turns {
    uint64_t given;
    uint64_t first; /* that is not over */
    bool over[TURNS_MAX];
} turns_t;

static pthread_mutex_t turns_lock = PTHREAD_MUTEX_INITIALIZER;
static turns_t turns[STANDIN_DEVICES_MAX];

uint64_t collective_turn_take(int device)
{
    pthread_mutex_lock(&turns_lock);
    uint64_t turn = turns[device].given++;
    if (turn - turns[device].first >= TURNS_MAX) {
        abort();
    }
    turns[device].over[turn % TURNS_MAX] = false;
    pthread_mutex_unlock(&turns_lock);
    return turn;
}

static bool turn_come(int device, uint64_t turn)
{
    pthread_mutex_lock(&turns_lock);
    bool come = turns[device].first == turn;
    pthread_mutex_unlock(&turns_lock);
    return come;
}

static void turn_end(int device, uint64_t turn)
{
    turns_t *mine = &turns[device];
    pthread_mutex_lock(&turns_lock);
    mine->over[turn % TURNS_MAX] = true;
    while (mine->first < mine->given && mine->over[mine->first % TURNS_MAX]) {
        mine->first++;
    }
    pthread_mutex_unlock(&turns_lock);
}

void collective_extend(collective_t *collective, uint32_t ranks)
{
    operation_t *operation = &collective->operation;
    size_t bytes = operation->count * collective->element;
    collective->send_bytes = bytes;
    collective->recv_bytes = bytes;
    switch (operation->kind) {
    case OPERATION_REDUCE_SCATTER:
        collective->send_bytes = bytes * ranks;
        for (uint32_t r = 0; r < ranks; r++) {
            collective->counts[r] = operation->count;
            collective->places[r] = operation->count * r;
        }
        break;
    case OPERATION_REDUCE_SCATTER_V:
        collective->send_bytes = 0;
        for (uint32_t r = 0; r < ranks; r++) {
            size_t end = (collective->places[r] + collective->counts[r]) * collective->element;
            operation->count += collective->counts[r];
            operation->blocks = operation->blocks * 1000003 + collective->counts[r] * 31 + collective->places[r];
            if (collective->counts[r] > 0 && end > collective->send_bytes) {
                collective->send_bytes = end;
            }
        }
        collective->recv_bytes = collective->counts[collective->communicator->rank] * collective->element;
        break;
    case OPERATION_ALLGATHER:
        collective->recv_bytes = bytes * ranks;
        break;
    default:
        break;
    }
}

/* --- waiting --- */

typedef struct run {
    collective_t *collective;
    communicator_t *communicator;
    standin_stream_t *stream;
    double deadline;
    int slot; /* which of the two is next */
} run_t;

static int pause_or_end(run_t *run, int *spins, const char *what, uint32_t who)
{
    if (standin_stream_stopping(run->stream)) {
        return standin_fail(ACL_ERROR_RT_STREAM_ABORT, "EE9999: the stream was aborted");
    }
    if (atomic_load(&run->communicator->destroyed)) {
        return standin_refuse(ACL_ERROR_RT_SYS_DMA,
                              "EI0012: SDMA error: the communicator was destroyed before its end");
    }
    if (standin_now() > run->deadline) {
        return standin_fail(ACL_ERROR_RT_FFTS_PLUS_TIMEOUT, "EI0002: notify wait times out: %s %u", what, who);
    }
    if (++*spins < SPINS) {
        sched_yield();
    } else {
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    return ACL_SUCCESS;
}

static int turn_wait(run_t *run)
{
    int spins = 0;
    int code = ACL_SUCCESS;
    while (code == ACL_SUCCESS && !turn_come(run->communicator->device, run->collective->turn)) {
        code = pause_or_end(run, &spins, "collectives of this device issued before, turn",
                            (uint32_t)run->collective->turn);
    }
    return code;
}

/* All ranks reach the next step. What was written before it is seen by all after it. */
static int step(run_t *run)
{
    communicator_t *communicator = run->communicator;
    shared_rank_t *ranks = communicator->shared->ranks;
    uint64_t mine = ++communicator->steps;
    int spins = 0;
    atomic_store_explicit(&ranks[communicator->rank].arrived, mine, memory_order_release);
    for (uint32_t r = 0; r < communicator->ranks; r++) {
        while (atomic_load_explicit(&ranks[r].arrived, memory_order_acquire) < mine) {
            int code = pause_or_end(run, &spins, "rank", r);
            if (code != ACL_SUCCESS) {
                return code;
            }
        }
    }
    return ACL_SUCCESS;
}

/* --- moving --- */

static char *slot_of(const run_t *run, uint32_t rank)
{
    char *slots = (char *)(run->communicator->shared + 1);
    return slots + ((size_t)rank * 2 + (size_t)run->slot) * SLOT_BYTES;
}

/* With the lock held. What was device memory when the collective was issued may be freed by now. */
static char *bytes_of(const char *address, size_t count, int *code)
{
    const char *why = NULL;
    int device;
    char *bytes = standin_device_bytes(address, count, &device, &why);
    if (bytes == NULL) {
        *code = standin_refuse(ACL_ERROR_RT_SYS_DMA, "EI0012: SDMA error: %p %s", (const void *)address, why);
    }
    return bytes;
}

static int put(const char *from, char *slot, size_t bytes)
{
    int code = ACL_SUCCESS;
    if (bytes == 0) {
        return code;
    }
    standin_memory_lock();
    const char *source = bytes_of(from, bytes, &code);
    if (source != NULL) {
        memcpy(slot, source, bytes);
    }
    standin_memory_unlock();
    return code;
}

static int take(char *to, const char *slot, size_t bytes)
{
    int code = ACL_SUCCESS;
    if (bytes == 0) {
        return code;
    }
    standin_memory_lock();
    char *target = bytes_of(to, bytes, &code);
    if (target != NULL) {
        memcpy(target, slot, bytes);
    }
    standin_memory_unlock();
    return code;
}

/* The inputs at `offset` of all ranks' slots into `to`, in an order that differs where nothing says that it must not.
 */
static int take_reduced(const run_t *run, char *to, size_t offset, size_t bytes)
{
    const communicator_t *communicator = run->communicator;
    const operation_t *operation = &run->collective->operation;
    uint32_t first = communicator->shared->ranks[0].order;
    int code = ACL_SUCCESS;
    if (bytes == 0) {
        return code;
    }
    standin_memory_lock();
    char *target = bytes_of(to, bytes, &code);
    for (uint32_t i = 0; target != NULL && i < communicator->ranks; i++) {
        const char *from = slot_of(run, (first + i) % communicator->ranks) + offset;
        if (i == 0) {
            memcpy(target, from, bytes);
        } else {
            reduce_into(operation->type, operation->op, target, from, bytes / run->collective->element);
        }
    }
    standin_memory_unlock();
    return code;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Allreduce, allgather and broadcast: the same range of every input, piece by piece. */
static int run_pieces(run_t *run)
{
    const collective_t *collective = run->collective;
    const operation_t *operation = &collective->operation;
    communicator_t *communicator = run->communicator;
    int code = ACL_SUCCESS;
    for (size_t at = 0; at < collective->send_bytes && code == ACL_SUCCESS; at += SLOT_BYTES, run->slot ^= 1) {
        size_t bytes = least(SLOT_BYTES, collective->send_bytes - at);
        if (operation->kind != OPERATION_BROADCAST || operation->root == communicator->rank) {
            code = put(collective->send + at, slot_of(run, communicator->rank), bytes);
        }
        code = code != ACL_SUCCESS ? code : step(run);
        if (code == ACL_SUCCESS && operation->kind == OPERATION_ALLREDUCE) {
            code = take_reduced(run, collective->recv + at, 0, bytes);
        } else if (code == ACL_SUCCESS && operation->kind == OPERATION_BROADCAST) {
            code = take(collective->recv + at, slot_of(run, operation->root), bytes);
        }
        for (uint32_t r = 0; code == ACL_SUCCESS && operation->kind == OPERATION_ALLGATHER && r < communicator->ranks;
             r++) {
            code = take(collective->recv + r * collective->send_bytes + at, slot_of(run, r), bytes);
        }
    }
    return code;
}

/* Reduce-scatter: a slot holds a piece of every block. */
static int run_blocks(run_t *run)
{
    const collective_t *collective = run->collective;
    communicator_t *communicator = run->communicator;
    size_t element = collective->element;
    size_t piece = (size_t)SLOT_BYTES / communicator->ranks / element * element;
    size_t longest = 0;
    int code = ACL_SUCCESS;
    for (uint32_t r = 0; r < communicator->ranks; r++) {
        size_t bytes = collective->counts[r] * element;
        longest = bytes > longest ? bytes : longest;
    }
    for (size_t at = 0; at < longest && code == ACL_SUCCESS; at += piece, run->slot ^= 1) {
        size_t mine = 0;
        for (uint32_t r = 0; r < communicator->ranks && code == ACL_SUCCESS; r++) {
            size_t block = collective->counts[r] * element;
            size_t bytes = at < block ? least(piece, block - at) : 0;
            mine = r == communicator->rank ? bytes : mine;
            code = put(collective->send + collective->places[r] * element + at,
                       slot_of(run, communicator->rank) + r * piece, bytes);
        }
        code = code != ACL_SUCCESS ? code : step(run);
        code = code != ACL_SUCCESS ? code : take_reduced(run, collective->recv + at, communicator->rank * piece, mine);
    }
    return code;
}

/* --- one collective --- */

/* All ranks say what they are about to do; they must mean the same. *end is when it is over by the published times. */
static int run_agree(run_t *run, double *end)
{
    communicator_t *communicator = run->communicator;
    const operation_t *operation = &run->collective->operation;
    shared_rank_t *mine = &communicator->shared->ranks[communicator->rank];
    mine->operation = *operation;
    mine->started = standin_now();
    mine->order = communicator->deterministic ? 0 : (uint32_t)((uint64_t)(mine->started * 1e7) % communicator->ranks);
    int code = step(run);
    double started = 0;
    for (uint32_t r = 0; r < communicator->ranks && code == ACL_SUCCESS; r++) {
        const shared_rank_t *other = &communicator->shared->ranks[r];
        const operation_t *theirs = &other->operation;
        started = other->started > started ? other->started : started;
        if (theirs->kind != operation->kind || theirs->type != operation->type || theirs->op != operation->op ||
            theirs->root != operation->root || theirs->count != operation->count ||
            theirs->blocks != operation->blocks) {
            code = standin_refuse(ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
                                  "EI0005: rank %u does another collective than rank %u", r, communicator->rank);
        }
    }
    size_t bytes = run->collective->send_bytes > run->collective->recv_bytes ? run->collective->send_bytes
                                                                             : run->collective->recv_bytes;
    *end = standin_slowdown() > 0 ? started + standin_slowdown() * rules_seconds(communicator, operation, bytes) : 0;
    return code;
}

static int run_alone(const collective_t *collective)
{
    const operation_t *operation = &collective->operation;
    int code = ACL_SUCCESS;
    if (operation->kind == OPERATION_BARRIER || collective->recv_bytes == 0) {
        return code;
    }
    standin_memory_lock();
    const char *from =
        bytes_of(collective->send + collective->places[0] * collective->element, collective->recv_bytes, &code);
    char *to = bytes_of(collective->recv, collective->recv_bytes, &code);
    if (from != NULL && to != NULL) {
        memmove(to, from, collective->recv_bytes);
    }
    standin_memory_unlock();
    return code;
}

static int run_together(run_t *run)
{
    double end = 0;
    int code = run_agree(run, &end);
    if (code == ACL_SUCCESS) {
        switch (run->collective->operation.kind) {
        case OPERATION_REDUCE_SCATTER:
        case OPERATION_REDUCE_SCATTER_V:
            code = run_blocks(run);
            break;
        case OPERATION_BARRIER:
            code = step(run);
            break;
        default:
            code = run_pieces(run);
        }
    }
    if (code == ACL_SUCCESS && end > 0) {
        standin_sleep_until(end);
    }
    return code;
}

int collective_run(standin_task_t *task, standin_stream_t *stream)
{
    collective_t *collective = (collective_t *)task;
    communicator_t *communicator = collective->communicator;
    run_t run = {.collective = collective,
                 .communicator = communicator,
                 .stream = stream,
                 .deadline = standin_now() + rules_exec_timeout()};
    int code = standin_enter(collective->function);
    if (code == ACL_SUCCESS && atomic_load(&communicator->done) != collective->number) {
        code = standin_refuse(ACL_ERROR_RT_FFTS_PLUS_EXCEPTION,
                              "EI0002: two collectives of one communicator at once, on two streams");
    }
    if (code == ACL_SUCCESS && atomic_load(&communicator->broken)) {
        code = standin_fail(ACL_ERROR_RT_FFTS_PLUS_EXCEPTION, "EI9999: the communicator has failed before");
    }
    code = code != ACL_SUCCESS ? code : turn_wait(&run);
    if (code == ACL_SUCCESS && atomic_load(&communicator->destroyed)) {
        code = standin_refuse(ACL_ERROR_RT_SYS_DMA, "EI0012: SDMA error: the communicator was destroyed before");
    }
    if (code == ACL_SUCCESS) {
        code = communicator->ranks == 1 ? run_alone(collective) : run_together(&run);
    }
    if (code != ACL_SUCCESS) {
        atomic_store(&communicator->broken, true);
    }
    return code;
}

/* Done, failed, or dropped with its stream: the next ones get their turn. */
void collective_release(standin_task_t *task)
{
    collective_t *collective = (collective_t *)task;
    atomic_fetch_add(&collective->communicator->done, 1);
    turn_end(collective->communicator->device, collective->turn);
    communicator_let_go(collective->communicator);
    free(collective);
}
