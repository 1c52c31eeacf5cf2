/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks every datatype of the host MPI with every op: what the look-up answers against what the MPI standard defines
   and what MPI_Reduce_local allows; and the kernels' results bit for bit against MPI_Reduce_local and against an
   oracle. Run as one rank with --mca op ^avx: that component saturates sums of small integers. Prints "walked NAME" for
   each datatype. */
#include "engine/host/kernels.h"
#include "mpi_compat/mpinpu.h"
#include "mpi_compat/reduction.h"
#include "tests/unit/kernels_oracle.h"

#include <float.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* Ops by letters: + SUM PROD, < MIN MAX, & logical, | bitwise, @ MINLOC MAXLOC. */
typedef struct walk_type {
    MPI_Datatype handle;
    const char *name;
    const char *ops; /* that MPI 3.1 defines (5.9.2, 5.9.4), and that can be right in this build */
    dtype_t dtype;   /* where ops is not empty */
} walk_type_t;

#define C_SIGNED(type) \
    (sizeof(type) == 1 ? DTYPE_I8 : sizeof(type) == 2 ? DTYPE_I16 : sizeof(type) == 4 ? DTYPE_I32 : DTYPE_I64)
#define C_UNSIGNED(type) \
    (sizeof(type) == 1 ? DTYPE_U8 : sizeof(type) == 2 ? DTYPE_U16 : sizeof(type) == 4 ? DTYPE_U32 : DTYPE_U64)
#define TYPE(handle, ops, dtype)    \
    {                               \
        handle, #handle, ops, dtype \
    }

#define INTEGER_OPS "+<&|"
#define FORTRAN_OPS "+<|"
/* gfortran's real(16) is binary128, which Open MPI 4.1 reduces as long double. */
#define QUAD_OPS(ops) (LDBL_MANT_DIG == 113 ? (ops) : "")

