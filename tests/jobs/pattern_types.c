/* SPDX-License-Identifier: BSD-3-Clause */
/* The datatypes and ops, and which go together. */
#include "tests/jobs/pattern.h"

#include <complex.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { TYPES_MAX = 80 };
static pattern_type_t types[TYPES_MAX];
static size_t type_count;
static pattern_op_t ops[PATTERN_OPS];

static void type_add(MPI_Datatype handle, const char *name, pattern_class_t class, size_t size)
{
    /* A Fortran type that this Open MPI was built without is MPI_DATATYPE_NULL or has size 0. */
    int bytes = 0;
    if (handle == MPI_DATATYPE_NULL || MPI_Type_size(handle, &bytes) != MPI_SUCCESS || bytes == 0) {
        return;
    }
    if ((size_t)bytes != size) {
        job_fail("%s has %d bytes, the test thinks %zu", name, bytes, size);
    }
    if (type_count < TYPES_MAX) {
        types[type_count++] = (pattern_type_t){.handle = handle, .name = name, .class = class, .size = size};
    }
}

static void pair_add(MPI_Datatype handle, const char *name, size_t size, pattern_class_t first, size_t first_size,
                     pattern_class_t second, size_t second_size, size_t second_offset)
{
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    if (handle == MPI_DATATYPE_NULL || MPI_Type_get_extent(handle, &lower, &extent) != MPI_SUCCESS || extent == 0) {
        return;
    }
    if ((size_t)extent != size) {
        job_fail("%s has extent %ld, the test thinks %zu", name, (long)extent, size);
    }
    if (type_count < TYPES_MAX) {
        types[type_count++] =
            (pattern_type_t){handle, name, PATTERN_PAIR, size, first, first_size, second, second_size, second_offset};
    }
}

#define TYPE(handle, class, ctype) type_add(handle, #handle, PATTERN_##class, sizeof(ctype))
#define PAIR(handle, ctype, class, class2)                                                               \
    pair_add(handle, #handle, sizeof(ctype), PATTERN_##class, sizeof(((ctype *)0)->v), PATTERN_##class2, \
             sizeof(((ctype *)0)->k), offsetof(ctype, k))

static void types_make(void)
{
    TYPE(MPI_SIGNED_CHAR, SIGNED, signed char);
    TYPE(MPI_UNSIGNED_CHAR, UNSIGNED, unsigned char);
    TYPE(MPI_SHORT, SIGNED, short);
    TYPE(MPI_UNSIGNED_SHORT, UNSIGNED, unsigned short);
    TYPE(MPI_INT, SIGNED, int);
    TYPE(MPI_UNSIGNED, UNSIGNED, unsigned);
    TYPE(MPI_LONG, SIGNED, long);
    TYPE(MPI_UNSIGNED_LONG, UNSIGNED, unsigned long);
    TYPE(MPI_LONG_LONG, SIGNED, long long);
    TYPE(MPI_LONG_LONG_INT, SIGNED, long long);
    TYPE(MPI_UNSIGNED_LONG_LONG, UNSIGNED, unsigned long long);
    TYPE(MPI_INT8_T, SIGNED, int8_t);
    TYPE(MPI_INT16_T, SIGNED, int16_t);
    TYPE(MPI_INT32_T, SIGNED, int32_t);
    TYPE(MPI_INT64_T, SIGNED, int64_t);
    TYPE(MPI_UINT8_T, UNSIGNED, uint8_t);
    TYPE(MPI_UINT16_T, UNSIGNED, uint16_t);
    TYPE(MPI_UINT32_T, UNSIGNED, uint32_t);
    TYPE(MPI_UINT64_T, UNSIGNED, uint64_t);
    TYPE(MPI_AINT, MULTI_LANGUAGE, MPI_Aint);
    TYPE(MPI_OFFSET, MULTI_LANGUAGE, MPI_Offset);
    TYPE(MPI_COUNT, MULTI_LANGUAGE, MPI_Count);
    TYPE(MPI_BYTE, BYTE, unsigned char);
    TYPE(MPI_C_BOOL, BOOLEAN, bool);
    TYPE(MPI_CXX_BOOL, BOOLEAN, bool);
    TYPE(MPI_FLOAT, FLOAT, float);
    TYPE(MPI_DOUBLE, FLOAT, double);
    TYPE(MPI_LONG_DOUBLE, FLOAT, long double);
    TYPE(MPI_C_COMPLEX, COMPLEX, float complex);
    TYPE(MPI_C_FLOAT_COMPLEX, COMPLEX, float complex);
    TYPE(MPI_C_DOUBLE_COMPLEX, COMPLEX, double complex);
    TYPE(MPI_C_LONG_DOUBLE_COMPLEX, COMPLEX, long double complex);
    TYPE(MPI_CXX_FLOAT_COMPLEX, COMPLEX, float complex);
    TYPE(MPI_CXX_DOUBLE_COMPLEX, COMPLEX, double complex);
    TYPE(MPI_CXX_LONG_DOUBLE_COMPLEX, COMPLEX, long double complex);
    TYPE(MPI_INTEGER, FORTRAN_INTEGER, int32_t);
    TYPE(MPI_INTEGER1, FORTRAN_INTEGER, int8_t);
    TYPE(MPI_INTEGER2, FORTRAN_INTEGER, int16_t);
    TYPE(MPI_INTEGER4, FORTRAN_INTEGER, int32_t);
    TYPE(MPI_INTEGER8, FORTRAN_INTEGER, int64_t);
    TYPE(MPI_REAL, FLOAT, float);
    TYPE(MPI_REAL4, FLOAT, float);
    TYPE(MPI_REAL8, FLOAT, double);
    TYPE(MPI_DOUBLE_PRECISION, FLOAT, double);
    TYPE(MPI_COMPLEX, COMPLEX, float complex);
    TYPE(MPI_COMPLEX8, COMPLEX, float complex);
    TYPE(MPI_COMPLEX16, COMPLEX, double complex);
    TYPE(MPI_DOUBLE_COMPLEX, COMPLEX, double complex);
    TYPE(MPI_LOGICAL, BOOLEAN, int32_t);
    TYPE(MPI_LOGICAL1, BOOLEAN, int8_t);
    TYPE(MPI_LOGICAL2, BOOLEAN, int16_t);
    TYPE(MPI_LOGICAL4, BOOLEAN, int32_t);
    TYPE(MPI_LOGICAL8, BOOLEAN, int64_t);

    struct float_int {
        float v;
        int k;
    };
    struct double_int {
        double v;
        int k;
    };
    struct long_int {
        long v;
        int k;
    };
    struct short_int {
        short v;
        int k;
    };
    struct long_double_int {
        long double v;
        int k;
    };
    struct two_int {
        int v;
        int k;
    };
    struct two_real {
        float v;
        float k;
    };
    struct two_double {
        double v;
        double k;
    };
    PAIR(MPI_FLOAT_INT, struct float_int, FLOAT, SIGNED);
    PAIR(MPI_DOUBLE_INT, struct double_int, FLOAT, SIGNED);
    PAIR(MPI_LONG_INT, struct long_int, SIGNED, SIGNED);
    PAIR(MPI_SHORT_INT, struct short_int, SIGNED, SIGNED);
    PAIR(MPI_LONG_DOUBLE_INT, struct long_double_int, FLOAT, SIGNED);
    PAIR(MPI_2INT, struct two_int, SIGNED, SIGNED);
    PAIR(MPI_2REAL, struct two_real, FLOAT, FLOAT);
    PAIR(MPI_2DOUBLE_PRECISION, struct two_double, FLOAT, FLOAT);
    PAIR(MPI_2INTEGER, struct two_int, SIGNED, SIGNED);
}

