/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: RTLD_NOLOAD */

#include "shim/device_buffers.h"

#include "mpi_compat/errors.h"
#include "mpi_compat/exchange.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of CANN, as acl/acl_rt.h has them. */
enum { COPY_TO_DEVICE = 1, COPY_TO_HOST = 2, LOCATION_DEVICE = 1 };

typedef struct attributes {
    uint32_t id;
    int type;
    uint32_t rest[5];
} attributes_t;

_Static_assert(sizeof(attributes_t) == 28, "aclrtPtrAttributes");

typedef int attributes_function_t(const void *, attributes_t *);
typedef int copy_function_t(void *, size_t, const void *, size_t, int);

void device_buffers_look(void)
{
    static const char *const libraries[] = {"libacl_rt.so", "libascendcl.so"};

    pthread_mutex_lock(&process.lock);
    for (size_t l = 0; process.device.copy == NULL && l < sizeof libraries / sizeof libraries[0]; l++) {
        void *handle = dlopen(libraries[l], RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL) {
            /* The handle is kept: the functions are used from now on. */
            process.device.copy = dlsym(handle, "aclrtMemcpy");
            process.device.attributes = dlsym(handle, "aclrtPointerGetAttributes");
        }
    }
    pthread_mutex_unlock(&process.lock);
}

static bool on_device(const void *buffer)
{
    attributes_function_t *function = NULL;
    attributes_t attributes = {0};

    if (buffer == NULL || buffer == MPI_IN_PLACE) {
        return false;
    }
    if (process.real->device_owns != NULL && process.real->device_owns(buffer)) {
        return true;
    }
    memcpy(&function, &process.device.attributes, sizeof function);
    /* An error is CANN's way to say that it does not know the pointer. */
    return function != NULL && function(buffer, &attributes) == 0 && attributes.type == LOCATION_DEVICE;
}

bool device_buffers_any(const call_t *call)
{
    return on_device(call->sendbuf) || on_device(call->recvbuf);
}

bool device_buffers_all(const call_t *call)
{
    return on_device(call->recvbuf) && (call->sendbuf == MPI_IN_PLACE || on_device(call->sendbuf));
}

bool device_buffers_found(const call_t *call)
{
    if (device_buffers_possible()) {
        return false; /* and was asked before */
    }
    device_buffers_look();
    return device_buffers_possible() && device_buffers_any(call);
}

static int copy(const call_t *call, void *to, const void *from, size_t bytes, int kind)
{
    copy_function_t *function = NULL;
    char text[160];
    int code = 0;

    if (bytes == 0) {
        return MPI_SUCCESS;
    }
    if (process.device.copy == NULL) {
        device_buffers_look();
    }
    memcpy(&function, &process.device.copy, sizeof function);
    if (function != NULL) {
        code = function(to, bytes, from, bytes, kind);
    }
    if (function != NULL && code == 0) {
        return MPI_SUCCESS;
    }
    (void)snprintf(text, sizeof text, "%zu bytes of a buffer on an NPU cannot be copied %s the host: aclrtMemcpy %s %d",
                   bytes, kind == COPY_TO_HOST ? "to" : "from", function != NULL ? "returns" : "is not there,", code);
    return compat_error_raise(call->comm, MPINPU_ERR_DEVICE, text);
}

/* What `count` elements span: bytes from the first used one on, and where that is from the buffer's address. */
typedef struct span {
    size_t bytes;
    MPI_Aint begin;
    bool gaps;
} span_t;

static bool span_get(MPI_Datatype datatype, size_t count, span_t *span)
{
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Aint used = 0;
    int size = 0;

    if (PMPI_Type_get_extent(datatype, &lower, &extent) != MPI_SUCCESS || extent < 0 ||
        PMPI_Type_get_true_extent(datatype, &lower, &used) != MPI_SUCCESS ||
        PMPI_Type_size(datatype, &size) != MPI_SUCCESS) {
        return false;
    }
    span->bytes = count > 0 ? (count - 1) * (size_t)extent + (size_t)used : 0;
    span->begin = lower;
    span->gaps = size != extent;
    return true;
}

/* Elements of the input and of the result; false where the host MPI will refuse the call. */
static bool counts_get(const call_t *call, size_t *input, size_t *result)
{
    int size = 0;
    int rank = 0;

    if (!compat_comm_valid(call->comm) || call->datatype == MPI_DATATYPE_NULL ||
        PMPI_Comm_size(call->comm, &size) != MPI_SUCCESS || PMPI_Comm_rank(call->comm, &rank) != MPI_SUCCESS ||
        (call->kind == COLLECTIVE_REDUCE_SCATTER ? call->counts == NULL : call->count < 0)) {
        return false;
    }
    *input = *result = (size_t)call->count;
    if (call->kind == COLLECTIVE_REDUCE_SCATTER_BLOCK) {
        *input *= (size_t)size;
    } else if (call->kind == COLLECTIVE_REDUCE_SCATTER) {
        *result = (size_t)call->counts[rank];
        return call_counts_sum(call, size, input);
    }
    return true;
}

/* A buffer on the host for one on an NPU, with its contents if they are needed. */
static int buffer_make(const call_t *call, const void *device, const span_t *span, bool filled, char **made)
{
    char *host = malloc(span->bytes > 0 ? span->bytes : 1);
    int code = MPI_SUCCESS;

    if (host == NULL) {
        return compat_error_raise(call->comm, MPINPU_ERR_NO_MEMORY, "no memory for a buffer on the host");
    }
    if (filled) {
        code = copy(call, host, (const char *)device + span->begin, span->bytes, COPY_TO_HOST);
    }
    if (code != MPI_SUCCESS) {
        free(host);
        return code;
    }
    *made = host;
    return MPI_SUCCESS;
}

int device_buffers_begin(device_buffers_t *buffers, call_t *call)
{
    const bool in_place = call->sendbuf == MPI_IN_PLACE;
    const bool same = call->sendbuf == call->recvbuf;
    size_t input = 0;
    size_t result = 0;
    span_t sent;
    span_t received;
    int code = MPI_SUCCESS;

    *buffers = (device_buffers_t){0};
    if (!counts_get(call, &input, &result) || !span_get(call->datatype, input, &sent) ||
        !span_get(call->datatype, result, &received)) {
        return MPI_SUCCESS;
    }
    if (on_device(call->recvbuf)) {
        const span_t *span = in_place || same ? &sent : &received;
        code = buffer_make(call, call->recvbuf, span, in_place || same || received.gaps, &buffers->recv);
        if (code != MPI_SUCCESS) {
            return code;
        }
        buffers->place = (char *)call->recvbuf + received.begin;
        buffers->result = buffers->recv;
        buffers->bytes = received.bytes;
        call->recvbuf = buffers->recv - received.begin;
    }
    if (!in_place && same) {
        call->sendbuf = call->recvbuf;
    } else if (on_device(call->sendbuf)) {
        code = buffer_make(call, call->sendbuf, &sent, true, &buffers->send);
        if (code != MPI_SUCCESS) {
            free(buffers->recv);
            *buffers = (device_buffers_t){0};
            return code;
        }
        call->sendbuf = buffers->send - sent.begin;
    }
    return MPI_SUCCESS;
}

int device_buffers_end(device_buffers_t *buffers, MPI_Comm comm, bool done)
{
    const call_t call = {.comm = comm};
    int code = MPI_SUCCESS;

    if (done && buffers->place != NULL) {
        code = copy(&call, buffers->place, buffers->result, buffers->bytes, COPY_TO_DEVICE);
    }
    free(buffers->send);
    free(buffers->recv);
    *buffers = (device_buffers_t){0};
    return code;
}
