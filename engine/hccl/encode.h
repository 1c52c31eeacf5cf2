/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions that a device lacks, made of those that it has. Devices that run HCCL reduce few types by four ops, and
 * most of them neither float64 nor unsigned integers. Data is staged through host memory anyway, so it can be encoded
 * on the way in and decoded on the way out. One table (encode.def) says for a datatype and an op what goes over the
 * wire in each round; the functions are pure, and any engine that reduces the wire's types can use them.
 *
 * How a collective runs. `ranks` contributions are combined, each at its place in rank order:
 *
 *     for each round r:
 *         encoding_encode(e, r, ranks, user, state, wire, count)      on each rank
 *         wire = wires combined by e->round[r].op in e->round[r].dtype  (the device; in any order and grouping)
 *         encoding_decode(e, r, ranks, wire, state, user, count)      on each rank
 *
 * Every round but the last yields `state`, and the next one encodes the whole vector by it: so these rounds are
 * allreduces over all elements whatever the collective is, and only the last is the collective itself. Any piece of the
 * vector can be encoded and decoded apart from the others (chunks, blocks of a reduce_scatter), with the state of that
 * piece. Where several ranks share a device their encoded wires are combined on the host, by kernel_fold_find(dtype,
 * op) of the round; combining user data first would round twice and let NaNs hide values.
 *
 * What comes out, for all ranks the same bits whatever the order, grouping and chunks (identity apart, where the device
 * decides):
 *
 * - Integers: what the host engine gives; sums and products wrap. Logical ops: 0 or 1 (any other than 0 is true).
 * - MIN, MAX of floats encoded as integers: what folding from rank 0 up by `b < a ? b : a` (`b > a ? b : a`) gives: of
 *   zeros the lowest rank's, denormals kept; NaNs are passed over, except that a NaN of rank 0 stays. Such a result is
 *   the quiet NaN 0x7ff8...: sign and payload are not carried.
 * - float16, bfloat16 as float32: rounded once, to nearest even, from the float32 that the device's order gives.
 * - float64 SUM (and complex, by parts), exact encoding. For each element: with n = ranks->count, g = ceil(log2(n)), at
 *   least 1, and E such that the largest |x| of all ranks is in [2^E, 2^(E+1)) (E = -1022 if it is denormal), let
 *       U = 2^(E - 62 + g)    with one word   (n at most 2^10), or
 *       U = 2^(E - 125 + 2g)  with two words  (n at most 2^20).
 *   Each x is rounded to the nearest multiple of U (ties away from zero), their sum is exact, and the result is that
 * sum rounded once to nearest even.
 *       - Where every x is a multiple of U (always, if U <= 2^-1074) the result is the exact sum, correctly rounded: no
 *         order of float64 additions is nearer. That holds if the least exponent of a non-zero x is at least E - 10 + g
 *         (one word) or E - 73 + 2g (two words); and for any values whose last bits are above U, such as integers
 *         below 2^(62-g) or 2^(125-2g) beside one another.
 *       - Else the error before the last rounding is at most (n - 1) U/2, or n U/2 if U > 2^(E - 52). With one word
 * that is at most (n - 1) 2^(g - 10) 2^(E - 53), hence never more than the bound of adding float64 in some order, (n -
 * 1) 2^-53 sum|x|. What is lost is what lies below U: 1e30 + 1 - 1e30 is 0 with one word, 1 with two.
 *       - A NaN, or infinities of both signs, give the quiet NaN 0x7ff8000000000000; else infinities their infinity.
 *       - -0.0 if all are -0.0; a sum that cancels is 0.0.
 *       - Overflow only if the rounded sum itself overflows: 1e308 + 1e308 - 1e308 is 1e308.
 *       - Denormals count in full. Where the calling thread flushes denormals or rounds otherwise than to nearest, so
 *         does the last rounding. */
#ifndef ENGINE_HCCL_ENCODE_H
#define ENGINE_HCCL_ENCODE_H

