/* SPDX-License-Identifier: BSD-3-Clause */
/* A call of a served function, and what can be said of it by itself. Inlined into each served function, where the kind
   is known. */
#ifndef SHIM_CALL_H
#define SHIM_CALL_H

#include "mpi_compat/reduction.h"
#include "shim/process.h"

/* One call as it came in. `counts` is for reduce_scatter, else `count` holds. */
typedef struct call {
    core_function_t function;
    collective_kind_t kind;
    const void *sendbuf;
    void *recvbuf;
    int count;
    const int *counts;
    MPI_Datatype datatype;
    MPI_Op op;
    MPI_Comm comm;
} call_t;

/* MPI 3.1, sections 5.9.6 and 5.10. */
typedef int count_function_t(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int counts_function_t(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm);

/* Why the host MPI does what the dictionary has no words for. */
static const reason_t answer_reasons[] = {
    [COMPAT_SERVED] = REASON_ENGINE,
    [COMPAT_USER_OP] = REASON_USER_OP,
    [COMPAT_DERIVED_TYPE] = REASON_DERIVED_TYPE,
    [COMPAT_NOT_DEFINED] = REASON_NOT_DEFINED,
};

/* What the host MPI would refuse, or crash on, is left to it. One buffer for both: Open MPI 4.1 refuses it in
   MPI_Allreduce of more than one element, and takes it for in place elsewhere (ompi/mpi/c/allreduce.c). */
static inline bool call_buffers_valid(const call_t *call, size_t received)
{
    return call->recvbuf != MPI_IN_PLACE && call->sendbuf != NULL && (call->recvbuf != NULL || received == 0) &&
           !(call->sendbuf == MPI_IN_PLACE && call->recvbuf == NULL) &&
           !(call->kind == COLLECTIVE_ALLREDUCE && call->sendbuf == call->recvbuf && call->count > 1);
}

/* The elements of all blocks; false where a count is negative. */
static inline bool call_counts_sum(const call_t *call, int size, size_t *total)
{
    size_t sum = 0;

    for (int r = 0; r < size; r++) {
        if (call->counts[r] < 0) {
            return false;
        }
        sum += (size_t)call->counts[r];
    }
    *total = sum;
    return true;
}

/* Elements of the whole input, by the communicator's size, in `total`; the reason not to go on, or REASON_ENGINE. */
static inline reason_t call_measure(const call_t *call, const comm_state_t *state, size_t *total)
{
    size_t received = (size_t)call->count;

    *total = (size_t)call->count;
    if (call->kind == COLLECTIVE_REDUCE_SCATTER) {
        if (!call_counts_sum(call, state->size, total)) {
            return REASON_INVALID_ARGUMENT;
        }
        received = (size_t)call->counts[state->rank];
    } else if (call->kind == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        *total *= (size_t)state->size;
    }
    if (*total == 0) {
        return REASON_ZERO_COUNT;
    }
    return call_buffers_valid(call, received) ? REASON_ENGINE : REASON_INVALID_ARGUMENT;
}

/* Whether the engine, which the communicator has, is to do it: by the settings, which the ranks have compared, and by
   what the engine can. */
static inline reason_t call_engine_reason(const collective_t *collective, size_t total)
{
    if (process.min_bytes > 0 && total * dtype_size(collective->dtype) < process.min_bytes) {
        return REASON_MIN_BYTES;
    }
    return process.vtable->supports(process.engine, collective->dtype, collective->op) ? REASON_ENGINE
                                                                                       : REASON_NO_KERNEL;
}

#endif
