/* SPDX-License-Identifier: BSD-3-Clause */
/* What an engine's failure is to MPI: an error code whose text says what failed, why and what to do. */
#ifndef MPI_COMPAT_ERRORS_H
#define MPI_COMPAT_ERRORS_H

#include "transport/status.h"

#include <mpi.h>

/* An error code of its own for this cause: its class is MPI_ERR_NO_MEM for MPINPU_ERR_NO_MEMORY and MPI_ERR_OTHER for
   all else, and MPI_Error_string gives `text` as far as MPI_MAX_ERROR_STRING goes ("" : the status in words). A cause
   that came before has the code that it had then. MPI never takes a code back, so there are at most 64 of them in a
   process: what is new after that gets the bare class. Any thread that may call MPI. */
int compat_error_code(mpinpu_status_t status, const char *text);

/* Calls the communicator's error handler with that code, and returns it. */
int compat_error_raise(MPI_Comm comm, mpinpu_status_t status, const char *text);

#endif
