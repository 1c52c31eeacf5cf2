/* SPDX-License-Identifier: BSD-3-Clause */
/* How the library knows the handles of mpinpu.h again. They are made by code that is linked into the program, maybe
   more than once, and that code and the library share no symbol. So the datatypes carry in their name the address of a
   float16_handles_t, and a pair of handles is ours if it stands in there. */
#ifndef MPI_COMPAT_FLOAT16_HANDLES_H
#define MPI_COMPAT_FLOAT16_HANDLES_H

#include "engine/collective.h"

#include <mpi.h>
#include <stdint.h>

enum { FLOAT16_TYPES = 2, FLOAT16_OPS = 4 };

/* Both parts may be of different releases: whoever changes this struct changes the number. */
#define FLOAT16_HANDLES_MAGIC UINT64_C(0x6d70696e70753101)

/* The name of a datatype: this, the name of the type, and the address. */
#define FLOAT16_NAME_PREFIX "mpinpu_"
#define FLOAT16_NAME_FORMAT FLOAT16_NAME_PREFIX "%s @%" PRIxPTR

/* In static memory of the program. */
typedef struct float16_handles {
    uint64_t magic;
    MPI_Datatype types[FLOAT16_TYPES]; /* float16, bfloat16 */
    MPI_Op ops[FLOAT16_OPS];           /* sum, prod, min, max */
} float16_handles_t;

/* Whether these are handles of mpinpu.h; sets dtype and op if so. datatype is derived (not predefined, not null). Asks
   the host MPI for the datatype's name. Any thread. */
bool float16_handles_find(MPI_Datatype datatype, MPI_Op operation, dtype_t *dtype, op_t *op);

#endif
