/* SPDX-License-Identifier: BSD-3-Clause */
/* What the executor and the straight paths call of the kernels and of the transport, for a test that has neither: sums
   of int32, compiled as the test is so that ThreadSanitizer sees every load; no messages; and all memory is exposed to
   all ranks, which are threads. */
#include "engine/host/direct_maps.h"
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

bool transport_request_done(const transport_request_t *request)
{
    (void)request;
    abort();
}

void host_comm_send_word(engine_comm_t *comm, host_words_t words, uint32_t rank, const void *word)
{
    (void)comm;
    (void)words;
    (void)rank;
    (void)word;
    abort();
}

bool host_comm_take_word(engine_comm_t *comm, host_words_t words, void *word)
{
    (void)comm;
    (void)words;
    (void)word;
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

const char *transport_failure(const transport_t *transport)
{
    (void)transport;
    return "";
}

size_t pages_size(void)
{
    return 4096;
}

/* An exposure is known by its address. */
bool exposure_find(exposures_t *exposures, const void *buffer, size_t bytes, exposure_view_t *view)
{
    (void)exposures;
    (void)bytes;
    view->id = view->address = (uintptr_t)buffer / pages_size() * pages_size();
    return true;
}

void exposure_release(exposures_t *exposures, uint64_t id)
{
    (void)exposures;
    (void)id;
}

uint64_t exposures_list(exposures_t *exposures, uint64_t ids[EXPOSURES_MOST])
{
    (void)exposures;
    memset(ids, 0, EXPOSURES_MOST * sizeof *ids);
    return 0;
}

bool direct_maps_get(direct_maps_t *maps, const transport_peer_t *peer, const direct_word_t *word,
                     const direct_buffer_t *buffer, unsigned char **vector)
{
    (void)maps;
    (void)peer;
    (void)word;
    *vector = (unsigned char *)(uintptr_t)(buffer->id + buffer->offset); // NOLINT(performance-no-int-to-ptr)
    return true;
}
