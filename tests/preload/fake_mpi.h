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

#define FAKE_SEND    ((const void *)(uintptr_t)0x123456789abcdef0u)
#define FAKE_RECV    ((void *)(uintptr_t)0xfedcba9876543210u)
#define FAKE_TYPE    HANDLE(0x8c000405u) /* the sign bit of an int is set */
#define FAKE_OP      HANDLE(0x58000003u)
#define FAKE_COMM    HANDLE(0xc4000000u)
#define FAKE_INFO    HANDLE(0x9c00aff0u)
#define FAKE_REQUEST ((handle_t *)(uintptr_t)0x5555666644443333u)

/* The types of the count, and the value of each. */
typedef int int_t;
typedef const int *ints_t;
typedef int64_t large_t;
typedef const int64_t *larges_t;
#define FAKE_int    (-3)
#define FAKE_ints   ((const int *)(uintptr_t)0x7777777788888888u)
#define FAKE_large  INT64_C(-0x0123456789abcdef)
#define FAKE_larges ((const int64_t *)(uintptr_t)0x8888888877777777u)

/* What stands behind the communicator. */
#define FAKE_PARAMETERS_blocking
#define FAKE_PARAMETERS_request , handle_t *request
#define FAKE_PARAMETERS_info    , handle_t info, handle_t *request
#define FAKE_ARGUMENTS_blocking
#define FAKE_ARGUMENTS_request , FAKE_REQUEST
#define FAKE_ARGUMENTS_info    , FAKE_INFO, FAKE_REQUEST

/* All that are intercepted: those that each MPI has, and those that only some have. */
#define FAKE_EVERY(ROW)                             \
    ROW(1, MPI_Allreduce, int, blocking)            \
    ROW(2, MPI_Reduce_scatter, ints, blocking)      \
    ROW(3, MPI_Reduce_scatter_block, int, blocking) \
    ROW(4, MPI_Iallreduce, int, request)            \
    ROW(5, MPI_Ireduce_scatter, ints, request)      \
    ROW(6, MPI_Ireduce_scatter_block, int, request)
#define FAKE_SOME(ROW)                                   \
    ROW(11, MPI_Allreduce_init, int, info)               \
    ROW(12, MPI_Reduce_scatter_init, ints, info)         \
    ROW(13, MPI_Reduce_scatter_block_init, int, info)    \
    ROW(21, MPIX_Allreduce_init, int, info)              \
    ROW(22, MPIX_Reduce_scatter_init, ints, info)        \
    ROW(23, MPIX_Reduce_scatter_block_init, int, info)   \
    ROW(31, MPI_Allreduce_c, large, blocking)            \
    ROW(32, MPI_Reduce_scatter_c, larges, blocking)      \
    ROW(33, MPI_Reduce_scatter_block_c, large, blocking) \
    ROW(34, MPI_Iallreduce_c, large, request)            \
    ROW(35, MPI_Ireduce_scatter_c, larges, request)      \
    ROW(36, MPI_Ireduce_scatter_block_c, large, request) \
    ROW(41, MPI_Allreduce_init_c, large, info)           \
    ROW(42, MPI_Reduce_scatter_init_c, larges, info)     \
    ROW(43, MPI_Reduce_scatter_block_init_c, large, info)

#define FAKE_PARAMETERS(counts, mode) \
    const void *send, void *recv, counts##_t count, handle_t type, handle_t op, handle_t comm FAKE_PARAMETERS_##mode
#define FAKE_DECLARE(number, NAME, counts, mode) \
    int NAME(FAKE_PARAMETERS(counts, mode));     \
    int P##NAME(FAKE_PARAMETERS(counts, mode));
FAKE_EVERY(FAKE_DECLARE)
FAKE_SOME(FAKE_DECLARE)

#endif
