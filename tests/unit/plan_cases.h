/* SPDX-License-Identifier: BSD-3-Clause */
/* Parameters for tests of plans: every dimension that a plan depends on, as numbered choices. */
#ifndef TESTS_UNIT_PLAN_CASES_H
#define TESTS_UNIT_PLAN_CASES_H

#include "engine/host/plan.h"

enum { CASE_RANKS_MAX = 64, CASE_WHY_BYTES = 512 };

typedef enum case_layout {
    LAYOUT_ONE_HOST,
    LAYOUT_RANK_A_HOST, /* every rank a host of its own */
    LAYOUT_UNEVEN,      /* hosts of 3, 1, 4, 2, 3, 1, ... ranks */
    LAYOUT_ROUND_ROBIN, /* ranks dealt to three hosts */
    LAYOUT_EVEN,        /* hosts of four */
    LAYOUT_COUNT
} case_layout_t;

enum { CASE_COUNTS = 7, CASE_WINDOWS = 4, CASE_ELEMENTS = 5 };

/* Choices, each from 0. */
typedef struct plan_case {
    uint32_t nranks;
    unsigned kind;
    unsigned layout;
    unsigned counts;  /* < CASE_COUNTS */
    unsigned window;  /* < CASE_WINDOWS; 0: none, then from just enough to plenty */
    unsigned element; /* < CASE_ELEMENTS */
    bool in_place;
    bool raw;
} plan_case_t;

/* The parameters of a case, with the arrays they point to. */
typedef struct case_params {
    plan_params_t params;
    uint32_t host_of[CASE_RANKS_MAX];
    int counts[CASE_RANKS_MAX];
    char text[256]; /* the case in words */
} case_params_t;

void case_make(const plan_case_t *chosen, case_params_t *made);

/* Calls `visit` for every case of `nranks` ranks, or for about one in `thin` of them, spread evenly. */
void case_each(uint32_t nranks, uint64_t thin, void (*visit)(const case_params_t *made));

#endif
