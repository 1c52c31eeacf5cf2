/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of the loader and of the stand-in: a process, or several that play ranks, on the stand-in's devices. */
#ifndef TESTS_CANN_JOB_H
#define TESTS_CANN_JOB_H

#include "engine/hccl/cann.h"
#include "tests/unit/processes.h"

/* Lets the loader find the stand-in of this CANN ("7.0", "8.2.RC1", "8.5.0"), on a machine of its own. */
void job_install(const char *version);

/* This process on a device: loaded, started, the device set, a stream made. Ends the test if any of it fails. */
typedef struct seat {
    cann_t cann;
    aclrtStream stream;
    int rank;
    int size;
} seat_t;
void seat_take(seat_t *seat, int device);
void seat_leave(seat_t *seat, int device);

/* A communicator of all processes of the job; returns what HcclCommInitRootInfo (or HcclGetRootInfo) returned. */
HcclResult job_communicator(seat_t *seat, process_t *self, HcclComm *comm);

/* Device memory with these bytes in it, and back. */
void *device_new(seat_t *seat, const void *bytes, size_t count);
void device_read(seat_t *seat, void *bytes, const void *device, size_t count);

/* Ends the process (or the test) as failed unless `code` is `expected`. */
#define expect_code(seat, code, expected)                                                                        \
    do {                                                                                                         \
        int got = (code);                                                                                        \
        if (got != (expected)) {                                                                                 \
            const char *text = (seat)->cann.aclGetRecentErrMsg();                                                \
            fprintf(stderr, "%s:%d: %s gives %d, not %d: %s\n", __FILE__, __LINE__, #code, got, (int)(expected), \
                    text != NULL ? text : "");                                                                   \
            _exit(1);                                                                                            \
        }                                                                                                        \
    } while (0)

#endif
