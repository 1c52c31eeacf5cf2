/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/status.h"

const char *status_name(mpinpu_status_t status)
{
    static const char *const names[MPINPU_STATUS_COUNT] = {
        [MPINPU_OK] = "ok",
        [MPINPU_IN_PROGRESS] = "in progress",
        [MPINPU_ERR_NO_MEMORY] = "out of memory",
        [MPINPU_ERR_UNSUPPORTED] = "not supported here",
        [MPINPU_ERR_INVALID] = "invalid argument",
        [MPINPU_ERR_TRANSPORT] = "transport error",
        [MPINPU_ERR_DEVICE] = "device error",
        [MPINPU_ERR_EXCHANGE] = "exchange among the ranks failed",
        [MPINPU_ERR_DISAGREE] = "the ranks disagree",
    };

    return (unsigned)status < MPINPU_STATUS_COUNT ? names[status] : "unknown status";
}
