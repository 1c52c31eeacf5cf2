/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of encodings: which one serves, and what it costs. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "engine/hccl/encode.h"
#include "engine/hccl/encode_codecs.h"
#include "engine/host/kernels.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

enum { NOTHING = 0, WRAPS = 1, LOOSE = 2, ROUNDED = 4 };

#define ONE(CODEC, DTYPE, OP)                               \
    1,                                                      \
    {                                                       \
        {                                                   \
            DTYPE_##DTYPE, OP_##OP, 1, ENCODE_CODEC_##CODEC \
        }                                                   \
    }
#define TWO(CODEC0, DTYPE0, OP0, CODEC1, DTYPE1, OP1, WORDS1)       \
    2,                                                              \
    {                                                               \
        {DTYPE_##DTYPE0, OP_##OP0, 1, ENCODE_CODEC_##CODEC0},       \
        {                                                           \
            DTYPE_##DTYPE1, OP_##OP1, WORDS1, ENCODE_CODEC_##CODEC1 \
        }                                                           \
    }
#define ENCODING(DTYPE, OP, parts, needs, ranks_max, ...) \
    {DTYPE_##DTYPE, OP_##OP, parts, needs, ranks_max, __VA_ARGS__},

static const encoding_t encodings[] = {
#include "engine/hccl/encode.def"
};

static_assert(OP_COUNT <= 16, "the ops are bits of a uint16_t");
static_assert(sizeof(bool) == 1, "BOOL is encoded as a byte");

static bool bit_of(const uint16_t *masks, const encode_round_t *round)
{
    return ((unsigned)masks[round->dtype] >> (unsigned)round->op & 1U) != 0;
}

static bool encoding_serves(const encoding_t *encoding, const encode_device_t *device, uint32_t ranks, unsigned options)
{
    if (ranks > encoding->ranks_max || ((encoding->needs & LOOSE) != 0 && (options & ENCODE_LIKE_HOST) != 0) ||
        ((encoding->needs & ROUNDED) != 0 && (options & ENCODE_EXACT) != 0)) {
        return false;
    }
    for (unsigned r = 0; r < encoding->rounds; r++) {
        if (!bit_of(device->reduces, &encoding->round[r])) {
            return false;
        }
    }
    return (encoding->needs & WRAPS) == 0 || bit_of(device->wraps, &encoding->round[encoding->rounds - 1]);
}

const encoding_t *encoding_find(const encode_device_t *device, dtype_t dtype, op_t op, uint32_t ranks, unsigned options)
{
    for (size_t i = 0; i < sizeof encodings / sizeof encodings[0]; i++) {
        const encoding_t *const encoding = &encodings[i];
        if (encoding->dtype == dtype && encoding->op == op && encoding_serves(encoding, device, ranks, options)) {
            return encoding;
        }
    }
    return NULL;
}

bool encoding_identity(const encoding_t *encoding)
{
    return encoding->round[0].codec <= ENCODE_CODEC_COPY_64;
}

size_t encoding_wire_count(const encoding_t *encoding, unsigned round, size_t count)
{
    return count * encoding->parts * encoding->round[round].words;
}

size_t encoding_wire_bytes(const encoding_t *encoding, unsigned round, size_t count)
{
    return encoding_wire_count(encoding, round, count) * dtype_size(encoding->round[round].dtype);
}

size_t encoding_state_bytes(const encoding_t *encoding, size_t count)
{
    return encoding->rounds == 1 ? 0 : count * encoding->parts * sizeof(encode_level_t);
}

/* The functions of the instruction set that the kernels use. */
static const encode_functions_t *encode_functions(encode_codec_t codec)
{
    static const struct {
        const char *isa;
        const encode_functions_t *functions;
    } builds[] = {
#ifdef KERNELS_HAVE_AVX512
        {"avx512", encode_functions_avx512},
#endif
#ifdef KERNELS_HAVE_AVX2
        {"avx2", encode_functions_avx2},
#endif
        {"base", encode_functions_base},
    };
    const char *const isa = kernel_isa_name();
    size_t b = 0;
    while (b + 1 < sizeof builds / sizeof builds[0] && strcmp(builds[b].isa, isa) != 0) {
        b++;
    }
    return &builds[b].functions[codec];
}

void encoding_encode(const encoding_t *encoding, unsigned round, const encode_ranks_t *ranks, const void *user,
                     const void *state, void *wire, size_t count)
{
    encode_functions(encoding->round[round].codec)->encode(ranks, user, state, wire, count * encoding->parts);
}

void encoding_decode(const encoding_t *encoding, unsigned round, const encode_ranks_t *ranks, const void *wire,
                     void *state, void *user, size_t count)
{
    encode_functions(encoding->round[round].codec)->decode(ranks, wire, state, user, count * encoding->parts);
}
