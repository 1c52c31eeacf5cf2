/* SPDX-License-Identifier: BSD-3-Clause */
/* Which encoding is taken on which device, and what it moves. */
#include "engine/host/kernels.h"
#include "tests/unit/encode_wire.h"

#include <criterion/criterion.h>

#define FIND(which, DTYPE, OP, ranks, options) find(wire_device(which), DTYPE_##DTYPE, OP_##OP, ranks, options)

static const encoding_t *find(encode_device_t device, dtype_t dtype, op_t op, uint32_t ranks, unsigned options)
{
    return encoding_find(&device, dtype, op, ranks, options);
}

static void expect(const encoding_t *encoding, dtype_t wire, op_t op, size_t bytes)
{
    cr_assert_not_null(encoding);
    const encode_round_t *const last = &encoding->round[encoding->rounds - 1];
    cr_assert_eq(last->dtype, wire, "%s %s goes as %s, not as %s", dtype_name(encoding->dtype), op_name(encoding->op),
                 dtype_name(last->dtype), dtype_name(wire));
    cr_assert_eq(last->op, op);
    cr_assert_eq(encoding_wire_bytes(encoding, encoding->rounds - 1, 100), 100 * bytes);
}

Test(encode_find, what_the_device_has_goes_as_it_is)
{
    cr_assert(encoding_identity(FIND(WIRE_A2, F32, SUM, 8, 0)));
    cr_assert(encoding_identity(FIND(WIRE_A2, I32, MAX, 8, 0)));
    cr_assert(encoding_identity(FIND(WIRE_A2, BF16, SUM, 8, 0)));
    cr_assert(encoding_identity(FIND(WIRE_A2, C32, SUM, 8, 0)));
    cr_assert(encoding_identity(FIND(WIRE_A2, U32, SUM, 8, 0)));
    cr_assert(encoding_identity(FIND(WIRE_950, F64, SUM, 8, 0)));
    cr_assert(encoding_identity(FIND(WIRE_950, C64, SUM, 8, 0)));
    cr_assert(encoding_identity(FIND(WIRE_950, U64, MIN, 8, 0)));
    cr_assert_not(encoding_identity(FIND(WIRE_A2, U64, MIN, 8, 0)));
    cr_assert_not(encoding_identity(FIND(WIRE_A2, F64, SUM, 8, 0)));
}

Test(encode_find, what_it_lacks_is_encoded)
{
    expect(FIND(WIRE_A2, U64, MIN, 8, 0), DTYPE_I64, OP_MIN, 8);
    expect(FIND(WIRE_A2, U16, PROD, 8, 0), DTYPE_I32, OP_PROD, 4);
    expect(FIND(WIRE_910, I16, SUM, 8, 0), DTYPE_I32, OP_SUM, 4);
    expect(FIND(WIRE_910, BF16, SUM, 8, 0), DTYPE_F32, OP_SUM, 4);
    expect(FIND(WIRE_A2, I64, LAND, 8, 0), DTYPE_I8, OP_MIN, 1);
    expect(FIND(WIRE_A2, BOOL, LOR, 8, 0), DTYPE_I8, OP_MAX, 1);
    expect(FIND(WIRE_A2, F64, MAX, 8, 0), DTYPE_I64, OP_MAX, 8);
    expect(FIND(WIRE_A2, F64, SUM, 1024, 0), DTYPE_I64, OP_SUM, 8);
    expect(FIND(WIRE_A2, F64, SUM, 1025, 0), DTYPE_I64, OP_SUM, 16);
    expect(FIND(WIRE_A2, C64, SUM, 8, ENCODE_EXACT), DTYPE_I64, OP_SUM, 32);
    const encoding_t *const sum = FIND(WIRE_A2, F64, SUM, 8, 0);
    cr_assert(sum->rounds == 2 && sum->round[0].dtype == DTYPE_I16 && sum->round[0].op == OP_MAX);
    cr_assert_eq(encoding_state_bytes(sum, 10), 20);
    cr_assert_eq(FIND(WIRE_910, F64, SUM, 8, 0)->round[0].dtype, DTYPE_I32);
}

Test(encode_find, a_device_that_saturates)
{
    expect(FIND(WIRE_A2_SATURATES, I8, SUM, 8, 0), DTYPE_I32, OP_SUM, 4);
    expect(FIND(WIRE_A2_SATURATES, U32, SUM, 8, 0), DTYPE_I64, OP_SUM, 8);
    expect(FIND(WIRE_A2_SATURATES, U16, SUM, 32768, 0), DTYPE_I32, OP_SUM, 4);
    cr_assert_null(FIND(WIRE_A2_SATURATES, U16, SUM, 32769, 0));
    cr_assert_null(FIND(WIRE_A2_SATURATES, I64, SUM, 8, 0));
    cr_assert_null(FIND(WIRE_A2_SATURATES, U64, PROD, 8, 0));
    expect(FIND(WIRE_A2_SATURATES, I32, LXOR, 127, 0), DTYPE_I8, OP_SUM, 1);
    expect(FIND(WIRE_A2_SATURATES, I32, LXOR, 128, 0), DTYPE_I32, OP_SUM, 4);
    expect(FIND(WIRE_A2, I32, LXOR, 128, 0), DTYPE_I8, OP_SUM, 1);
    expect(FIND(WIRE_A2_SATURATES, F64, SUM, 8, 0), DTYPE_I64, OP_SUM, 8);
}

Test(encode_find, options)
{
    expect(FIND(WIRE_950, F64, SUM, 8, ENCODE_EXACT), DTYPE_I64, OP_SUM, 16);
    expect(FIND(WIRE_A2, F16, SUM, 8, ENCODE_LIKE_HOST), DTYPE_F32, OP_SUM, 4);
    expect(FIND(WIRE_A2, F16, MIN, 8, ENCODE_LIKE_HOST), DTYPE_I32, OP_MIN, 4);
    expect(FIND(WIRE_A2, F32, MIN, 8, ENCODE_LIKE_HOST), DTYPE_I32, OP_MIN, 4);
    expect(FIND(WIRE_950, F64, MIN, 8, ENCODE_LIKE_HOST), DTYPE_I64, OP_MIN, 8);
    cr_assert(encoding_identity(FIND(WIRE_A2, F32, SUM, 8, ENCODE_LIKE_HOST | ENCODE_EXACT)));
}

/* What has no encoding, and that nothing is encoded that the host engine does not know. */
Test(encode_find, nothing_else)
{
    static const encode_device_t none;
    for (int which = 0; which < WIRE_DEVICES; which++) {
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            for (int op = 0; op < OP_COUNT; op++) {
                const encoding_t *const encoding =
                    find(wire_device((wire_device_t)which), (dtype_t)dtype, (op_t)op, 8, 0);
                cr_assert(encoding == NULL || kernel_fold_find((dtype_t)dtype, (op_t)op) != NULL);
                cr_assert(encoding == NULL || (op != OP_BAND && op != OP_BOR && op != OP_BXOR && op != OP_MINLOC));
                cr_assert_null(encoding_find(&none, (dtype_t)dtype, (op_t)op, 2, 0));
            }
        }
    }
    cr_assert_null(FIND(WIRE_A2, F64, PROD, 8, 0));
    cr_assert_null(FIND(WIRE_A2, C32, PROD, 8, 0));
    cr_assert_null(FIND(WIRE_950, FLONG, SUM, 8, 0));
}
