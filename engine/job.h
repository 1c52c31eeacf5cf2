/* SPDX-License-Identifier: BSD-3-Clause */
/* What the launcher tells a process about its place in the job, known before MPI_Init. */
#ifndef ENGINE_JOB_H
#define ENGINE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* 0 where this process was started by a launcher. Where it was started by MPI_Comm_spawn: a number, the same in each
   run of a program, that no other job of the same mpirun has. Open MPI tells such a process where its parent is, and
   numbers the jobs of one mpirun: in the lower 16 bits of a name that is a number (4.1), behind an @ (5.0). A name that
   is neither gives way to the process's number, which is distinct, too. Reads the environment. */
static inline unsigned long job_spawned(void)
{
    const char *name = getenv("PMIX_NAMESPACE");
    const char *at = name != NULL ? strrchr(name, '@') : NULL;
    char *end = NULL;

    if (getenv("OMPI_PARENT_PORT") == NULL) {
        return 0;
    }
    unsigned long number = name != NULL ? strtoul(at != NULL ? at + 1 : name, &end, 10) : 0;
    number = at != NULL ? number : number & 0xffff;
    return end != NULL && *end == '\0' && number != 0 ? number : (unsigned long)getpid();
}

#endif
