/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/host_calls.h"

#include "mpi_compat/errors.h"
#include "mpi_compat/exchange.h"
#include "mpi_compat/reduction.h"
#include "shim/observe.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* What the report is told of a call. */
typedef struct host_note {
    collective_kind_t kind;
    report_mode_t mode;
    bool large;
    MPI_Count count;
    const void *counts; /* of reduce_scatter: ints, or MPI_Counts where `large` */
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Comm comm;
} host_note_t;

/* When a call began; 0: it is not counted. */
static uint64_t host_begin(void)
{
    const bool runs = atomic_load_explicit(&process.phase, memory_order_acquire) == PROCESS_RUNS || process_start();

    return runs && process.observed ? process_clock() : 0;
}

/* Elements of the whole input of a call that the host MPI took, so that its arguments are right. */
static size_t host_total(const host_note_t *note)
{
    size_t total = 0;
    int size = 1;

    if (note->kind == COLLECTIVE_ALLREDUCE) {
        return (size_t)note->count;
    }
    (void)PMPI_Comm_size(note->comm, &size);
    if (note->kind == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        return (size_t)note->count * (size_t)size;
    }
    for (int r = 0; r < size; r++) {
        total += note->large ? (size_t)((const MPI_Count *)note->counts)[r] : (size_t)((const int *)note->counts)[r];
    }
    return total;
}

/* Counts a call that has returned. */
static void host_end(const host_note_t *note, uint64_t begin, int code)
{
    dtype_t dtype;
    op_t op;

    if (begin == 0 || !process.observed) {
        return;
    }
    const reason_t reason = note->large ? REASON_LARGE_COUNT : REASON_PERSISTENT;
    const bool known =
        code == MPI_SUCCESS && compat_reduction_find(note->datatype, note->op, &dtype, &op) == COMPAT_SERVED;
    observe_ended(&(observed_t){.mode = note->mode,
                                .kind = note->kind,
                                .dtype = known ? (int)dtype : (int)REPORT_NO_DTYPE,
                                .op = known ? (int)op : (int)OP_COUNT,
                                .bytes = known ? host_total(note) * dtype_size(dtype) : 0,
                                .reason = code == MPI_SUCCESS ? reason : REASON_INVALID_ARGUMENT,
                                .comm = note->comm,
                                .begin = begin});
}

/* The function of another name that does the same. */
static const core_function_t twins[][2] = {
    {CORE_MPI_Allreduce_init, CORE_MPIX_Allreduce_init},
    {CORE_MPI_Reduce_scatter_init, CORE_MPIX_Reduce_scatter_init},
    {CORE_MPI_Reduce_scatter_block_init, CORE_MPIX_Reduce_scatter_block_init},
};

/* The host MPI's function, or its twin; NULL where it has neither. */
static core_entry_t host_real(core_function_t function)
{
    core_entry_t real = process.real->entry[function];

    for (size_t t = 0; real == NULL && t < sizeof twins / sizeof twins[0]; t++) {
        for (int side = 0; side < 2; side++) {
            real = twins[t][side] == function ? process.real->entry[twins[t][!side]] : real;
        }
    }
    return real;
}

#define ARGUMENTS_BLOCKING(count)    sendbuf, recvbuf, count, datatype, op, comm
#define ARGUMENTS_NONBLOCKING(count) ARGUMENTS_BLOCKING(count), request
#define ARGUMENTS_PERSISTENT(count)  ARGUMENTS_BLOCKING(count), info, request

#define NOTE_ALLREDUCE            .count = count
#define NOTE_REDUCE_SCATTER       .counts = count
#define NOTE_REDUCE_SCATTER_BLOCK .count = count
enum { WIDTH_INT, WIDTH_LARGE };

