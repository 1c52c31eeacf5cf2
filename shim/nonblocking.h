/* SPDX-License-Identifier: BSD-3-Clause */
/* The served nonblocking functions: each call becomes an operation behind the others of its communicator, or goes to
   the host MPI. MPI 3.1, sections 5.12.9 to 5.12.11. */
#ifndef SHIM_NONBLOCKING_H
#define SHIM_NONBLOCKING_H

#include <mpi.h>

int core_iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Request *request);
int core_ireduce_scatter(const void *sendbuf, void *recvbuf, const int *counts, MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Request *request);
int core_ireduce_scatter_block(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm, MPI_Request *request);

#endif
