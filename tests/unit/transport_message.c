/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/transport_processes.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const size_t sizes[] = {0, 1, 8, 63, 64, 93, 94, 4095, 8256, 8257, 65536, 262144, 262145, 1 << 20, 16 << 20};

static unsigned char byte_of(int from, int to, size_t size, size_t index)
{
    return (unsigned char)(index * 167 + (index >> 8) * 13 + size * 5 + (size_t)from * 31 + (size_t)to * 7);
}

/* Every pair, every size, both ways at once. */
static void messages_all_sizes(process_t *self)
{
    party_t party;
    party_meet(&party, self, 0, self->argument != NULL);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size_t size = sizes[s];
        transport_request_t sends[PROCESSES_MAX];
        transport_request_t receives[PROCESSES_MAX];
        unsigned char *out[PROCESSES_MAX];
        unsigned char *in[PROCESSES_MAX];
        for (int peer = 0; peer < self->size; peer++) {
            out[peer] = malloc(size + 1);
            in[peer] = malloc(size + 1);
            process_require(out[peer] != NULL && in[peer] != NULL, "no memory");
            for (size_t i = 0; i < size; i++) {
                out[peer][i] = byte_of(self->rank, peer, size, i);
            }
            memset(in[peer], 0xee, size + 1);
            uint64_t tag_out = UINT64_C(0xf000000000000000) | s << 16 | (uint64_t)self->rank << 8 | (uint64_t)peer;
            uint64_t tag_in = UINT64_C(0xf000000000000000) | s << 16 | (uint64_t)peer << 8 | (uint64_t)self->rank;
            process_require(transport_receive(party.transport, tag_in, in[peer], size, &receives[peer]) == MPINPU_OK,
                            "receive");
            process_require(
                transport_send(party.transport, party.peers[peer], tag_out, out[peer], size, &sends[peer]) == MPINPU_OK,
                "send");
        }
        for (int peer = 0; peer < self->size; peer++) {
            party_wait(&party, &receives[peer]);
            for (size_t i = 0; i < size; i++) {
                process_require(in[peer][i] == byte_of(peer, self->rank, size, i), "byte %zu of %zu from %d", i, size,
                                peer);
            }
            process_require(in[peer][size] == 0xee, "written past the end");
        }
        for (int peer = 0; peer < self->size; peer++) {
            party_wait(&party, &sends[peer]);
            free(out[peer]);
            free(in[peer]);
        }
    }
    process_barrier(self);
    transport_close(party.transport);
}

Test(transport_message, all_sizes_both_ways, .timeout = 60)
{
    cr_assert_eq(processes_run(3, 50, 0, messages_all_sizes, NULL), 0);
}

Test(transport_message, all_sizes_between_hosts, .timeout = 60)
{
    int strangers = 1;
    cr_assert_eq(processes_run(3, 50, 0, messages_all_sizes, &strangers), 0);
}

/* Many messages of one tag, of several sizes so that eager ones could overtake those by rendezvous, sent before the
   receiver asks for any; then the same with the receives first. */
static void messages_in_order(process_t *self)
{
    enum { MESSAGES = 600, LONGEST = 40000 };
    party_t party;
    party_meet(&party, self, 0, self->argument != NULL);
    int peer = 1 - self->rank;
    transport_request_t *sends = calloc(MESSAGES, sizeof *sends);
    transport_request_t *receives = calloc(MESSAGES, sizeof *receives);
    unsigned char *out = malloc((size_t)MESSAGES * LONGEST);
    unsigned char *in = malloc((size_t)MESSAGES * LONGEST);
    process_require(sends && receives && out && in, "no memory");
    for (int round = 0; round < 2; round++) {
        for (int step = 0; step < 2; step++) {
            bool sending = step == round;
            for (size_t m = 0; m < MESSAGES; m++) {
                size_t bytes = m % 3 == 0 ? LONGEST : m % 3 == 1 ? 4 : 5000;
                unsigned char *buffer = (sending ? out : in) + m * LONGEST;
                memset(buffer, sending ? (int)(m % 251) : 0xff, bytes);
                memcpy(buffer, &(uint32_t){(uint32_t)(m * 7 + (size_t)self->rank)}, sizeof(uint32_t));
                mpinpu_status_t status =
                    sending ? transport_send(party.transport, party.peers[peer], 42, buffer, bytes, &sends[m])
                            : transport_receive(party.transport, 42, buffer, bytes, &receives[m]);
                process_require(status == MPINPU_OK, "message %zu", m);
            }
            if (sending) {
                for (int i = 0; i < 100; i++) {
                    transport_progress(party.transport);
                }
            }
            process_barrier(self);
        }
        for (size_t m = 0; m < MESSAGES; m++) {
            uint32_t number;
            party_wait(&party, &receives[m]);
            memcpy(&number, in + m * (size_t)LONGEST, sizeof number);
            process_require(number == (uint32_t)(m * 7) + (uint32_t)peer, "message %zu: %u", m, number);
            process_require(m % 3 == 1 || in[m * LONGEST + 4999] == m % 251, "message %zu is torn", m);
            party_wait(&party, &sends[m]);
        }
        process_barrier(self);
    }
    free(sends);
    free(receives);
    free(out);
    free(in);
    transport_close(party.transport);
}

