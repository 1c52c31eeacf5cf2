/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/setup.h"

#include "shim/world.h"

static void setup_run(coroutine_t *coroutine, void *argument)
{
    comm_state_t *state = argument;
    compat_messages_t *messages = state->queue.messages;
    engine_exchange_t exchange;

    messages->wait = coroutine_wait;
    messages->context = coroutine;
    if (coroutine_wait(coroutine, 1, &state->queue.tags) == MPI_SUCCESS) {
        compat_exchange_init_messages(&exchange, messages);
        exchange.owner = state;
        comm_state_connect(state, &exchange);
    } else {
        atomic_store_explicit(&state->reason, REASON_NO_COMM, memory_order_release);
    }
}

coroutine_t *setup_new(comm_state_t *state, MPI_Comm comm)
{
    compat_messages_t *messages = compat_messages_new(comm, process.world.comm);
    coroutine_t *made = coroutine_new(setup_run, state);

    if (messages != NULL && made != NULL) {
        const int size = messages->size;
        int *mine = messages->tag + size;
        *mine = world_tag_take();
        if (PMPI_Iallgather(mine, 1, MPI_INT, messages->tag, 1, MPI_INT, comm, &state->queue.tags) == MPI_SUCCESS) {
            state->queue.messages = messages;
            return made;
        }
    }
    coroutine_free(made);
    compat_messages_free(messages);
    return NULL;
}
