/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/core.h"

__attribute__((visibility("default"))) int mpinpu_core_open(const core_table_t *real, core_table_t *served)
{
    if (real->abi != MPINPU_CORE_ABI || real->functions != CORE_FUNCTION_COUNT) {
        return 1;
    }
    for (int f = 0; f < CORE_FUNCTION_COUNT; f++) {
        served->entry[f] = real->entry[f];
    }
    return 0;
}
