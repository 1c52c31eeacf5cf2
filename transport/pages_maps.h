/* SPDX-License-Identifier: BSD-3-Clause */
/* What /proc tells of this process's memory, for transport/pages.c. */
#ifndef TRANSPORT_PAGES_MAPS_H
#define TRANSPORT_PAGES_MAPS_H

#include <stdbool.h>
#include <stddef.h>

/* See pages_share: whether the range is of the kind that is moved, or was moved before: to a file whose name begins
   with prefix. */
bool maps_movable(const char *prefix, const void *address, size_t bytes, char *why, size_t why_bytes);

/* Whether the machine and the control group have memory for so many bytes and some more. */
bool maps_memory_suffices(size_t bytes, char *why, size_t why_bytes);

typedef struct maps_range {
    unsigned char *from;
    unsigned char *to;
    bool writable;
} maps_range_t;

/* The first mapping at or behind `from`, before `end`, of a memory file whose name begins with prefix; cut to that. */
bool maps_find(const char *prefix, unsigned char *from, unsigned char *end, maps_range_t *range);

#endif
