/* SPDX-License-Identifier: BSD-3-Clause */
/* 16-bit floats for MPI programs: datatypes, and ops on them for any reduction of MPI. Link with -lmpinpu16.

   They work with any MPI library, whether or not libmpinpu.so is preloaded. Without it the host MPI reduces pair by
   pair: each partial result is rounded. With it MPI_Allreduce and the reduce-scatters accumulate in 32 bits and round
   once. Rounding is to nearest, ties to even; a NaN stays a NaN.

   Handles are made at the first call of any of these functions, between MPI_Init and MPI_Finalize, and freed by
   MPI_Finalize. Outside that time, or where the host MPI fails to make them, the functions return MPI_DATATYPE_NULL or
   MPI_OP_NULL. Do not free them. Any thread, as far as MPI_Init_thread granted threads. */
#ifndef MPINPU_H
#define MPINPU_H

#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* IEEE binary16: 2 bytes, native byte order. */
MPI_Datatype mpinpu_float16(void);
/* bfloat16, the upper half of a float: 2 bytes, native byte order. */
MPI_Datatype mpinpu_bfloat16(void);

/* Commutative ops on these two datatypes, and on no other: with another one the program is aborted with a message. */
MPI_Op mpinpu_sum(void);
MPI_Op mpinpu_prod(void);
MPI_Op mpinpu_min(void);
MPI_Op mpinpu_max(void);

#ifdef __cplusplus
}
#endif

#endif
