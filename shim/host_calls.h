/* SPDX-License-Identifier: BSD-3-Clause */
/* The intercepted functions as the host MPI does them: counted for the report, and passed on. */
#ifndef SHIM_HOST_CALLS_H
#define SHIM_HOST_CALLS_H

#include "shim/core.h"

#include <mpi.h>

/* The type of each function of functions.def: MPI_Iallreduce_function_t, ... (MPI 4.1, sections 6.9 to 6.13; written
   out since an mpi.h may lack some of them). */
#define COUNT_INT_ALLREDUCE              int
#define COUNT_INT_REDUCE_SCATTER         const int *
#define COUNT_INT_REDUCE_SCATTER_BLOCK   int
#define COUNT_LARGE_ALLREDUCE            MPI_Count
#define COUNT_LARGE_REDUCE_SCATTER       const MPI_Count *
#define COUNT_LARGE_REDUCE_SCATTER_BLOCK MPI_Count
#define COUNT_REQUEST_REQUEST            int
#define COUNT_PROCESS_PROCESS            int

#define PARAMETERS_BLOCKING(count_t) \
    const void *sendbuf, void *recvbuf, count_t count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm
#define PARAMETERS_NONBLOCKING(count_t) PARAMETERS_BLOCKING(count_t), MPI_Request *request
#define PARAMETERS_PERSISTENT(count_t)  PARAMETERS_BLOCKING(count_t), MPI_Info info, MPI_Request *request

#define PARAMETERS_START(count_t)       MPI_Request *request
#define PARAMETERS_STARTALL(count_t)    count_t count, MPI_Request requests[]
#define PARAMETERS_INIT(count_t)        count_t *argc, char ***argv
#define PARAMETERS_INIT_THREAD(count_t) PARAMETERS_INIT(count_t), int required, int *provided
#define PARAMETERS_RELEASE(count_t)     MPI_Request *request

#define FUNCTION(NAME, kind, mode, width, presence) \
    typedef int NAME##_function_t(PARAMETERS_##mode(COUNT_##width##_##kind));
#include "shim/functions.def"
#undef FUNCTION

/* What answers a function where the engines do not: a function of its type that counts the call and passes it on to the
   host MPI, or where that lacks it to a function that does the same. NULL: there is none. process.real is set. */
core_entry_t host_call(core_function_t function);

#endif
