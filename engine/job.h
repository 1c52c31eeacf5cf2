/* SPDX-License-Identifier: BSD-3-Clause */
/* What the launcher tells a process about its place in the job, known before MPI_Init. */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Whether this process is the one that speaks for its job: its rank is 0, or it was started by no launcher that is
   known (Open MPI's, MPICH's, PMIx ones, Slurm's). Reads the environment. */
static inline bool job_is_speaker(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"};

    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        const char *rank = getenv(ranks[i]);
        if (rank != NULL) {
            return strcmp(rank, "0") == 0;
        }
    }
    return true;
}

#endif
