/* SPDX-License-Identifier: BSD-3-Clause */
/* What each product allows, from the vendor's pages: a copy of its own, so that the engine's table is tested by it. */
#define _GNU_SOURCE
#include "tests/cann/communicator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define S (1u << HCCL_REDUCE_SUM)
#define P (1u << HCCL_REDUCE_PROD)
#define X (1u << HCCL_REDUCE_MAX)
#define N (1u << HCCL_REDUCE_MIN)

/* A row of a product: the ops of each type. */
typedef struct type_row {
    HcclDataType type;
    size_t bytes;
    const char *name;
    unsigned ops[PRODUCT_NONE];       /* AllReduce and ReduceScatter */
    unsigned scatter_v[PRODUCT_NONE]; /* ReduceScatterV */
} type_row_t;

/* 910A, A2, A3, 310P, 950 */
static const type_row_t type_rows[] = {
    {HCCL_DATA_TYPE_INT8,
     1,
     "int8",
     {S | P | X | N, S | P | X | N, S | P | X | N, S | P | X | N, S | P | X | N},
     {0, S | X | N, S | X | N, 0, S | P | X | N}},
    {HCCL_DATA_TYPE_INT16,
     2,
     "int16",
     {0, S | X | N, S | X | N, S, S | X | N},
     {0, S | X | N, S | X | N, S, S | X | N}},
    {HCCL_DATA_TYPE_INT32,
     4,
     "int32",
     {S | P | X | N, S | P | X | N, S | P | X | N, S | P | X | N, S | P | X | N},
     {0, S | X | N, S | X | N, 0, S | P | X | N}},
    {HCCL_DATA_TYPE_INT64,
     8,
     "int64",
     {S | P | X | N, S | P | X | N, S | P | X | N, 0, S | P | X | N},
     {0, 0, S | X | N, 0, S | P | X | N}},
    {HCCL_DATA_TYPE_FP16,
     2,
     "fp16",
     {S | P | X | N, S | P | X | N, S | P | X | N, S | P | X | N, S | P | X | N},
     {0, S | X | N, S | X | N, S, S | P | X | N}},
    {HCCL_DATA_TYPE_FP32,
     4,
     "fp32",
     {S | P | X | N, S | P | X | N, S | P | X | N, S | P | X | N, S | P | X | N},
     {0, S | X | N, S | X | N, S, S | P | X | N}},
    {HCCL_DATA_TYPE_BFP16, 2, "bf16", {0, S | X | N, S | X | N, 0, S | X | N}, {0, S | X | N, S | X | N, 0, S | X | N}},
    {HCCL_DATA_TYPE_FP64, 8, "fp64", {0, 0, 0, 0, S | P | X | N}, {0}},
    {HCCL_DATA_TYPE_UINT64, 8, "uint64", {0, 0, 0, 0, S | P | X | N}, {0}},
    {HCCL_DATA_TYPE_UINT8, 1, "uint8", {0}, {0}},
    {HCCL_DATA_TYPE_UINT16, 2, "uint16", {0}, {0}},
    {HCCL_DATA_TYPE_UINT32, 4, "uint32", {0}, {0}},
};

static const type_row_t *type_find(HcclDataType type)
{
    for (size_t i = 0; i < sizeof type_rows / sizeof type_rows[0]; i++) {
        if (type_rows[i].type == type) {
            return &type_rows[i];
        }
    }
    return NULL;
}

size_t rules_type_bytes(HcclDataType type)
{
    const type_row_t *row = type_find(type);
    return row == NULL ? 0 : row->bytes;
}

static int not_supported(const char *what)
{
    return standin_refuse(HCCL_E_NOT_SUPPORT, "EI0003: %s is not supported on %s", what, standin_soc());
}

static int rules_scatter_v(const communicator_t *communicator, const type_row_t *row, HcclReduceOp op)
{
    standin_product_t product = standin_product();
    if ((row->scatter_v[product] >> op & 1) == 0) {
        return not_supported("ReduceScatterV of this type and op");
    }
    if (product == PRODUCT_A2 && !communicator->even) {
        return not_supported("ReduceScatterV over servers of unequal numbers of devices");
    }
    if ((product == PRODUCT_A3 || product == PRODUCT_310P) && communicator->servers > 1) {
        return not_supported("ReduceScatterV over several servers");
    }
    if (product == PRODUCT_310P && communicator->ranks > 4) {
        return not_supported("ReduceScatterV over more than 4 devices");
    }
    return HCCL_SUCCESS;
}

int rules_operation(const communicator_t *communicator, const operation_t *operation)
{
    standin_product_t product = standin_product();
    const type_row_t *row = type_find(operation->type);
    if (operation->kind == OPERATION_BARRIER) {
        return product == PRODUCT_310P ? not_supported("Barrier") : HCCL_SUCCESS;
    }
    if (row == NULL) {
        return standin_refuse(HCCL_E_PARA, "EI0003: there is no data type %d", (int)operation->type);
    }
    if (operation->kind == OPERATION_ALLGATHER || operation->kind == OPERATION_BROADCAST) {
        return HCCL_SUCCESS; /* bytes are moved, whatever they mean */
    }
    if ((unsigned)operation->op > HCCL_REDUCE_MIN) {
        return standin_refuse(HCCL_E_PARA, "EI0003: there is no op %d", (int)operation->op);
    }
    if (operation->kind == OPERATION_REDUCE_SCATTER_V) {
        return rules_scatter_v(communicator, row, operation->op);
    }
    return (row->ops[product] >> operation->op & 1) == 0 ? not_supported(row->name) : HCCL_SUCCESS;
}