static const walk_type_t *walk_types(size_t *n)
{
    static walk_type_t types[80];
    const walk_type_t all[] = {
        TYPE(MPI_CHAR, "", DTYPE_I8),
        TYPE(MPI_SIGNED_CHAR, INTEGER_OPS, C_SIGNED(signed char)),
        TYPE(MPI_UNSIGNED_CHAR, INTEGER_OPS, C_UNSIGNED(unsigned char)),
        TYPE(MPI_SHORT, INTEGER_OPS, C_SIGNED(short)),
        TYPE(MPI_UNSIGNED_SHORT, INTEGER_OPS, C_UNSIGNED(unsigned short)),
        TYPE(MPI_INT, INTEGER_OPS, C_SIGNED(int)),
        TYPE(MPI_UNSIGNED, INTEGER_OPS, C_UNSIGNED(unsigned)),
        TYPE(MPI_LONG, INTEGER_OPS, C_SIGNED(long)),
        TYPE(MPI_UNSIGNED_LONG, INTEGER_OPS, C_UNSIGNED(unsigned long)),
        TYPE(MPI_LONG_LONG_INT, INTEGER_OPS, C_SIGNED(long long)),
        TYPE(MPI_LONG_LONG, INTEGER_OPS, C_SIGNED(long long)),
        TYPE(MPI_UNSIGNED_LONG_LONG, INTEGER_OPS, C_UNSIGNED(unsigned long long)),
        TYPE(MPI_INT8_T, INTEGER_OPS, DTYPE_I8),
        TYPE(MPI_INT16_T, INTEGER_OPS, DTYPE_I16),
        TYPE(MPI_INT32_T, INTEGER_OPS, DTYPE_I32),
        TYPE(MPI_INT64_T, INTEGER_OPS, DTYPE_I64),
        TYPE(MPI_UINT8_T, INTEGER_OPS, DTYPE_U8),
        TYPE(MPI_UINT16_T, INTEGER_OPS, DTYPE_U16),
        TYPE(MPI_UINT32_T, INTEGER_OPS, DTYPE_U32),
        TYPE(MPI_UINT64_T, INTEGER_OPS, DTYPE_U64),
        TYPE(MPI_WCHAR, "", C_SIGNED(wchar_t)),
        TYPE(MPI_BYTE, "|", DTYPE_U8),
        TYPE(MPI_PACKED, "", DTYPE_U8),
        TYPE(MPI_AINT, FORTRAN_OPS, C_SIGNED(MPI_Aint)),
        TYPE(MPI_OFFSET, FORTRAN_OPS, C_SIGNED(MPI_Offset)),
        TYPE(MPI_COUNT, FORTRAN_OPS, C_SIGNED(MPI_Count)),
        TYPE(MPI_FLOAT, "+<", DTYPE_F32),
        TYPE(MPI_DOUBLE, "+<", DTYPE_F64),
        TYPE(MPI_LONG_DOUBLE, "+<", DTYPE_FLONG),
        TYPE(MPI_C_BOOL, "&", DTYPE_BOOL),
        TYPE(MPI_C_COMPLEX, "+", DTYPE_C32),
        TYPE(MPI_C_FLOAT_COMPLEX, "+", DTYPE_C32),
        TYPE(MPI_C_DOUBLE_COMPLEX, "+", DTYPE_C64),
        TYPE(MPI_C_LONG_DOUBLE_COMPLEX, "+", DTYPE_CLONG),
        TYPE(MPI_CXX_BOOL, "&", DTYPE_BOOL),
#ifdef MPI_CXX_COMPLEX
        TYPE(MPI_CXX_COMPLEX, "+", DTYPE_C32),
#endif
        TYPE(MPI_CXX_FLOAT_COMPLEX, "+", DTYPE_C32),
        TYPE(MPI_CXX_DOUBLE_COMPLEX, "+", DTYPE_C64),
        TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, "+", DTYPE_CLONG),
        TYPE(MPI_FLOAT_INT, "@", DTYPE_F32_I32),
        TYPE(MPI_DOUBLE_INT, "@", DTYPE_F64_I32),
        TYPE(MPI_LONG_DOUBLE_INT, "@", DTYPE_FLONG_I32),
        TYPE(MPI_LONG_INT, "@", sizeof(long) == 8 ? DTYPE_I64_I32 : DTYPE_I32_I32),
        TYPE(MPI_SHORT_INT, "@", DTYPE_I16_I32),
        TYPE(MPI_2INT, "@", DTYPE_I32_I32),
        TYPE(MPI_CHARACTER, "", DTYPE_U8),
        TYPE(MPI_INTEGER, FORTRAN_OPS, DTYPE_I32),
        TYPE(MPI_REAL, "+<", DTYPE_F32),
        TYPE(MPI_DOUBLE_PRECISION, "+<", DTYPE_F64),
        TYPE(MPI_COMPLEX, "+", DTYPE_C32),
        TYPE(MPI_DOUBLE_COMPLEX, "+", DTYPE_C64),
        TYPE(MPI_LOGICAL, "&", DTYPE_I32),
        TYPE(MPI_2INTEGER, "@", DTYPE_I32_I32),
        TYPE(MPI_2REAL, "@", DTYPE_F32_F32),
        TYPE(MPI_2DOUBLE_PRECISION, "@", DTYPE_F64_F64),
#ifdef MPI_2COMPLEX
        TYPE(MPI_2COMPLEX, "", DTYPE_C32),
        TYPE(MPI_2DOUBLE_COMPLEX, "", DTYPE_C64),
#endif
#ifdef MPI_INTEGER1
        TYPE(MPI_INTEGER1, FORTRAN_OPS, DTYPE_I8),
#endif
#ifdef MPI_INTEGER2
        TYPE(MPI_INTEGER2, FORTRAN_OPS, DTYPE_I16),
#endif
#ifdef MPI_INTEGER4
        TYPE(MPI_INTEGER4, FORTRAN_OPS, DTYPE_I32),
#endif
#ifdef MPI_INTEGER8
        TYPE(MPI_INTEGER8, FORTRAN_OPS, DTYPE_I64),
#endif
#ifdef MPI_INTEGER16
        TYPE(MPI_INTEGER16, "", DTYPE_I64),
#endif
#ifdef MPI_REAL4
        TYPE(MPI_REAL4, "+<", DTYPE_F32),
#endif
#ifdef MPI_REAL8
        TYPE(MPI_REAL8, "+<", DTYPE_F64),
#endif
#ifdef MPI_REAL16
        TYPE(MPI_REAL16, QUAD_OPS("+<"), DTYPE_FLONG),
#endif
#ifdef MPI_COMPLEX8
        TYPE(MPI_COMPLEX8, "+", DTYPE_C32),
#endif
#ifdef MPI_COMPLEX16
        TYPE(MPI_COMPLEX16, "+", DTYPE_C64),
#endif
#ifdef MPI_COMPLEX32
        TYPE(MPI_COMPLEX32, QUAD_OPS("+"), DTYPE_CLONG),
#endif
#ifdef MPI_LOGICAL1
        TYPE(MPI_LOGICAL1, "&", DTYPE_I8),
#endif
#ifdef MPI_LOGICAL2
        TYPE(MPI_LOGICAL2, "&", DTYPE_I16),
#endif
#ifdef MPI_LOGICAL4
        TYPE(MPI_LOGICAL4, "&", DTYPE_I32),
#endif
#ifdef MPI_LOGICAL8
        TYPE(MPI_LOGICAL8, "&", DTYPE_I64),
#endif
    };
    memcpy(types, all, sizeof all);
    *n = sizeof all / sizeof all[0];
    return types;
}

