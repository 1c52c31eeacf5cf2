/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/transport_processes.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { CARD_MAX = 4096 };

typedef struct introduction {
    transport_identity_t identity;
    size_t card_bytes;
    char card[CARD_MAX];
} introduction_t;

void party_meet(party_t *party, process_t *process, size_t window_bytes, bool strangers)
{
    party_meet_with(party, process, &(transport_config_t){.window_bytes = window_bytes}, strangers);
}

void party_meet_with(party_t *party, process_t *process, const transport_config_t *config, bool strangers)
{
    char why[256] = "";
    introduction_t mine;
    introduction_t all[PROCESSES_MAX];
    const void *card;
    *party = (party_t){.process = process};
    process_require(transport_open(config, &party->transport, why, sizeof why) == MPINPU_OK, "%s", why);
    if (config->window_bytes > 0) {
        process_require(transport_window_map(party->transport, &party->window, &party->window_bytes, why, sizeof why) ==
                            MPINPU_OK,
                        "%s", why);
    }
    memset(&mine, 0, sizeof mine);
    mine.identity = transport_identity_get(party->transport);
    transport_card_get(party->transport, &card, &mine.card_bytes);
    process_require(mine.card_bytes <= CARD_MAX, "a card of %zu bytes", mine.card_bytes);
    memcpy(mine.card, card, mine.card_bytes);
    process_allgather(process, &mine, all, sizeof mine);
    for (int i = 0; i < process->size; i++) {
        if (strangers && i != process->rank) {
            all[i].identity.host += (uint64_t)i + 1;
        }
        process_require(transport_peer_add(party->transport, all[i].identity, all[i].card, all[i].card_bytes,
                                           &party->peers[i]) == MPINPU_OK,
                        "card of %d", i);
    }
}

void *party_window(party_t *party, int rank)
{
    char why[256] = "";
    void *base = NULL;
    size_t bytes = 0;
    process_require(transport_peer_window(party->transport, party->peers[rank], &base, &bytes, why, sizeof why) ==
                        MPINPU_OK,
                    "window of %d: %s", rank, why);
    process_require(bytes == party->window_bytes, "%zu bytes", bytes);
    return base;
}

void party_wait(party_t *party, transport_request_t *request)
{
    mpinpu_status_t status = transport_request_test(party->transport, request);
    while (status == MPINPU_IN_PROGRESS) {
        if (transport_progress(party->transport) == 0) {
            sched_yield();
        }
        status = transport_request_test(party->transport, request);
    }
    process_require(status == MPINPU_OK, "%s", status_name(status));
}

void party_greet(party_t *party, int rank)
{
    static const uint64_t tag = UINT64_C(0xabcdef0123456789);
    uint64_t mine = (uint64_t)party->process->rank + 1000;
    uint64_t theirs = 0;
    transport_request_t send;
    transport_request_t receive;
    process_require(transport_receive(party->transport, tag, &theirs, sizeof theirs, &receive) == MPINPU_OK, "receive");
    process_require(transport_send(party->transport, party->peers[rank], tag, &mine, sizeof mine, &send) == MPINPU_OK,
                    "send");
    party_wait(party, &receive);
    party_wait(party, &send);
    process_require(theirs == (uint64_t)rank + 1000, "greeted by %llu", (unsigned long long)theirs);
}
