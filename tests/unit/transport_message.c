/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/transport_processes.h"

#include <criterion/criterion.h>
#include <sched.h>
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
