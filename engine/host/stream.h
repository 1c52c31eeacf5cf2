/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies past the caches: for results so large that they would not stay there, and would be read from memory first only
   to be overwritten. */
#ifndef ENGINE_HOST_STREAM_H
#define ENGINE_HOST_STREAM_H

#include <stddef.h>

/* Several places taken in turn keep more lines of the other CPU's cache on their way than one does. */
enum { STREAM_LANES = 4 };

/* As memcpy. The stores may become visible to other threads out of order until stream_end. */
void stream_copy(void *dst, const void *src, size_t bytes);

/* The same for a short run that was just made and is still in the first-level cache. */
void stream_store(void *dst, const void *src, size_t bytes);

/* Orders the stores of both before all that follow. */
void stream_end(void);

#endif
