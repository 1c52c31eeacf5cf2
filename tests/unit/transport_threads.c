/* SPDX-License-Identifier: BSD-3-Clause */
/* Several threads in one transport at once. */
#include "tests/unit/transport_processes.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 200, LONGEST = 30000 };

typedef struct worker {
    party_t *party;
    uint64_t number;
} worker_t;

static void *thread_run(void *argument)
{
    worker_t *worker = argument;
    party_t *party = worker->party;
    int peer = 1 - party->process->rank;
    unsigned char *out = malloc(LONGEST);
    unsigned char *in = malloc(LONGEST);
    process_require(out != NULL && in != NULL, "no memory");
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t bytes = round % 4 == 0 ? LONGEST : round;
        transport_request_t send;
        transport_request_t receive;
        memset(out, (int)(round + worker->number), bytes);
        process_require(transport_receive(party->transport, worker->number, in, bytes, &receive) == MPINPU_OK,
                        "receive");
        process_require(transport_send(party->transport, party->peers[peer], worker->number, out, bytes, &send) ==
                            MPINPU_OK,
                        "send");
        party_wait(party, &receive);
        party_wait(party, &send);
        for (size_t i = 0; i < bytes; i++) {
            process_require(in[i] == (unsigned char)(round + worker->number), "round %u byte %zu", round, i);
        }
        const uint64_t *window = party_window(party, peer);
        process_require(window[0] == (uint64_t)peer + 1, "window");
    }
    free(out);
    free(in);
    return NULL;
}

static void threads_body(process_t *self)
{
    party_t party;
    pthread_t threads[THREADS];
    worker_t workers[THREADS];
    party_meet_with(&party, self, &(transport_config_t){.window_bytes = 4096, .thread_multiple = true},
                    self->argument != NULL);
    *(uint64_t *)party.window = (uint64_t)self->rank + 1;
    process_barrier(self);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){.party = &party, .number = (uint64_t)i};
        process_require(pthread_create(&threads[i], NULL, thread_run, &workers[i]) == 0, "thread");
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    process_barrier(self);
    transport_close(party.transport);
}

Test(transport_threads, all_at_once, .timeout = 60)
{
    cr_assert_eq(processes_run(2, 50, 0, threads_body, NULL), 0);
}
