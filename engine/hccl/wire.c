/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes over the wire, in the vendor's numbers, and what the devices make of it. */
#include "engine/hccl/hccl.h"

/* -1: HCCL has no such. */
static const HcclDataType wire_types[DTYPE_COUNT] = {
    [DTYPE_I8] = HCCL_DATA_TYPE_INT8,    [DTYPE_I16] = HCCL_DATA_TYPE_INT16,  [DTYPE_I32] = HCCL_DATA_TYPE_INT32,
    [DTYPE_I64] = HCCL_DATA_TYPE_INT64,  [DTYPE_U8] = HCCL_DATA_TYPE_UINT8,   [DTYPE_U16] = HCCL_DATA_TYPE_UINT16,
    [DTYPE_U32] = HCCL_DATA_TYPE_UINT32, [DTYPE_U64] = HCCL_DATA_TYPE_UINT64, [DTYPE_F16] = HCCL_DATA_TYPE_FP16,
    [DTYPE_BF16] = HCCL_DATA_TYPE_BFP16, [DTYPE_F32] = HCCL_DATA_TYPE_FP32,   [DTYPE_F64] = HCCL_DATA_TYPE_FP64,
};

static const HcclReduceOp wire_ops[OP_COUNT] = {
    [OP_SUM] = HCCL_REDUCE_SUM,
    [OP_PROD] = HCCL_REDUCE_PROD,
    [OP_MIN] = HCCL_REDUCE_MIN,
    [OP_MAX] = HCCL_REDUCE_MAX,
};

HcclDataType hccl_wire_type(dtype_t dtype)
{
    return wire_types[dtype];
}

HcclReduceOp hccl_wire_op(op_t op)
{
    return wire_ops[op];
}

static bool wire_float(int dtype)
{
    return dtype == DTYPE_F16 || dtype == DTYPE_BF16 || dtype == DTYPE_F32 || dtype == DTYPE_F64;
}

/* Sums and products of floats depend on the layout of the devices, however deterministic HCCL is on one of them. */
static bool wire_allowed(const engine_comm_t *comm, int dtype, op_t op)
{
    return !comm->engine->config.reproducible || !wire_float(dtype) || op == OP_MIN || op == OP_MAX;
}

encode_device_t hccl_wire_device(const engine_comm_t *comm, collective_kind_t kind)
{
    static const op_t ops[] = {OP_SUM, OP_PROD, OP_MIN, OP_MAX};
    encode_device_t device = {0};

    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (unsigned o = 0; o < sizeof ops / sizeof ops[0]; o++) {
            /* All rounds but the last are allreduces. */
            if (wire_allowed(comm, d, ops[o]) &&
                atlas_devices_serve(&comm->owners.devices, comm->version, COLLECTIVE_ALLREDUCE, (dtype_t)d, ops[o]) &&
                atlas_devices_serve(&comm->owners.devices, comm->version, kind, (dtype_t)d, ops[o])) {
                device.reduces[d] = (uint16_t)(device.reduces[d] | 1U << ops[o]);
            }
        }
        device.wraps[d] = comm->prepared ? comm->wraps[d] : UINT16_MAX;
    }
    return device;
}
