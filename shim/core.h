/* SPDX-License-Identifier: BSD-3-Clause */
/* The contract between libmpinpu.so, which is preloaded and depends on libc alone, and a core, which is written against
   the mpi.h of one MPI and holds everything else. The core exports one symbol, mpinpu_core_open. */
#ifndef SHIM_CORE_H
#define SHIM_CORE_H

#include "engine/memory_watch.h"

#include <stdint.h>

/* Rises with every change of this file that an older partner would misread. */
enum { MPINPU_CORE_ABI = 4 };

/* The intercepted functions, numbered in the order of functions.def: CORE_MPI_Allreduce, ... */
typedef enum core_function {
#define FUNCTION(NAME, kind, mode, width, presence) CORE_##NAME,
#include "shim/functions.def"
#undef FUNCTION
    CORE_FUNCTION_COUNT
} core_function_t;

/* An MPI function of any signature; cast back to its own before it is called. */
typedef void (*core_entry_t)(void);

typedef struct core_table {
    uint32_t abi;       /* MPINPU_CORE_ABI of who filled it in */
    uint32_t functions; /* CORE_FUNCTION_COUNT of who filled it in */
    core_entry_t entry[CORE_FUNCTION_COUNT];
    memory_watch_place_t
        *memory_watch; /* of `real`: where a watch of the program's memory is put; NULL: there is none */
    /* Of `real`: shim/device_memory.h; NULL: nothing is known. */
    const _Atomic bool *device_seen;
    bool (*device_owns)(const void *address);
} core_table_t;

/* Called once in the life of the process, at the first intercepted call and before any other use of the core, possibly
   before MPI_Init and under the lock of the resolver: it calls no intercepted function, and sets up nothing that needs
   MPI. `real` holds PMPI_X of the MPI library that this process has loaded, the way to the host MPI past every
   interception, NULL for a function which that library lacks; its memory is the caller's and lives as long as the
   process. On return 0 `served` (abi and functions are set by the caller) holds for each function what answers it,
   which is called by any thread from then on; NULL: `real` does. It may answer what `real` lacks. Another value: the
   core declines, having said why on stderr, and every call goes straight to `real`. Keeps no pointer to `served`. */
typedef int core_open_t(const core_table_t *real, core_table_t *served);
core_open_t mpinpu_core_open;

#define CORE_OPEN_SYMBOL "mpinpu_core_open"

#endif
