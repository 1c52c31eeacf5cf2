/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers on NPUs in a program's calls: copied to the host, where the call is done as any other, and the result put
   back. A rank's own affair: others may have theirs on the host. */
#ifndef SHIM_DEVICE_BUFFERS_H
#define SHIM_DEVICE_BUFFERS_H

#include "shim/call.h"

/* A call's buffers on the host, in place of those on an NPU. */
typedef struct device_buffers {
    char *send;         /* owned; NULL: it was on the host, */
    char *recv;         /* owned; likewise, or one for both */
    const void *result; /* where `bytes` of the result are on the host, to be put at */
    void *place;
    size_t bytes;
} device_buffers_t;

/* Looks for CANN in this process: the program may load it at any time. Cheap enough for the making of a communicator's
   state. */
void device_buffers_look(void);

/* The same, where nothing was known of CANN before; and whether a buffer of the call is on an NPU then. */
bool device_buffers_found(const call_t *call);

/* Whether a buffer of a call can be on an NPU at all. */
static inline bool device_buffers_possible(void)
{
    return process.device.attributes != NULL ||
           (process.real->device_seen != NULL && atomic_load_explicit(process.real->device_seen, memory_order_relaxed));
}

/* Whether one of the call's is. */
bool device_buffers_any(const call_t *call);

/* Whether its input and its result both are. */
bool device_buffers_all(const call_t *call);

/* Copies the input and exchanges the call's buffers. On failure nothing is kept, and an MPI error code returned of
   which the communicator's error handler has heard. Then `end` puts the result back, or without `done` only frees. */
int device_buffers_begin(device_buffers_t *buffers, call_t *call);
int device_buffers_end(device_buffers_t *buffers, MPI_Comm comm, bool done);

#endif
