/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_compat/float16_handles.h"

#include <string.h>

enum { FLOAT16_BYTES = 2 };

static const dtype_t float16_dtypes[FLOAT16_TYPES] = {DTYPE_F16, DTYPE_BF16};
static const op_t float16_ops[FLOAT16_OPS] = {OP_SUM, OP_PROD, OP_MIN, OP_MAX};

/* The struct whose address stands in a name of our form, or NULL. On the path of a call: by hand, not by strtoull. */
static const float16_handles_t *handles_from_name(const char *name)
{
    if (strncmp(name, FLOAT16_NAME_PREFIX, sizeof FLOAT16_NAME_PREFIX - 1) != 0) {
        return NULL;
    }
    const char *digit = strchr(name, '@');
    if (digit == NULL) {
        return NULL;
    }
    uintptr_t address = 0;
    while (*++digit != '\0') {
        const unsigned decimal = (unsigned)*digit - '0';
        const unsigned letter = (unsigned)*digit - 'a';
        if (decimal > 9 && letter > 5) {
            return NULL;
        }
        address = address << 4 | (decimal <= 9 ? decimal : letter + 10);
    }
    return address % _Alignof(float16_handles_t) == 0 ? (const float16_handles_t *)address : NULL;
}

bool float16_handles_find(MPI_Datatype datatype, MPI_Op operation, dtype_t *dtype, op_t *op)
{
    char name[MPI_MAX_OBJECT_NAME + 1];
    int length;
    int size;
    /* The size first: it is known at once, and most types of other programs end here. */
    if (datatype == MPI_DATATYPE_NULL || PMPI_Type_size(datatype, &size) != MPI_SUCCESS || size != FLOAT16_BYTES) {
        return false;
    }
    if (PMPI_Type_get_name(datatype, name, &length) != MPI_SUCCESS) {
        return false;
    }
    const float16_handles_t *const handles = handles_from_name(name);
    if (handles == NULL || handles->magic != FLOAT16_HANDLES_MAGIC) {
        return false;
    }
    for (int t = 0; t < FLOAT16_TYPES; t++) {
        for (int o = 0; o < FLOAT16_OPS; o++) {
            if (handles->types[t] == datatype && handles->ops[o] == operation) {
                *dtype = float16_dtypes[t];
                *op = float16_ops[o];
                return true;
            }
        }
    }
    return false;
}
