/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/plan_cases.h"

#include <inttypes.h>
#include <stdio.h>

static void layout_make(unsigned layout, case_params_t *made)
{
    static const uint32_t uneven[] = {3, 1, 4, 2};
    plan_layout_t *into = &made->params.layout;
    uint32_t host = 0;
    uint32_t on_host = 0;

    for (uint32_t rank = 0; rank < into->nranks; rank++) {
        switch (layout) {
        case LAYOUT_ONE_HOST:
            host = 0;
            break;
        case LAYOUT_RANK_A_HOST:
            host = rank;
            break;
        case LAYOUT_ROUND_ROBIN:
            host = rank % 3;
            break;
        case LAYOUT_EVEN:
            host = rank / 4;
            break;
        default:
            if (on_host == uneven[host % 4]) {
                host++;
                on_host = 0;
            }
            on_host++;
            break;
        }
        made->host_of[rank] = host;
        into->nhosts = host + 1 > into->nhosts ? host + 1 : into->nhosts;
    }
    into->host_of = made->host_of;
}

/* A rank's count of pattern `pattern`; for allreduce the count is that of rank 0. */
static int count_of(unsigned pattern, uint32_t rank, uint32_t nranks)
{
    static const int odd[] = {0, 5, 1, 0, 0, 130, 7};

    switch (pattern) {
    case 0:
        return 1;
    case 1:
        return rank == nranks / 2 || nranks == 1 ? 3 : 0; /* one has all */
    case 2:
        return odd[(rank + 1) % 7] + (rank == 0 ? 1 : 0); /* zeros among them */
    case 3:
        return (int)(rank + 1) * 17;
    case 4:
        return 333;
    case 5:
        return rank + 1 == nranks ? 1500 : 0;
    default:
        return rank == 0 ? 1201 : (int)(rank % 2) * 401;
    }
}

static void counts_make(const plan_case_t *chosen, case_params_t *made)
{
    plan_params_t *params = &made->params;
    static const size_t allreduce[CASE_COUNTS] = {1, 3, 64, 97, 1023, 4096, 20011};

    if (params->kind == COLLECTIVE_REDUCE_SCATTER) {
        for (uint32_t rank = 0; rank < chosen->nranks; rank++) {
            made->counts[rank] = count_of(chosen->counts, rank, chosen->nranks);
        }
        params->counts = made->counts;
    } else if (params->kind == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        params->count = chosen->counts == 5 ? 2048 : (size_t)count_of(chosen->counts, 0, 1);
    } else {
        params->count = allreduce[chosen->counts];
    }
}

static uint64_t window_of(unsigned window, uint32_t nranks, size_t element)
{
    switch (window) {
    case 0:
        return 0;
    case 1:
        return (uint64_t)6 * nranks * 64 * (element % 3 == 0 ? 3 : 1);
    case 2:
        return (uint64_t)20 * nranks * 64 + 64;
    default:
        return (uint64_t)1 << 24;
    }
}

void case_make(const plan_case_t *chosen, case_params_t *made)
{
    static const size_t elements[CASE_ELEMENTS] = {1, 4, 8, 12, 32};
    static const char *const layouts[LAYOUT_COUNT] = {"one host", "a rank a host", "uneven", "round robin", "even"};
    const size_t element = elements[chosen->element];

    *made = (case_params_t){.params = {.kind = (collective_kind_t)chosen->kind,
                                       .layout = {.nranks = chosen->nranks},
                                       .element = element,
                                       .padded = element == 32,
                                       .in_place = chosen->in_place,
                                       .raw = chosen->raw,
                                       .window_bytes = window_of(chosen->window, chosen->nranks, element)}};
    layout_make(chosen->layout, made);
    counts_make(chosen, made);
    (void)snprintf(
        made->text, sizeof(made->text), "%s, %" PRIu32 " ranks, %s, counts %u, elements of %zu, window %zu%s%s",
        collective_kind_name(made->params.kind), chosen->nranks, layouts[chosen->layout], chosen->counts, element,
        made->params.window_bytes, chosen->in_place ? ", in place" : "", chosen->raw ? ", raw" : "");
}

void case_each(uint32_t nranks, uint64_t thin, void (*visit)(const case_params_t *made))
{
    const uint64_t choices[] = {COLLECTIVE_KIND_END, LAYOUT_COUNT, CASE_COUNTS, CASE_WINDOWS, CASE_ELEMENTS, 2, 2};
    enum { NCHOICES = sizeof(choices) / sizeof(choices[0]) };
    uint64_t total = 1;
    static case_params_t made;

    for (unsigned i = 0; i < NCHOICES; i++) {
        total *= choices[i];
    }
    for (uint64_t index = 0; index < total; index++) {
        uint64_t digits[NCHOICES];
        uint64_t rest = index;
        const uint64_t mixed = (index + nranks) * UINT64_C(0x9e3779b97f4a7c15);

        for (unsigned i = 0; i < NCHOICES; i++) {
            digits[i] = rest % choices[i];
            rest /= choices[i];
        }
        if (((mixed >> 32) ^ (mixed >> 17)) % thin != 0) {
            continue;
        }
        const plan_case_t chosen = {.nranks = nranks,
                                    .kind = (unsigned)digits[0],
                                    .layout = (unsigned)digits[1],
                                    .counts = (unsigned)digits[2],
                                    .window = (unsigned)digits[3],
                                    .element = (unsigned)digits[4],
                                    .in_place = digits[5] != 0,
                                    .raw = digits[6] != 0};
        case_make(&chosen, &made);
        visit(&made);
    }
}
