/* SPDX-License-Identifier: BSD-3-Clause */
/* What the executor calls of the kernels and of the transport, for a test that has neither: sums of int32, compiled as
   the test is so that ThreadSanitizer sees every load, and no messages. */
#include "engine/host/kernels.h"
#include "transport/transport.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void sum_int32(void *dst, const void *const *src, unsigned nsrc, size_t count)
{
    int32_t *out = dst;

    for (size_t i = 0; i < count; i++) {
        int32_t sum = 0;
        for (unsigned s = 0; s < nsrc; s++) {
            sum += ((const int32_t *)src[s])[i];
        }
        out[i] = sum;
    }
}

kernel_fold_t kernel_fold_find(dtype_t dtype, op_t op)
{
    return dtype == DTYPE_I32 && op == OP_SUM ? sum_int32 : NULL;
}

void kernel_copy(dtype_t dtype, void *dst, const void *src, size_t count)
{
    if (dst != src) {
        memcpy(dst, src, count * dtype_size(dtype));
    }
}

mpinpu_status_t transport_send(transport_t *transport, transport_peer_t *peer, uint64_t tag, const void *buffer,
                               size_t bytes, transport_request_t *request)
{
    (void)transport;
    (void)peer;
    (void)tag;
    (void)buffer;
    (void)bytes;
    (void)request;
    abort();
}

mpinpu_status_t transport_receive(transport_t *transport, uint64_t tag, void *buffer, size_t bytes,
                                  transport_request_t *request)
{
    (void)transport;
    (void)tag;
    (void)buffer;
    (void)bytes;
    (void)request;
    abort();
}

mpinpu_status_t transport_request_test(transport_t *transport, transport_request_t *request)
{
    (void)transport;
    (void)request;
    abort();
}

void transport_request_cancel(transport_t *transport, transport_request_t *request)
{
    (void)transport;
    (void)request;
    abort();
}

unsigned transport_progress(transport_t *transport)
{
    (void)transport;
    abort();
}