Test(transport_message, equal_tags_keep_their_order, .timeout = 60)
{
    int strangers = 1;
    /* Short queues, so that much waits for room in them. */
    setenv("UCX_SYSV_FIFO_SIZE", "8", 1);
    cr_assert_eq(processes_run(2, 25, 0, messages_in_order, NULL), 0);
    cr_assert_eq(processes_run(2, 25, 0, messages_in_order, &strangers), 0);
}

/* Tags that differ in one bit, whichever it is, are different tags. */
static void messages_by_tag(process_t *self)
{
    enum { TAGS = 65 };
    party_t party;
    transport_request_t requests[TAGS];
    uint64_t values[TAGS];
    party_meet(&party, self, 0, false);
    int peer = 1 - self->rank;
    for (int i = 0; i < TAGS; i++) {
        uint64_t tag = i == 64 ? 0 : UINT64_C(1) << i;
        process_require(transport_receive(party.transport, tag, &values[i], sizeof values[i], &requests[i]) ==
                            MPINPU_OK,
                        "receive");
    }
    for (int i = TAGS - 1; i >= 0; i--) {
        uint64_t tag = i == 64 ? 0 : UINT64_C(1) << i;
        transport_request_t request;
        process_require(
            transport_send(party.transport, party.peers[peer], tag, &tag, sizeof tag, &request) == MPINPU_OK, "send");
        party_wait(&party, &request);
    }
    for (int i = 0; i < TAGS; i++) {
        party_wait(&party, &requests[i]);
        process_require(values[i] == (i == 64 ? 0 : UINT64_C(1) << i), "tag %d", i);
    }
    process_barrier(self);
    transport_close(party.transport);
}

Test(transport_message, tags_are_told_apart, .timeout = 60)
{
    cr_assert_eq(processes_run(2, 50, 0, messages_by_tag, NULL), 0);
}

/* Memory unmapped, and mapped again at the same address with other content: what is sent and received is what is there
   now. */
static void messages_remapped(process_t *self)
{
    enum { BYTES = 4 << 20, ROUNDS = 12 };
    party_t party;
    party_meet(&party, self, 0, self->argument != NULL);
    int peer = 1 - self->rank;
    void *place = NULL;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *both = mmap(place, 2 * (size_t)BYTES, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | (place == NULL ? 0 : MAP_FIXED), -1, 0);
        process_require(both != MAP_FAILED && (place == NULL || both == place), "mmap");
        place = both;
        memset(both, round * 16 + self->rank + 1, BYTES);
        transport_request_t send;
        transport_request_t receive;
        process_require(transport_receive(party.transport, 7, both + (size_t)BYTES, BYTES, &receive) == MPINPU_OK,
                        "receive");
        process_require(transport_send(party.transport, party.peers[peer], 7, both, BYTES, &send) == MPINPU_OK, "send");
        party_wait(&party, &receive);
        for (size_t i = 0; i < BYTES; i++) {
            process_require(both[(size_t)BYTES + i] == (unsigned char)(round * 16 + peer + 1), "round %d byte %zu",
                            round, i);
        }
        party_wait(&party, &send);
        process_barrier(self);
        process_require(munmap(both, 2 * (size_t)BYTES) == 0, "munmap");
    }
    transport_close(party.transport);
}

Test(transport_message, remapped_memory_is_not_stale, .timeout = 60)
{
    int strangers = 1;
    cr_assert_eq(processes_run(2, 25, 0, messages_remapped, NULL), 0);
    cr_assert_eq(processes_run(2, 25, 0, messages_remapped, &strangers), 0);
}

