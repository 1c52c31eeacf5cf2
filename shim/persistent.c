/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/persistent.h"

#include "mpi_compat/errors.h"
#include "shim/outstanding.h"

#include <stdlib.h>

struct persistent {
    struct persistent *next; /* of those with the same slot */
    MPI_Request handle;
    operation_t *operation; /* owned */
    int tag;                /* of its message */
    /* Under the lock of persistents: */
    bool active;   /* started, and not ended */
    bool released; /* by the program meanwhile */
};

/* The host MPI's own, past this library. */
#define REAL(NAME) ((NAME##_function_t *)process.real->entry[CORE_##NAME])

/* One thread at a time calls MPI, but with MPI_THREAD_MULTIPLE. */
static void persistents_lock(void)
{
    if (process.thread_multiple) {
        pthread_mutex_lock(&process.persistents.lock);
    }
}

static void persistents_unlock(void)
{
    if (process.thread_multiple) {
        pthread_mutex_unlock(&process.persistents.lock);
    }
}

static unsigned handle_slot(MPI_Request handle)
{
    return (unsigned)((uintptr_t)handle >> 6 ^ (uintptr_t)handle >> 12) %
           (sizeof process.persistents.found / sizeof process.persistents.found[0]);
}

/* With the lock held. */
static persistent_t **persistent_link(MPI_Request handle)
{
    persistent_t **link = &process.persistents.found[handle_slot(handle)];

    while (*link != NULL && (*link)->handle != handle) {
        link = &(*link)->next;
    }
    return link;
}

static void persistent_insert(persistent_t *persistent)
{
    persistent_t **slot = &process.persistents.found[handle_slot(persistent->handle)];

    persistent->next = *slot;
    *slot = persistent;
}

/* Whose request it is; NULL: not one of ours. */
static persistent_t *persistent_find(MPI_Request handle)
{
    persistent_t *found;

    if (atomic_load_explicit(&process.persistents.count, memory_order_relaxed) == 0) {
        return NULL;
    }
    persistents_lock();
    found = *persistent_link(handle);
    persistents_unlock();
    return found;
}

/* The communicator of the messages; with the lock held. Not a duplicate, which would call the program's attribute
   functions. */
static bool self_make(void)
{
    persistents_t *all = &process.persistents;
    void *value = NULL;
    int found = 0;

    if (!all->made) {
        if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &all->self) != MPI_SUCCESS) {
            return false;
        }
        (void)PMPI_Comm_set_errhandler(all->self, MPI_ERRORS_RETURN);
        all->tag_most = PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&value, &found) == MPI_SUCCESS && found
                            ? *(int *)value
                            : 32767;
        all->made = true;
    }
    return true;
}

/* Makes the request. */
static bool persistent_open(persistent_t *persistent)
{
    persistents_t *all = &process.persistents;
    bool fine;

    persistents_lock();
    fine = self_make();
    if (fine) {
        all->tag = all->tag < all->tag_most ? all->tag + 1 : 0;
        persistent->tag = all->tag;
        fine = PMPI_Recv_init(NULL, 0, MPI_BYTE, 0, persistent->tag, all->self, &persistent->handle) == MPI_SUCCESS;
    }
    if (fine) {
        persistent_insert(persistent);
        atomic_fetch_add_explicit(&all->count, 1, memory_order_relaxed);
    }
    persistents_unlock();
    return fine;
}

static void persistent_free(persistent_t *persistent)
{
    process.vtable->unprepare(persistent->operation->prepared);
    free(persistent->operation);
    free(persistent);
}

