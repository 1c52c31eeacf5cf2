/* SPDX-License-Identifier: BSD-3-Clause */
/* The served functions: each call becomes a collective, is decided on, and goes to the engine or to the host MPI. */
#include "shim/core.h"

#include "engine/host/kernels.h"
#include "mpi_compat/errors.h"
#include "shim/call.h"
#include "shim/device_buffers.h"
#include "shim/host_calls.h"
#include "shim/nonblocking.h"
#include "shim/observe.h"
#include "shim/outstanding.h"
#include "shim/persistent.h"
#include "shim/world.h"

static int call_real(const call_t *call)
{
    core_entry_t real = process.real->entry[call->function];

    if (call->kind == COLLECTIVE_REDUCE_SCATTER) {
        return ((counts_function_t *)real)(call->sendbuf, call->recvbuf, call->counts, call->datatype, call->op,
                                           call->comm);
    }
    return ((count_function_t *)real)(call->sendbuf, call->recvbuf, call->count, call->datatype, call->op, call->comm);
}

/* REASON_COUNT: the buffers are on an NPU, as is known only now. Else decides by what MPI requires to be equal on all
   ranks, and by what the ranks agreed on when the communicator's state was made; an invalid argument is the exception:
   the host MPI then answers this rank. */
static inline reason_t call_decide(const call_t *call, const collective_t *collective, bool may_be_device,
                                   comm_state_t **state, size_t *total)
{
    reason_t reason = REASON_ENGINE;
    comm_state_t *found;

    if (call->kind == COLLECTIVE_REDUCE_SCATTER ? call->counts == NULL : call->count <= 0) {
        return call->kind != COLLECTIVE_REDUCE_SCATTER && call->count == 0 ? REASON_ZERO_COUNT
                                                                           : REASON_INVALID_ARGUMENT;
    }
    found = comm_state_recent(call->comm);
    if (found == NULL && may_be_device && device_buffers_found(call)) {
        return REASON_COUNT;
    }
    if (found == NULL) {
        found = comm_state_make(call->comm, true, &reason);
        if (found == NULL) {
            return reason;
        }
    }
    *state = found;
    if (__builtin_expect(outstanding_any(found), 0)) {
        outstanding_settle(found);
    }
    const reason_t agreed = (reason_t)atomic_load_explicit(&found->reason, memory_order_acquire);
    if (agreed != REASON_ENGINE && agreed != REASON_ONE_RANK) {
        outstanding_relay_end(found);
        if (process.observed) {
            (void)call_measure(call, found, total); /* for the report */
        }
        return agreed;
    }
    reason = call_measure(call, found, total);
    if (reason != REASON_ENGINE || agreed == REASON_ONE_RANK) {
        return reason == REASON_ENGINE ? REASON_ONE_RANK : reason;
    }
    return call_engine_reason(collective, *total);
}

/* On the NPUs; MPINPU_ERR_UNSUPPORTED, on all ranks, where that is not to be. */
static __attribute__((noinline)) mpinpu_status_t call_run_npu(comm_state_t *state, const collective_t *collective,
                                                              size_t total)
{
    if (state->npu_later) {
        comm_state_connect_npu(state);
    }
    return state->npu_comm != NULL && total * dtype_size(collective->dtype) >= process.npu_bytes
               ? engine_hccl.run(state->npu_comm, collective)
               : MPINPU_ERR_UNSUPPORTED;
}

/* The answer of a call that an engine failed in. */
static __attribute__((noinline)) int call_fail(const call_t *call, const comm_state_t *state, mpinpu_status_t status,
                                               bool npu)
{
    const char *text =
        npu ? engine_hccl.comm_failure(state->npu_comm) : process.vtable->comm_failure(state->engine_comm);

    return compat_error_raise(call->comm, status, text);
}

/* A call with buffers on an NPU. */
typedef struct placed {
    collective_memory_t memory;
    call_t host;              /* the call with copies on the host, */
    device_buffers_t buffers; /* which these are, */
    bool taken;               /* once they are there; */
    int code;                 /* and what came of that */
} placed_t;

