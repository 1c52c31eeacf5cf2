/* SPDX-License-Identifier: BSD-3-Clause */
/* Processes of a test that have met over the transport. */
#ifndef TESTS_UNIT_TRANSPORT_PROCESSES_H
#define TESTS_UNIT_TRANSPORT_PROCESSES_H

#include "tests/unit/processes.h"
#include "transport/transport.h"

#include <stdbool.h>

typedef struct party {
    process_t *process;
    transport_t *transport;
    transport_peer_t *peers[PROCESSES_MAX]; /* itself too */
    void *window;                           /* own; NULL without */
    size_t window_bytes;
} party_t;

/* Opens the transport, maps the window (window_bytes 0: none), and makes all known to all. `strangers` lets each take
   the others for processes of another host. */
void party_meet(party_t *party, process_t *process, size_t window_bytes, bool strangers);
void party_meet_with(party_t *party, process_t *process, const transport_config_t *config, bool strangers);

/* The window of a process as seen here; the test ends if there is none. */
void *party_window(party_t *party, int rank);

/* Progresses until the request is done, and requires that it went well. */
void party_wait(party_t *party, transport_request_t *request);

/* Exchanges one message with another, which does the same. Both are connected afterwards. */
void party_greet(party_t *party, int rank);

#endif
