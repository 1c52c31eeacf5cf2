/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/operation.h"

#include "engine/host/kernels.h"
#include "mpi_compat/errors.h"
#include "shim/observe.h"
#include "shim/persistent.h"
#include "shim/relay.h"

#include <stdlib.h>
#include <string.h>

/* MPI 3.1, sections 5.12.9 to 5.12.11. */
typedef int icount_function_t(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
typedef int icounts_function_t(const void *, void *, const int *, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);

int operation_real(const call_t *call, MPI_Comm comm, MPI_Request *request)
{
    core_entry_t real = process.real->entry[call->function];

    if (call->kind == COLLECTIVE_REDUCE_SCATTER) {
        return ((icounts_function_t *)real)(call->sendbuf, call->recvbuf, call->counts, call->datatype, call->op, comm,
                                            request);
    }
    return ((icount_function_t *)real)(call->sendbuf, call->recvbuf, call->count, call->datatype, call->op, comm,
                                       request);
}

operation_t *operation_new(const call_t *call, comm_state_t *state, const collective_t *collective, size_t total)
{
    const size_t counts = call->kind == COLLECTIVE_REDUCE_SCATTER ? (size_t)state->size : 0;
    operation_t *operation = malloc(sizeof *operation + counts * sizeof(int));

    if (operation == NULL) {
        return NULL;
    }
    *operation = (operation_t){.state = state, .call = *call, .collective = *collective, .total = total};
    operation->collective.recv = call->recvbuf;
    operation->collective.send = call->sendbuf == MPI_IN_PLACE ? call->recvbuf : call->sendbuf;
    if (counts > 0) {
        memcpy(operation->counts, call->counts, counts * sizeof(int));
        operation->call.counts = operation->counts;
        operation->collective.counts = operation->counts;
    }
    return operation;
}

bool operation_aside(const operation_t *operation)
{
    const reason_t reason = operation->begun
                                ? operation->reason
                                : (reason_t)atomic_load_explicit(&operation->state->reason, memory_order_acquire);

    return reason == REASON_ENGINE || reason == REASON_ONE_RANK;
}

void operation_begin(operation_t *operation)
{
    operation->begun = true;
    operation->reason = (reason_t)atomic_load_explicit(&operation->state->reason, memory_order_acquire);
    if (operation->reason == REASON_ENGINE) {
        operation->status =
            process.vtable->start(operation->state->engine_comm, &operation->collective, operation->prepared);
    } else if (operation->reason == REASON_ONE_RANK) {
        kernel_copy(operation->collective.dtype, operation->collective.recv, operation->collective.send,
                    operation->total);
    } else {
        operation->relay = relay_new(operation);
        operation->code = operation->relay != NULL ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    }
}

bool operation_advance(operation_t *operation)
{
    mpinpu_status_t status;

    if (operation->status != MPINPU_OK || operation->code != MPI_SUCCESS || operation->reason == REASON_ONE_RANK) {
        return true;
    }
    if (operation->reason != REASON_ENGINE) {
        return coroutine_step(operation->relay);
    }
    status = process.vtable->advance(operation->state->engine_comm);
    if (status == MPINPU_IN_PROGRESS) {
        return false;
    }
    operation->status = status;
    return true;
}

static observed_t operation_observed(const operation_t *operation)
{
    return (observed_t){.mode = operation->persistent != NULL ? REPORT_PERSISTENT : REPORT_NONBLOCKING,
                        .kind = operation->call.kind,
                        .dtype = (int)operation->collective.dtype,
                        .op = (int)operation->collective.op,
                        .bytes = operation->total * dtype_size(operation->collective.dtype),
                        .reason = operation->reason,
                        .comm = atomic_load_explicit(&operation->state->comm, memory_order_relaxed),
                        .state = operation->state,
                        .begin = operation->issued,
                        .id = operation->number};
}

void operation_observe(operation_t *operation)
{
    const observed_t observed = operation_observed(operation);

    operation->number = observe_started(&observed);
}

void operation_complete(operation_t *operation)
{
    if (operation->status != MPINPU_OK) {
        operation->code =
            compat_error_code(operation->status, process.vtable->comm_failure(operation->state->engine_comm));
    }
    if (operation->device != NULL) {
        const int put = device_buffers_end(operation->device, operation->call.comm, operation->code == MPI_SUCCESS);
        operation->code = operation->code != MPI_SUCCESS ? operation->code : put;
        free(operation->device);
        operation->device = NULL;
    }
    if (process.observed) {
        const observed_t observed = operation_observed(operation);
        observe_ended(&observed);
    }
    if (operation->persistent != NULL) {
        persistent_complete(operation->persistent, operation->code);
    } else {
        (void)PMPI_Grequest_complete(operation->request);
    }
}
