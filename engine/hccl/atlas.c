/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/hccl/atlas.h"

#include <stdio.h>
#include <string.h>

#define ATLAS_SIZE(devices)  (UINT64_C(1) << (devices))
#define ATLAS_SIZES(devices) ((UINT64_C(2) << (devices)) - 2) /* 1 to `devices` */

static const atlas_product_t products[ATLAS_SERIES_COUNT] = {
#define ATLAS_PRODUCT(ID, ...) [ATLAS_##ID] = {.series = ATLAS_##ID, __VA_ARGS__},
#include "engine/hccl/atlas.def"
#undef ATLAS_PRODUCT
};

typedef enum soc_match { SOC_WHOLE, SOC_START, SOC_LONGER } soc_match_t;

static const struct soc {
    const char *text;
    soc_match_t match;
    atlas_series_t series;
} socs[] = {
#define ATLAS_SOC(text, MATCH, ID) {text, SOC_##MATCH, ATLAS_##ID},
#include "engine/hccl/atlas.def"
#undef ATLAS_SOC
};

/* Sets of ops. */
enum {
    OPS_NONE = 0,
    OPS_SUM = 1 << OP_SUM,
    OPS_NO_PROD = OPS_SUM | 1 << OP_MIN | 1 << OP_MAX,
    OPS_ALL = OPS_NO_PROD | 1 << OP_PROD
};
enum { REACH_FAR = false, REACH_NEAR = true }; /* over servers, or inside one */
enum { PACE_FAST = false, PACE_SLOW = true };

typedef struct type_row {
    atlas_series_t series;
    dtype_t dtype;
    uint32_t since; /* CANN version */
    uint32_t ops;
    uint32_t vector_ops; /* of HcclReduceScatterV */
    bool one_server;
    bool slow;
} type_row_t;

static const type_row_t types[] = {
#define ATLAS_TYPE(ID, DTYPE, since, ops, vector_ops, reach, pace) \
    {ATLAS_##ID, DTYPE_##DTYPE, since, OPS_##ops, OPS_##vector_ops, REACH_##reach, PACE_##pace},
#include "engine/hccl/atlas.def"
#undef ATLAS_TYPE
};

static bool soc_is(const struct soc *soc, const char *name)
{
    size_t bytes = strlen(soc->text);

    if (strncmp(name, soc->text, bytes) != 0) {
        return false;
    }
    return soc->match == SOC_START || (name[bytes] == '\0') == (soc->match == SOC_WHOLE);
}

const atlas_product_t *atlas_product_find(const char *soc, char *why, size_t why_bytes)
{
    if (soc == NULL) {
        snprintf(why, why_bytes, "the runtime does not tell the name of the SoC");
        return NULL;
    }
    for (size_t s = 0; s < sizeof socs / sizeof socs[0]; s++) {
        if (soc_is(&socs[s], soc)) {
            const atlas_product_t *product = &products[socs[s].series];
            if (product->sizes != 0) {
                return product;
            }
            snprintf(why, why_bytes, "the SoC %.64s is of %s, which has no HCCL", soc, product->name);
            return NULL;
        }
    }
    snprintf(why, why_bytes, "the SoC %.64s is of no product that is known here", soc);
    return NULL;
}

const atlas_product_t *atlas_product(atlas_series_t series)
{
    return &products[series];
}

/* The number at *text, which moves behind it; false if there is none below 100,000. */
static bool number_read(const char **text, unsigned *number)
{
    const char *start = *text;

    *number = 0;
    for (; **text >= '0' && **text <= '9' && *text - start < 5; (*text)++) {
        *number = *number * 10 + (unsigned)(**text - '0');
    }
    return *text != start && (**text < '0' || **text > '9');
}

unsigned atlas_version(const char *text)
{
    unsigned major;
    unsigned minor;

    if (text == NULL || !number_read(&text, &major) || *text++ != '.' || !number_read(&text, &minor) || minor > 99) {
        return 0;
    }
    return ATLAS_VERSION(major, minor);
}

static const type_row_t *type_find(const atlas_product_t *product, dtype_t dtype)
{
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        if (types[t].series == product->series && types[t].dtype == dtype) {
            return &types[t];
        }
    }
    return NULL;
}

/* The CANN version from which the function of a kind serves a product. */
static uint32_t kind_since(const atlas_product_t *product, collective_kind_t kind)
{
    switch (kind) {
    case COLLECTIVE_REDUCE_SCATTER:
        return product->vector_since;
    case COLLECTIVE_REDUCE_SCATTER_BLOCK:
        return product->scatter_since;
    default:
        break;
    }
    return 0;
}

bool atlas_serves(const atlas_product_t *product, unsigned cann, collective_kind_t kind, dtype_t dtype, op_t op)
{
    const type_row_t *type = type_find(product, dtype);

    if (type == NULL || cann < type->since || cann < kind_since(product, kind)) {
        return false;
    }
    return ((kind == COLLECTIVE_REDUCE_SCATTER ? type->vector_ops : type->ops) >> op & 1) != 0;
}

bool atlas_devices_serve(const atlas_devices_t *devices, unsigned cann, collective_kind_t kind, dtype_t dtype, op_t op)
{
    const atlas_product_t *product = devices->product;

    if (!atlas_serves(product, cann, kind, dtype, op)) {
        return false;
    }
    if (devices->servers > 1 && type_find(product, dtype)->one_server) {
        return false;
    }
    return kind != COLLECTIVE_REDUCE_SCATTER ||
           (devices->servers <= product->vector_servers && devices->most <= product->vector_devices &&
            devices->least == devices->most);
}

bool atlas_slow(const atlas_product_t *product, dtype_t dtype)
{
    const type_row_t *type = type_find(product, dtype);

    return type != NULL && type->slow;
}

unsigned atlas_processes(const atlas_product_t *product, unsigned driver)
{
    return driver >= product->driver ? product->processes : 1;
}

size_t atlas_buffer_alignment(dtype_t dtype)
{
    return dtype_size(dtype);
}

size_t atlas_copy_alignment(unsigned cann)
{
    /* The page of CANN 8.0 has the rule, that of 8.5 has not; between them it is taken to hold. */
    return cann >= ATLAS_VERSION(8, 5) ? 1 : ATLAS_COPY_ALIGNMENT;
}

void atlas_warning_text(const atlas_devices_t *devices, atlas_warning_t warning, char *text, size_t bytes)
{
    const atlas_product_t *product = devices->product;

    switch (warning) {
    case ATLAS_WARNING_UNEQUAL:
        snprintf(text, bytes, "the servers bring from %u to %u devices: %s is slow where the numbers are unequal",
                 devices->least, devices->most, product->name);
        break;
    case ATLAS_WARNING_SERVERS:
        snprintf(text, bytes, "%u servers bring devices: %s is fastest where that is a power of two", devices->servers,
                 product->name);
        break;
    case ATLAS_WARNING_SUPERPODS:
        snprintf(text, bytes, "the superpods bring unequal numbers of servers: %s is slow there", product->name);
        break;
    case ATLAS_WARNING_UNUSED:
        snprintf(text, bytes, "%u of %u devices are used: %s takes %s", devices->nowners, devices->drivable,
                 product->name, product->rule);
        break;
    case ATLAS_WARNING_COUNT:
        break;
    }
}
