/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/region.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef enum region_state { REGION_FREE, REGION_TAKEN, REGION_RESTING } region_state_t;

/* A stretch of the window; stretches lie in order of their offset and leave no gap. */
typedef struct region_span {
    struct region_span *next;
    size_t offset;
    size_t bytes;
    region_state_t state;
    uint32_t size; /* resting: ranks, */
    bool *expects; /* and whose bye is awaited */
} region_span_t;

struct region_pool {
    pthread_mutex_t lock;
    unsigned char *base;
    region_span_t *spans;
};

static size_t region_round(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

size_t region_data_offset(uint32_t size)
{
    return region_round(offsetof(region_head_t, bye) + size * sizeof(uint32_t), REGION_STRIDE);
}

static region_head_t *region_head(const region_pool_t *pool, size_t offset)
{
    return (region_head_t *)(void *)(pool->base + offset);
}

mpinpu_status_t region_pool_open(void *base, size_t bytes, region_pool_t **pool)
{
    region_pool_t *made = calloc(1, sizeof *made);
    region_span_t *span = calloc(1, sizeof *span);

    if (made == NULL || span == NULL) {
        free(span);
        free(made);
        return MPINPU_ERR_NO_MEMORY;
    }
    pthread_mutex_init(&made->lock, NULL);
    span->bytes = bytes / REGION_STRIDE * REGION_STRIDE;
    made->base = base;
    made->spans = span;
    *pool = made;
    return MPINPU_OK;
}

void region_pool_close(region_pool_t *pool)
{
    if (pool == NULL) {
        return;
    }
    for (region_span_t *span = pool->spans, *next; span != NULL; span = next) {
        next = span->next;
        free(span->expects);
        free(span);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

static bool region_rested(const region_pool_t *pool, const region_span_t *span)
{
    region_head_t *head = region_head(pool, span->offset);

    for (uint32_t rank = 0; rank < span->size; rank++) {
        /* Acquire: the peer's last loads from the region come before our next stores to it. */
        if (span->expects[rank] && atomic_load_explicit(&head->bye[rank], memory_order_acquire) == 0) {
            return false;
        }
    }
    return true;
}

/* Turns rested stretches free and joins free neighbours. */
static void region_sweep(region_pool_t *pool)
{
    region_span_t *before = NULL;

    for (region_span_t *span = pool->spans, *next; span != NULL; span = next) {
        next = span->next;
        if (span->state == REGION_RESTING && region_rested(pool, span)) {
            free(span->expects);
            span->expects = NULL;
            span->state = REGION_FREE;
        }
        if (before != NULL && before->state == REGION_FREE && span->state == REGION_FREE) {
            before->bytes += span->bytes;
            before->next = next;
            free(span);
        } else {
            before = span;
        }
    }
}

/* Cuts `bytes` off the front of a free stretch. */
static mpinpu_status_t region_cut(region_span_t *span, size_t bytes)
{
    if (span->bytes > bytes) {
        region_span_t *rest = calloc(1, sizeof *rest);
        if (rest == NULL) {
            return MPINPU_ERR_NO_MEMORY;
        }
        rest->offset = span->offset + bytes;
        rest->bytes = span->bytes - bytes;
        rest->next = span->next;
        span->next = rest;
        span->bytes = bytes;
    }
    span->state = REGION_TAKEN;
    return MPINPU_OK;
}

/* Bytes of a half: a power of two of at most `wanted`, such that the region takes about a quarter of the `room` at
   most, so that many communicators find a place. */
static size_t region_half(size_t room, size_t wanted, size_t least)
{
    size_t half = wanted;

    while (half / 2 >= least && half > room / 8) {
        half /= 2;
    }
    return half;
}

mpinpu_status_t region_take(region_pool_t *pool, uint32_t size, size_t wanted, size_t least, bool patient,
                            size_t *offset, size_t *half)
{
    size_t head_bytes = region_data_offset(size);
    region_span_t *best = NULL;
    size_t room = 0;
    bool resting = false;
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    pthread_mutex_lock(&pool->lock);
    region_sweep(pool);
    for (region_span_t *span = pool->spans; span != NULL; span = span->next) {
        /* Resting ones count: when the peers leave is chance, and chance must not choose the size. */
        room += span->state != REGION_TAKEN ? span->bytes : 0;
        resting = resting || span->state == REGION_RESTING;
        if (span->state == REGION_FREE && (best == NULL || span->bytes > best->bytes)) {
            best = span;
        }
    }
    size_t fits = best == NULL || best->bytes < head_bytes ? 0 : (best->bytes - head_bytes) / 2;
    size_t bytes = region_half(room, wanted, least);
    if (fits < bytes && resting && patient) {
        status = MPINPU_IN_PROGRESS;
    } else if (fits >= least) {
        bytes = bytes > fits ? fits / REGION_STRIDE * REGION_STRIDE : bytes;
        status = region_cut(best, region_round(head_bytes + 2 * bytes, REGION_STRIDE));
        if (status == MPINPU_OK) {
            memset((void *)region_head(pool, best->offset), 0, head_bytes);
            *offset = best->offset;
            *half = bytes;
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return status;
}

static region_span_t *region_find(region_pool_t *pool, size_t offset)
{
    region_span_t *span = pool->spans;

    while (span != NULL && span->offset != offset) {
        span = span->next;
    }
    return span;
}

void region_return(region_pool_t *pool, size_t offset)
{
    pthread_mutex_lock(&pool->lock);
    region_span_t *span = region_find(pool, offset);
    if (span != NULL) {
        span->state = REGION_FREE;
    }
    pthread_mutex_unlock(&pool->lock);
}

void region_release(region_pool_t *pool, size_t offset, uint32_t size, uint32_t me, const bool *expects)
{
    bool *awaited = malloc(size * sizeof *awaited);

    pthread_mutex_lock(&pool->lock);
    region_span_t *span = region_find(pool, offset);
    if (span != NULL && awaited != NULL) {
        for (uint32_t rank = 0; rank < size; rank++) {
            awaited[rank] = rank != me && (expects == NULL || expects[rank]);
        }
        span->size = size;
        span->expects = awaited;
        span->state = REGION_RESTING;
        awaited = NULL;
    }
    /* Without memory for the list the region stays taken: lost, never reused too early. */
    pthread_mutex_unlock(&pool->lock);
    free(awaited);
}
