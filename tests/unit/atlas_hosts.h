/* SPDX-License-Identifier: BSD-3-Clause */
/* A communicator's hosts as a test writes them down, and what is picked of their devices. */
#ifndef TESTS_UNIT_ATLAS_HOSTS_H
#define TESTS_UNIT_ATLAS_HOSTS_H

#include "engine/hccl/atlas.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { HOSTS_MAX = 1300, RANKS_MAX = 11000, OWNERS_TEXT = 2048 };

static uint32_t host_of[RANKS_MAX];
static uint64_t devices_of[RANKS_MAX];
static atlas_host_t hosts[HOSTS_MAX];
static atlas_ranks_t ranks;
static atlas_owner_t owners[RANKS_MAX];
static atlas_devices_t devices;
static char why[256];

/* Adds a host of a product (a negative one: without devices) with so many ranks, each of which can drive `visible`. */
static inline void host_add(int series, uint32_t nranks, uint64_t visible)
{
    ranks.host_of = host_of;
    ranks.devices_of = devices_of;
    ranks.hosts = hosts;
    hosts[ranks.nhosts].product = series < 0 ? NULL : atlas_product((atlas_series_t)series);
    for (uint32_t r = 0; r < nranks; r++) {
        host_of[ranks.nranks] = ranks.nhosts;
        devices_of[ranks.nranks++] = visible;
    }
    ranks.nhosts++;
}

/* Adds a rank to the last host. */
static inline void rank_add(uint64_t visible)
{
    host_of[ranks.nranks] = ranks.nhosts - 1;
    devices_of[ranks.nranks++] = visible;
}

static inline mpinpu_status_t pick(void)
{
    why[0] = '\0';
    memset(owners, 0xff, sizeof owners);
    return atlas_devices_pick(&ranks, &devices, owners, why, sizeof why);
}

/* Picks; the owners must be these, as "rank@host:device ..." in HCCL's order. */
static inline void picked(const char *expected)
{
    char text[OWNERS_TEXT] = "";
    size_t length = 0;

    cr_assert_eq(pick(), MPINPU_OK, "%s", why);
    for (uint32_t o = 0; o < devices.nowners && length < sizeof text; o++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%u@%u:%u", o == 0 ? "" : " ", owners[o].rank,
                                   owners[o].host, owners[o].device);
    }
    cr_assert_str_eq(text, expected);
}

/* The warnings must be these, each a sentence, in this order. */
static inline void warned(const char *first, ...)
{
    va_list list;
    const char *sentence = first;

    va_start(list, first);
    for (int w = 0; w < ATLAS_WARNING_COUNT; w++) {
        char text[256];
        if ((devices.warnings >> w & 1) == 0) {
            continue;
        }
        atlas_warning_text(&devices, (atlas_warning_t)w, text, sizeof text);
        cr_assert_not_null(sentence, "one too many: %s", text);
        cr_assert_str_eq(text, sentence);
        sentence = va_arg(list, const char *);
    }
    va_end(list);
    cr_assert_null(sentence, "not said: %s", sentence);
}

static inline void refused(const char *sentence)
{
    cr_assert_eq(pick(), MPINPU_ERR_UNSUPPORTED);
    cr_assert_str_eq(why, sentence);
}

#endif
