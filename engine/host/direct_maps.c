/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/host/direct_maps.h"

#include "transport/log.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct direct_map {
    const transport_peer_t *peer;
    uint64_t id;
    unsigned char *base;
    size_t bytes;
} direct_map_t;

struct direct_maps {
    pthread_mutex_t lock;
    direct_map_t *maps;
    size_t count;
    size_t room;
};

direct_maps_t *direct_maps_open(void)
{
    direct_maps_t *maps = calloc(1, sizeof *maps);

    if (maps != NULL && pthread_mutex_init(&maps->lock, NULL) != 0) {
        free(maps);
        maps = NULL;
    }
    return maps;
}

void direct_maps_close(direct_maps_t *maps)
{
    if (maps == NULL) {
        return;
    }
    for (size_t m = 0; m < maps->count; m++) {
        pages_peer_unmap(maps->maps[m].base, maps->maps[m].bytes);
    }
    (void)pthread_mutex_destroy(&maps->lock);
    free(maps->maps);
    free(maps);
}

static bool word_ends(const direct_word_t *word, uint64_t id)
{
    bool ended = id <= word->newest;

    for (int e = 0; e < EXPOSURES_MOST; e++) {
        ended = ended && word->alive[e] != id;
    }
    return ended;
}

/* Gives up what the peer has given up. What it has exposed since, another thread may be using. */
static void maps_trim(direct_maps_t *maps, const transport_peer_t *peer, const direct_word_t *word)
{
    for (size_t m = 0; m < maps->count;) {
        if (maps->maps[m].peer == peer && word_ends(word, maps->maps[m].id)) {
            pages_peer_unmap(maps->maps[m].base, maps->maps[m].bytes);
            maps->maps[m] = maps->maps[--maps->count];
        } else {
            m++;
        }
    }
}

static unsigned char *maps_find(const direct_maps_t *maps, const transport_peer_t *peer, uint64_t id)
{
    for (size_t m = 0; m < maps->count; m++) {
        if (maps->maps[m].peer == peer && maps->maps[m].id == id) {
            return maps->maps[m].base;
        }
    }
    return NULL;
}

/* The peer's pages here, or NULL. */
static unsigned char *maps_map(direct_maps_t *maps, const transport_peer_t *peer, const direct_buffer_t *buffer)
{
    unsigned char *base = NULL;
    char why[160] = "";

    if (maps->count == maps->room) {
        const size_t room = maps->room == 0 ? 32 : 2 * maps->room;
        direct_map_t *more = realloc(maps->maps, room * sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        maps->maps = more;
        maps->room = room;
    }
    if (pages_peer_map(&buffer->card, &base, why, sizeof why) != MPINPU_OK) {
        log_info("a peer's buffer cannot be mapped: %s", why);
        return NULL;
    }
    maps->maps[maps->count++] =
        (direct_map_t){.peer = peer, .id = buffer->id, .base = base, .bytes = buffer->card.bytes};
    return base;
}

bool direct_maps_get(direct_maps_t *maps, const transport_peer_t *peer, const direct_word_t *word,
                     const direct_buffer_t *buffer, unsigned char **vector)
{
    unsigned char *base;

    pthread_mutex_lock(&maps->lock);
    maps_trim(maps, peer, word);
    base = maps_find(maps, peer, buffer->id);
    if (base == NULL) {
        base = maps_map(maps, peer, buffer);
    }
    pthread_mutex_unlock(&maps->lock);
    if (base != NULL) {
        *vector = base + buffer->offset;
    }
    return base != NULL;
}