static const struct {
    op_t op;
    char letter;
} walk_ops[] = {
    {OP_SUM, '+'},  {OP_PROD, '+'}, {OP_MIN, '<'}, {OP_MAX, '<'},  {OP_LAND, '&'},   {OP_LOR, '&'},
    {OP_LXOR, '&'}, {OP_BAND, '|'}, {OP_BOR, '|'}, {OP_BXOR, '|'}, {OP_MINLOC, '@'}, {OP_MAXLOC, '@'},
};

static MPI_Op walk_op_handle(op_t op)
{
    const MPI_Op handles[OP_COUNT] = {
        [OP_SUM] = MPI_SUM,   [OP_PROD] = MPI_PROD, [OP_MIN] = MPI_MIN,       [OP_MAX] = MPI_MAX,
        [OP_LAND] = MPI_LAND, [OP_LOR] = MPI_LOR,   [OP_LXOR] = MPI_LXOR,     [OP_BAND] = MPI_BAND,
        [OP_BOR] = MPI_BOR,   [OP_BXOR] = MPI_BXOR, [OP_MINLOC] = MPI_MINLOC, [OP_MAXLOC] = MPI_MAXLOC,
    };
    return handles[op];
}

static unsigned failures;

static void walk_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void walk_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (failures++ < 40) {
        (void)printf("FAIL: ");
        (void)vprintf(format, arguments);
        (void)printf("\n");
    }
    va_end(arguments);
}

/* Open MPI 4.1 takes MPI_UNSIGNED_LONG for a signed type and MPI_OFFSET for an unsigned one in MIN and MAX. There the
   kernels do what MPI says, and the host's result must be that of the other sign. */
static dtype_t host_dtype(const walk_type_t *type, op_t op, const void *expected, const void *host)
{
    const bool known =
        (type->handle == MPI_UNSIGNED_LONG || type->handle == MPI_OFFSET) && (op == OP_MIN || op == OP_MAX);
    if (!known || oracle_equal(type->dtype, op, expected, host)) {
        return type->dtype;
    }
    return type->dtype <= DTYPE_I64 ? (dtype_t)(type->dtype - DTYPE_I8 + DTYPE_U8)
                                    : (dtype_t)(type->dtype - DTYPE_U8 + DTYPE_I8);
}

enum { WALK_ELEMENTS = 1021, WALK_BYTES = 2 * sizeof(long double) * WALK_ELEMENTS };

