/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers this process has met, and their endpoints. */
#include "transport/internal.h"
#include "transport/log.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* uid is random, so its low bits are a hash. */
static transport_peer_t **bucket_of(transport_t *transport, uint64_t uid)
{
    return &transport->buckets[uid % PEER_BUCKETS];
}

static transport_peer_t *bucket_find(transport_peer_t *first, uint64_t uid)
{
    transport_peer_t *peer = first;
    while (peer != NULL && peer->identity.uid != uid) {
        peer = peer->next;
    }
    return peer;
}

transport_peer_t *transport_peer_find(transport_t *transport, uint64_t uid)
{
    pthread_mutex_lock(&transport->mutex);
    transport_peer_t *peer = bucket_find(*bucket_of(transport, uid), uid);
    pthread_mutex_unlock(&transport->mutex);
    return peer;
}

static bool card_read(const void *card, size_t card_bytes, card_head_t *head)
{
    if (card_bytes < sizeof *head) {
        return false;
    }
    memcpy(head, card, sizeof *head);
    size_t rest = card_bytes - sizeof *head;
    return head->magic == CARD_MAGIC && head->address_bytes > 0 && head->address_bytes <= rest &&
           head->key_bytes == rest - head->address_bytes && (head->window_bytes == 0 || head->key_bytes > 0);
}

static transport_peer_t *peer_new(transport_identity_t identity, const card_head_t *head, const void *card)
{
    size_t rest = head->address_bytes + head->key_bytes;
    transport_peer_t *peer = calloc(1, sizeof *peer);
    if (peer == NULL) {
        return NULL;
    }
    peer->identity = identity;
    peer->head = *head;
    peer->head.host[sizeof peer->head.host - 1] = '\0';
    peer->card = malloc(rest);
    if (peer->card == NULL) {
        free(peer);
        return NULL;
    }
    memcpy(peer->card, (const char *)card + sizeof *head, rest);
    atomic_init(&peer->endpoint, NULL);
    atomic_init(&peer->window, NULL);
    atomic_init(&peer->broken, false);
    return peer;
}

mpinpu_status_t transport_peer_add(transport_t *transport, transport_identity_t identity, const void *card,
                                   size_t card_bytes, transport_peer_t **peer)
{
    card_head_t head;
    mpinpu_status_t status = MPINPU_OK;
    if (identity.uid == 0 || !card_read(card, card_bytes, &head)) {
        return MPINPU_ERR_INVALID;
    }
    pthread_mutex_lock(&transport->mutex);
    transport_peer_t **bucket = bucket_of(transport, identity.uid);
    transport_peer_t *found = bucket_find(*bucket, identity.uid);
    if (found == NULL) {
        found = peer_new(identity, &head, card);
        if (found == NULL) {
            status = MPINPU_ERR_NO_MEMORY;
        } else {
            found->next = *bucket;
            *bucket = found;
        }
    }
    pthread_mutex_unlock(&transport->mutex);
    if (status == MPINPU_OK) {
        *peer = found;
    }
    return status;
}

const char *transport_peer_host(const transport_peer_t *peer)
{
    return peer->head.host;
}

/* A peer that closes first resets the connection: nothing to say unless a message fails by it. */
static void endpoint_failed(void *argument, ucp_ep_h endpoint, ucs_status_t status)
{
    transport_peer_t *peer = argument;
    (void)endpoint;
    log_debug("the connection to peer %016llx ended: %s", (unsigned long long)peer->identity.uid,
              ucx.ucs_status_string(status));
    atomic_store_explicit(&peer->broken, true, memory_order_relaxed);
}

ucp_ep_h transport_peer_endpoint(transport_t *transport, transport_peer_t *peer, char *why, size_t why_bytes)
{
    ucp_ep_h endpoint = atomic_load_explicit(&peer->endpoint, memory_order_relaxed);
    if (endpoint != NULL) {
        return endpoint;
    }
    ucp_ep_params_t params = {
        .field_mask =
            UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .address = (const ucp_address_t *)peer->card,
        .err_handler = {.cb = endpoint_failed, .arg = peer},
        /* UCX's transports over shared memory do not detect the death of a peer; on one host the launcher does. */
        .err_mode =
            peer->identity.host == transport->identity.host ? UCP_ERR_HANDLING_MODE_NONE : UCP_ERR_HANDLING_MODE_PEER,
    };
    ucs_status_t status = ucx.ucp_ep_create(transport->worker, &params, &endpoint);
    if (status != UCS_OK) {
        transport_why(why, why_bytes, "UCX finds no way to the peer (ucp_ep_create: %s)",
                      ucx.ucs_status_string(status));
        return NULL;
    }
    atomic_store_explicit(&peer->endpoint, endpoint, memory_order_release);
    return endpoint;
}

mpinpu_status_t transport_peer_reach(transport_t *transport, transport_peer_t *peer, char *why, size_t why_bytes)
{
    ucp_ep_h endpoint = atomic_load_explicit(&peer->endpoint, memory_order_acquire);

    if (endpoint == NULL) {
        pthread_mutex_lock(&transport->mutex);
        endpoint = transport_peer_endpoint(transport, peer, why, why_bytes);
        pthread_mutex_unlock(&transport->mutex);
    }
    return endpoint != NULL ? MPINPU_OK : MPINPU_ERR_TRANSPORT;
}

static void peer_free(transport_peer_t *peer)
{
    free(peer->card);
    free(peer);
}

/* Starts closing; what cannot complete at once is returned, to be waited for. */
static void *endpoint_close(transport_peer_t *peer)
{
    ucp_ep_h endpoint = atomic_load_explicit(&peer->endpoint, memory_order_relaxed);
    if (endpoint == NULL) {
        return NULL;
    }
    bool broken = atomic_load_explicit(&peer->broken, memory_order_relaxed);
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = broken ? UCP_EP_CLOSE_FLAG_FORCE : 0, /* 0: flush first */
    };
    void *request = ucx.ucp_ep_close_nbx(endpoint, &param);
    return UCS_PTR_IS_PTR(request) ? request : NULL;
}

/* One round over the closings under way; how many are left. */
static size_t closings_test(transport_t *transport)
{
    size_t left = 0;
    for (size_t i = 0; i < PEER_BUCKETS; i++) {
        for (transport_peer_t *peer = transport->buckets[i]; peer != NULL; peer = peer->next) {
            if (peer->closing != NULL && ucx.ucp_request_check_status(peer->closing) != UCS_INPROGRESS) {
                ucx.ucp_request_free(peer->closing);
                peer->closing = NULL;
            }
            left += peer->closing != NULL;
        }
    }
    return left;
}

bool transport_peers_close(transport_t *transport, double seconds)
{
    double deadline = transport_now() + seconds;
    for (size_t i = 0; i < PEER_BUCKETS; i++) {
        for (transport_peer_t *peer = transport->buckets[i]; peer != NULL; peer = peer->next) {
            if (peer->key != NULL) {
                ucx.ucp_rkey_destroy(peer->key);
            }
            peer->closing = endpoint_close(peer);
        }
    }
    size_t left = closings_test(transport);
    while (left > 0 && transport_now() < deadline) {
        if (ucx.ucp_worker_progress(transport->worker) == 0) {
            sched_yield();
        }
        left = closings_test(transport);
    }
    if (left > 0) {
        return false; /* an endpoint's handler may still be called: its peer must stay */
    }
    for (size_t i = 0; i < PEER_BUCKETS; i++) {
        for (transport_peer_t *peer = transport->buckets[i], *next; peer != NULL; peer = next) {
            next = peer->next;
            peer_free(peer);
        }
    }
    return true;
}
