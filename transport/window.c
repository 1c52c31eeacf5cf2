/* SPDX-License-Identifier: BSD-3-Clause */
/* This process's window, and the windows of its peers as pointers. */
#include "transport/internal.h"
#include "transport/log.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

/* Address space that must be left beside a peer's window when it is mapped. */
static const size_t map_slack = (size_t)4 << 20;

size_t transport_window_room(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
}

static window_mark_t *window_mark(void *base, size_t bytes)
{
    return (window_mark_t *)((char *)base + transport_window_room(bytes) - PAGE);
}

static mpinpu_status_t window_allocate(transport_t *transport, char *why, size_t why_bytes)
{
    size_t room = transport_window_room(transport->config.window_bytes);
    ucp_mem_map_params_t params = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_LENGTH | UCP_MEM_MAP_PARAM_FIELD_FLAGS,
        .length = room,
        .flags = UCP_MEM_MAP_ALLOCATE,
    };
    ucp_mem_attr_t attr = {.field_mask = UCP_MEM_ATTR_FIELD_ADDRESS | UCP_MEM_ATTR_FIELD_LENGTH};
    ucs_status_t status = ucx.ucp_mem_map(transport->context, &params, &transport->window);
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "UCX has no memory for a window of %zu bytes: %s", transport->config.window_bytes,
                      ucx.ucs_status_string(status));
        return status == UCS_ERR_NO_MEMORY ? MPINPU_ERR_NO_MEMORY : MPINPU_ERR_TRANSPORT;
    }
    status = ucx.ucp_mem_query(transport->window, &attr);
    if (status != UCS_OK || attr.length < room || (uintptr_t)attr.address % PAGE != 0) {
        transport_why(why, why_bytes, "UCX gives a window that is not as asked for (%s, %zu bytes at %p)",
                      ucx.ucs_status_string(status), attr.length, attr.address);
        ucx.ucp_mem_unmap(transport->context, transport->window);
        return MPINPU_ERR_TRANSPORT;
    }
    transport->window_base = attr.address;
    return MPINPU_OK;
}

static mpinpu_status_t window_publish(transport_t *transport, char *why, size_t why_bytes)
{
    void *key;
    size_t key_bytes;
    ucs_status_t status = ucx.ucp_rkey_pack(transport->context, transport->window, &key, &key_bytes);
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "ucp_rkey_pack: %s", ucx.ucs_status_string(status));
        return MPINPU_ERR_TRANSPORT;
    }
    *window_mark(transport->window_base, transport->config.window_bytes) =
        (window_mark_t){.magic = WINDOW_MAGIC, .uid = transport->identity.uid};
    mpinpu_status_t packed = transport_card_pack(transport, key, key_bytes);
    ucx.ucp_rkey_buffer_release(key);
    if (packed != MPINPU_OK) {
        transport_why(why, why_bytes, "out of memory");
    }
    return packed;
}

/* Memory may have become short since transport_open chose. What UCX takes afterwards is there: System V segments are
   charged in full when made, and segments in /dev/shm are written by UCX before it hands them out. Fresh pages of
   either are zero. */
static mpinpu_status_t window_map(transport_t *transport, char *why, size_t why_bytes)
{
    char reason[REASON_BYTES];
    size_t room = transport_window_room(transport->config.window_bytes);
    if (transport->config.window_bytes == 0) {
        transport_why(why, why_bytes, "no window was asked for");
        return MPINPU_ERR_INVALID;
    }
    if (transport->no_window[0] != '\0') {
        transport_why(why, why_bytes, "no shared memory: %s", transport->no_window);
        return MPINPU_ERR_NO_MEMORY;
    }
    if (shared_memory_probe(room, reason, sizeof reason) == SHARED_MEMORY_NONE) {
        transport_why(why, why_bytes, "no shared memory: %s", reason);
        return MPINPU_ERR_NO_MEMORY;
    }
    mpinpu_status_t status = window_allocate(transport, why, why_bytes);
    if (status != MPINPU_OK) {
        return status;
    }
    status = window_publish(transport, why, why_bytes);
    if (status != MPINPU_OK) {
        transport_window_unmap(transport);
    }
    return status;
}