/* A message longer or shorter than awaited fails, on one process only, and the next ones are unharmed. */
static void messages_of_wrong_length(process_t *self)
{
    party_t party;
    char buffer[256];
    party_meet(&party, self, 0, false);
    static const size_t sent[] = {100, 300, 200};
    static const mpinpu_status_t expected[] = {MPINPU_ERR_TRANSPORT, MPINPU_ERR_TRANSPORT, MPINPU_OK};
    char longest[300] = "";
    for (size_t i = 0; i < 3; i++) {
        transport_request_t request;
        if (self->rank == 0) {
            process_require(transport_send(party.transport, party.peers[1], i, longest, sent[i], &request) == MPINPU_OK,
                            "send");
            party_wait(&party, &request);
        } else {
            process_require(transport_receive(party.transport, i, buffer, 200, &request) == MPINPU_OK, "receive");
            mpinpu_status_t status;
            do {
                transport_progress(party.transport);
                status = transport_request_test(party.transport, &request);
            } while (status == MPINPU_IN_PROGRESS);
            process_require(status == expected[i], "message %zu: %s", i, status_name(status));
            process_require(transport_request_test(party.transport, &request) == expected[i], "another answer");
        }
    }
    process_barrier(self);
    transport_close(party.transport);
}

Test(transport_message, wrong_length_is_an_error, .timeout = 60)
{
    cr_assert_eq(processes_run(2, 50, 0, messages_of_wrong_length, NULL), 0);
}

/* A cancelled receive takes nothing: a later one gets the message. */
static void messages_cancelled(process_t *self)
{
    party_t party;
    uint64_t first = 0;
    uint64_t second = 0;
    transport_request_t request;
    party_meet(&party, self, 0, false);
    if (self->rank == 0) {
        process_require(transport_receive(party.transport, 3, &first, sizeof first, &request) == MPINPU_OK, "receive");
        transport_request_cancel(party.transport, &request);
        process_require(transport_request_test(party.transport, &request) != MPINPU_IN_PROGRESS, "not done");
        process_require(transport_receive(party.transport, 3, &second, sizeof second, &request) == MPINPU_OK,
                        "receive");
        process_barrier(self);
    } else {
        process_barrier(self);
        second = 99;
        process_require(
            transport_send(party.transport, party.peers[0], 3, &second, sizeof second, &request) == MPINPU_OK, "send");
    }
    party_wait(&party, &request);
    process_require(first == 0 && second == 99, "first %llu, second %llu", (unsigned long long)first,
                    (unsigned long long)second);
    process_barrier(self);
    transport_close(party.transport);
}

Test(transport_message, cancelled_receive_takes_nothing, .timeout = 60)
{
    cr_assert_eq(processes_run(2, 50, 0, messages_cancelled, NULL), 0);
}

/* A process that has started a receive and then waits elsewhere is served all the same: the sender, which needs its
   answer, comes to an end. */
static void messages_unattended(process_t *self)
{
    enum { BYTES = 1 << 20 };
    party_t party;
    char end = 0;
    transport_request_t request;
    unsigned char *buffer = malloc(BYTES);
    process_require(buffer != NULL, "no memory");
    party_meet(&party, self, 0, self->argument != NULL);
    for (int round = 0; round < 3; round++) {
        memset(buffer, self->rank == 0 ? round + 1 : 0, BYTES);
        if (self->rank == 0) {
            process_require(transport_send(party.transport, party.peers[1], 9, buffer, BYTES, &request) == MPINPU_OK,
                            "send");
            party_wait(&party, &request);
            process_write(self, 1, &end, 1);
        } else {
            process_require(transport_receive(party.transport, 9, buffer, BYTES, &request) == MPINPU_OK, "receive");
            process_read(self, 0, &end, 1);
            party_wait(&party, &request);
            process_require(buffer[0] == round + 1 && buffer[BYTES - 1] == round + 1, "round %d", round);
        }
    }
    process_barrier(self);
    transport_close(party.transport);
    free(buffer);
}

Test(transport_message, served_while_elsewhere, .timeout = 60)
{
    int strangers = 1;
    cr_assert_eq(processes_run(2, 25, 0, messages_unattended, NULL), 0);
    cr_assert_eq(processes_run(2, 25, 0, messages_unattended, &strangers), 0);
}
