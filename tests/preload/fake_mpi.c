/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI library in name only, for contract.c. Its functions return their number when each argument arrived as
   contract.c passes it, else -1. MARKER is the symbol by which the library is to be known; INT_HANDLES makes its
   handles ints as MPICH's; with OLD it has only what each MPI has. */
#include "fake_mpi.h"

#ifdef MARKER
int MARKER = 1;
#endif

#define ARRIVED_blocking
#define ARRIVED_request &&request == FAKE_REQUEST
#define ARRIVED_info    &&info == FAKE_INFO &&request == FAKE_REQUEST

#define DEFINE(number, NAME, counts, mode)                                                                         \
    int P##NAME(FAKE_PARAMETERS(counts, mode))                                                                     \
    {                                                                                                              \
        const int right = send == FAKE_SEND && recv == FAKE_RECV && count == FAKE_##counts && type == FAKE_TYPE && \
                          op == FAKE_OP && comm == FAKE_COMM ARRIVED_##mode;                                       \
        return right ? (number) : -1;                                                                              \
    }                                                                                                              \
    extern __typeof(P##NAME)(NAME) __attribute__((weak, alias("P" #NAME)));
FAKE_EVERY(DEFINE)
#ifndef OLD
FAKE_SOME(DEFINE)
#endif
