/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/jobs/pending.h"

#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 64, GUARD_BYTE = 0xA5, UNSET_BYTE = 0x5A };

void pending_make(pending_t *pending, job_kind_t kind, const char *type, pattern_op_id_t op, size_t total,
                  bool in_place, MPI_Comm comm)
{
    *pending = (pending_t){
        .kind = kind, .type = pattern_type_named(type), .op = &pattern_ops()[op], .in_place = in_place, .comm = comm};
    MPI_Comm_rank(comm, &pending->rank);
    MPI_Comm_size(comm, &pending->size);
    const size_t ranks = (size_t)pending->size;
    pending->counts = malloc(ranks * sizeof(int));
    pending->counts[0] = (int)total;
    pending->total = total;
    pending->mine = total;
    if (kind != JOB_ALLREDUCE) {
        pending->total = 0;
        for (size_t r = 0; r < ranks; r++) {
            const size_t even = kind == JOB_REDUCE_SCATTER ? total / ranks : (total + ranks - 1) / ranks;
            const size_t more = kind == JOB_REDUCE_SCATTER && r < total % ranks ? 1 : 0;
            pending->first = r == (size_t)pending->rank ? pending->total : pending->first;
            pending->counts[r] = (int)(even + more);
            pending->total += even + more;
        }
        pending->mine = (size_t)pending->counts[pending->rank];
    }
    pending->room = (in_place ? pending->total : pending->mine) * pending->type->size;
    pending->recv = malloc(pending->room + GUARD);
    pending->send = malloc(pending->total * pending->type->size + 1);
    if (pending->counts == NULL || pending->recv == NULL || pending->send == NULL) {
        job_fail("no memory for buffers of %zu elements", total);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    memset(pending->recv + pending->room, GUARD_BYTE, GUARD);
}

void pending_free(pending_t *pending)
{
    free(pending->counts);
    free(pending->recv);
    free(pending->send);
    *pending = (pending_t){0};
}

void pending_fill(pending_t *pending, size_t seed)
{
    pending->seed = seed;
    if (!pending->in_place) {
        memset(pending->recv, UNSET_BYTE, pending->room);
    }
    pattern_fill(pending->type, pending->op, pending->rank, pending->in_place ? pending->recv : pending->send, seed,
                 pending->total);
}

static const void *send_of(const pending_t *pending)
{
    return pending->in_place ? MPI_IN_PLACE : pending->send;
}

int pending_issue(pending_t *pending, MPI_Request *request)
{
    const void *send = send_of(pending);
    MPI_Datatype type = pending->type->handle;
    MPI_Op op = pending->op->handle;

    switch (pending->kind) {
    case JOB_ALLREDUCE:
        return job_iallreduce(send, pending->recv, pending->counts[0], type, op, pending->comm, request);
    case JOB_REDUCE_SCATTER:
        return job_ireduce_scatter(send, pending->recv, pending->counts, type, op, pending->comm, request);
    default:
        return job_ireduce_scatter_block(send, pending->recv, pending->counts[0], type, op, pending->comm, request);
    }
}

int pending_run(pending_t *pending)
{
    const void *send = send_of(pending);
    MPI_Datatype type = pending->type->handle;
    MPI_Op op = pending->op->handle;

    switch (pending->kind) {
    case JOB_ALLREDUCE:
        return job_allreduce(send, pending->recv, pending->counts[0], type, op, pending->comm);
    case JOB_REDUCE_SCATTER:
        return job_reduce_scatter(send, pending->recv, pending->counts, type, op, pending->comm);
    default:
        return job_reduce_scatter_block(send, pending->recv, pending->counts[0], type, op, pending->comm);
    }
}

bool pending_init(pending_t *pending, MPI_Request *request)
{
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
    const void *send = send_of(pending);
    MPI_Datatype type = pending->type->handle;
    MPI_Op op = pending->op->handle;
    int status = MPI_SUCCESS;

    switch (pending->kind) {
    case JOB_ALLREDUCE:
        status = MPIX_Allreduce_init(send, pending->recv, pending->counts[0], type, op, pending->comm, MPI_INFO_NULL,
                                     request);
        break;
    case JOB_REDUCE_SCATTER:
        status = MPIX_Reduce_scatter_init(send, pending->recv, pending->counts, type, op, pending->comm, MPI_INFO_NULL,
                                          request);
        break;
    default:
        status = MPIX_Reduce_scatter_block_init(send, pending->recv, pending->counts[0], type, op, pending->comm,
                                                MPI_INFO_NULL, request);
        break;
    }
    job_count(pending->kind + JOB_ALLREDUCE_INIT, status, pending->total > 0, pending->comm);
    JOB_CHECK(status == MPI_SUCCESS, "a persistent request of kind %d: error %d", (int)pending->kind, status);
    return true;
#else
    (void)pending;
    (void)request;
    return false;
#endif
}

bool pending_check(const pending_t *pending, const char *what)
{
    static const char *const kinds[] = {"allreduce", "reduce_scatter", "reduce_scatter_block"};
    char text[160];

    (void)snprintf(text, sizeof text, "%s: %s, total %zu%s", what, kinds[pending->kind], pending->total,
                   pending->in_place ? ", in place" : "");
    for (int i = 0; i < GUARD; i++) {
        if ((unsigned char)pending->recv[pending->room + (size_t)i] != GUARD_BYTE) {
            job_fail("%s: byte %d behind the output was overwritten", text, i);
            return false;
        }
    }
    return pattern_check(pending->type, pending->op, pending->size, pending->recv, pending->seed + pending->first,
                         pending->mine, text);
}