/* collective_memory_t's to_host. */
static bool placed_take(void *context, collective_t *collective)
{
    placed_t *placed = context;

    if (!placed->taken && placed->code == MPI_SUCCESS) {
        placed->code = device_buffers_begin(&placed->buffers, &placed->host);
        placed->taken = placed->code == MPI_SUCCESS;
    }
    collective->memory = NULL;
    collective->recv = placed->host.recvbuf;
    collective->send = placed->host.sendbuf == MPI_IN_PLACE ? placed->host.recvbuf : placed->host.sendbuf;
    return placed->taken;
}

/* Runs the collective and answers as an MPI function does. */
static inline int call_run(const call_t *call, comm_state_t *state, collective_t *collective, size_t total,
                           placed_t *placed, reason_t *reason)
{
    mpinpu_status_t status = MPINPU_ERR_UNSUPPORTED;

    if (__builtin_expect(state->npu_comm != NULL || state->npu_later, 0)) {
        status = call_run_npu(state, collective, total);
        *reason = status == MPINPU_ERR_UNSUPPORTED ? *reason : REASON_HCCL;
    }
    if (placed != NULL && status == MPINPU_ERR_UNSUPPORTED) {
        (void)placed_take(placed, collective);
    }
    if (placed != NULL && placed->code != MPI_SUCCESS) {
        return placed->code;
    }
    if (status == MPINPU_ERR_UNSUPPORTED) {
        status = process.vtable->run(state->engine_comm, collective);
    }
    if (status == MPINPU_OK) {
        return MPI_SUCCESS;
    }
    return call_fail(call, state, status, *reason == REASON_HCCL);
}

static __attribute__((noinline)) void call_observe(const call_t *call, const comm_state_t *state,
                                                   const collective_t *collective, bool known, size_t total,
                                                   reason_t reason, uint64_t begin)
{
    observe_ended(&(observed_t){.mode = REPORT_BLOCKING,
                                .kind = call->kind,
                                .dtype = known ? (int)collective->dtype : (int)REPORT_NO_DTYPE,
                                .op = known ? (int)collective->op : (int)OP_COUNT,
                                .bytes = known ? total * dtype_size(collective->dtype) : 0,
                                .reason = reason,
                                .comm = call->comm,
                                .state = state,
                                .begin = begin});
}

static int call_serve_device(const call_t *call);

/* The call by the host MPI, or with one rank, with buffers that the host has. */
static int call_placed(placed_t *placed, reason_t reason, const collective_t *called, size_t total)
{
    collective_t collective = *called;

    if (!placed_take(placed, &collective)) {
        return placed->code;
    }
    if (reason == REASON_ONE_RANK) {
        kernel_copy(collective.dtype, collective.recv, collective.send, total);
        return MPI_SUCCESS;
    }
    return call_real(&placed->host);
}

/* The whole way of a call; inlined into each served function, where the kind is known. `placed`: its buffers are on an
   NPU; NULL: they are on the host, or it is not known. */
static inline __attribute__((always_inline)) int call_serve(const call_t *call, placed_t *placed)
{
    collective_t collective = {.kind = call->kind, .count = (size_t)call->count, .counts = call->counts};
    comm_state_t *state = NULL;
    size_t total = 0;
    int code;

    if (!process_runs()) {
        return call_real(call);
    }
    if (placed == NULL && __builtin_expect(device_buffers_possible(), 0) && device_buffers_any(call)) {
        return call_serve_device(call);
    }
    uint64_t begin = process.observed ? process_clock() : 0;
    compat_answer_t answer = compat_reduction_find(call->datatype, call->op, &collective.dtype, &collective.op);
    reason_t reason = answer_reasons[answer];

    if (reason == REASON_ENGINE) {
        reason = call_decide(call, &collective, placed == NULL, &state, &total);
        if (__builtin_expect(reason == REASON_COUNT, 0)) {
            return call_serve_device(call);
        }
    }
    if (reason == REASON_ENGINE || reason == REASON_ONE_RANK) {
        collective.recv = call->recvbuf;
        collective.send = call->sendbuf == MPI_IN_PLACE ? call->recvbuf : call->sendbuf;
        collective.memory = placed != NULL ? &placed->memory : NULL;
    }
    if (reason == REASON_ENGINE) {
        code = call_run(call, state, &collective, total, placed, &reason);
    } else if (placed != NULL) {
        code = call_placed(placed, reason, &collective, total);
    } else if (reason == REASON_ONE_RANK) {
        kernel_copy(collective.dtype, collective.recv, collective.send, total);
        code = MPI_SUCCESS;
    } else {
        code = call_real(call);
    }
    if (process.observed) {
        call_observe(call, state, &collective, answer == COMPAT_SERVED, total, reason, begin);
    }
    return code;
}

