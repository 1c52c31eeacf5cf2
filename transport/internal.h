/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of this room share; nobody else includes it. */
#ifndef TRANSPORT_INTERNAL_H
#define TRANSPORT_INTERNAL_H

#include "transport/transport.h"
#include "transport/ucx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

enum { PEER_BUCKETS = 1024, REASON_BYTES = 256, HOST_NAME_BYTES = 64 };

/* Stands behind the last byte of every window, so that a peer can tell that what it mapped is what it meant. */
typedef struct window_mark {
    uint64_t magic;
    uint64_t uid;
} window_mark_t;

#define WINDOW_MAGIC UINT64_C(0x6d70696e70757764)

/* A card: this head, then the worker's address, then the window's packed key. Both sides run the same library. */
typedef struct card_head {
    uint64_t magic;
    uint64_t window_base; /* in the owner's address space; 0: no window */
    uint64_t window_bytes;
    uint64_t address_bytes;
    uint64_t key_bytes;
    char host[HOST_NAME_BYTES]; /* its name, perhaps cut */
} card_head_t;

#define CARD_MAGIC UINT64_C(0x6d70696e70756332)

struct transport_peer {
    transport_peer_t *next; /* in its bucket */
    transport_identity_t identity;
    card_head_t head;
    unsigned char *card; /* what follows the head */
    /* Set once under the mutex, with release; read without it, with acquire. */
    _Atomic(ucp_ep_h) endpoint;
    _Atomic(void *) window;
    ucp_rkey_h key;
    void *closing; /* the request that closes the endpoint, while transport_close waits for it */
    /* Relaxed: it only keeps later sends from an endpoint that UCX has already failed. */
    atomic_bool broken;
};

typedef struct keeper {
    bool running; /* under the mutex, but for who ends it */
    pthread_t thread;
    transport_task_t task; /* written before the bell rings, once; run NULL: none */
    /* Goes up with each ring; a futex, so that a signal handler that calls exit finds no lock held. Release and
       acquire. */
    _Atomic uint32_t bell;
    atomic_bool stop;    /* relaxed: before the bell rings */
    atomic_bool resting; /* the task is not run until the bell rings; ordered by fences */
} keeper_t;

struct transport {
    transport_config_t config;
    transport_identity_t identity;
    pid_t pid; /* of who opened it: a forked child must not close it */
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_address_t *address;
    size_t address_bytes;
    char memory[REASON_BYTES];    /* what was chosen for shared memory, for transport_describe */
    char no_window[REASON_BYTES]; /* why there can be no window; empty if there can */
    ucp_mem_h window;
    void *window_base; /* NULL: not mapped */
    unsigned char *card;
    size_t card_bytes;
    pthread_mutex_t mutex; /* the table, and the making of endpoints and windows */
    transport_peer_t *buckets[PEER_BUCKETS];
    atomic_bool failure_said;
    char failure[REASON_BYTES]; /* the first, */
    atomic_bool failure_kept;   /* and whether it is there: release when set, acquire when read */
    bool threads;               /* UCX lets several threads in at once */
    atomic_bool kept;           /* a message was started: the keeper runs, or there will be none */
    atomic_uint driven;         /* goes up with each progress made by others than the keeper */
    keeper_t keeper;
};

/* Writes one sentence to `why` (may be NULL). */
void transport_why(char *why, size_t why_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Where this process can get shared memory of `bytes`. */
typedef enum shared_memory { SHARED_MEMORY_SYSV, SHARED_MEMORY_POSIX, SHARED_MEMORY_NONE } shared_memory_t;

/* Finds out by asking the kernel, without leaving anything behind. With NONE, `why` says what was short. */
shared_memory_t shared_memory_probe(size_t bytes, char *why, size_t why_bytes);

/* What this process may still allocate before the machine's memory or its control group's is used up, bytes;
   SIZE_MAX if unknown. */
size_t shared_memory_available(void);

/* Whether so much address space is left (RLIMIT_AS); without effect. False: `why` says what is short. */
bool limits_address_space(size_t bytes, char *why, size_t why_bytes);

/* Whether the process may still take what a UCX worker and `bytes` of memory need: descriptors, a thread, address
   space. Takes it for a moment. False: `why` says what is short. */
bool limits_worker(size_t bytes, char *why, size_t why_bytes);

/* Packs the card anew, from the worker's address and the window if mapped. */
mpinpu_status_t transport_card_pack(transport_t *transport, const void *key, size_t key_bytes);

/* Bytes of memory behind a window of `bytes`, its mark included. */
size_t transport_window_room(size_t bytes);

/* Unmaps the own window, if any. */
void transport_window_unmap(transport_t *transport);

/* The peer's endpoint, made if need be. The mutex must be held. NULL: `why` says the cause. */
ucp_ep_h transport_peer_endpoint(transport_t *transport, transport_peer_t *peer, char *why, size_t why_bytes);

/* Closes all endpoints, flushing them for at most `seconds`, and frees the peers. False: something was still under
   way, so UCX's worker must not be destroyed. */
bool transport_peers_close(transport_t *transport, double seconds);

/* Drops the messages that have come and that nobody has taken: UCX would complain of them at the end. */
void transport_messages_drop(transport_t *transport);

/* Monotonic time, seconds. */
double transport_now(void);

/* From the first message on: starts the thread that progresses messages while nobody else does. Any thread. */
void transport_keeper_start(transport_t *transport);

/* Ends it, if it runs. */
void transport_keeper_stop(transport_t *transport);

#endif
