/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: dladdr */

#include "mpi_compat/exchange.h"

#include <dlfcn.h>
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
                                    .broadcast = compat_broadcast};
    return MPINPU_OK;
}

/* Open MPI's own progress function, or NULL: set once at start, read after. */
static void (*progress_function)(void);

void compat_progress_init(void)
{
#ifdef OPEN_MPI
    Dl_info info;

    /* libmpi needs libopen-pal, so a look-up through libmpi's handle finds it however the program loaded libmpi. */
    if (dladdr((const void *)(uintptr_t)PMPI_Allgather, &info) != 0 && info.dli_fname != NULL) {
        void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL) {
            void *symbol = dlsym(handle, "opal_progress");
            *(void **)(&progress_function) = symbol;
            (void)dlclose(handle);
        }
    }
#endif
}

void compat_progress(void)
{
    int flag = 0;

    if (progress_function != NULL) {
        progress_function();
    } else {
        /* A probe drives the progress of any MPI; the message, if there is one, stays where it is. */
        (void)PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
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
