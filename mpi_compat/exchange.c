/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi_compat/exchange.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

static mpinpu_status_t compat_allgather(void *context, const void *mine, void *all, size_t bytes)
{
    const MPI_Comm *comm = context;

    if (bytes > INT_MAX) {
        return MPINPU_ERR_EXCHANGE;
    }
    int code = PMPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, *comm);
    return code == MPI_SUCCESS ? MPINPU_OK : MPINPU_ERR_EXCHANGE;
}

static mpinpu_status_t compat_agree(void *context, mpinpu_status_t mine)
{
    const MPI_Comm *comm = context;
    int said = (int)mine;
    int worst = (int)MPINPU_ERR_EXCHANGE;
    /* Not PMPI_Allreduce, which is this library's. */
    int code = PMPI_Reduce(&said, &worst, 1, MPI_INT, MPI_MAX, 0, *comm);

    if (code == MPI_SUCCESS) {
        code = PMPI_Bcast(&worst, 1, MPI_INT, 0, *comm);
    }
    return code == MPI_SUCCESS ? (mpinpu_status_t)worst : MPINPU_ERR_EXCHANGE;
}

static mpinpu_status_t compat_broadcast(void *context, void *data, size_t bytes, int root)
{
    const MPI_Comm *comm = context;

    if (bytes > INT_MAX) {
        return MPINPU_ERR_EXCHANGE;
    }
    int code = PMPI_Bcast(data, (int)bytes, MPI_BYTE, root, *comm);
    return code == MPI_SUCCESS ? MPINPU_OK : MPINPU_ERR_EXCHANGE;
}

static mpinpu_status_t compat_split(void *context, int color, int key, engine_exchange_t *part)
{
    const MPI_Comm *comm = context;
    MPI_Comm *made = malloc(sizeof(MPI_Comm)); // NOLINT(bugprone-sizeof-expression): a handle, here a pointer
    mpinpu_status_t status = compat_agree(context, made != NULL ? MPINPU_OK : MPINPU_ERR_NO_MEMORY);

    if (status == MPINPU_OK && PMPI_Comm_split(*comm, color, key, made) != MPI_SUCCESS) {
        status = MPINPU_ERR_EXCHANGE;
    }
    if (status != MPINPU_OK) {
        free(made);
        return status;
    }
    return compat_exchange_init(part, made);
}

static void compat_join(engine_exchange_t *part)
{
    MPI_Comm *made = part->context;

    (void)PMPI_Comm_free(made);
    free(made);
    *part = (engine_exchange_t){0};
}

mpinpu_status_t compat_exchange_init(engine_exchange_t *exchange, const MPI_Comm *comm)
{
    int rank = 0;
    int size = 0;

    if (PMPI_Comm_rank(*comm, &rank) != MPI_SUCCESS || PMPI_Comm_size(*comm, &size) != MPI_SUCCESS) {
        return MPINPU_ERR_EXCHANGE;
    }
    *exchange = (engine_exchange_t){.rank = rank,
                                    .size = size,
                                    .context = (void *)comm,
                                    .allgather = compat_allgather,
                                    .agree = compat_agree,
                                    .broadcast = compat_broadcast,
                                    .split = compat_split,
                                    .join = compat_join};
    return MPINPU_OK;
}

bool compat_comm_valid(MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        return false;
    }
#ifdef OPEN_MPI
    /* c2f answers -1 for a handle that is none, without an error (Open MPI 4.1 and 5.0, ompi/mpi/c/comm_c2f.c). */
    return comm != NULL && PMPI_Comm_c2f(comm) >= 0;
#else
    return true;
#endif
}

bool compat_comm_within_world(MPI_Comm comm)
{
    enum { COMPARED_MOST = 4096 };
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    int size = 0;
    bool within = true;

    if (comm == MPI_COMM_WORLD || PMPI_Comm_size(comm, &size) != MPI_SUCCESS || size > COMPARED_MOST) {
        return true;
    }
    int *ranks = malloc(2 * (size_t)size * sizeof *ranks);
    if (ranks == NULL) {
        return true;
    }
    for (int r = 0; r < size; r++) {
        ranks[r] = r;
    }
    if (PMPI_Comm_group(comm, &group) == MPI_SUCCESS && PMPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS &&
        PMPI_Group_translate_ranks(group, size, ranks, world, ranks + size) == MPI_SUCCESS) {
        for (int r = 0; r < size; r++) {
            within = within && ranks[size + r] != MPI_UNDEFINED;
        }
    }
    if (group != MPI_GROUP_NULL) {
        (void)PMPI_Group_free(&group);
    }
    if (world != MPI_GROUP_NULL) {
        (void)PMPI_Group_free(&world);
    }
    free(ranks);
    return within;
}