/* What the engine prepares, and the request. */
static int persistent_make(const call_t *call, comm_state_t *state, const collective_t *collective, size_t total,
                           MPI_Request *request)
{
    persistent_t *made = calloc(1, sizeof *made);
    operation_t *operation = operation_new(call, state, collective, total);
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    if (made != NULL && operation != NULL) {
        status = process.vtable->prepare(state->engine_comm, &operation->collective, &operation->prepared);
    }
    if (status == MPINPU_OK) {
        made->operation = operation;
        operation->persistent = made;
        if (persistent_open(made)) {
            outstanding_keep(state);
            *request = made->handle;
            return MPI_SUCCESS;
        }
        process.vtable->unprepare(operation->prepared);
        status = MPINPU_ERR_NO_MEMORY;
    }
    free(operation);
    free(made);
    return compat_error_raise(call->comm, status, "");
}

/* Whether the engine is to do it; with `refused` set, an error code, nobody is. All ranks decide alike, as for a
 * blocking call: the call may wait for the others. */
static bool call_decide(const call_t *call, collective_t *collective, comm_state_t **state, size_t *total, int *refused)
{
    reason_t reason;

    *refused = MPI_SUCCESS;
    if (process_runs() && device_buffers_possible() && device_buffers_any(call)) {
        *refused = compat_error_raise(call->comm, MPINPU_ERR_UNSUPPORTED,
                                      "a persistent reduction of buffers on an NPU: use a blocking or nonblocking one");
        return false;
    }
    if (!process_runs() || !outstanding_open() || process.vtable->start == NULL ||
        compat_reduction_find(call->datatype, call->op, &collective->dtype, &collective->op) != COMPAT_SERVED ||
        (call->kind == COLLECTIVE_REDUCE_SCATTER ? call->counts == NULL : call->count <= 0)) {
        return false;
    }
    *state = comm_state_recent(call->comm);
    if (*state == NULL) {
        *state = comm_state_make(call->comm, true, &reason);
        if (*state == NULL) {
            return false;
        }
    }
    if (outstanding_any(*state)) {
        outstanding_settle(*state);
    }
    return atomic_load_explicit(&(*state)->reason, memory_order_acquire) == REASON_ENGINE &&
           call_measure(call, *state, total) == REASON_ENGINE &&
           call_engine_reason(collective, *total) == REASON_ENGINE;
}

int core_allreduce_init(PARAMETERS_PERSISTENT(int))
{
    const call_t call = {.kind = COLLECTIVE_ALLREDUCE,
                         .sendbuf = sendbuf,
                         .recvbuf = recvbuf,
                         .count = count,
                         .datatype = datatype,
                         .op = op,
                         .comm = comm};
    collective_t collective = {.kind = call.kind, .count = (size_t)count};
    comm_state_t *state;
    size_t total;
    int refused = MPI_SUCCESS;

    if (request != NULL && call_decide(&call, &collective, &state, &total, &refused)) {
        return persistent_make(&call, state, &collective, total, request);
    }
    if (refused != MPI_SUCCESS) {
        return refused;
    }
    return ((MPIX_Allreduce_init_function_t *)host_call(CORE_MPIX_Allreduce_init))(sendbuf, recvbuf, count, datatype,
                                                                                   op, comm, info, request);
}

int core_reduce_scatter_init(PARAMETERS_PERSISTENT(const int *))
{
    const call_t call = {.kind = COLLECTIVE_REDUCE_SCATTER,
                         .sendbuf = sendbuf,
                         .recvbuf = recvbuf,
                         .counts = count,
                         .datatype = datatype,
                         .op = op,
                         .comm = comm};
    collective_t collective = {.kind = call.kind, .counts = count};
    comm_state_t *state;
    size_t total;
    int refused = MPI_SUCCESS;

    if (request != NULL && call_decide(&call, &collective, &state, &total, &refused)) {
        return persistent_make(&call, state, &collective, total, request);
    }
    if (refused != MPI_SUCCESS) {
        return refused;
    }
    return ((MPIX_Reduce_scatter_init_function_t *)host_call(CORE_MPIX_Reduce_scatter_init))(
        sendbuf, recvbuf, count, datatype, op, comm, info, request);
}