/* For each function but those that core.c serves: passed on and counted. */
#define PASSED(NAME, KIND, MODE, WIDTH)                                                          \
    static int passed_##NAME(PARAMETERS_##MODE(COUNT_##WIDTH##_##KIND))                          \
    {                                                                                            \
        const host_note_t note = {.kind = COLLECTIVE_##KIND,                                     \
                                  .mode = REPORT_##MODE,                                         \
                                  .large = WIDTH_##WIDTH,                                        \
                                  NOTE_##KIND,                                                   \
                                  .datatype = datatype,                                          \
                                  .op = op,                                                      \
                                  .comm = comm};                                                 \
        const uint64_t begin = host_begin();                                                     \
        const int code = ((NAME##_function_t *)host_real(CORE_##NAME))(ARGUMENTS_##MODE(count)); \
        host_end(&note, begin, code);                                                            \
        return code;                                                                             \
    }
#define PASSED_INT_BLOCKING(NAME, KIND)
#define PASSED_INT_NONBLOCKING(NAME, KIND)
#define PASSED_PROCESS_INIT(NAME, KIND)
#define PASSED_PROCESS_INIT_THREAD(NAME, KIND)
#define PASSED_REQUEST_START(NAME, KIND)
#define PASSED_REQUEST_STARTALL(NAME, KIND)
#define PASSED_REQUEST_RELEASE(NAME, KIND)
#define PASSED_INT_PERSISTENT(NAME, KIND)           PASSED(NAME, KIND, PERSISTENT, INT)
#define PASSED_LARGE_BLOCKING(NAME, KIND)           PASSED(NAME, KIND, BLOCKING, LARGE)
#define PASSED_LARGE_NONBLOCKING(NAME, KIND)        PASSED(NAME, KIND, NONBLOCKING, LARGE)
#define PASSED_LARGE_PERSISTENT(NAME, KIND)         PASSED(NAME, KIND, PERSISTENT, LARGE)
#define FUNCTION(NAME, kind, mode, width, presence) PASSED_##width##_##mode(NAME, kind)
#include "shim/functions.def"
#undef FUNCTION

/* An MPI_Count call whose count fits an int is a call of the function with ints. */
#define NARROWED(NAME, NARROW, MODE)                                                               \
    static int narrowed_##NAME(PARAMETERS_##MODE(MPI_Count))                                       \
    {                                                                                              \
        const core_entry_t narrow = process.answers[CORE_##NARROW];                                \
        if (count <= INT_MAX && narrow != NULL) {                                                  \
            return ((NARROW##_function_t *)narrow)(ARGUMENTS_##MODE(count < 0 ? -1 : (int)count)); \
        }                                                                                          \
        return process.real->entry[CORE_##NAME] != NULL ? passed_##NAME(ARGUMENTS_##MODE(count))   \
                                                        : host_refuse(comm, #NAME);                \
    }

static int host_refuse(MPI_Comm comm, const char *name)
{
    char text[MPI_MAX_ERROR_STRING];

    (void)snprintf(text, sizeof text, "%s: the loaded MPI has no such function, and the count does not fit an int",
                   name);
    return compat_error_raise(comm, MPINPU_ERR_UNSUPPORTED, text);
}

NARROWED(MPI_Allreduce_c, MPI_Allreduce, BLOCKING)
NARROWED(MPI_Reduce_scatter_block_c, MPI_Reduce_scatter_block, BLOCKING)
NARROWED(MPI_Iallreduce_c, MPI_Iallreduce, NONBLOCKING)
NARROWED(MPI_Ireduce_scatter_block_c, MPI_Ireduce_scatter_block, NONBLOCKING)
NARROWED(MPI_Allreduce_init_c, MPI_Allreduce_init, PERSISTENT)
NARROWED(MPI_Reduce_scatter_block_init_c, MPI_Reduce_scatter_block_init, PERSISTENT)

/* The counts as ints, for the caller to free; NULL where one does not fit, or there is no memory. */
static int *counts_narrow(const MPI_Count *counts, int size)
{
    int *narrow = malloc((size_t)size * sizeof *narrow);

    for (int r = 0; narrow != NULL && r < size; r++) {
        if (counts[r] > INT_MAX) {
            free(narrow);
            return NULL;
        }
        narrow[r] = counts[r] < 0 ? -1 : (int)counts[r];
    }
    return narrow;
}

/* The blocking one alone: where the call returns before the reduction is done, the ints would have to stay. */
static int narrowed_MPI_Reduce_scatter_c(PARAMETERS_BLOCKING(const MPI_Count *))
{
    const core_entry_t by = process.answers[CORE_MPI_Reduce_scatter];
    int *narrow = NULL;
    int size = 0;

    if (count != NULL && by != NULL && compat_comm_valid(comm) && PMPI_Comm_size(comm, &size) == MPI_SUCCESS) {
        narrow = counts_narrow(count, size);
    }
    if (narrow != NULL) {
        const int code = ((MPI_Reduce_scatter_function_t *)by)(ARGUMENTS_BLOCKING(narrow));
        free(narrow);
        return code;
    }
    return process.real->entry[CORE_MPI_Reduce_scatter_c] != NULL
               ? passed_MPI_Reduce_scatter_c(ARGUMENTS_BLOCKING(count))
               : host_refuse(comm, "MPI_Reduce_scatter_c");
}

#define ENTRY_INT_BLOCKING(NAME)        NULL
#define ENTRY_INT_NONBLOCKING(NAME)     NULL
#define ENTRY_PROCESS_INIT(NAME)        NULL
#define ENTRY_PROCESS_INIT_THREAD(NAME) NULL
#define ENTRY_REQUEST_START(NAME)       NULL
#define ENTRY_REQUEST_STARTALL(NAME)    NULL
#define ENTRY_REQUEST_RELEASE(NAME)     NULL
#define ENTRY_INT_PERSISTENT(NAME)      (core_entry_t) passed_##NAME
#define ENTRY_LARGE_BLOCKING(NAME)      (core_entry_t) passed_##NAME
#define ENTRY_LARGE_NONBLOCKING(NAME)   (core_entry_t) passed_##NAME
#define ENTRY_LARGE_PERSISTENT(NAME)    (core_entry_t) passed_##NAME

core_entry_t host_call(core_function_t function)
{
    static const core_entry_t passed[CORE_FUNCTION_COUNT] = {
#define FUNCTION(NAME, kind, mode, width, presence) [CORE_##NAME] = ENTRY_##width##_##mode(NAME),
#include "shim/functions.def"
#undef FUNCTION
    };
    static const core_entry_t narrowed[CORE_FUNCTION_COUNT] = {
        [CORE_MPI_Allreduce_c] = (core_entry_t)narrowed_MPI_Allreduce_c,
        [CORE_MPI_Reduce_scatter_c] = (core_entry_t)narrowed_MPI_Reduce_scatter_c,
        [CORE_MPI_Reduce_scatter_block_c] = (core_entry_t)narrowed_MPI_Reduce_scatter_block_c,
        [CORE_MPI_Iallreduce_c] = (core_entry_t)narrowed_MPI_Iallreduce_c,
        [CORE_MPI_Ireduce_scatter_block_c] = (core_entry_t)narrowed_MPI_Ireduce_scatter_block_c,
        [CORE_MPI_Allreduce_init_c] = (core_entry_t)narrowed_MPI_Allreduce_init_c,
        [CORE_MPI_Reduce_scatter_block_init_c] = (core_entry_t)narrowed_MPI_Reduce_scatter_block_init_c,
    };

    if (narrowed[function] != NULL) {
        return narrowed[function];
    }
    return host_real(function) != NULL ? passed[function] : NULL;
}
