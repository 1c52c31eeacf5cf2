/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/nonblocking.h"

#include "mpi_compat/errors.h"
#include "shim/observe.h"
#include "shim/outstanding.h"

#include <stdio.h>
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
   the call is to become an operation; REASON_COUNT: the buffers are on an NPU, as is known only now. */
static reason_t call_decide(const call_t *call, const collective_t *collective, bool may_be_device,
                            comm_state_t **state, size_t *total)
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
    if (found == NULL && may_be_device && device_buffers_found(call)) {
        return REASON_COUNT;
    }
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

static int call_serve_device(const call_t *call, MPI_Request *request);

/* Makes the operation and its request. */
static int call_issue(const call_t *call, comm_state_t *state, const collective_t *collective, size_t total,
                      uint64_t begin, device_buffers_t *device, MPI_Request *request)
{
    operation_t *operation = operation_new(call, state, collective, total);

    if (operation == NULL) {
        return compat_error_raise(call->comm, MPINPU_ERR_NO_MEMORY, "");
    }
    operation->issued = begin;
    operation->device = device;
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

/* The whole way of a call; `device` is what its buffers stand for, where those are on an NPU: if all goes well it is
   the operation's. */
static inline __attribute__((always_inline)) int call_serve(const call_t *call, device_buffers_t *device,
                                                            MPI_Request *request)
{
    collective_t collective = {.kind = call->kind, .count = (size_t)call->count, .counts = call->counts};
    comm_state_t *state = NULL;
    size_t total = 0;

    if (!process_runs()) {
        return operation_real(call, call->comm, request);
    }
    if (device == NULL && __builtin_expect(device_buffers_possible(), 0) && device_buffers_any(call)) {
        return call_serve_device(call, request);
    }
    const uint64_t begin = process.observed ? process_clock() : 0;
    compat_answer_t answer = compat_reduction_find(call->datatype, call->op, &collective.dtype, &collective.op);
    reason_t reason = answer_reasons[answer];

    if (request == NULL) {
        reason = REASON_INVALID_ARGUMENT;
    } else if (reason == REASON_ENGINE) {
        reason = call_decide(call, &collective, device == NULL, &state, &total);
        if (reason == REASON_COUNT) {
            return call_serve_device(call, request);
        }
    }
    if (reason == REASON_ENGINE) {
        return call_issue(call, state, &collective, total, begin, device, request);
    }
    if (device != NULL) {
        char text[160];
        (void)snprintf(text, sizeof text,
                       "a nonblocking reduction of buffers on an NPU that the engine does not do: %s",
                       reason_text(reason));
        return compat_error_raise(call->comm, MPINPU_ERR_UNSUPPORTED, text);
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

/* With buffers on NPUs. The host MPI cannot be given others than the program's, since it would not tell when they may
   go. */
static __attribute__((noinline)) int call_serve_device(const call_t *call, MPI_Request *request)
{
    device_buffers_t *device = malloc(sizeof *device);
    call_t host = *call;

    if (device == NULL) {
        return compat_error_raise(call->comm, MPINPU_ERR_NO_MEMORY, "");
    }
    int code = device_buffers_begin(device, &host);
    if (code == MPI_SUCCESS) {
        code = call_serve(&host, device, request);
        if (code == MPI_SUCCESS) {
            return code;
        }
        (void)device_buffers_end(device, call->comm, false);
    }
    free(device);
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
                      NULL, request);
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
                      NULL, request);
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
                      NULL, request);
}
