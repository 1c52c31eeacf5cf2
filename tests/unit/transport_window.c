/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/transport_processes.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_BYTES = (1 << 20) + 64 }; /* not whole pages */

static size_t pattern(int rank, size_t index)
{
    return index * 2654435761u + (size_t)rank * 40503u;
}

/* Each process writes into its own window and reads all others', then each writes into its right neighbour's. */
static void window_both_ways(process_t *self)
{
    party_t party;
    size_t words = WINDOW_BYTES / sizeof(size_t);
    party_meet(&party, self, WINDOW_BYTES, false);
    size_t *own = party.window;
    for (size_t i = 0; i < words; i++) {
        process_require(own[i] == 0, "word %zu of a fresh window is not zero", i);
        own[i] = pattern(self->rank, i);
    }
    process_barrier(self);
    for (int peer = 0; peer < self->size; peer++) {
        const size_t *other = party_window(&party, peer);
        process_require((peer == self->rank) == (other == own), "own window, another's pointer");
        process_require(party_window(&party, peer) == other, "another pointer the second time");
        for (size_t i = 0; i < words; i++) {
            process_require(other[i] == pattern(peer, i), "word %zu of %d", i, peer);
        }
    }
    process_barrier(self);
    int right = (self->rank + 1) % self->size;
    size_t *theirs = party_window(&party, right);
    for (size_t i = 0; i < words; i++) {
        theirs[i] = pattern(self->rank + 100, i);
    }
    process_barrier(self);
    int left = (self->rank + self->size - 1) % self->size;
    for (size_t i = 0; i < words; i++) {
        process_require(own[i] == pattern(left + 100, i), "word %zu written by %d", i, left);
    }
    transport_close(party.transport);
}

Test(transport_window, both_ways, .timeout = 60)
{
    cr_assert_eq(processes_run(4, 50, 0, window_both_ways, NULL), 0);
}

/* Two processes count up in turn through flags with release and acquire, each flag guarding a plain word. */
static void window_flags(process_t *self)
{
    party_t party;
    party_meet(&party, self, 4096, false);
    struct turn {
        _Atomic uint64_t flag;
        char elsewhere[192];
        uint64_t payload;
    } *own = party.window, *other = party_window(&party, 1 - self->rank);
    for (uint64_t turn = 1; turn <= 20000; turn++) {
        own->payload = turn * 3 + (uint64_t)self->rank;
        atomic_store_explicit(&own->flag, turn, memory_order_release);
        while (atomic_load_explicit(&other->flag, memory_order_acquire) < turn) {
            sched_yield();
        }
        uint64_t seen = other->payload;
        process_require(seen >= turn * 3 + (uint64_t)(1 - self->rank), "turn %llu: payload %llu",
                        (unsigned long long)turn, (unsigned long long)seen);
    }
    transport_close(party.transport);
}

Test(transport_window, flags_are_coherent, .timeout = 60)
{
    cr_assert_eq(processes_run(2, 50, 0, window_flags, NULL), 0);
}

/* The owner has closed, and its process has ended; what it wrote is still there for the peer. */
static void window_outlives_owner(process_t *self)
{
    party_t party;
    char end;
    party_meet(&party, self, WINDOW_BYTES, false);
    if (self->rank == 0) {
        memset(party.window, 0x5a, WINDOW_BYTES);
        process_barrier(self);
        process_read(self, 1, &end, 1);
        transport_close(party.transport);
        exit(0);
    }
    process_barrier(self);
    const unsigned char *theirs = party_window(&party, 0);
    process_write(self, 0, "", 1);
    process_require(read(self->sockets[0], &end, 1) == 0, "process 0 has not ended");
    for (size_t i = 0; i < WINDOW_BYTES; i++) {
        process_require(theirs[i] == 0x5a, "byte %zu", i);
    }
    transport_close(party.transport);
}

Test(transport_window, outlives_its_owner, .timeout = 60)
{
    cr_assert_eq(processes_run(2, 50, 0, window_outlives_owner, NULL), 0);
}

/* No window on either side, and no window across hosts: said, not crashed. */
static void window_unknown(process_t *self)
{
    bool strangers = self->argument != NULL;
    char why[256] = "";
    void *base = NULL;
    size_t bytes = 0;
    party_t party;
    party_meet(&party, self, strangers ? 4096 : 0, strangers);
    process_require(transport_peer_window(party.transport, party.peers[1 - self->rank], &base, &bytes, why,
                                          sizeof why) == MPINPU_ERR_UNSUPPORTED,
                    "a window where there is none");
    process_require(strstr(why, strangers ? "another host" : "has no window") != NULL, "%s", why);
    process_require(base == NULL && bytes == 0, "outputs set on failure");
    transport_close(party.transport);
}

Test(transport_window, none_is_said, .timeout = 60)
{
    int strangers = 1;
    cr_assert_eq(processes_run(2, 50, 0, window_unknown, NULL), 0);
    cr_assert_eq(processes_run(2, 50, 0, window_unknown, &strangers), 0);
}