/* --- which devices --- */

typedef struct server {
    const char *name;
    int devices;
    uint64_t set; /* of device numbers */
} server_t;

/* Devices 0 to 3 are one ring, 4 to 7 the other. */
static bool one_ring(uint64_t set)
{
    return (set & ~(uint64_t)0x0F) == 0 || (set & ~(uint64_t)0xF0) == 0;
}

static const char *server_refusal(standin_product_t product, const server_t *server)
{
    int n = server->devices;
    switch (product) {
    case PRODUCT_910A:
        if (n != 1 && n != 2 && n != 4 && n != 8) {
            return "a server has 1, 2, 4 or 8 devices in a job";
        }
        return n == 8 || one_ring(server->set) ? NULL : "2 or 4 devices lie in 0 to 3 or in 4 to 7";
    case PRODUCT_A2:
    case PRODUCT_950:
        return n <= 8 ? NULL : "a server has at most 8 devices";
    case PRODUCT_A3:
        return n <= 16 ? NULL : "a server has at most 16 devices";
    case PRODUCT_310P:
        return n <= 32 ? NULL : "a server has at most 32 devices";
    default:
        return "there is no HCCL on this chip";
    }
}

static const char *job_refusal(standin_product_t product, int servers, bool even)
{
    int most = product == PRODUCT_910A ? 512 : product == PRODUCT_A2 ? 1152 : product == PRODUCT_310P ? 1 : 1 << 20;
    if (servers > most) {
        return "there are too many servers";
    }
    return even || product != PRODUCT_910A ? NULL : "each server has the same number of devices";
}

static const char *member_refusal(const member_t *first, const member_t *member)
{
    if (strcmp(first->soc, member->soc) != 0) {
        return "the chips differ";
    }
    if (first->release != member->release) {
        return "EI0008: the versions of CANN differ";
    }
    return strcmp(first->environment, member->environment) != 0 ? "EI0005: the settings (HCCL_*) differ" : NULL;
}

int rules_topology(const member_t *members, uint32_t ranks, int *servers, bool *even)
{
    standin_product_t product = standin_product();
    server_t found[RANKS_MAX];
    const char *refusal = NULL;
    *servers = 0;
    *even = true;
    for (uint32_t r = 0; r < ranks && refusal == NULL; r++) {
        int s = 0;
        while (s < *servers && strcmp(found[s].name, members[r].server) != 0) {
            s++;
        }
        if (s == *servers) {
            found[(*servers)++] = (server_t){.name = members[r].server};
        }
        uint64_t bit = (uint64_t)1 << members[r].device;
        refusal = (found[s].set & bit) != 0 && rules_processes() < 2 ? "EI0014: two ranks have one device"
                                                                     : member_refusal(&members[0], &members[r]);
        found[s].set |= bit;
        found[s].devices++;
    }
    for (int s = 0; s < *servers && refusal == NULL; s++) {
        *even = *even && found[s].devices == found[0].devices;
        refusal = server_refusal(product, &found[s]);
    }
    if (refusal == NULL) {
        refusal = job_refusal(product, *servers, *even);
    }
    return refusal == NULL ? HCCL_SUCCESS : standin_refuse(HCCL_E_PARA, "EI0004: %s: %s", standin_soc(), refusal);
}

int rules_processes(void)
{
    standin_product_t product = standin_product();
    if (standin_number("CANN_DRIVER", 24.1) < 25.0 || getenv("HCCL_HOST_SOCKET_PORT_RANGE") == NULL ||
        getenv("HCCL_NPU_SOCKET_PORT_RANGE") == NULL) {
        return 1;
    }
    return product == PRODUCT_A2 ? 8 : product == PRODUCT_A3 || product == PRODUCT_950 ? 6 : 1;
}

/* --- how long: tens of microseconds to start, and the links' speeds --- */

typedef struct speed_row {
    double start;  /* s */
    double inside; /* bytes/s a device inside a server */
    double across; /* bytes/s of a device's network */
    bool mesh;     /* all devices of a server joined with all; else a ring */
} speed_row_t;

static const speed_row_t speed_rows[PRODUCT_NONE] = {
    [PRODUCT_910A] = {25e-6, 37.8e9, 12.5e9, false}, [PRODUCT_A2] = {20e-6, 56e9, 25e9, true},
    [PRODUCT_A3] = {5.5e-6, 196e9, 50e9, true},      [PRODUCT_310P] = {30e-6, 12e9, 1e9, false},
    [PRODUCT_950] = {5.5e-6, 196e9, 50e9, true},
};

/* One half (reduce-scatter or allgather) of `bytes` over p places. */
static double half_seconds(int p, double bytes, double start, double speed, bool mesh)
{
    if (p < 2) {
        return 0;
    }
    return mesh ? start + bytes / p / speed : (p - 1) * (start / p) + (p - 1) * bytes / p / speed;
}

double rules_seconds(const communicator_t *communicator, const operation_t *operation, size_t bytes)
{
    const speed_row_t *row = &speed_rows[standin_product()];
    int inside = (int)communicator->ranks / communicator->servers;
    double half = half_seconds(inside, (double)bytes, row->start, row->inside, row->mesh) +
                  half_seconds(communicator->servers, (double)bytes / inside, row->start, row->across, false);
    bool both = operation->kind == OPERATION_ALLREDUCE || operation->kind == OPERATION_BROADCAST;
    return row->start + (both ? 2 : 1) * half;
}