#include "engine/collective.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a device reduces: for each datatype of ours, the bit 1 << op for each op. Must be equal on all ranks. */
typedef struct encode_device {
    /* HCCL takes the type and op, for the collective in question. */
    uint16_t reduces[DTYPE_COUNT];
    /* Overflow of this integer SUM or PROD wraps, as a test on the device has shown. Where the bit is missing, sums and
       products that might overflow are encoded in a wider type, or not served. */
    uint16_t wraps[DTYPE_COUNT];
} encode_device_t;

/* Which encodings may be taken; the bits add up. */
enum {
    /* float64 sums by the exact encoding with two words, also on a device that adds float64. */
    ENCODE_EXACT = 1,
    /* Nothing that differs from the host engine by the device's own rules: the rounding of 16-bit floats at each step,
       NaN and -0.0 in MIN and MAX. */
    ENCODE_LIKE_HOST = 2,
};

/* The contributions to one collective: how many are combined in all (at least 1), and the place of this one in rank
   order, from 0. For each rank of the communicator one, however many share a device. */
typedef struct encode_ranks {
    uint32_t count;
    uint32_t place;
} encode_ranks_t;

/* Which pair of functions encodes and decodes. */
typedef enum encode_codec {
#define CODEC(NAME) ENCODE_CODEC_##NAME,
#include "engine/hccl/encode_codecs.def"
#undef CODEC
    ENCODE_CODEC_COUNT
} encode_codec_t;

typedef struct encode_round {
    dtype_t dtype;  /* on the wire */
    op_t op;        /* by which the wires are combined: SUM, PROD, MIN or MAX */
    unsigned words; /* elements of dtype for one part of the user's element */
    encode_codec_t codec;
} encode_round_t;

enum { ENCODE_ROUNDS_MAX = 2 };

/* A row of the table. */
typedef struct encoding {
    dtype_t dtype; /* the user's */
    op_t op;
    unsigned parts;     /* reals that make one element of the user's: 2 for complex, else 1 */
    unsigned needs;     /* see encode.def */
    uint32_t ranks_max; /* contributions that it can take */
    unsigned rounds;    /* 1 or 2 */
    encode_round_t round[ENCODE_ROUNDS_MAX];
} encoding_t;

/* The best encoding of dtype and op for this many contributions on the device; NULL if there is none. The row is
   static. Equal arguments give the same row on every rank. Any thread. */
const encoding_t *encoding_find(const encode_device_t *device, dtype_t dtype, op_t op, uint32_t ranks,
                                unsigned options);

/* Whether the user's bytes are the wire's, so that encoding and decoding may be left out. */
bool encoding_identity(const encoding_t *encoding);

/* Elements of round[r].dtype on the wire for `count` elements of the user's, and their bytes: what the collective of
   the round moves. Encoding reads count elements of the user's (and the state, in the second round) and writes the
   wire; decoding reads the wire and writes the state or the user's elements. */
size_t encoding_wire_count(const encoding_t *encoding, unsigned round, size_t count);
size_t encoding_wire_bytes(const encoding_t *encoding, unsigned round, size_t count);

/* Bytes of the state between the rounds for count elements, owned by the caller; 0 if there is one round. */
size_t encoding_state_bytes(const encoding_t *encoding, size_t count);

/* Encodes count elements. `state` is what decoding the round before gave for them; not read in round 0. No alignment is
   asked for. wire may not overlap user or state, except that an identity may have wire == user. Any thread. */
void encoding_encode(const encoding_t *encoding, unsigned round, const encode_ranks_t *ranks, const void *user,
                     const void *state, void *wire, size_t count);

/* Decodes count elements: every round but the last writes state and not user; the last reads state, if there is one,
   and writes user. wire may not overlap user or state, except that it may be the very address of user (identity) or of
   state (if the wire of round 0 has the size of the state). Any thread. */
void encoding_decode(const encoding_t *encoding, unsigned round, const encode_ranks_t *ranks, const void *wire,
                     void *state, void *user, size_t count);

#endif
