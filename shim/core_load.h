/* SPDX-License-Identifier: BSD-3-Clause */
/* How libmpinpu.so opens a core. */
#ifndef SHIM_CORE_LOAD_H
#define SHIM_CORE_LOAD_H

#include <stddef.h>

/* The handle, or NULL and in `why` the cause in a sentence without a full stop. */
void *core_load(const char *path, char *why, size_t why_bytes);

#endif