/* With buffers on NPUs. */
static __attribute__((noinline)) int call_serve_device(const call_t *call)
{
    placed_t placed = {.host = *call, .code = MPI_SUCCESS};

    placed.memory =
        (collective_memory_t){.direct = device_buffers_all(call), .context = &placed, .to_host = placed_take};
    const int code = call_serve(call, &placed);
    const int put = placed.taken ? device_buffers_end(&placed.buffers, call->comm, code == MPI_SUCCESS) : MPI_SUCCESS;
    return code != MPI_SUCCESS ? code : put;
}

static int core_allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                          MPI_Comm comm)
{
    return call_serve(&(call_t){.function = CORE_MPI_Allreduce,
                                .kind = COLLECTIVE_ALLREDUCE,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .count = count,
                                .datatype = datatype,
                                .op = op,
                                .comm = comm},
                      NULL);
}

static int core_reduce_scatter_block(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                                     MPI_Comm comm)
{
    return call_serve(&(call_t){.function = CORE_MPI_Reduce_scatter_block,
                                .kind = COLLECTIVE_REDUCE_SCATTER_BLOCK,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .count = count,
                                .datatype = datatype,
                                .op = op,
                                .comm = comm},
                      NULL);
}

static int core_reduce_scatter(const void *sendbuf, void *recvbuf, const int *counts, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm)
{
    return call_serve(&(call_t){.function = CORE_MPI_Reduce_scatter,
                                .kind = COLLECTIVE_REDUCE_SCATTER,
                                .sendbuf = sendbuf,
                                .recvbuf = recvbuf,
                                .counts = counts,
                                .datatype = datatype,
                                .op = op,
                                .comm = comm},
                      NULL);
}

__attribute__((visibility("default"))) int mpinpu_core_open(const core_table_t *real, core_table_t *served)
{
    static const core_entry_t entries[CORE_FUNCTION_COUNT] = {
        [CORE_MPI_Allreduce] = (core_entry_t)core_allreduce,
        [CORE_MPI_Reduce_scatter] = (core_entry_t)core_reduce_scatter,
        [CORE_MPI_Reduce_scatter_block] = (core_entry_t)core_reduce_scatter_block,
        [CORE_MPI_Iallreduce] = (core_entry_t)core_iallreduce,
        [CORE_MPI_Ireduce_scatter] = (core_entry_t)core_ireduce_scatter,
        [CORE_MPI_Ireduce_scatter_block] = (core_entry_t)core_ireduce_scatter_block,
        [CORE_MPI_Allreduce_init] = (core_entry_t)core_allreduce_init,
        [CORE_MPIX_Allreduce_init] = (core_entry_t)core_allreduce_init,
        [CORE_MPI_Reduce_scatter_init] = (core_entry_t)core_reduce_scatter_init,
        [CORE_MPIX_Reduce_scatter_init] = (core_entry_t)core_reduce_scatter_init,
        [CORE_MPI_Reduce_scatter_block_init] = (core_entry_t)core_reduce_scatter_block_init,
        [CORE_MPIX_Reduce_scatter_block_init] = (core_entry_t)core_reduce_scatter_block_init,
        [CORE_MPI_Init] = (core_entry_t)core_init,
        [CORE_MPI_Init_thread] = (core_entry_t)core_init_thread,
        [CORE_MPI_Start] = (core_entry_t)core_start,
        [CORE_MPI_Startall] = (core_entry_t)core_startall,
        [CORE_MPI_Request_free] = (core_entry_t)core_request_free,
    };

    if (real->abi != MPINPU_CORE_ABI || real->functions != CORE_FUNCTION_COUNT) {
        return 1;
    }
    process.real = real;
    for (int f = 0; f < CORE_FUNCTION_COUNT; f++) {
        const core_entry_t passes = host_call((core_function_t)f);
        const bool serves = entries[f] != NULL && (real->entry[f] != NULL || passes != NULL);
        process.answers[f] = serves ? entries[f] : passes;
        served->entry[f] = process.answers[f];
    }
    return 0;
}
