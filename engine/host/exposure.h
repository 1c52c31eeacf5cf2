/* SPDX-License-Identifier: BSD-3-Clause */
/* Which of the program's buffers are exposed to the peers on this host. A buffer that large collectives use again and
   again is exposed: the whole pages inside it are moved onto memory that peers map (transport/pages.h). What the
   program does to its memory later is found out before each use. One per engine; any thread. */
#ifndef ENGINE_HOST_EXPOSURE_H
#define ENGINE_HOST_EXPOSURE_H

#include "engine/memory_watch.h"
#include "transport/pages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXPOSURES_MOST = 16 }; /* buffers at a time */

typedef struct exposures exposures_t;

/* A buffer's pages among those exposed. */
typedef struct exposure_view {
    uint64_t id;      /* of the exposure; never given twice in a process */
    uint64_t address; /* where its pages begin, in this process */
    pages_card_t card;
} exposure_view_t;

/* `most`: bytes that may be exposed at a time; `huge`: also where the process has huge pages. Puts a watch in `watch`.
 */
mpinpu_status_t exposures_open(size_t most, bool huge, memory_watch_place_t *watch, exposures_t **exposures);
/* Nothing is exposed any more; the pages stay where they are. NULL is allowed. */
void exposures_close(exposures_t *exposures);

/* Whether the whole pages inside the buffer are exposed and still there; counts the use, and exposes what was used
   often enough. Nothing else may touch the buffer but to read it, as MPI wants it of a collective's. The pages stay
   exposed until exposure_release, once for each time that this is true. */
bool exposure_find(exposures_t *exposures, const void *buffer, size_t bytes, exposure_view_t *view);
void exposure_release(exposures_t *exposures, uint64_t id);

/* The numbers of all exposures that there are; the rest of the list becomes 0. Returns the last number given so far:
   later exposures have higher ones. */
uint64_t exposures_list(exposures_t *exposures, uint64_t ids[EXPOSURES_MOST]);

#endif