const pattern_type_t *pattern_types(size_t *count)
{
    if (type_count == 0) {
        types_make();
    }
    *count = type_count;
    return types;
}

const pattern_op_t *pattern_ops(void)
{
    if (ops[0].name == NULL) {
#define OP(NAME) ops[PATTERN_##NAME] = (pattern_op_t){MPI_##NAME, #NAME, PATTERN_##NAME}
        OP(SUM);
        OP(PROD);
        OP(MIN);
        OP(MAX);
        OP(LAND);
        OP(LOR);
        OP(LXOR);
        OP(BAND);
        OP(BOR);
        OP(BXOR);
        OP(MINLOC);
        OP(MAXLOC);
#undef OP
    }
    return ops;
}

const pattern_type_t *pattern_type_named(const char *name)
{
    size_t count = 0;
    const pattern_type_t *all = pattern_types(&count);
    for (size_t t = 0; t < count; t++) {
        if (strcmp(all[t].name, name) == 0) {
            return &all[t];
        }
    }
    job_fail("this MPI has no type %s", name);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

bool pattern_defined(const pattern_type_t *type, const pattern_op_t *op)
{
    bool arithmetic = op->id == PATTERN_SUM || op->id == PATTERN_PROD;
    bool order = op->id == PATTERN_MIN || op->id == PATTERN_MAX;
    bool logical = op->id == PATTERN_LAND || op->id == PATTERN_LOR || op->id == PATTERN_LXOR;
    bool bits = op->id == PATTERN_BAND || op->id == PATTERN_BOR || op->id == PATTERN_BXOR;
    switch (type->class) {
    case PATTERN_SIGNED:
    case PATTERN_UNSIGNED:
        return arithmetic || order || logical || bits;
    case PATTERN_FORTRAN_INTEGER:
    case PATTERN_MULTI_LANGUAGE:
        return arithmetic || order || bits;
    case PATTERN_BOOLEAN:
        return logical;
    case PATTERN_BYTE:
        return bits;
    case PATTERN_FLOAT:
        return arithmetic || order;
    case PATTERN_COMPLEX:
        return arithmetic;
    case PATTERN_PAIR:
        return op->id == PATTERN_MINLOC || op->id == PATTERN_MAXLOC;
    }
    return false;
}