/* Two vectors folded by the host MPI, by the kernel of each instruction set, and by the oracle. */
static void walk_compare(const walk_type_t *type, op_t op)
{
    static const char *const isas[] = {"base", "avx2", "avx512", "sve"};
    static _Alignas(64) char a[WALK_BYTES], b[WALK_BYTES], host[WALK_BYTES], got[WALK_BYTES];
    const size_t size = dtype_size(type->dtype);
    unsigned long state = (unsigned long)op + 1;

    for (size_t i = 0; i < WALK_ELEMENTS; i++) {
        oracle_value(type->dtype, &state, a + i * size);
        oracle_value(type->dtype, &state, b + i * size);
        if (type->dtype == DTYPE_BOOL) { /* other values are no bool: the host's result would be none either */
            a[i] &= 1;
            b[i] &= 1;
        }
    }
    memcpy(host, b, sizeof host);
    if (MPI_Reduce_local(a, host, WALK_ELEMENTS, type->handle, walk_op_handle(op)) != MPI_SUCCESS) {
        walk_fail("%s of %s: the host MPI refuses a vector", op_name(op), type->name);
        return;
    }
    for (size_t k = 0; k < sizeof isas / sizeof isas[0]; k++) {
        const void *src[] = {a, b};
        if (!kernel_isa_select(isas[k])) {
            continue;
        }
        kernel_fold_find(type->dtype, op)(got, src, 2, WALK_ELEMENTS);
        for (size_t i = 0; i < WALK_ELEMENTS; i++) {
            const void *elements[] = {a + i * size, b + i * size};
            char expected[2 * sizeof(long double)], hosts[2 * sizeof(long double)];
            oracle_fold(type->dtype, op, elements, 2, expected);
            oracle_fold(host_dtype(type, op, expected, host + i * size), op, elements, 2, hosts);
            if (!oracle_equal(type->dtype, op, hosts, host + i * size)) {
                walk_fail("%s of %s: MPI_Reduce_local and oracle differ at %zu", op_name(op), type->name, i);
                return;
            }
            if (!oracle_equal(type->dtype, op, expected, got + i * size)) {
                walk_fail("%s of %s: %s kernel and oracle differ at %zu", op_name(op), type->name, isas[k], i);
                return;
            }
        }
    }
}

static unsigned walk_type(const walk_type_t *type)
{
    unsigned served = 0;
    for (size_t o = 0; o < sizeof walk_ops / sizeof walk_ops[0]; o++) {
        char a[2 * sizeof(long double)] = {0}, b[2 * sizeof(long double)] = {0};
        const op_t op = walk_ops[o].op;
        const bool allowed = MPI_Reduce_local(a, b, 1, type->handle, walk_op_handle(op)) == MPI_SUCCESS;
        const bool expected = allowed && strchr(type->ops, walk_ops[o].letter) != NULL;
        dtype_t dtype = DTYPE_COUNT;
        op_t found = OP_COUNT;
        const compat_answer_t answer = compat_reduction_find(type->handle, walk_op_handle(op), &dtype, &found);
        if (answer != (expected ? COMPAT_SERVED : COMPAT_NOT_DEFINED)) {
            walk_fail("%s of %s: the answer is \"%s\"; MPI_Reduce_local %s it", op_name(op), type->name,
                      compat_answer_name(answer), allowed ? "does" : "refuses");
        } else if (expected && (dtype != type->dtype || found != op)) {
            walk_fail("%s of %s: taken for dtype %d, op %d", op_name(op), type->name, (int)dtype, (int)found);
        } else if (expected) {
            walk_compare(type, op);
            served++;
        } else if (dtype != DTYPE_COUNT || found != OP_COUNT) {
            walk_fail("%s of %s: not served, and yet an output is set", op_name(op), type->name);
        }
    }
    (void)printf("walked %s\n", type->name);
    return served;
}

static void some_function(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)in;
    (void)inout;
    (void)length;
    (void)datatype;
}

static void walk_answer(MPI_Datatype datatype, MPI_Op op, compat_answer_t expected, const char *what)
{
    dtype_t dtype = DTYPE_COUNT;
    op_t found = OP_COUNT;
    const compat_answer_t answer = compat_reduction_find(datatype, op, &dtype, &found);
    if (answer != expected) {
        walk_fail("%s: the answer is \"%s\", not \"%s\"", what, compat_answer_name(answer),
                  compat_answer_name(expected));
    }
}

