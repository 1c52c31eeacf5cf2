/* SPDX-License-Identifier: BSD-3-Clause */
/* One float as an integer, such that the least integer of all ranks is what folding the floats by `b < a ? b : a` from
 * rank 0 up gives. In rising order: NaN of rank 0; -infinity to the least negative; the zeros, by rank; the least
 * positive to infinity; NaN of another rank. The zeros take 2n integers, for which the unused patterns of NaN make
 * room. MAX is MIN with all signs turned. */
#ifndef ENGINE_HCCL_ENCODE_ORDER_H
#define ENGINE_HCCL_ENCODE_ORDER_H

#include "engine/hccl/encode_codecs.h"

/* bits: width of the float, fraction: of its fraction, without the implicit bit. */
#define ORDER_FUNCTIONS(bits, fraction)                                                                               \
    static inline uint##bits##_t order##bits##_encode(uint##bits##_t value, uint##bits##_t place,                     \
                                                      uint##bits##_t count, uint##bits##_t turn)                      \
    {                                                                                                                 \
        const uint##bits##_t most = (uint##bits##_t) - 1 >> 1;                                                        \
        const uint##bits##_t infinity = most >> (fraction) << (fraction);                                             \
        const uint##bits##_t x = value ^ turn;                                                                        \
        const uint##bits##_t magnitude = x & most;                                                                    \
        const uint##bits##_t negative = x >> ((bits)-1);                                                              \
        const uint##bits##_t number = negative != 0 ? 0 - magnitude : magnitude + (2 * count - 1);                    \
        const uint##bits##_t finite = magnitude == 0 ? 2 * place + negative : number;                                 \
        const uint##bits##_t nan = place == 0 ? 0 - most : most;                                                      \
        const uint##bits##_t least = magnitude > infinity ? nan : finite;                                             \
        return turn != 0 ? 0 - least : least;                                                                         \
    }                                                                                                                 \
    static inline uint##bits##_t order##bits##_decode(uint##bits##_t wire, uint##bits##_t count, uint##bits##_t turn) \
    {                                                                                                                 \
        const uint##bits##_t most = (uint##bits##_t) - 1 >> 1;                                                        \
        const uint##bits##_t nan = most >> ((fraction)-1) << ((fraction)-1);                                          \
        const uint##bits##_t least = turn != 0 ? 0 - wire : wire;                                                     \
        const uint##bits##_t positive = least < 2 * count ? least << ((bits)-1) : least - (2 * count - 1);            \
        const uint##bits##_t number = (int##bits##_t)least < 0 ? (0 - least) | (most + 1) : positive;                 \
        return least == 0 - most ? nan : number ^ turn;                                                               \
    }

ORDER_FUNCTIONS(32, 23)
ORDER_FUNCTIONS(64, 52)

#endif
