/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions: parts of this process's window, one for each communicator that uses windows.

   A region is reused only when every peer has said that it will not touch it again. Freeing a communicator is local, so
   a peer may still be reading; each rank writes its "bye" into every peer's region when it frees the communicator, and
   a released region rests until all byes are in. */
#ifndef ENGINE_HOST_REGION_H
#define ENGINE_HOST_REGION_H

#include "transport/status.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    REGION_LINE = 64,
    REGION_STRIDE = 128, /* two lines: the neighbouring line is fetched with the one that is polled */
    REGION_TINY_BYTES = REGION_LINE - 8,
    REGION_WORD_BYTES = 256,
};

/* The payload of a tiny collective beside its flag. */
typedef struct region_tiny {
    _Alignas(
        REGION_STRIDE) _Atomic uint64_t sequence; /* of the collective whose payload this is; release by the owner */
    unsigned char payload[REGION_TINY_BYTES];
} region_tiny_t;

/* What a region begins with; then `bye`, one a rank; then two halves of data. */
typedef struct region_head {
    region_tiny_t tiny[2];                                         /* by parity of the sequence */
    _Alignas(REGION_STRIDE) unsigned char word[REGION_WORD_BYTES]; /* see direct_word_t */
    _Alignas(REGION_STRIDE) _Atomic uint64_t counter;              /* ticks published; release by the owner */
    _Alignas(REGION_STRIDE) _Atomic uint32_t bye[];                /* [r] set by rank r's last access */
} region_head_t;

typedef struct region_pool region_pool_t;

/* Offset of the first half within a region of a communicator of `size` ranks. */
size_t region_data_offset(uint32_t size);

/* A pool over the window [base, base + bytes); the memory stays the caller's. */
mpinpu_status_t region_pool_open(void *base, size_t bytes, region_pool_t **pool);
void region_pool_close(region_pool_t *pool);

/* Takes a region for `size` ranks with two halves of at most `wanted` bytes each (powers of two of 64 or more; fewer
   when the pool is short, not fewer than `least`), its head zeroed. The size depends on which regions the process
   holds, not on when peers leave: where only resting regions are in the way, a patient caller gets MPINPU_IN_PROGRESS
   and asks again, an impatient one what there is. MPINPU_ERR_NO_MEMORY when there is no such place. Any thread. */
mpinpu_status_t region_take(region_pool_t *pool, uint32_t size, size_t wanted, size_t least, bool patient,
                            size_t *offset, size_t *half);

/* Gives a region back that no peer has ever been told of. Any thread. */
void region_return(region_pool_t *pool, size_t offset);

/* Gives a region back that peers have used: it rests until bye[r] is set for every r in [0, size) but `me` that
   `expects` (may be NULL: all) names. Any thread. */
void region_release(region_pool_t *pool, size_t offset, uint32_t size, uint32_t me, const bool *expects);

#endif
