/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nonblocking.h"

#include "mpi_compat/errors.h"
#include "shim/observe.h"
#include "shim/outstanding.h"

#include <stdlib.h>

/* Of the generalised request that the program holds (MPI 3.1, section 12.2). The status is that of the host MPI's own
   nonblocking collectives. */
static int request_query(void *extra, MPI_Status *status)
{
    const operation_t *operation = extra;

    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    (void)PMPI_Status_set_elements(status, MPI_BYTE, 0);
    (void)PMPI_Status_set_cancelled(status, 0);
    return operation->code;
}

static int request_free(void *extra)
{
    free(extra);
    return MPI_SUCCESS;
}

/* MPI 3.1, section 3.8.4: a nonblocking collective cannot be cancelled. */
static int request_cancel(void *extra, int complete)
{
    (void)extra;
    (void)complete;
    return MPI_ERR_REQUEST;
}

/* By what MPI requires to be equal on all ranks, and is known before the communicator is set up. With REASON_ENGINE,
   the call is to become an operation. */
static reason_t call_decide(const call_t *call, const collective_t *collective, comm_state_t **state, size_t *total)
{
    reason_t reason = REASON_ENGINE;
    comm_state_t *found;

    if (!outstanding_open() || process.vtable->start == NULL) {
        return REASON_NO_PROGRESS;
    }
    if (call->kind == COLLECTIVE_REDUCE_SCATTER ? call->counts == NULL : call->count <= 0) {
        return call->kind != COLLECTIVE_REDUCE_SCATTER && call->count == 0 ? REASON_ZERO_COUNT
                                                                           : REASON_INVALID_ARGUMENT;
    }
    found = comm_state_recent(call->comm);
    if (found == NULL && !process.world.agreed) {
        return REASON_NO_WORLD;
    }
    if (found == NULL) {
        found = comm_state_make(call->comm, false, &reason);
        if (found == NULL) {
            return reason;
        }
    }
    *state = found;
    reason = call_measure(call, found, total);
    if (reason == REASON_ENGINE) {
        reason = call_engine_reason(collective, *total); /* known before it is set up: the settings are the same */
    }
    if (reason != REASON_ENGINE || found->queue.messages != NULL) {
        return reason;
    }
    reason = (reason_t)atomic_load_explicit(&found->reason, memory_order_acquire);
    return reason == REASON_ONE_RANK ? REASON_ENGINE : reason;
}

/* Makes the operation and its request. */
static int call_issue(const call_t *call, comm_state_t *state, const collective_t *collective, size_t total,
                      uint64_t begin, MPI_Request *request)
{
    operation_t *operation = operation_new(call, state, collective, total);

    if (operation == NULL) {
        return compat_error_raise(call->comm, MPINPU_ERR_NO_MEMORY, "");
    }
    operation->issued = begin;
    int code = PMPI_Grequest_start(request_query, request_free, request_cancel, operation, &operation->request);
    if (code != MPI_SUCCESS) {
        free(operation);
        return code;
    }
    /* Once issued it may be gone. */
    *request = operation->request;
    outstanding_issue(operation);
    return MPI_SUCCESS;
}

static inline __attribute__((always_inline)) int call_serve(const call_t *call, MPI_Request *request)
{
    collective_t collective = {.kind = call->kind, .count = (size_t)call->count, .counts = call->counts};
    comm_state_t *state = NULL;
    size_t total = 0;

    if (!process_runs()) {
        return operation_real(call, call->comm, request);
    }
    const uint64_t begin = process.observed ? process_clock() : 0;
    compat_answer_t answer = compat_reduction_find(call->datatype, call->op, &collective.dtype, &collective.op);
    reason_t reason = answer_reasons[answer];

    if (request == NULL) {
        reason = REASON_INVALID_ARGUMENT;
    } else if (reason == REASON_ENGINE) {
        reason = call_decide(call, &collective, &state, &total);
    }
    if (reason == REASON_ENGINE) {
        return call_issue(call, state, &collective, total, begin, request);
    }
    int code = operation_real(call, call->comm, request);
    if (process.observed) {
        const bool known = answer == COMPAT_SERVED;
        observe_ended(&(observed_t){.mode = REPORT_NONBLOCKING,
                                    .kind = call->kind,
                                    .dtype = known ? (int)collective.dtype : (int)REPORT_NO_DTYPE,
                                    .op = known ? (int)collective.op : (int)OP_COUNT,
                                    .bytes = known ? total * dtype_size(collective.dtype) : 0,
                                    .reason = reason,
                                    .comm = call->comm,
                                    .begin = begin});
    }
    return code;
}

int core_iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Request *request)
{
    return call_serve(&(call_t){.function = CORE_MPI_Iallreduce,
                                .kind = COLLECTIVE_ALLREDUCE,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .count = count,
                                .datatype = datatype,
                                .op = op,
                                .comm = comm},
                      request);
}

int core_ireduce_scatter(const void *sendbuf, void *recvbuf, const int *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Request *request)
{
    return call_serve(&(call_t){.function = CORE_MPI_Ireduce_scatter,
                                .kind = COLLECTIVE_REDUCE_SCATTER,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .counts = counts,
                                .datatype = datatype,
                                .op = op,
                                .comm = comm},
                      request);
}

int core_ireduce_scatter_block(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm, MPI_Request *request)
{
    return call_serve(&(call_t){.function = CORE_MPI_Ireduce_scatter_block,
                                .kind = COLLECTIVE_REDUCE_SCATTER_BLOCK,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .count = count,
                                .datatype = datatype,
                                .op = op,
                                .comm = comm},
                      request);
}
