/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/host.h"

#include <stdlib.h>

void *host_comm_tmp(engine_comm_t *comm, size_t bytes)
{
    if (bytes > comm->tmp_bytes) {
        void *grown = NULL;
        if (posix_memalign(&grown, REGION_LINE, bytes) != 0) {
            return NULL;
        }
        free(comm->tmp);
        comm->tmp = grown;
        comm->tmp_bytes = bytes;
    }
    return comm->tmp;
}
