/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process has mapped of its peers' exposures: each once, until the peer says that it is gone. One per engine;
   any thread. */
#ifndef ENGINE_HOST_DIRECT_MAPS_H
#define ENGINE_HOST_DIRECT_MAPS_H

#include "engine/host/direct.h"

typedef struct direct_maps direct_maps_t;

/* NULL: no memory. */
direct_maps_t *direct_maps_open(void);
void direct_maps_close(direct_maps_t *maps);

/* Where the peer's buffer begins here; maps its pages if they are new, and gives up those that the word says are gone.
   False: they cannot be mapped. */
bool direct_maps_get(direct_maps_t *maps, const transport_peer_t *peer, const direct_word_t *word,
                     const direct_buffer_t *buffer, unsigned char **vector);

#endif