/* User ops, derived types, and names that look like ours. */
static void walk_others(void)
{
    MPI_Op user;
    MPI_Datatype same, pair, named;
    char name[MPI_MAX_OBJECT_NAME];
    int length;

    MPI_Op_create(some_function, 1, &user);
    MPI_Type_dup(MPI_INT, &same);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_dup(MPI_UINT16_T, &named);
    walk_answer(MPI_INT, user, COMPAT_USER_OP, "user op on int");
    walk_answer(pair, user, COMPAT_USER_OP, "user op on a derived type");
    walk_answer(pair, MPI_SUM, COMPAT_DERIVED_TYPE, "sum of a derived type");
    walk_answer(same, MPI_SUM, COMPAT_DERIVED_TYPE, "sum of a duplicate of int");
    walk_answer(MPI_INT, MPI_REPLACE, COMPAT_USER_OP, "MPI_REPLACE");
    walk_answer(MPI_DATATYPE_NULL, MPI_SUM, COMPAT_DERIVED_TYPE, "the null datatype");
    walk_answer(MPI_DATATYPE_NULL, user, COMPAT_USER_OP, "user op on the null datatype");
    walk_answer(MPI_INT, MPI_OP_NULL, COMPAT_USER_OP, "the null op");
    walk_answer(named, MPI_OP_NULL, COMPAT_USER_OP, "the null op on a derived type");

    MPI_Type_set_name(named, "mpinpu_float16 @");
    walk_answer(named, user, COMPAT_USER_OP, "a name without an address");
    MPI_Type_set_name(named, "mpinpu_float16 @zz");
    walk_answer(named, user, COMPAT_USER_OP, "a name with no number");
    MPI_Type_set_name(named, "mpinpu_float16");
    walk_answer(named, user, COMPAT_USER_OP, "a name that ends early");
    MPI_Type_get_name(mpinpu_float16(), name, &length);
    MPI_Type_set_name(named, name);
    walk_answer(named, mpinpu_sum(), COMPAT_USER_OP, "a stolen name");
    MPI_Type_free(&named);
    MPI_Type_free(&pair);
    MPI_Type_free(&same);
    MPI_Op_free(&user);
}

static void walk_halves(void)
{
    const MPI_Datatype types[] = {mpinpu_float16(), mpinpu_bfloat16()};
    const MPI_Op ops[] = {mpinpu_sum(), mpinpu_prod(), mpinpu_min(), mpinpu_max()};
    static const char *const names[] = {"mpinpu_float16", "mpinpu_bfloat16"};
    for (int t = 0; t < 2; t++) {
        for (int o = 0; o < 4; o++) {
            dtype_t dtype = DTYPE_COUNT;
            op_t op = OP_COUNT;
            const compat_answer_t answer = compat_reduction_find(types[t], ops[o], &dtype, &op);
            if (answer != COMPAT_SERVED || (int)dtype != (int)DTYPE_F16 + t || (int)op != (int)OP_SUM + o) {
                walk_fail("%s, op %d: \"%s\"", names[t], o, compat_answer_name(answer));
            }
            /* With two operands, pair by pair and once are the same: static part and kernels must agree. */
            static const op_t folds[] = {OP_SUM, OP_PROD, OP_MIN, OP_MAX};
            uint16_t a[WALK_ELEMENTS], b[WALK_ELEMENTS], got[WALK_ELEMENTS];
            const void *src[] = {a, b};
            unsigned long state = 7;
            for (size_t i = 0; i < WALK_ELEMENTS; i++) {
                oracle_value(dtype, &state, &a[i]);
                oracle_value(dtype, &state, &b[i]);
            }
            kernel_fold_find(dtype, folds[o])(got, src, 2, WALK_ELEMENTS);
            MPI_Reduce_local(a, b, WALK_ELEMENTS, types[t], ops[o]);
            for (size_t i = 0; i < WALK_ELEMENTS; i++) {
                if (!oracle_equal(dtype, folds[o], &b[i], &got[i])) {
                    walk_fail("%s, op %d: library and static part differ at %zu", names[t], o, i);
                    break;
                }
            }
        }
        walk_answer(types[t], MPI_SUM, COMPAT_DERIVED_TYPE, "a predefined op on a 16-bit float");
    }
    walk_answer(MPI_UINT16_T, mpinpu_sum(), COMPAT_USER_OP, "mpinpu_sum on another type");
}

int main(int argc, char **argv)
{
    if (mpinpu_sum() != MPI_OP_NULL || mpinpu_float16() != MPI_DATATYPE_NULL) {
        walk_fail("16-bit floats before MPI_Init");
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    compat_reduction_init();
    size_t n;
    unsigned served = 0;
    const walk_type_t *const types = walk_types(&n);
    for (size_t t = 0; t < n; t++) {
        served += walk_type(&types[t]);
    }
    walk_others();
    walk_halves();
    (void)printf("served %u pairs of datatype and op, %u failures\n", served, failures);
    MPI_Finalize();
    if (mpinpu_sum() != MPI_OP_NULL) {
        walk_fail("16-bit floats after MPI_Finalize");
    }
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
