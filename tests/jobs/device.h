/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers on an NPU for the collectives of job.h, where JOB_PLACES asks for them: "device", "send", "recv", or "mixed",
   which differs from rank to rank and from call to call. By CANN as a program has it: linked functions for memory,
   which the library stands before, with JOB_CANN=find only such as dlsym finds. */
#ifndef TESTS_JOBS_DEVICE_H
#define TESTS_JOBS_DEVICE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct device_call {
    const void *send; /* to be passed to MPI */
    void *recv;
    void *send_memory; /* on the NPU; NULL: on the host */
    void *recv_memory;
    void *result; /* where it belongs, */
    size_t bytes;
} device_call_t;

/* `sent` and `received` elements; only linked into programs that have device.c. */
__attribute__((weak)) void device_begin(device_call_t *call, const void *send, void *recv, size_t sent, size_t received,
                                        MPI_Datatype type);
__attribute__((weak)) void device_end(device_call_t *call);

#endif
