/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of datatypes and ops, hashed by their handles. */
#include "mpi_compat/reduction.h"

#include "mpi_compat/float16_handles.h"

#include <float.h>
#include <stdint.h>

/* Classes of datatypes on which MPI defines the same ops: bits of a set. */
enum {
    NONE = 0,
    C_INTEGER = 1 << 0,
    FORTRAN_INTEGER = 1 << 1,
    MULTI_LANGUAGE = 1 << 2,
    FLOATING = 1 << 3,
    COMPLEX = 1 << 4,
    LOGICAL = 1 << 5,
    BYTE = 1 << 6,
    PAIR = 1 << 7,
};

typedef enum kind {
    SIGNED,
    UNSIGNED,
    TRUTH,
    FLOAT,
    FLOAT_COMPLEX,
    FLOAT_AND_INT,
    SIGNED_AND_INT,
    TWO_SIGNED,
    TWO_FLOATS,
} kind_t;

/* The engine's types by kind and MPI_Type_size; the first that fits. */
static const struct {
    kind_t kind;
    size_t size;
    dtype_t dtype;
} reduction_widths[] = {
    {SIGNED, 1, DTYPE_I8},
    {SIGNED, 2, DTYPE_I16},
    {SIGNED, 4, DTYPE_I32},
    {SIGNED, 8, DTYPE_I64},
    {UNSIGNED, 1, DTYPE_U8},
    {UNSIGNED, 2, DTYPE_U16},
    {UNSIGNED, 4, DTYPE_U32},
    {UNSIGNED, 8, DTYPE_U64},
    {TRUTH, sizeof(bool), DTYPE_BOOL},
    {FLOAT, sizeof(float), DTYPE_F32},
    {FLOAT, sizeof(double), DTYPE_F64},
    {FLOAT, sizeof(long double), DTYPE_FLONG},
    {FLOAT_COMPLEX, 2 * sizeof(float), DTYPE_C32},
    {FLOAT_COMPLEX, 2 * sizeof(double), DTYPE_C64},
    {FLOAT_COMPLEX, 2 * sizeof(long double), DTYPE_CLONG},
    {FLOAT_AND_INT, sizeof(float) + sizeof(int), DTYPE_F32_I32},
    {FLOAT_AND_INT, sizeof(double) + sizeof(int), DTYPE_F64_I32},
    {FLOAT_AND_INT, sizeof(long double) + sizeof(int), DTYPE_FLONG_I32},
    {SIGNED_AND_INT, 2 + sizeof(int), DTYPE_I16_I32},
    {SIGNED_AND_INT, 4 + sizeof(int), DTYPE_I32_I32},
    {SIGNED_AND_INT, 8 + sizeof(int), DTYPE_I64_I32},
    {TWO_SIGNED, 8, DTYPE_I32_I32},
    {TWO_FLOATS, 2 * sizeof(float), DTYPE_F32_F32},
    {TWO_FLOATS, 2 * sizeof(double), DTYPE_F64_F64},
};

/* Open addressing; the null handle marks an empty slot. Constant after compat_reduction_init. */
enum { DATATYPE_SLOT_BITS = 8, OP_SLOT_BITS = 5 };

typedef struct datatype_slot {
    MPI_Datatype handle;
    dtype_t dtype;
    unsigned class;
} datatype_slot_t;

typedef struct op_slot {
    MPI_Op handle;
    op_t op;
    unsigned classes;
} op_slot_t;

static datatype_slot_t datatype_slots[1 << DATATYPE_SLOT_BITS];
static op_slot_t op_slots[1 << OP_SLOT_BITS];

/* Handles are addresses in one MPI, small integers in another. */
static size_t handle_hash(uintptr_t handle, unsigned bits)
{
    return (size_t)(((uint64_t)handle * 0x9e3779b97f4a7c15U) >> (64 - bits));
}

