/* SPDX-License-Identifier: BSD-3-Clause */
/* What the time of the calls went on, stage by stage: the CPU's stages by the clock, the device's by its events. Only
   where the configuration asks for it. */
#include "engine/hccl/hccl.h"

static const char *const time_names[HCCL_TIME_COUNT] = {
    [HCCL_TIME_ENCODE] = "encode",         [HCCL_TIME_GROUP] = "group",     [HCCL_TIME_TO_DEVICE] = "to device",
    [HCCL_TIME_COLLECTIVE] = "collective", [HCCL_TIME_TO_HOST] = "to host", [HCCL_TIME_DECODE] = "decode",
    [HCCL_TIME_WAIT] = "waiting",
};

/* Of what the device does in a stream. */
static const hccl_time_t stage_times[HCCL_STAGE_COUNT] = {
    [HCCL_STAGE_IN] = HCCL_TIME_TO_DEVICE,
    [HCCL_STAGE_REDUCE] = HCCL_TIME_COLLECTIVE,
    [HCCL_STAGE_OUT] = HCCL_TIME_TO_HOST,
};

uint64_t hccl_time_begin(const engine_t *engine)
{
    return engine->config.times ? (uint64_t)hccl_clock_ns() : 0;
}

void hccl_time_end(engine_t *engine, hccl_time_t time, uint64_t begin)
{
    if (engine->config.times) {
        engine->times[time] += hccl_time_begin(engine) - begin;
    }
}

bool hccl_times_events(const engine_t *engine)
{
    return engine->config.times && engine->cann.aclrtEventElapsedTime != NULL;
}

mpinpu_status_t hccl_stage_begin(engine_t *engine, const hccl_slot_t *slot, hccl_stage_t stage)
{
    if (!hccl_times_events(engine)) {
        return MPINPU_OK;
    }
    return hccl_acl_check(engine, "aclrtRecordEvent",
                          engine->cann.aclrtRecordEvent(slot->begun[stage], engine->npu.streams[stage]));
}

void hccl_stages_add(engine_t *engine, const hccl_slot_t *slot)
{
    for (int s = 0; s < HCCL_STAGE_COUNT && hccl_times_events(engine); s++) {
        float milliseconds = 0;
        if (engine->cann.aclrtEventElapsedTime(&milliseconds, slot->begun[s], slot->done[s]) == ACL_SUCCESS &&
            milliseconds > 0) {
            engine->times[stage_times[s]] += (uint64_t)(1e6 * (double)milliseconds);
        }
    }
}

void hccl_times(const engine_t *engine, void (*stage)(void *context, const char *name, uint64_t nanoseconds),
                void *context)
{
    uint64_t sum = 0;

    for (int t = 0; t < HCCL_TIME_COUNT; t++) {
        sum += engine->times[t];
    }
    for (int t = 0; t < HCCL_TIME_COUNT && sum > 0; t++) {
        stage(context, time_names[t], engine->times[t]);
    }
}
