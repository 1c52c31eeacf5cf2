/* SPDX-License-Identifier: BSD-3-Clause */
/* Between encode.c and the builds of encode_codecs.c, one for each instruction set. */
#ifndef ENGINE_HCCL_ENCODE_CODECS_H
#define ENGINE_HCCL_ENCODE_CODECS_H

#include "engine/hccl/encode.h"

/* The state between the rounds of a float64 sum, one an element, and its order: the highest level of all contributions
   decides what the sum is. */
typedef int16_t encode_level_t;
enum {
    LEVEL_MINUS_ZERO = 0,
    LEVEL_ZERO = 1,
    LEVEL_FINITE = 2,    /* and up: 1 + the biased exponent, which is at least 1 */
    LEVEL_SPECIAL = 2048 /* infinity or NaN */
};

/* As encoding_encode and encoding_decode, for count parts. */
typedef struct encode_functions {
    void (*encode)(const encode_ranks_t *ranks, const void *user, const void *state, void *wire, size_t count);
    void (*decode)(const encode_ranks_t *ranks, const void *wire, void *state, void *user, size_t count);
} encode_functions_t;

extern const encode_functions_t encode_functions_base[ENCODE_CODEC_COUNT];
extern const encode_functions_t encode_functions_avx2[ENCODE_CODEC_COUNT];
extern const encode_functions_t encode_functions_avx512[ENCODE_CODEC_COUNT];

#endif
