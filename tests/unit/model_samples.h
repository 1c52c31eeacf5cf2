/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of the cost model try: products, layouts of ranks, encodings. */
#ifndef TESTS_UNIT_MODEL_SAMPLES_H
#define TESTS_UNIT_MODEL_SAMPLES_H

#include "engine/hccl/model.h"

static const atlas_series_t model_series[] = {ATLAS_910, ATLAS_A2, ATLAS_A3, ATLAS_310P, ATLAS_950};
enum { MODEL_SERIES_COUNT = sizeof model_series / sizeof model_series[0] };

/* One rank a device, or many; one host, or many; hosts without devices. */
static const model_places_t model_layouts[] = {
    {2, 1, 2, 1},  {4, 1, 4, 1},   {8, 1, 8, 1},       {64, 1, 8, 1},       {4, 2, 4, 2},    {16, 2, 16, 2},
    {12, 3, 6, 2}, {24, 3, 24, 3}, {128, 16, 128, 16}, {1024, 16, 128, 16}, {100, 5, 20, 5}, {4608, 512, 1024, 512}};
enum { MODEL_LAYOUT_COUNT = sizeof model_layouts / sizeof model_layouts[0] };

/* The encoding of dtype and op in HCCL's function of the kind on CANN 8.2; NULL if there is none. Integers wrap. */
static inline const encoding_t *model_encoding(atlas_series_t series, collective_kind_t function, dtype_t dtype,
                                               op_t op)
{
    encode_device_t device = {0};

    for (int d = 0; d < DTYPE_COUNT; d++) {
        for (int o = 0; o < OP_COUNT; o++) {
            if (atlas_serves(atlas_product(series), ATLAS_VERSION(8, 2), function, (dtype_t)d, (op_t)o)) {
                device.reduces[d] = (uint16_t)(device.reduces[d] | 1U << o);
            }
        }
        device.wraps[d] = UINT16_MAX;
    }
    return encoding_find(&device, dtype, op, 16, ENCODE_LIKE_HOST);
}

#endif