/* The slot of a handle, or the empty one where it belongs. */
static datatype_slot_t *datatype_slot_find(MPI_Datatype handle)
{
    size_t at = handle_hash((uintptr_t)handle, DATATYPE_SLOT_BITS);
    while (datatype_slots[at].handle != handle && datatype_slots[at].handle != MPI_DATATYPE_NULL) {
        at = (at + 1) % (1 << DATATYPE_SLOT_BITS);
    }
    return &datatype_slots[at];
}

static op_slot_t *op_slot_find(MPI_Op handle)
{
    size_t at = handle_hash((uintptr_t)handle, OP_SLOT_BITS);
    while (op_slots[at].handle != handle && op_slots[at].handle != MPI_OP_NULL) {
        at = (at + 1) % (1 << OP_SLOT_BITS);
    }
    return &op_slots[at];
}

/* Enters a datatype; with class NONE where the engine has no type of its width and extent. */
static void datatype_enter(MPI_Datatype handle, unsigned class, kind_t kind)
{
    if (handle == MPI_DATATYPE_NULL) {
        return; /* an optional type that this MPI lacks */
    }
    datatype_slot_t *slot = datatype_slot_find(handle);
    *slot = (datatype_slot_t){.handle = handle, .class = NONE};
    int size = 0;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    if (class == NONE || PMPI_Type_size(handle, &size) != MPI_SUCCESS || size <= 0 ||
        PMPI_Type_get_extent(handle, &lower, &extent) != MPI_SUCCESS || lower != 0) {
        return;
    }
    for (size_t i = 0; i < sizeof reduction_widths / sizeof reduction_widths[0]; i++) {
        const dtype_t dtype = reduction_widths[i].dtype;
        if (reduction_widths[i].kind == kind && reduction_widths[i].size == (size_t)size &&
            dtype_size(dtype) == (size_t)extent) {
            slot->dtype = dtype;
            slot->class = class;
            return;
        }
    }
}

void compat_reduction_init(void)
{
    for (size_t i = 0; i < sizeof datatype_slots / sizeof datatype_slots[0]; i++) {
        datatype_slots[i].handle = MPI_DATATYPE_NULL;
    }
    for (size_t i = 0; i < sizeof op_slots / sizeof op_slots[0]; i++) {
        op_slots[i].handle = MPI_OP_NULL;
    }
#define DATATYPE(handle, class, kind) datatype_enter(handle, class, kind);
#include "mpi_compat/datatypes.def"
#undef DATATYPE
#define OPERATION(mpi_op, name, classes) *op_slot_find(mpi_op) = (op_slot_t){mpi_op, OP_##name, classes};
#include "mpi_compat/ops.def"
#undef OPERATION
}

compat_answer_t compat_reduction_find(MPI_Datatype datatype, MPI_Op operation, dtype_t *dtype, op_t *op)
{
    const datatype_slot_t *const type = datatype_slot_find(datatype);
    const op_slot_t *const reduction = op_slot_find(operation);
    if ((type->class & reduction->classes) != 0) {
        *dtype = type->dtype;
        *op = reduction->op;
        return COMPAT_SERVED;
    }
    if (reduction->handle == MPI_OP_NULL) {
        const bool ours = type->handle == MPI_DATATYPE_NULL && datatype != MPI_DATATYPE_NULL &&
                          operation != MPI_OP_NULL && float16_handles_find(datatype, operation, dtype, op);
        return ours ? COMPAT_SERVED : COMPAT_USER_OP;
    }
    return type->handle == MPI_DATATYPE_NULL ? COMPAT_DERIVED_TYPE : COMPAT_NOT_DEFINED;
}

const char *compat_answer_name(compat_answer_t answer)
{
    static const char *const names[] = {
        [COMPAT_SERVED] = "served",
        [COMPAT_USER_OP] = "user op",
        [COMPAT_DERIVED_TYPE] = "derived datatype",
        [COMPAT_NOT_DEFINED] = "op not defined on the datatype",
    };
    return names[answer];
}
