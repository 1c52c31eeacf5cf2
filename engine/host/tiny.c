/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/tiny.h"

#include "engine/host/stall.h"

#include <string.h>

static inline void tiny_copy(unsigned char *dst, const void *src, size_t bytes)
{
    /* One element is the common case, and a call of memcpy for it costs as much as the rest. */
    if (bytes == 8) {
        memcpy(dst, src, 8);
    } else if (bytes == 4) {
        memcpy(dst, src, 4);
    } else {
        memcpy(dst, src, bytes);
    }
}

static bool tiny_awaits(const engine_comm_t *comm, const void *waiter, uint32_t rank)
{
    const uint64_t sequence = *(const uint64_t *)waiter;

    /* Relaxed: nothing is read by it. */
    return atomic_load_explicit(&comm->ranks[rank].region->tiny[sequence & 1].sequence, memory_order_relaxed) !=
           sequence;
}

static __attribute__((noinline)) void tiny_look(engine_comm_t *comm, uint64_t sequence, wait_t *wait)
{
    stall_look(comm, wait, tiny_awaits, &sequence);
}

static void tiny_await(engine_comm_t *comm, const region_tiny_t *line, uint64_t sequence)
{
    if (atomic_load_explicit(&line->sequence, memory_order_acquire) == sequence) {
        return;
    }
    wait_t wait = {0};
    /* Acquire: the payload was stored before the flag. A rank cannot be two collectives ahead, so equality is enough.
     */
    while (atomic_load_explicit(&line->sequence, memory_order_acquire) != sequence) {
        if (wait_step(comm->engine, &wait)) {
            tiny_look(comm, sequence, &wait);
        }
    }
    wait_end(comm, &wait);
}

void tiny_run(engine_comm_t *comm, const collective_t *collective, size_t bytes, uint64_t sequence)
{
    unsigned parity = (unsigned)(sequence & 1);
    region_tiny_t *mine = &comm->ranks[comm->rank].region->tiny[parity];
    const void **sources = comm->sources;
    size_t count = collective->count;
    size_t skip = 0; /* bytes before my block */

    tiny_copy(mine->payload, collective->send, bytes);
    /* Release: the payload is visible to who sees the flag. The line is free: all have ended the collective before the
       last, or they would not have begun the last one. */
    atomic_store_explicit(&mine->sequence, sequence, memory_order_release);
    if (collective->kind != COLLECTIVE_ALLREDUCE) {
        count = collective_block(collective, comm->rank);
        skip = collective_block_start(collective, comm->rank) * dtype_size(collective->dtype);
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        region_tiny_t *line = &comm->ranks[r].region->tiny[parity];
        if (r != comm->rank) {
            tiny_await(comm, line, sequence);
        }
        sources[r] = line->payload + skip;
    }
    if (count > 0) {
        kernel_fold_find(collective->dtype, collective->op)(collective->recv, sources, comm->size, count);
    }
}
