/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport: UCX and nothing else. One per process: a context, a worker, this process's window and the
   peers it has met. It knows processes, not ranks: a communicator's ranks are mapped to peers above. */
#ifndef TRANSPORT_TRANSPORT_H
#define TRANSPORT_TRANSPORT_H

#include "transport/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct transport transport_t;
typedef struct transport_peer transport_peer_t;

typedef struct transport_config {
    size_t window_bytes;  /* size of this process's window; 0: none */
    bool thread_multiple; /* several threads may call at once: the worker is made for that, or open fails */
} transport_config_t;

/* Who a process is. Equal host means that windows may be tried; uid tells processes apart in the whole job. */
typedef struct transport_identity {
    uint64_t host; /* digest of host name and boot id */
    uint64_t uid;  /* random, never 0 */
} transport_identity_t;

/* Digest of this host's name and boot id. Any thread. */
uint64_t transport_host_digest(void);

/* Opens context and worker; the window is mapped when first asked for (transport_window_map). On failure `why` (may be
   NULL) gets one sentence with the exact cause. Not thread safe; once per process. */
mpinpu_status_t transport_open(const transport_config_t *config, transport_t **transport, char *why, size_t why_bytes);

/* Ends it: waits, at most a second, until what was sent has left, closes endpoints, unmaps windows. NULL is allowed. No
   other thread may be inside. Peers may already be gone. */
void transport_close(transport_t *transport);

transport_identity_t transport_identity_get(const transport_t *transport);

/* This process's own window: memory of config.window_bytes, zeroed, page aligned, that peers on this host can load from
   and store to. Mapped once, later calls return the same. Where memory is short it fails: every page is known to be
   there before it returns, so that no later access can end in SIGBUS. */
mpinpu_status_t transport_window_map(transport_t *transport, void **base, size_t *bytes, char *why, size_t why_bytes);

/* The card others need to reach this process: worker address and, once mapped, the packed key of the window.
   `card` points into the transport and stays valid until transport_window_map or transport_close is called. */
void transport_card_get(const transport_t *transport, const void **card, size_t *bytes);

/* Finds a known peer by its uid, or NULL. Any thread. */
transport_peer_t *transport_peer_find(transport_t *transport, uint64_t uid);

/* Makes a peer known from its identity and card (copied); a peer already known is returned as it is. Makes no endpoint.
   The peer belongs to the transport and lives until transport_close. Any thread. */
mpinpu_status_t transport_peer_add(transport_t *transport, transport_identity_t identity, const void *card,
                                   size_t card_bytes, transport_peer_t **peer);

/* The name of the peer's host, as that has it. Lives as long as the peer. */
const char *transport_peer_host(const transport_peer_t *peer);

/* Makes the peer's endpoint, so that it is known before the first message whether UCX has a way to it; at once where
   there is one already. MPINPU_ERR_TRANSPORT where it has none, with the cause in `why`. Any thread. */
mpinpu_status_t transport_peer_reach(transport_t *transport, transport_peer_t *peer, char *why, size_t why_bytes);

/* The peer's window as a plain pointer in this process, mapped on first use (ucp_ep_rkey_unpack, ucp_rkey_ptr); this
   process's own window for itself. MPINPU_ERR_UNSUPPORTED where UCX gives no pointer. Any thread. */
mpinpu_status_t transport_peer_window(transport_t *transport, transport_peer_t *peer, void **base, size_t *bytes,
                                      char *why, size_t why_bytes);

/* A message under way. Plain memory of the caller's, reused at will once done. */
typedef struct transport_request {
    void *ucx; /* NULL: done */
    int failed;
    bool receive;
    size_t bytes; /* receive: the length awaited */
} transport_request_t;

/* Starts to send `bytes` to a peer, matched by `tag` (all 64 bits) at the peer. The buffer must stay untouched until
   the request is done. Messages of one tag between two processes arrive in order. Makes the endpoint on first use. */
mpinpu_status_t transport_send(transport_t *transport, transport_peer_t *peer, uint64_t tag, const void *buffer,
                               size_t bytes, transport_request_t *request);

/* Starts to receive exactly `bytes` with this tag from anyone. */
mpinpu_status_t transport_receive(transport_t *transport, uint64_t tag, void *buffer, size_t bytes,
                                  transport_request_t *request);

/* MPINPU_OK when done, MPINPU_IN_PROGRESS, or MPINPU_ERR_TRANSPORT (said in the log once). Does not progress. */
mpinpu_status_t transport_request_test(transport_t *transport, transport_request_t *request);

/* Whether it is done, or would be at the next test, which says how. Does not progress. */
bool transport_request_done(const transport_request_t *request);

/* Takes a message with this tag that has come, from anyone, if there is one; moves messages first, be it this process's
   first. False: none, or one that is not of exactly `bytes`, which is dropped. */
bool transport_take(transport_t *transport, uint64_t tag, void *buffer, size_t bytes);

/* Gives up a request that is under way (receive cancelled, send left to finish); afterwards it is done. */
void transport_request_cancel(transport_t *transport, transport_request_t *request);

/* The first failure of a message, a sentence as the log has it; "" before there is one. Lives as long as the transport.
   Any thread. */
const char *transport_failure(const transport_t *transport);

/* Moves messages along; how many events were handled. From the first message on, a thread of the transport's own does
   it too when nobody has for some 20 ms, so that peers are served while the program is elsewhere. */
unsigned transport_progress(transport_t *transport);

/* What came of a run of the task. */
typedef enum transport_task_state {
    TRANSPORT_TASK_NONE,  /* there was nothing for this thread to do */
    TRANSPORT_TASK_LEFT,  /* somebody else does it */
    TRANSPORT_TASK_WAITS, /* for other processes */
    TRANSPORT_TASK_MOVED, /* something has come to its end */
} transport_task_state_t;

/* What the thread of the transport's own does besides: it calls run again and again, at intervals that follow from what
   run returns, from some 50 us to 4 ms; and rests where there is nothing to do. */
typedef struct transport_task {
    void *context;
    void (*begin)(void *context); /* called once, by the thread, before the first run */
    transport_task_state_t (*run)(void *context);
    bool (*any)(void *context); /* whether there may be something to do */
    bool polls;                 /* a CPU is free for it: it polls for short times */
} transport_task_t;

/* Gives the thread its task, and starts it if it does not run; once. All signals are blocked in it, and it ends with
   the process or by transport_task_stop. False: it cannot be. Any thread. */
bool transport_task_start(transport_t *transport, const transport_task_t *task);

/* There is something to do: lets the thread look, at once or, unless it rests, when it would next. Any thread. */
void transport_task_wake(transport_t *transport, bool at_once);

/* Ends the thread; when it returns the task does not run and will not again. Messages are then moved by nobody but who
   calls transport_progress. */
void transport_task_stop(transport_t *transport);

/* Writes what was found, a line each ("UCX 1.13.1", transports and devices, memory domain of the window): for `mpinpu
 * info`. */
void transport_describe(transport_t *transport, void (*line)(void *context, const char *text), void *context);

#endif
