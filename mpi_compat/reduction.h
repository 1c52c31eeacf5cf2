/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI's datatypes and ops in the engine's words. */
#ifndef MPI_COMPAT_REDUCTION_H
#define MPI_COMPAT_REDUCTION_H

#include "engine/collective.h"

#include <mpi.h>

typedef enum compat_answer {
    COMPAT_SERVED,       /* predefined, and defined together: dtype and op are set */
    COMPAT_USER_OP,      /* an op of the user's */
    COMPAT_DERIVED_TYPE, /* a predefined op on a derived or unknown type */
    COMPAT_NOT_DEFINED,  /* predefined both, but MPI (or this host MPI) does not define the op on the type */
} compat_answer_t;

/* Builds the tables from the handles of the loaded MPI. Once, before the first look-up, in one thread. */
void compat_reduction_init(void);

/* Translates a pair of handles. On the path of every call: no lock, no allocation, a few nanoseconds. `dtype` and `op`
   are set only with COMPAT_SERVED. Knows mpinpu.h's 16-bit floats and their ops too. Any thread. */
compat_answer_t compat_reduction_find(MPI_Datatype datatype, MPI_Op operation, dtype_t *dtype, op_t *op);

/* Name of an answer for the report ("user op", ...). Static text. */
const char *compat_answer_name(compat_answer_t answer);

#endif
