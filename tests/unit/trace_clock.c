/* SPDX-License-Identifier: BSD-3-Clause */
/* The offset between two clocks, from exchanges whose times are made up: the bounds hold whatever the delays, and are
   as narrow as the best of the exchanges. */
#include "shim/trace.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 16 };

static int failures;

#define CHECK(condition, ...)          \
    do {                               \
        if (!(condition)) {            \
            (void)printf(__VA_ARGS__); \
            failures++;                \
        }                              \
    } while (0)

static int64_t some(uint64_t *seed, int64_t most)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1;
    return (int64_t)(*seed >> 33) % (most + 1);
}

/* Both enter and leave as an exchange allows; the other's clock is `offset` ahead. */
static void one(uint64_t seed, int64_t offset)
{
    int64_t entered[ROUNDS];
    int64_t left[ROUNDS];
    int64_t other_entered[ROUNDS];
    int64_t other_left[ROUNDS];
    int64_t narrowest = INT64_MAX;
    int64_t now = 1000000000;

    for (int r = 0; r < ROUNDS; r++) {
        const int64_t mine = now + some(&seed, 100000);
        const int64_t theirs = now + some(&seed, 100000);
        const int64_t both = mine > theirs ? mine : theirs;
        entered[r] = mine;
        other_entered[r] = theirs + offset;
        left[r] = both + 500 + some(&seed, 100000);
        other_left[r] = both + 500 + some(&seed, 100000) + offset;
        now = (left[r] > other_left[r] - offset ? left[r] : other_left[r] - offset) + some(&seed, 1000);
        const int64_t width = (other_left[r] - entered[r]) - (other_entered[r] - left[r]);
        narrowest = width < narrowest ? width : narrowest;
    }
    const trace_clock_t clock = trace_clock_estimate(entered, left, other_entered, other_left, ROUNDS);
    CHECK(clock.measured, "offset %lld: not measured\n", (long long)offset);
    CHECK(llabs(clock.offset_ns - offset) <= clock.uncertainty_ns, "offset %lld: %lld, and off by no more than %lld\n",
          (long long)offset, (long long)clock.offset_ns, (long long)clock.uncertainty_ns);
    CHECK(2 * clock.uncertainty_ns <= narrowest + 1, "offset %lld: uncertain by %lld, one exchange alone gives %lld\n",
          (long long)offset, (long long)clock.uncertainty_ns, (long long)narrowest / 2);
}

int main(void)
{
    static const int64_t offsets[] = {0, 1, -1, 12345, -1000000000000, INT64_C(86400000000000) * 1000};

    for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; o++) {
        for (uint64_t seed = 1; seed <= 1000; seed++) {
            one(seed, offsets[o]);
        }
    }
    /* A clock that went back: nothing is known. */
    const int64_t entered[2] = {0, 100};
    const int64_t left[2] = {10, 110};
    const int64_t other_entered[2] = {0, 10100};
    const int64_t other_left[2] = {10, 10110};
    CHECK(!trace_clock_estimate(entered, left, other_entered, other_left, 2).measured,
          "clocks that jumped between two exchanges are measured\n");
    CHECK(!trace_clock_estimate(entered, left, other_entered, other_left, 0).measured,
          "no exchange is a measurement\n");
    return failures == 0 ? 0 : 1;
}
