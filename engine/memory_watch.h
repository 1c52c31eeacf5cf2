/* SPDX-License-Identifier: BSD-3-Clause */
/* How the engine hears that the program is about to change its memory. */
#ifndef ENGINE_MEMORY_WATCH_H
#define ENGINE_MEMORY_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Hears, before the kernel does, of an madvise that gives up the contents of [address, address + bytes) (`discards`),
   and of an mremap of it; in the thread that calls them, which may be inside an allocator: it must not allocate. */
typedef void memory_watch_t(void *address, size_t bytes, bool discards);

/* Where a watch is put: by release, NULL to end. Who has taken it from there may still be inside afterwards. */
typedef _Atomic(memory_watch_t *) memory_watch_place_t;

#endif
