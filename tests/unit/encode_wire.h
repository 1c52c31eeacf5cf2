/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for the device: combines encoded contributions by plain arithmetic, in any order and grouping. And random
   numbers for the tests. */
#ifndef TESTS_UNIT_ENCODE_WIRE_H
#define TESTS_UNIT_ENCODE_WIRE_H

#include "engine/hccl/encode.h"

/* A device that reduces what the Atlas A2 does (WIRE_A2), and others like it. */
typedef enum wire_device {
    WIRE_A2,
    WIRE_A2_SATURATES, /* integer sums and products stop at the ends of the type instead of wrapping */
    WIRE_910,          /* no int16, no bfloat16 */
    WIRE_950,          /* float64 and uint64 too */
    WIRE_DEVICES
} wire_device_t;

/* What the encodings are told of the device. */
encode_device_t wire_device(wire_device_t which);

/* Pseudo-random numbers: the next one, and one below `bound`. */
uint64_t wire_random(uint64_t *seed);
uint64_t wire_below(uint64_t *seed, uint64_t bound);

/* Runs a whole reduction: users[0 .. ranks) are the contributions, count elements each; out gets the result. The order
   and grouping in which contributions are combined, and the pieces in which each encodes and decodes, depend on `seed`.
 */
void wire_reduce(wire_device_t device, const encoding_t *encoding, uint32_t ranks, const void *const *users, void *out,
                 size_t count, uint64_t seed);

/* The instruction sets that this machine may have; select each by kernel_isa_select. */
extern const char *const wire_isas[4];

#endif
