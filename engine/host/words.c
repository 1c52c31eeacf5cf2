/* SPDX-License-Identifier: BSD-3-Clause */
/* Words between the ranks of a communicator, outside of the order of its collectives. */
#include "engine/host/host.h"

#include <stdlib.h>
#include <string.h>

/* As the tags of collectives (executor.c): the receiver's number of the communicator, then senders that no communicator
   has room for. */
static uint64_t word_tag(uint32_t comm_id, host_words_t words)
{
    return (uint64_t)comm_id << 32 | (uint32_t)(0xfffff - (int)words);
}

void host_comm_send_word(engine_comm_t *comm, host_words_t words, uint32_t rank, const void *word)
{
    engine_t *engine = comm->engine;
    host_word_t *sent = malloc(sizeof *sent);
    transport_request_t request = {0};

    if (sent == NULL) {
        return;
    }
    memcpy(sent->bytes, word, sizeof sent->bytes);
    if (transport_send(engine->transport, comm->ranks[rank].peer, word_tag(comm->ranks[rank].id, words), sent->bytes,
                       sizeof sent->bytes, &request) != MPINPU_OK ||
        request.ucx == NULL) {
        free(sent);
        return;
    }
    transport_request_cancel(engine->transport, &request); /* left to finish */
    /* Release: who frees the list sees what is in it. */
    sent->next = atomic_load_explicit(&engine->words, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&engine->words, &sent->next, sent, memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

bool host_comm_take_word(engine_comm_t *comm, host_words_t words, void *word)
{
    return transport_take(comm->engine->transport, word_tag(comm->ranks[comm->rank].id, words), word,
                          ENGINE_WORD_BYTES);
}

void host_comm_word_send(engine_comm_t *comm, uint32_t rank, const void *word)
{
    host_comm_send_word(comm, WORDS_OTHERS, rank, word);
}

bool host_comm_word_take(engine_comm_t *comm, void *word)
{
    return host_comm_take_word(comm, WORDS_OTHERS, word);
}

void host_words_free(engine_t *engine)
{
    host_word_t *word = atomic_load_explicit(&engine->words, memory_order_acquire);

    while (word != NULL) {
        host_word_t *next = word->next;
        free(word);
        word = next;
    }
}
