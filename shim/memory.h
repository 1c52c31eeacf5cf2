/* SPDX-License-Identifier: BSD-3-Clause */
/* The memory functions that libmpinpu.so stands before. */
#ifndef SHIM_MEMORY_H
#define SHIM_MEMORY_H

#include "engine/memory_watch.h"

/* Where a watch of these functions is put, or NULL: the program's calls do not come here. Any thread. */
memory_watch_place_t *memory_watch_place(void);

#endif
