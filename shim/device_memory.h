/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of NPUs that the program has: libmpinpu.so stands before the functions of CANN that give it and take it back.
   For CANN before 8.2, which cannot say of a pointer whether it is such memory. */
#ifndef SHIM_DEVICE_MEMORY_H
#define SHIM_DEVICE_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>

/* Whether there ever was any; relaxed: who passes such memory has seen it made. */
const _Atomic bool *device_memory_seen(void);

/* Whether the address lies in what the program has now. Any thread. */
bool device_memory_owns(const void *address);

#endif
