/* SPDX-License-Identifier: BSD-3-Clause */
/* What the model of costs says of a communicator's calls: whether they go to the NPUs, and by which function. */
#include "engine/hccl/hccl.h"

#include "transport/log.h"

#include <inttypes.h>

/* In pays_log2: not asked yet, and never. */
enum { PAYS_UNKNOWN = 0, PAYS_NEVER = UINT8_MAX };

static unsigned encode_options(const engine_comm_t *comm)
{
    const engine_config_t *config = &comm->engine->config;

    return ENCODE_LIKE_HOST | (config->reproducible || config->npu.fp64_exact ? ENCODE_EXACT : 0U);
}

const encoding_t *hccl_encoding(const engine_comm_t *comm, collective_kind_t function, dtype_t dtype, op_t op)
{
    const encode_device_t device = hccl_wire_device(comm, function);
    const encoding_t *encoding = encoding_find(&device, dtype, op, comm->size, encode_options(comm));

    if (encoding == NULL || (encoding->rounds > 1 && !comm->engine->config.npu.fp64) ||
        (function == COLLECTIVE_REDUCE_SCATTER && !comm->vector) ||
        (function == COLLECTIVE_REDUCE_SCATTER_BLOCK && !comm->owners.even)) {
        return NULL;
    }
    return encoding;
}

void hccl_encodings(const engine_comm_t *comm, dtype_t dtype, op_t op,
                    const encoding_t *encodings[COLLECTIVE_KIND_COUNT])
{
    for (int k = 0; k < COLLECTIVE_KIND_COUNT; k++) {
        encodings[k] = hccl_encoding(comm, (collective_kind_t)k, dtype, op);
    }
}

model_places_t hccl_places(const engine_comm_t *comm)
{
    return (model_places_t){.ranks = comm->size,
                            .hosts = comm->owners.nhosts,
                            .owners = comm->nowners,
                            .servers = comm->owners.devices.servers};
}

static uint8_t pays_find(const engine_comm_t *comm, collective_kind_t kind, dtype_t dtype, op_t op, bool on_device)
{
    const encoding_t *encodings[COLLECTIVE_KIND_COUNT];
    const model_places_t places = hccl_places(comm);
    uint8_t power = 0;

    hccl_encodings(comm, dtype, op, encodings);
    const uint64_t from =
        model_pays_from(model_product(comm->owners.devices.product->series), &places, kind, encodings, on_device);
    if (from == UINT64_MAX) {
        log_debug("%s of %s by %s: the host CPUs are expected to be faster than the NPUs, whatever the size",
                  collective_kind_name(kind), dtype_name(dtype), op_name(op));
        return PAYS_NEVER;
    }
    log_debug("%s of %s by %s: the NPUs are expected to be faster than the host CPUs from %" PRIu64 " bytes on",
              collective_kind_name(kind), dtype_name(dtype), op_name(op), from);
    while (UINT64_C(1) << power < from) {
        power++;
    }
    return power;
}

bool hccl_pays(engine_comm_t *comm, const collective_t *collective, bool on_device)
{
    if (!comm->engine->config.npu.by_model) {
        return true;
    }
    uint8_t *power = &comm->pays_log2[on_device][collective->kind][collective->dtype][collective->op];
    if (*power == PAYS_UNKNOWN) {
        *power = pays_find(comm, collective->kind, collective->dtype, collective->op, on_device);
    }
    return *power != PAYS_NEVER &&
           collective_total(collective, comm->size) * dtype_size(collective->dtype) >> *power != 0;
}
