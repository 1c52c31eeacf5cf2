/* SPDX-License-Identifier: BSD-3-Clause */
/* Closes the part of trap 26 that is the windows': regions come back, and none comes back while a peer may touch it. */
#include "engine/host/region.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = 1 << 20, RANKS = 4 };
static const size_t LEAST = 1024;

static _Alignas(REGION_STRIDE) unsigned char window[WINDOW_BYTES];

static region_head_t *head_at(size_t offset)
{
    return (region_head_t *)(void *)(window + offset);
}

static void say_bye(size_t offset, uint32_t rank)
{
    atomic_store(&head_at(offset)->bye[rank], 1);
}

Test(region, does_not_overlap_and_is_aligned)
{
    region_pool_t *pool;
    size_t offset[16];
    size_t half[16];

    cr_assert_eq(region_pool_open(window, WINDOW_BYTES, &pool), MPINPU_OK);
    for (int i = 0; i < 16; i++) {
        cr_assert_eq(region_take(pool, RANKS, 8192, LEAST, false, &offset[i], &half[i]), MPINPU_OK);
        cr_assert_eq(offset[i] % REGION_STRIDE, 0);
        cr_assert_eq(half[i] % REGION_LINE, 0);
        cr_assert_leq(half[i], 8192);
        cr_assert_geq(half[i], LEAST);
        size_t end = offset[i] + region_data_offset(RANKS) + 2 * half[i];
        cr_assert_leq(end, WINDOW_BYTES);
        for (int j = 0; j < i; j++) {
            size_t other_end = offset[j] + region_data_offset(RANKS) + 2 * half[j];
            cr_assert(end <= offset[j] || other_end <= offset[i], "regions %d and %d overlap", i, j);
        }
    }
    region_pool_close(pool);
}

Test(region, head_is_zeroed_on_each_taking)
{
    region_pool_t *pool;
    size_t offset;
    size_t half;

    memset(window, 0xff, sizeof window);
    cr_assert_eq(region_pool_open(window, WINDOW_BYTES, &pool), MPINPU_OK);
    cr_assert_eq(region_take(pool, RANKS, 8192, LEAST, false, &offset, &half), MPINPU_OK);
    for (size_t b = 0; b < region_data_offset(RANKS); b++) {
        cr_assert_eq(window[offset + b], 0);
    }
    region_pool_close(pool);
}

Test(region, rests_until_every_awaited_peer_has_left)
{
    region_pool_t *pool;
    size_t first;
    size_t offset;
    size_t half;
    /* A window for one region: the second taking succeeds only when the first has come back. */
    const size_t bytes = region_data_offset(RANKS) + 2 * (size_t)LEAST + REGION_STRIDE;

    cr_assert_eq(region_pool_open(window, bytes, &pool), MPINPU_OK);
    cr_assert_eq(region_take(pool, RANKS, LEAST, LEAST, false, &first, &half), MPINPU_OK);
    cr_assert_eq(region_take(pool, RANKS, LEAST, LEAST, false, &offset, &half), MPINPU_ERR_NO_MEMORY);
    const bool expects[RANKS] = {true, true, true, false}; /* rank 3 is on another host */
    region_release(pool, first, RANKS, 1, expects);
    cr_assert_eq(region_take(pool, RANKS, LEAST, LEAST, false, &offset, &half), MPINPU_ERR_NO_MEMORY,
                 "nobody has left");
    say_bye(first, 0);
    cr_assert_eq(region_take(pool, RANKS, LEAST, LEAST, false, &offset, &half), MPINPU_ERR_NO_MEMORY,
                 "rank 2 has not left");
    say_bye(first, 2);
    cr_assert_eq(region_take(pool, RANKS, LEAST, LEAST, false, &offset, &half), MPINPU_OK);
    cr_assert_eq(offset, first);
    region_pool_close(pool);
}

