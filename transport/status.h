/* SPDX-License-Identifier: BSD-3-Clause */
/* The one status type. It stands in the lowest room so that every room can use it. */
#ifndef TRANSPORT_STATUS_H
#define TRANSPORT_STATUS_H

/* What a function of the library returns when it can fail. Outputs are set only with MPINPU_OK. */
typedef enum mpinpu_status {
    MPINPU_OK = 0,
    MPINPU_IN_PROGRESS,     /* started, not done: call again */
    MPINPU_ERR_NO_MEMORY,   /* memory, a window or another bounded resource is used up */
    MPINPU_ERR_UNSUPPORTED, /* this machine or build cannot do it */
    MPINPU_ERR_INVALID,     /* an argument or a setting outside what is allowed */
    MPINPU_ERR_TRANSPORT,   /* UCX reported an error */
    MPINPU_ERR_DEVICE,      /* an NPU or its software reported an error */
    MPINPU_ERR_EXCHANGE,    /* the out-of-band exchange among the ranks failed */
    MPINPU_ERR_DISAGREE,    /* the ranks differ in what must be equal */
    MPINPU_STATUS_COUNT
} mpinpu_status_t;

/* A short text for a status, never NULL; static memory. Any thread. */
const char *status_name(mpinpu_status_t status);

#endif
