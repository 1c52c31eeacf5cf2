/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/world.h"

#include "config.h" /* PACKAGE_VERSION */
#include "mpi_compat/exchange.h"
#include "shim/device_buffers.h"
#include "shim/process.h"
#include "transport/log.h"

#include <string.h>

/* What all must have in common. */
typedef struct world_word {
    char version[32];
    int64_t off;
    int64_t compared[ENGINE_COMPARED_MAX];
} world_word_t;

static void word_fill(world_word_t *word)
{
    const engine_compared_t compared = settings_compared(&process.settings);

    *word = (world_word_t){.version = PACKAGE_VERSION,
                           .off = settings_get(&process.settings, SETTING_ENGINE) == SETTING_ENGINE_OFF};
    memcpy(word->compared, compared.values, sizeof compared.values);
}

/* Collective over MPI_COMM_WORLD. */
static void world_open(void)
{
    engine_exchange_t exchange;
    world_word_t mine;
    world_word_t first;
    MPI_Comm comm = MPI_COMM_NULL;
    void *value = NULL;
    int found = 0;

    if (!process_runs()) {
        return;
    }
    if (process.size == 1) {
        process.world.agreed = settings_get(&process.settings, SETTING_ENGINE) != SETTING_ENGINE_OFF;
        return;
    }
    /* Not a duplicate, which would call the program's attribute functions. */
    if (PMPI_Comm_split(MPI_COMM_WORLD, 0, process.rank, &comm) != MPI_SUCCESS) {
        return;
    }
    word_fill(&mine);
    first = mine;
    if (compat_exchange_init(&exchange, &comm) != MPINPU_OK ||
        exchange.broadcast(exchange.context, &first, sizeof first, 0) != MPINPU_OK) {
        return;
    }
    const bool same = memcmp(&first, &mine, sizeof mine) == 0;
    const mpinpu_status_t agreed = exchange.agree(exchange.context, same ? MPINPU_OK : MPINPU_ERR_DISAGREE);
    process.world.tag_most =
        PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&value, &found) == MPI_SUCCESS && found ? *(int *)value
                                                                                                       : 32767;
    process.world.comm = comm;
    process.world.agreed = agreed == MPINPU_OK && mine.off == 0;
}

int world_tag_take(void)
{
    /* Relaxed: only the number itself matters. */
    const unsigned taken = atomic_fetch_add_explicit(&process.world.tags, 1, memory_order_relaxed);

    return (int)(taken % ((unsigned)process.world.tag_most + 1));
}

int core_init(PARAMETERS_INIT(int))
{
    const int code = ((MPI_Init_function_t *)process.real->entry[CORE_MPI_Init])(argc, argv);

    if (code == MPI_SUCCESS) {
        world_open();
        device_buffers_look();
    }
    return code;
}

int core_init_thread(PARAMETERS_INIT_THREAD(int))
{
    const int code =
        ((MPI_Init_thread_function_t *)process.real->entry[CORE_MPI_Init_thread])(argc, argv, required, provided);

    if (code == MPI_SUCCESS) {
        world_open();
        device_buffers_look();
    }
    return code;
}
