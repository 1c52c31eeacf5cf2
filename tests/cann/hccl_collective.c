/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives: what is checked when one is issued. hccl_run.c does them. */
#define _GNU_SOURCE
#include "tests/cann/collective.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_MAX 0x7FFFFFFFFull

static int buffer_check(const char *what, const void *buffer, size_t bytes, size_t element, int device)
{
    const char *why = NULL;
    int lies_on = device;
    if (bytes == 0) {
        return HCCL_SUCCESS;
    }
    if (buffer == NULL) {
        return standin_refuse(HCCL_E_PTR, "EI0003: %s is NULL", what);
    }
    if ((uintptr_t)buffer % element != 0) {
        return standin_refuse(HCCL_E_PARA, "EI0003: %s %p is not aligned to %zu bytes", what, buffer, element);
    }
    standin_memory_lock();
    bool found = standin_device_bytes(buffer, bytes, &lies_on, &why) != NULL;
    standin_memory_unlock();
    if (!found || lies_on != device) {
        return standin_refuse(HCCL_E_PARA, "EI0003: %s %p of %zu bytes %s", what, buffer, bytes,
                              found ? "lies on another device" : why);
    }
    return HCCL_SUCCESS;
}

/* In place is one buffer for both, and only where each element is written where it was read. */
static int overlap_check(const collective_t *collective)
{
    const char *send = collective->send;
    const char *recv = collective->recv;
    bool same = send == recv && collective->operation.kind == OPERATION_ALLREDUCE;
    if (collective->operation.kind == OPERATION_BROADCAST || same || send >= recv + collective->recv_bytes ||
        recv >= send + collective->send_bytes) {
        return HCCL_SUCCESS;
    }
    return standin_refuse(HCCL_E_PARA, "EI0003: the buffers overlap");
}

static int collective_check(const collective_t *collective)
{
    const communicator_t *communicator = collective->communicator;
    size_t element = collective->element;
    int code = rules_operation(communicator, &collective->operation);
    if (code == HCCL_SUCCESS && collective->operation.count > COUNT_MAX) {
        code = standin_refuse(HCCL_E_PARA, "EI0003: the count is more than %llu", COUNT_MAX);
    }
    if (code == HCCL_SUCCESS && collective->operation.root >= communicator->ranks) {
        code = standin_refuse(HCCL_E_PARA, "EI0003: there is no root %u", collective->operation.root);
    }
    if (code == HCCL_SUCCESS && collective->operation.kind != OPERATION_BARRIER) {
        code = buffer_check("sendBuf", collective->send, collective->send_bytes, element, communicator->device);
        if (code == HCCL_SUCCESS) {
            code = buffer_check("recvBuf", collective->recv, collective->recv_bytes, element, communicator->device);
        }
        if (code == HCCL_SUCCESS) {
            code = overlap_check(collective);
        }
    }
    return code;
}

/* The first collective of a kind makes the links, in the call: all ranks must come within CONNECT_TIMEOUT. */
static int collective_link(communicator_t *communicator, operation_kind_t kind)
{
    double deadline = standin_now() + rules_connect_timeout();
    if (communicator->linked[kind] || communicator->ranks == 1) {
        return HCCL_SUCCESS;
    }
    int code = communicator_buffers(communicator);
    if (code != HCCL_SUCCESS) {
        return code;
    }
    atomic_store(&communicator->shared->ranks[communicator->rank].linked[kind], 1);
    for (uint32_t r = 0; r < communicator->ranks; r++) {
        while (atomic_load(&communicator->shared->ranks[r].linked[kind]) == 0) {
            if (standin_now() > deadline || atomic_load(&communicator->destroyed)) {
                atomic_store(&communicator->broken, true);
                return standin_fail(HCCL_E_TIMEOUT, "EI0006: getting socket times out: rank %u is not there", r);
            }
            nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        }
    }
    communicator->linked[kind] = true;
    return HCCL_SUCCESS;
}

static int collective_add(collective_t *collective, standin_stream_t *stream)
{
    communicator_t *communicator = collective->communicator;
    int code = atomic_load(&communicator->broken)
                   ? standin_fail(HCCL_E_INTERNAL, "EI9999: a collective of this communicator failed before")
                   : collective_check(collective);
    if (code == HCCL_SUCCESS) {
        code = collective_link(communicator, collective->operation.kind);
    }
    collective_t *task = code == HCCL_SUCCESS ? malloc(sizeof *task) : NULL;
    if (task == NULL) {
        return code != HCCL_SUCCESS ? code : standin_fail(HCCL_E_MEMORY, "EI0007: no memory");
    }
    *task = *collective;
    task->number = communicator->issued++;
    task->turn = collective_turn_take(communicator->device);
    task->task = (standin_task_t){.run = collective_run, .release = collective_release};
    communicator_hold(communicator);
    standin_stream_add(stream, &task->task);
    return HCCL_SUCCESS;
}

