/* SPDX-License-Identifier: BSD-3-Clause */
/* UCX, opened at run time: a machine without it, or with one that is too old, is something that the ranks can agree on,
   where a library that the linker does not find would leave one rank out. */
#ifndef TRANSPORT_UCX_H
#define TRANSPORT_UCX_H

#include "transport/status.h"

#include <stddef.h>
#include <ucp/api/ucp.h>

/* The functions by their own names: ucx.ucp_worker_create(...). Filled in by ucx_open, constant afterwards. */
typedef struct ucx {
#define UCX_FUNCTION(name) __typeof__(&name) name; /* NOLINT(bugprone-macro-parentheses): a declaration */
#include "transport/ucx_functions.def"
#undef UCX_FUNCTION
} ucx_t;

extern ucx_t ucx;

/* Opens libucp for the life of the process. MPINPU_ERR_UNSUPPORTED, with the cause in `why`: there is none, or a
   function is missing. Any thread. */
mpinpu_status_t ucx_open(char *why, size_t why_bytes);

#endif
