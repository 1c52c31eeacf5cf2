/* SPDX-License-Identifier: BSD-3-Clause */
/* How the clock of another process stands to this one's. Nobody leaves an exchange before both have entered it: so with
   o = other - mine, the other had entered by my leaving, other_entered <= left + o, and I by its, entered + o <=
   other_left. Each exchange bounds o from both sides; what all of them leave is what is known. */
#include "shim/trace.h"

trace_clock_t trace_clock_estimate(const int64_t *entered, const int64_t *left, const int64_t *other_entered,
                                   const int64_t *other_left, int rounds)
{
    int64_t least = INT64_MIN;
    int64_t most = INT64_MAX;

    for (int r = 0; r < rounds; r++) {
        const int64_t from = other_entered[r] - left[r];
        const int64_t to = other_left[r] - entered[r];
        least = from > least ? from : least;
        most = to < most ? to : most;
    }
    /* A clock that was set back meanwhile would leave nothing. */
    if (rounds == 0 || least > most) {
        return (trace_clock_t){0};
    }
    return (trace_clock_t){
        .measured = true, .offset_ns = least + (most - least) / 2, .uncertainty_ns = (most - least + 1) / 2};
}
