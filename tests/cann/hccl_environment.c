/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL's settings: variables of the environment, their ranges and what follows from them. */
#define _GNU_SOURCE
#include "tests/cann/communicator.h"

#include <stdlib.h>
#include <string.h>

typedef struct range_row {
    const char *name;
    double least;
    double most;
    double otherwise;
} range_row_t;

static const range_row_t ranges[] = {
    {"HCCL_CONNECT_TIMEOUT", 120, 7200, 120},
    {"HCCL_EXEC_TIMEOUT", 0, 2147483647, 1836},
    {"HCCL_BUFFSIZE", 1, 1 << 20, 200},
    {"HCCL_IF_BASE_PORT", 1024, 65520, 60000},
    {"HCCL_WHITELIST_DISABLE", 0, 1, 1},
    {"HCCL_RDMA_TC", 0, 255, 132},
    {"HCCL_RDMA_SL", 0, 7, 4},
    {"HCCL_RDMA_TIMEOUT", 5, 24, 20},
    {"HCCL_RDMA_RETRY_CNT", 1, 7, 7},
};

static double range_value(const char *name)
{
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (strcmp(ranges[i].name, name) == 0) {
            return standin_number(name, ranges[i].otherwise);
        }
    }
    abort();
}

static bool one_of(const char *text, const char *const *allowed)
{
    for (int i = 0; allowed[i] != NULL; i++) {
        if (strcmp(text, allowed[i]) == 0) {
            return true;
        }
    }
    return false;
}

int rules_environment(void)
{
    static const char *const deterministic[] = {"false", "true", "strict", NULL};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        const char *text = getenv(ranges[i].name);
        double value = standin_number(ranges[i].name, ranges[i].least - 1);
        if (text != NULL && (value < ranges[i].least || value > ranges[i].most)) {
            return standin_refuse(HCCL_E_PARA, "EI0001: %s=%s is not from %.0f to %.0f", ranges[i].name, text,
                                  ranges[i].least, ranges[i].most);
        }
    }
    const char *text = getenv("HCCL_DETERMINISTIC");
    if (text != NULL && !one_of(text, deterministic)) {
        return standin_refuse(HCCL_E_PARA, "EI0001: HCCL_DETERMINISTIC=%s is not false, true or strict", text);
    }
    return HCCL_SUCCESS;
}

/* CANN_HASTE=100: a hundredth of the time-outs, since the shortest that HCCL allows is two minutes. */
static double haste(void)
{
    double times = standin_number("CANN_HASTE", 1);
    return times > 0 ? times : 1;
}

double rules_connect_timeout(void)
{
    return range_value("HCCL_CONNECT_TIMEOUT") / haste();
}

/* The old products count in steps of 68 s; 0 is no limit on the others. */
double rules_exec_timeout(void)
{
    double seconds = range_value("HCCL_EXEC_TIMEOUT");
    standin_product_t product = standin_product();
    if (product == PRODUCT_910A || product == PRODUCT_310P) {
        long steps = (long)(seconds / 68);
        seconds = 68.0 * (double)(steps < 1 ? 1 : steps);
    }
    return seconds <= 0 ? 1e12 : seconds / haste();
}

double rules_buffer_mb(void)
{
    return range_value("HCCL_BUFFSIZE");
}

bool rules_deterministic_matters(void)
{
    return standin_product() == PRODUCT_A2;
}

bool rules_deterministic(void)
{
    const char *text = getenv("HCCL_DETERMINISTIC");
    return !rules_deterministic_matters() || (text != NULL && strcmp(text, "false") != 0);
}
