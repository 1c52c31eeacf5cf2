/* SPDX-License-Identifier: BSD-3-Clause */
/* The mpi.h of fake_mpi.c, and the arguments that contract.c passes. */
#ifndef FAKE_MPI_H
#define FAKE_MPI_H

#include <stdint.h>

#ifdef INT_HANDLES
typedef int handle_t;
#define HANDLE(value) ((int)(value))
#else
typedef void *handle_t;
#define HANDLE(value) ((void *)(uintptr_t)(value))
#endif

#define FAKE_SEND   ((const void *)(uintptr_t)0x123456789abcdef0u)
#define FAKE_RECV   ((void *)(uintptr_t)0xfedcba9876543210u)
#define FAKE_COUNTS ((const int *)(uintptr_t)0x7777777788888888u)
#define FAKE_COUNT  (-3)
#define FAKE_TYPE   HANDLE(0x8c000405u) /* the sign bit of an int is set */
#define FAKE_OP     HANDLE(0x58000003u)
#define FAKE_COMM   HANDLE(0xc4000000u)

int MPI_Allreduce(const void *, void *, int, handle_t, handle_t, handle_t);
int MPI_Reduce_scatter(const void *, void *, const int *, handle_t, handle_t, handle_t);
int MPI_Reduce_scatter_block(const void *, void *, int, handle_t, handle_t, handle_t);
int PMPI_Allreduce(const void *, void *, int, handle_t, handle_t, handle_t);
int PMPI_Reduce_scatter(const void *, void *, const int *, handle_t, handle_t, handle_t);
int PMPI_Reduce_scatter_block(const void *, void *, int, handle_t, handle_t, handle_t);

#endif