mpinpu_status_t transport_window_map(transport_t *transport, void **base, size_t *bytes, char *why, size_t why_bytes)
{
    mpinpu_status_t status = MPINPU_OK;
    pthread_mutex_lock(&transport->mutex);
    if (transport->window_base == NULL) {
        status = window_map(transport, why, why_bytes);
    }
    pthread_mutex_unlock(&transport->mutex);
    if (status == MPINPU_OK) {
        *base = transport->window_base;
        *bytes = transport->config.window_bytes;
    }
    return status;
}

void transport_window_unmap(transport_t *transport)
{
    if (transport->window_base != NULL) {
        ucx.ucp_mem_unmap(transport->context, transport->window);
        transport->window_base = NULL;
    }
}

/* The mutex is held. */
static mpinpu_status_t peer_window_map(transport_t *transport, transport_peer_t *peer, char *why, size_t why_bytes)
{
    if (peer->identity.host != transport->identity.host) {
        transport_why(why, why_bytes, "the peer is on another host");
        return MPINPU_ERR_UNSUPPORTED;
    }
    if (peer->head.window_bytes == 0) {
        transport_why(why, why_bytes, "the peer has no window");
        return MPINPU_ERR_UNSUPPORTED;
    }
    ucp_ep_h endpoint = transport_peer_endpoint(transport, peer, why, why_bytes);
    if (endpoint == NULL) {
        return MPINPU_ERR_TRANSPORT;
    }
    if (!limits_address_space(transport_window_room(peer->head.window_bytes) + map_slack, why, why_bytes)) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    void *base = NULL;
    ucs_status_t status = ucx.ucp_ep_rkey_unpack(endpoint, peer->card + peer->head.address_bytes, &peer->key);
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "the peer's window cannot be mapped (ucp_ep_rkey_unpack: %s)",
                      ucx.ucs_status_string(status));
        return MPINPU_ERR_UNSUPPORTED;
    }
    status = ucx.ucp_rkey_ptr(peer->key, peer->head.window_base, &base);
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "UCX gives no pointer to the peer's window (ucp_rkey_ptr: %s)",
                      ucx.ucs_status_string(status));
        goto destroy_key;
    }
    const window_mark_t *mark = window_mark(base, peer->head.window_bytes);
    if (mark->magic != WINDOW_MAGIC || mark->uid != peer->identity.uid) {
        transport_why(why, why_bytes, "what UCX maps as the peer's window is not the peer's window");
        goto destroy_key;
    }
    atomic_store_explicit(&peer->window, base, memory_order_release);
    return MPINPU_OK;

destroy_key:
    ucx.ucp_rkey_destroy(peer->key);
    peer->key = NULL;
    return MPINPU_ERR_UNSUPPORTED;
}

mpinpu_status_t transport_peer_window(transport_t *transport, transport_peer_t *peer, void **base, size_t *bytes,
                                      char *why, size_t why_bytes)
{
    mpinpu_status_t status = MPINPU_OK;
    if (peer->identity.uid == transport->identity.uid) {
        return transport_window_map(transport, base, bytes, why, why_bytes);
    }
    if (atomic_load_explicit(&peer->window, memory_order_acquire) == NULL) {
        pthread_mutex_lock(&transport->mutex);
        if (atomic_load_explicit(&peer->window, memory_order_relaxed) == NULL) {
            status = peer_window_map(transport, peer, why, why_bytes);
        }
        pthread_mutex_unlock(&transport->mutex);
    }
    if (status == MPINPU_OK) {
        *base = atomic_load_explicit(&peer->window, memory_order_relaxed);
        *bytes = peer->head.window_bytes;
    }
    return status;
}