int core_reduce_scatter_block_init(PARAMETERS_PERSISTENT(int))
{
    const call_t call = {.kind = COLLECTIVE_REDUCE_SCATTER_BLOCK,
                         .sendbuf = sendbuf,
                         .recvbuf = recvbuf,
                         .count = count,
                         .datatype = datatype,
                         .op = op,
                         .comm = comm};
    collective_t collective = {.kind = call.kind, .count = (size_t)count};
    comm_state_t *state;
    size_t total;
    int refused = MPI_SUCCESS;

    if (request != NULL && call_decide(&call, &collective, &state, &total, &refused)) {
        return persistent_make(&call, state, &collective, total, request);
    }
    if (refused != MPI_SUCCESS) {
        return refused;
    }
    return ((MPIX_Reduce_scatter_block_init_function_t *)host_call(CORE_MPIX_Reduce_scatter_block_init))(
        sendbuf, recvbuf, count, datatype, op, comm, info, request);
}

static int persistent_start(persistent_t *persistent, MPI_Request *request)
{
    operation_t *operation = persistent->operation;
    const int code = REAL(MPI_Start)(request);

    if (code != MPI_SUCCESS) {
        return code;
    }
    if (*request != persistent->handle) {
        /* The host MPI may give a persistent request another handle when it is started (ompi/mca/pml/ob1). */
        persistents_lock();
        *persistent_link(persistent->handle) = persistent->next;
        persistent->handle = *request;
        persistent_insert(persistent);
        persistents_unlock();
    }
    operation->begun = false;
    operation->code = MPI_SUCCESS;
    operation->status = MPINPU_OK;
    operation->issued = process.observed ? process_clock() : 0;
    persistents_lock();
    persistent->active = true;
    persistents_unlock();
    outstanding_issue(operation);
    return MPI_SUCCESS;
}

int core_start(PARAMETERS_START(int))
{
    persistent_t *persistent = request != NULL ? persistent_find(*request) : NULL;

    return persistent != NULL ? persistent_start(persistent, request) : REAL(MPI_Start)(request);
}

int core_startall(PARAMETERS_STARTALL(int))
{
    bool any = false;
    int code = MPI_SUCCESS;

    for (int r = 0; r < count && requests != NULL && !any; r++) {
        any = persistent_find(requests[r]) != NULL;
    }
    if (!any) {
        return REAL(MPI_Startall)(count, requests);
    }
    for (int r = 0; r < count && code == MPI_SUCCESS; r++) {
        code = core_start(&requests[r]);
    }
    return code;
}

int core_request_free(PARAMETERS_RELEASE(int))
{
    persistent_t *persistent = request != NULL ? persistent_find(*request) : NULL;
    bool active;

    if (persistent == NULL) {
        return REAL(MPI_Request_free)(request);
    }
    persistents_lock();
    *persistent_link(persistent->handle) = persistent->next;
    atomic_fetch_sub_explicit(&process.persistents.count, 1, memory_order_relaxed);
    active = persistent->active;
    persistent->released = active;
    persistents_unlock();
    if (!active) {
        comm_state_t *state = persistent->operation->state;
        persistent_free(persistent);
        outstanding_unkeep(state);
    }
    return REAL(MPI_Request_free)(request);
}

void persistent_complete(persistent_t *persistent, int code)
{
    const operation_t *operation = persistent->operation;
    const MPI_Comm comm = operation->call.comm;
    const char byte = 0;
    const int tag = persistent->tag;
    bool released;

    if (code != MPI_SUCCESS && atomic_load_explicit(&operation->state->comm, memory_order_relaxed) == comm) {
        (void)PMPI_Comm_call_errhandler(comm, code);
    }
    persistents_lock();
    persistent->active = false;
    released = persistent->released;
    persistents_unlock();
    if (released) {
        operation->state->queue.kept--;
        persistent_free(persistent);
    }
    /* The receive has no room for a byte: MPI_ERR_TRUNCATE is how it fails. The program may start it again at once. */
    (void)PMPI_Send(&byte, code == MPI_SUCCESS ? 0 : 1, MPI_BYTE, 0, tag, process.persistents.self);
}