Test(region, a_bye_said_before_the_release_counts)
{
    region_pool_t *pool;
    size_t first;
    size_t offset;
    size_t half;
    const size_t bytes = region_data_offset(2) + 2 * (size_t)LEAST + REGION_STRIDE;

    cr_assert_eq(region_pool_open(window, bytes, &pool), MPINPU_OK);
    cr_assert_eq(region_take(pool, 2, LEAST, LEAST, false, &first, &half), MPINPU_OK);
    say_bye(first, 1);
    region_release(pool, first, 2, 0, NULL);
    cr_assert_eq(region_take(pool, 2, LEAST, LEAST, false, &offset, &half), MPINPU_OK);
    region_pool_close(pool);
}

Test(region, a_returned_region_is_free_at_once_and_joins_its_neighbours)
{
    region_pool_t *pool;
    size_t offset[8];
    size_t half;
    size_t whole;
    size_t whole_half;

    cr_assert_eq(region_pool_open(window, WINDOW_BYTES, &pool), MPINPU_OK);
    cr_assert_eq(region_take(pool, RANKS, WINDOW_BYTES, LEAST, false, &whole, &whole_half), MPINPU_OK);
    region_return(pool, whole);
    for (int i = 0; i < 8; i++) {
        cr_assert_eq(region_take(pool, RANKS, LEAST, LEAST, false, &offset[i], &half), MPINPU_OK);
    }
    for (int i = 0; i < 8; i++) {
        region_return(pool, offset[(i * 3) % 8]);
    }
    size_t again;
    cr_assert_eq(region_take(pool, RANKS, WINDOW_BYTES, LEAST, false, &again, &half), MPINPU_OK);
    cr_assert_eq(half, whole_half, "the whole window is one stretch again");
    region_pool_close(pool);
}

Test(region, the_size_does_not_depend_on_when_peers_leave)
{
    size_t halves[2];

    for (int early = 0; early < 2; early++) {
        region_pool_t *pool;
        size_t first;
        size_t offset;
        size_t half;

        cr_assert_eq(region_pool_open(window, WINDOW_BYTES, &pool), MPINPU_OK);
        cr_assert_eq(region_take(pool, 2, WINDOW_BYTES, LEAST, true, &first, &half), MPINPU_OK);
        region_release(pool, first, 2, 0, NULL);
        if (early) {
            say_bye(first, 1);
        }
        mpinpu_status_t status = region_take(pool, 2, WINDOW_BYTES, LEAST, true, &offset, &halves[early]);
        while (status == MPINPU_IN_PROGRESS) {
            say_bye(first, 1);
            status = region_take(pool, 2, WINDOW_BYTES, LEAST, true, &offset, &halves[early]);
        }
        cr_assert_eq(status, MPINPU_OK);
        region_pool_close(pool);
    }
    cr_assert_eq(halves[0], halves[1]);
}

Test(region, the_impatient_take_what_there_is)
{
    region_pool_t *pool;
    size_t first;
    size_t offset;
    size_t half;
    /* Room for one region of the largest half, and a little. */
    const size_t bytes = region_data_offset(2) + 8 * LEAST;

    cr_assert_eq(region_pool_open(window, bytes, &pool), MPINPU_OK);
    cr_assert_eq(region_take(pool, 2, 2 * LEAST, 2 * LEAST, true, &first, &half), MPINPU_OK);
    region_release(pool, first, 2, 0, NULL);
    cr_assert_eq(region_take(pool, 2, 2 * LEAST, LEAST, true, &offset, &half), MPINPU_OK);
    cr_assert_eq(region_take(pool, 2, 2 * LEAST, LEAST, true, &offset, &half), MPINPU_IN_PROGRESS);
    cr_assert_eq(region_take(pool, 2, 2 * LEAST, LEAST, false, &offset, &half), MPINPU_ERR_NO_MEMORY);
    region_pool_close(pool);
}

Test(region, ten_thousand_communicators_use_no_more_than_one)
{
    region_pool_t *pool;
    size_t offset;
    size_t half;

    cr_assert_eq(region_pool_open(window, WINDOW_BYTES, &pool), MPINPU_OK);
    for (int i = 0; i < 10000; i++) {
        cr_assert_eq(region_take(pool, RANKS, WINDOW_BYTES, LEAST, false, &offset, &half), MPINPU_OK, "round %d", i);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            say_bye(offset, rank);
        }
        region_release(pool, offset, RANKS, 0, NULL);
    }
    region_pool_close(pool);
}
