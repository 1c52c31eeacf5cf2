/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages: UCX's tagged ones, eager or by rendezvous as UCX sees fit. */
#include "transport/internal.h"
#include "transport/log.h"

#include <sched.h>
#include <stdio.h>

static const ucp_tag_t tag_all_bits = ~(ucp_tag_t)0;
static const double cancel_seconds = 0.2;

/* The first failure tells the cause; those that follow from it would only repeat it. */
static mpinpu_status_t failure_say(transport_t *transport, const char *what, const char *cause)
{
    if (!atomic_exchange_explicit(&transport->failure_said, true, memory_order_relaxed)) {
        (void)snprintf(transport->failure, sizeof transport->failure, "%s failed: %s", what, cause);
        atomic_store_explicit(&transport->failure_kept, true, memory_order_release);
        log_warn("%s", transport->failure);
    }
    return MPINPU_ERR_TRANSPORT;
}

const char *transport_failure(const transport_t *transport)
{
    return atomic_load_explicit(&transport->failure_kept, memory_order_acquire) ? transport->failure : "";
}

static void keep(transport_t *transport)
{
    if (!atomic_load_explicit(&transport->kept, memory_order_acquire)) {
        transport_keeper_start(transport);
    }
}

static ucp_ep_h endpoint_get(transport_t *transport, transport_peer_t *peer)
{
    char why[REASON_BYTES] = "";
    if (transport_peer_reach(transport, peer, why, sizeof why) != MPINPU_OK) {
        failure_say(transport, "sending a message", why);
        return NULL;
    }
    return atomic_load_explicit(&peer->endpoint, memory_order_relaxed);
}

mpinpu_status_t transport_send(transport_t *transport, transport_peer_t *peer, uint64_t tag, const void *buffer,
                               size_t bytes, transport_request_t *request)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    if (atomic_load_explicit(&peer->broken, memory_order_relaxed)) {
        return failure_say(transport, "sending a message", "the peer is gone");
    }
    ucp_ep_h endpoint = endpoint_get(transport, peer);
    if (endpoint == NULL) {
        return MPINPU_ERR_TRANSPORT;
    }
    keep(transport);
    void *started = ucx.ucp_tag_send_nbx(endpoint, buffer, bytes, tag, &param);
    if (UCS_PTR_IS_ERR(started)) {
        return failure_say(transport, "sending a message", ucx.ucs_status_string(UCS_PTR_STATUS(started)));
    }
    *request = (transport_request_t){.ucx = started};
    return MPINPU_OK;
}

mpinpu_status_t transport_receive(transport_t *transport, uint64_t tag, void *buffer, size_t bytes,
                                  transport_request_t *request)
{
    /* A request always, so that the length is checked in one place. */
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
        .memory_type = UCS_MEMORY_TYPE_HOST,
    };
    keep(transport);
    void *started = ucx.ucp_tag_recv_nbx(transport->worker, buffer, bytes, tag, tag_all_bits, &param);
    if (UCS_PTR_IS_ERR(started)) {
        return failure_say(transport, "receiving a message", ucx.ucs_status_string(UCS_PTR_STATUS(started)));
    }
    *request = (transport_request_t){.ucx = started, .receive = true, .bytes = bytes};
    return MPINPU_OK;
}

static mpinpu_status_t receive_test(transport_t *transport, transport_request_t *request)
{
    ucp_tag_recv_info_t info;
    ucs_status_t status = ucx.ucp_tag_recv_request_test(request->ucx, &info);
    if (status == UCS_INPROGRESS) {
        return MPINPU_IN_PROGRESS;
    }
    ucx.ucp_request_free(request->ucx);
    request->ucx = NULL;
    if (status == UCS_OK && info.length == request->bytes) {
        return MPINPU_OK;
    }
    request->failed = 1;
    return failure_say(transport, "receiving a message",
                       status == UCS_OK ? "it is shorter than what was awaited" : ucx.ucs_status_string(status));
}

mpinpu_status_t transport_request_test(transport_t *transport, transport_request_t *request)
{
    if (request->ucx == NULL) {
        return request->failed ? MPINPU_ERR_TRANSPORT : MPINPU_OK;
    }
    if (request->receive) {
        return receive_test(transport, request);
    }
    ucs_status_t status = ucx.ucp_request_check_status(request->ucx);
    if (status == UCS_INPROGRESS) {
        return MPINPU_IN_PROGRESS;
    }
    ucx.ucp_request_free(request->ucx);
    request->ucx = NULL;
    if (status == UCS_OK) {
        return MPINPU_OK;
    }
    request->failed = 1;
    return failure_say(transport, "sending a message", ucx.ucs_status_string(status));
}

bool transport_request_done(const transport_request_t *request)
{
    return request->ucx == NULL || ucx.ucp_request_check_status(request->ucx) != UCS_INPROGRESS;
}

/* Whether the message is all of `bytes`. One that comes by rendezvous is waited for: its sender is there, or was. */
static bool message_receive(transport_t *transport, ucp_tag_message_h message, void *buffer, size_t bytes)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FLAG_NO_IMM_CMPL,
                                 .memory_type = UCS_MEMORY_TYPE_HOST};
    ucp_tag_recv_info_t info;
    ucs_status_t status;

    void *started = ucx.ucp_tag_msg_recv_nbx(transport->worker, buffer, bytes, message, &param);
    if (started == NULL || UCS_PTR_IS_ERR(started)) {
        return false;
    }
    while ((status = ucx.ucp_tag_recv_request_test(started, &info)) == UCS_INPROGRESS) {
        if (ucx.ucp_worker_progress(transport->worker) == 0) {
            sched_yield();
        }
    }
    ucx.ucp_request_free(started);
    return status == UCS_OK && info.length == bytes;
}

bool transport_take(transport_t *transport, uint64_t tag, void *buffer, size_t bytes)
{
    ucp_tag_recv_info_t info;

    (void)ucx.ucp_worker_progress(transport->worker);
    ucp_tag_message_h message = ucx.ucp_tag_probe_nb(transport->worker, tag, tag_all_bits, 1, &info);
    return message != NULL && message_receive(transport, message, buffer, bytes);
}

void transport_messages_drop(transport_t *transport)
{
    ucp_tag_recv_info_t info;
    ucp_tag_message_h message;
    char nothing[1];

    while ((message = ucx.ucp_tag_probe_nb(transport->worker, 0, 0, 1, &info)) != NULL) {
        (void)message_receive(transport, message, nothing, 0);
    }
}

void transport_request_cancel(transport_t *transport, transport_request_t *request)
{
    if (request->ucx == NULL) {
        return;
    }
    if (request->receive) {
        ucx.ucp_request_cancel(transport->worker, request->ucx);
        /* A rendezvous already under way is not cancelled but comes to its end, writing to the buffer till then. */
        double deadline = transport_now() + cancel_seconds;
        while (ucx.ucp_request_check_status(request->ucx) == UCS_INPROGRESS && transport_now() < deadline) {
            if (ucx.ucp_worker_progress(transport->worker) == 0) {
                sched_yield();
            }
        }
    }
    ucx.ucp_request_free(request->ucx);
    request->ucx = NULL;
    request->failed = 1;
}