/* Issues what is filled in but for the communicator's part. */
static int collective_issue(collective_t *collective, HcclComm comm, aclrtStream stream_handle)
{
    int code;
    if (stream_handle == NULL) {
        return standin_refuse(HCCL_E_PTR, "EI0003: stream is NULL");
    }
    communicator_t *communicator = communicator_find(comm, &code);
    if (communicator == NULL) {
        return code;
    }
    const standin_context_t *context = standin_context(&code);
    standin_stream_t *stream = context == NULL ? NULL : standin_stream_find(stream_handle, context, &code);
    if (stream == NULL) {
        code = HCCL_E_RUNTIME;
    } else if (context != communicator->context) {
        code = standin_refuse(HCCL_E_RUNTIME, "EI9999: the communicator is of another context");
    } else {
        code = communicator_enter(communicator->device);
    }
    if (code == HCCL_SUCCESS) {
        uint32_t ranks = communicator->ranks;
        collective->communicator = communicator;
        collective->element = rules_type_bytes(collective->operation.type);
        collective_extend(collective, ranks);
        code = collective_add(collective, stream);
        communicator_leave(communicator->device);
    }
    communicator_let_go(communicator);
    return code;
}

HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count, HcclDataType dataType, HcclReduceOp op,
                         HcclComm comm, aclrtStream stream)
{
    STANDIN_ENTER(HcclAllReduce);
    collective_t collective = {
        .function = "HcclAllReduce.task",
        .operation = {.kind = OPERATION_ALLREDUCE, .type = dataType, .op = op, .count = count},
        .send = sendBuf,
        .recv = recvBuf,
    };
    return count == 0 ? HCCL_SUCCESS : (HcclResult)collective_issue(&collective, comm, stream);
}

HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount, HcclDataType dataType, HcclReduceOp op,
                             HcclComm comm, aclrtStream stream)
{
    STANDIN_ENTER(HcclReduceScatter);
    collective_t collective = {
        .function = "HcclReduceScatter.task",
        .operation = {.kind = OPERATION_REDUCE_SCATTER, .type = dataType, .op = op, .count = recvCount},
        .send = sendBuf,
        .recv = recvBuf,
    };
    return recvCount == 0 ? HCCL_SUCCESS : (HcclResult)collective_issue(&collective, comm, stream);
}

HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts, const void *sendDispls, void *recvBuf,
                              uint64_t recvCount, HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                              aclrtStream stream)
{
    STANDIN_ENTER(HcclReduceScatterV);
    int code;
    collective_t collective = {
        .function = "HcclReduceScatterV.task",
        .operation = {.kind = OPERATION_REDUCE_SCATTER_V, .type = dataType, .op = op},
        .send = sendBuf,
        .recv = recvBuf,
    };
    if (sendCounts == NULL || sendDispls == NULL) {
        return standin_refuse(HCCL_E_PTR, "EI0003: counts or displacements are NULL");
    }
    communicator_t *communicator = communicator_find(comm, &code);
    if (communicator == NULL) {
        return code;
    }
    uint32_t ranks = communicator->ranks;
    uint32_t rank = communicator->rank;
    communicator_let_go(communicator);
    memcpy(collective.counts, sendCounts, ranks * sizeof(uint64_t));
    memcpy(collective.places, sendDispls, ranks * sizeof(uint64_t));
    if (collective.counts[rank] != recvCount) {
        return standin_refuse(HCCL_E_PARA, "EI0003: recvCount is not sendCounts[%u]", rank);
    }
    return collective_issue(&collective, comm, stream);
}

HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount, HcclDataType dataType, HcclComm comm,
                         aclrtStream stream)
{
    STANDIN_ENTER(HcclAllGather);
    collective_t collective = {
        .function = "HcclAllGather.task",
        .operation = {.kind = OPERATION_ALLGATHER, .type = dataType, .count = sendCount},
        .send = sendBuf,
        .recv = recvBuf,
    };
    return sendCount == 0 ? HCCL_SUCCESS : (HcclResult)collective_issue(&collective, comm, stream);
}

HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType, uint32_t root, HcclComm comm,
                         aclrtStream stream)
{
    STANDIN_ENTER(HcclBroadcast);
    collective_t collective = {
        .function = "HcclBroadcast.task",
        .operation = {.kind = OPERATION_BROADCAST, .type = dataType, .root = root, .count = count},
        .send = buf,
        .recv = buf,
    };
    return count == 0 ? HCCL_SUCCESS : (HcclResult)collective_issue(&collective, comm, stream);
}

HcclResult HcclBarrier(HcclComm comm, aclrtStream stream)
{
    STANDIN_ENTER(HcclBarrier);
    collective_t collective = {.function = "HcclBarrier.task", .operation = {.kind = OPERATION_BARRIER}};
    return collective_issue(&collective, comm, stream);
}
