/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_compat/messages.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

compat_messages_t *compat_messages_new(MPI_Comm served, MPI_Comm comm)
{
    compat_messages_t *made = calloc(1, sizeof *made);
    MPI_Group from = MPI_GROUP_NULL;
    MPI_Group to = MPI_GROUP_NULL;
    bool fine = made != NULL && PMPI_Comm_rank(served, &made->rank) == MPI_SUCCESS &&
                PMPI_Comm_size(served, &made->size) == MPI_SUCCESS;

    if (fine) {
        made->comm = comm;
        made->place = calloc((size_t)made->size, sizeof *made->place);
        made->tag = calloc(2 * (size_t)made->size, sizeof *made->tag);
        fine = made->place != NULL && made->tag != NULL && PMPI_Comm_group(served, &from) == MPI_SUCCESS &&
               PMPI_Comm_group(comm, &to) == MPI_SUCCESS;
    }
    if (fine) {
        int *own = made->tag; /* room until there are tags */
        for (int r = 0; r < made->size; r++) {
            own[r] = r;
        }
        fine = PMPI_Group_translate_ranks(from, made->size, own, to, made->place) == MPI_SUCCESS;
    }
    if (from != MPI_GROUP_NULL) {
        (void)PMPI_Group_free(&from);
    }
    if (to != MPI_GROUP_NULL) {
        (void)PMPI_Group_free(&to);
    }
    if (!fine) {
        compat_messages_free(made);
        return NULL;
    }
    return made;
}

void compat_messages_free(compat_messages_t *messages)
{
    if (messages != NULL) {
        free(messages->tag);
        free(messages->place);
        free(messages);
    }
}

int compat_message_send(const compat_messages_t *messages, int to, const void *data, int count, MPI_Datatype datatype,
                        MPI_Request *request)
{
    return PMPI_Isend(data, count, datatype, messages->place[to], messages->tag[to], messages->comm, request);
}

int compat_message_receive(const compat_messages_t *messages, int from, void *data, int count, MPI_Datatype datatype,
                           MPI_Request *request)
{
    return PMPI_Irecv(data, count, datatype, messages->place[from], messages->tag[messages->rank], messages->comm,
                      request);
}

/* Messages that are under way at once. */
typedef struct batch {
    const compat_messages_t *messages;
    int code;
    int count;
    MPI_Request requests[4];
} batch_t;

static void batch_send(batch_t *batch, int to, const void *data, size_t bytes)
{
    if (batch->code == MPI_SUCCESS) {
        batch->code = bytes > INT_MAX ? MPI_ERR_COUNT
                                      : compat_message_send(batch->messages, to, data, (int)bytes, MPI_BYTE,
                                                            &batch->requests[batch->count]);
        batch->count += batch->code == MPI_SUCCESS ? 1 : 0;
    }
}

static void batch_receive(batch_t *batch, int from, void *data, size_t bytes)
{
    if (batch->code == MPI_SUCCESS) {
        batch->code = bytes > INT_MAX ? MPI_ERR_COUNT
                                      : compat_message_receive(batch->messages, from, data, (int)bytes, MPI_BYTE,
                                                               &batch->requests[batch->count]);
        batch->count += batch->code == MPI_SUCCESS ? 1 : 0;
    }
}

static int batch_wait(batch_t *batch)
{
    return batch->code == MPI_SUCCESS ? batch->messages->wait(batch->messages->context, batch->count, batch->requests)
                                      : batch->code;
}

/* By dissemination: a rank that has the blocks of some ranks from its own on passes them to who is as many before it.
   Blocks are where they belong from the first, so what wraps around goes in two messages. */
static mpinpu_status_t messages_allgather(void *context, const void *mine, void *all, size_t bytes)
{
    const compat_messages_t *messages = context;
    const int n = messages->size;
    const int me = messages->rank;
    char *blocks = all;
    int code = MPI_SUCCESS;

    memcpy(blocks + (size_t)me * bytes, mine, bytes);
    for (int have = 1; have < n && code == MPI_SUCCESS; have *= 2) {
        batch_t batch = {.messages = messages};
        const int to = (me - have + n) % n;
        const int from = (me + have) % n;
        const int count = have < n - have ? have : n - have;
        const int sent = count < n - me ? count : n - me; /* before the end of all */
        const int received = count < n - from ? count : n - from;

        batch_receive(&batch, from, blocks + (size_t)from * bytes, (size_t)received * bytes);
        if (received < count) {
            batch_receive(&batch, from, blocks, (size_t)(count - received) * bytes);
        }
        batch_send(&batch, to, blocks + (size_t)me * bytes, (size_t)sent * bytes);
        if (sent < count) {
            batch_send(&batch, to, blocks, (size_t)(count - sent) * bytes);
        }
        code = batch_wait(&batch);
    }
    return code == MPI_SUCCESS ? MPINPU_OK : MPINPU_ERR_EXCHANGE;
}

static mpinpu_status_t messages_agree(void *context, mpinpu_status_t mine)
{
    const compat_messages_t *messages = context;
    const int n = messages->size;
    int worst = (int)mine;

    for (int step = 1; step < n; step *= 2) {
        batch_t batch = {.messages = messages};
        int theirs = 0;
        batch_receive(&batch, (messages->rank - step + n) % n, &theirs, sizeof theirs);
        batch_send(&batch, (messages->rank + step) % n, &worst, sizeof worst);
        if (batch_wait(&batch) != MPI_SUCCESS) {
            return MPINPU_ERR_EXCHANGE;
        }
        worst = theirs > worst ? theirs : worst;
    }
    return (mpinpu_status_t)worst;
}

void compat_exchange_init_messages(engine_exchange_t *exchange, const compat_messages_t *messages)
{
    *exchange = (engine_exchange_t){.rank = messages->rank,
                                    .size = messages->size,
                                    .context = (void *)messages,
                                    .allgather = messages_allgather,
                                    .agree = messages_agree};
}
