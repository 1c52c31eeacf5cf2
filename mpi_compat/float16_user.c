/* SPDX-License-Identifier: BSD-3-Clause */
/* libmpinpu16.a: what mpinpu.h declares, linked into programs. */
#include "mpi_compat/mpinpu.h"

#include "engine/float16.h"
#include "mpi_compat/float16_handles.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

/* Made under the lock; kept until MPI_Finalize. */
static float16_handles_t handles;
static bool handles_made;
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;

static const struct {
    const char *name;
    float (*widen)(uint16_t half);
    uint16_t (*narrow)(float value);
} float16_types[FLOAT16_TYPES] = {
    {"float16", float16_widen, float16_narrow},
    {"bfloat16", bfloat16_widen, bfloat16_narrow},
};

/* a is the lower rank's. As the engine's kernels: equal or unordered, the lower rank's stays. */
static float float_sum(float a, float b)
{
    return b + a;
}

static float float_prod(float a, float b)
{
    return b * a;
}

static float float_min(float a, float b)
{
    return b < a ? b : a;
}

static float float_max(float a, float b)
{
    return b > a ? b : a;
}

static void half_reduce(const void *in, void *inout, const int *length, const MPI_Datatype *datatype,
                        float (*fold)(float a, float b))
{
    int type = 0;
    while (type < FLOAT16_TYPES && handles.types[type] != *datatype) {
        type++;
    }
    if (type == FLOAT16_TYPES) {
        (void)fprintf(stderr,
                      "mpinpu: mpinpu_sum, _prod, _min and _max reduce mpinpu_float16 and mpinpu_bfloat16 only\n");
        (void)PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_OP);
        return;
    }
    const uint16_t *const a = in;
    uint16_t *const b = inout;
    for (int i = 0; i < *length; i++) {
        b[i] = float16_types[type].narrow(fold(float16_types[type].widen(a[i]), float16_types[type].widen(b[i])));
    }
}

#define HALF_OP(name)                                                                   \
    static void half_##name(void *in, void *inout, int *length, MPI_Datatype *datatype) \
    {                                                                                   \
        half_reduce(in, inout, length, datatype, float_##name);                         \
    }

HALF_OP(sum)
HALF_OP(prod)
HALF_OP(min)
HALF_OP(max)

static MPI_User_function *const float16_functions[FLOAT16_OPS] = {half_sum, half_prod, half_min, half_max};

static void handles_free(void)
{
    handles.magic = 0;
    for (int i = 0; i < FLOAT16_TYPES; i++) {
        if (handles.types[i] != MPI_DATATYPE_NULL) {
            (void)PMPI_Type_free(&handles.types[i]);
        }
    }
    for (int i = 0; i < FLOAT16_OPS; i++) {
        if (handles.ops[i] != MPI_OP_NULL) {
            (void)PMPI_Op_free(&handles.ops[i]);
        }
    }
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF before all else. */
static int handles_delete(MPI_Comm comm, int keyval, void *value, void *state)
{
    (void)comm;
    (void)keyval;
    (void)value;
    (void)state;
    handles_free();
    return MPI_SUCCESS;
}

static int handles_make(void)
{
    for (int i = 0; i < FLOAT16_TYPES; i++) {
        handles.types[i] = MPI_DATATYPE_NULL;
    }
    for (int i = 0; i < FLOAT16_OPS; i++) {
        handles.ops[i] = MPI_OP_NULL;
    }
    int keyval;
    int code = PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, handles_delete, &keyval, NULL);
    if (code != MPI_SUCCESS) {
        return code;
    }
    for (int i = 0; i < FLOAT16_TYPES && code == MPI_SUCCESS; i++) {
        char name[MPI_MAX_OBJECT_NAME];
        (void)snprintf(name, sizeof name, FLOAT16_NAME_FORMAT, float16_types[i].name, (uintptr_t)&handles);
        code = PMPI_Type_dup(MPI_UINT16_T, &handles.types[i]);
        if (code == MPI_SUCCESS) {
            code = PMPI_Type_set_name(handles.types[i], name);
        }
    }
    for (int i = 0; i < FLOAT16_OPS && code == MPI_SUCCESS; i++) {
        code = PMPI_Op_create(float16_functions[i], 1, &handles.ops[i]);
    }
    if (code == MPI_SUCCESS) {
        code = PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    }
    (void)PMPI_Comm_free_keyval(&keyval); /* lives on as long as the attribute */
    if (code == MPI_SUCCESS) {
        handles.magic = FLOAT16_HANDLES_MAGIC;
    } else {
        handles_free();
    }
    return code;
}

/* The handles, or NULL where there are none. */
static const float16_handles_t *handles_get(void)
{
    int initialized = 0;
    int finalized = 0;
    (void)PMPI_Initialized(&initialized);
    (void)PMPI_Finalized(&finalized);
    if (!initialized || finalized) {
        return NULL;
    }
    (void)pthread_mutex_lock(&handles_lock);
    if (!handles_made) {
        handles_made = handles_make() == MPI_SUCCESS;
    }
    const float16_handles_t *const made = handles_made ? &handles : NULL;
    (void)pthread_mutex_unlock(&handles_lock);
    return made;
}

static MPI_Datatype type_get(int index)
{
    const float16_handles_t *const made = handles_get();
    return made != NULL ? made->types[index] : MPI_DATATYPE_NULL;
}

static MPI_Op op_get(int index)
{
    const float16_handles_t *const made = handles_get();
    return made != NULL ? made->ops[index] : MPI_OP_NULL;
}

MPI_Datatype mpinpu_float16(void)
{
    return type_get(0);
}

MPI_Datatype mpinpu_bfloat16(void)
{
    return type_get(1);
}

MPI_Op mpinpu_sum(void)
{
    return op_get(0);
}

MPI_Op mpinpu_prod(void)
{
    return op_get(1);
}

MPI_Op mpinpu_min(void)
{
    return op_get(2);
}

MPI_Op mpinpu_max(void)
{
    return op_get(3);
}
