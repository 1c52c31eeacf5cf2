/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/hccl/owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void owners_device_find(const owners_process_t *process, uint32_t *device, bool *drives)
{
    const uint32_t count = process->map != NULL ? process->mapped : process->devices;
    const uint32_t rank = (uint32_t)process->local_rank;
    const uint32_t ranks = process->local_ranks > process->local_rank ? (uint32_t)process->local_ranks : rank + 1;
    uint32_t place = rank;

    *drives = true;
    if (ranks > count && process->listed && process->map == NULL) {
        place = rank % count;
        *drives = rank < count || process->lists_differ;
    } else if (ranks > count) {
        place = (uint32_t)((uint64_t)rank * count / ranks);
        *drives = rank == 0 || (uint64_t)(rank - 1) * count / ranks != place;
    }
    *device = process->map != NULL ? process->map[place] : place;
}

bool owners_lists_differ(const owners_claim_t *claims, uint32_t size, uint64_t host)
{
    const owners_claim_t *first = NULL;

    for (uint32_t r = 0; r < size; r++) {
        if (claims[r].host != host || claims[r].device == OWNERS_NO_DEVICE) {
            continue;
        }
        if (first != NULL && first->list != claims[r].list) {
            return true;
        }
        first = &claims[r];
    }
    return false;
}

/* --- what the product rules look at --- */

typedef struct places {
    uint32_t *host_of;
    uint64_t *devices_of;
    atlas_host_t *hosts;
    bool *differ; /* by host: the lists do */
    atlas_owner_t *owners;
    uint64_t *taken; /* by host: the devices that somebody drives */
    uint32_t nhosts;
} places_t;

static bool places_open(places_t *places, uint32_t size)
{
    *places = (places_t){.host_of = calloc(size, sizeof *places->host_of),
                         .devices_of = calloc(size, sizeof *places->devices_of),
                         .hosts = calloc(size, sizeof *places->hosts),
                         .differ = calloc(size, sizeof *places->differ),
                         .owners = calloc(size, sizeof *places->owners),
                         .taken = calloc(size, sizeof *places->taken)};
    return places->host_of != NULL && places->devices_of != NULL && places->hosts != NULL && places->differ != NULL &&
           places->owners != NULL && places->taken != NULL;
}

static void places_close(places_t *places)
{
    free(places->taken);
    free(places->owners);
    free(places->differ);
    free(places->hosts);
    free(places->devices_of);
    free(places->host_of);
}

static void hosts_number(places_t *places, const owners_claim_t *claims, uint32_t size)
{
    for (uint32_t r = 0; r < size; r++) {
        uint32_t before = r;
        /* Neighbours mostly share a host. */
        while (before > 0 && claims[before - 1].host != claims[r].host) {
            before--;
        }
        if (before > 0) {
            places->host_of[r] = places->host_of[before - 1];
        } else {
            places->host_of[r] = places->nhosts;
            places->differ[places->nhosts++] = owners_lists_differ(claims, size, claims[r].host);
        }
        atlas_host_t *host = &places->hosts[places->host_of[r]];
        if (host->product == NULL && claims[r].device != OWNERS_NO_DEVICE) {
            *host = (atlas_host_t){.product = atlas_product(claims[r].series), .superpod = claims[r].superpod};
        }
    }
}

/* Each device to one rank. */
static void devices_claim(places_t *places, const owners_claim_t *claims, uint32_t size, bool given)
{
    for (uint32_t r = 0; r < size; r++) {
        const uint32_t host = places->host_of[r];
        const bool drives = claims[r].drives || places->differ[host];
        if (claims[r].device >= ATLAS_DEVICES_MAX || !drives || claims[r].given != given) {
            continue;
        }
        const uint64_t bit = UINT64_C(1) << claims[r].device;
        if ((places->taken[host] & bit) == 0) {
            places->taken[host] |= bit;
            places->devices_of[r] = bit;
        }
    }
}

/* --- groups --- */

typedef struct groups {
    const owners_claim_t *claims;
    const places_t *places;
    uint32_t size;
    owners_t *owners;
    uint32_t *members; /* by owner */
} groups_t;

enum { NO_OWNER = UINT32_MAX };

/* Of the owners on a host, or of all (host NO_OWNER), the one with fewest ranks; NO_OWNER if there is none. */
static uint32_t owner_fewest(const groups_t *groups, uint32_t host)
{
    uint32_t best = NO_OWNER;

    for (uint32_t p = 0; p < groups->owners->devices.nowners; p++) {
        const uint32_t rank = groups->owners->order[p];
        if ((host == NO_OWNER || groups->places->host_of[rank] == host) &&
            (best == NO_OWNER || groups->members[p] < groups->members[best])) {
            best = p;
        }
    }
    return best;
}

static void member_add(groups_t *groups, uint32_t rank, uint32_t owner)
{
    groups->owners->of_rank[rank] = owner;
    groups->members[owner]++;
}

static void members_at_home(groups_t *groups)
{
    for (uint32_t r = 0; r < groups->size; r++) {
        for (uint32_t p = 0; p < groups->owners->devices.nowners; p++) {
            const uint32_t rank = groups->owners->order[p];
            if (rank == r || (groups->owners->of_rank[r] == NO_OWNER &&
                              groups->places->host_of[rank] == groups->places->host_of[r] &&
                              groups->owners->device[p] == groups->claims[r].device)) {
                groups->owners->of_rank[r] = p;
            }
        }
        if (groups->owners->of_rank[r] != NO_OWNER) {
            groups->members[groups->owners->of_rank[r]]++;
        }
    }
}

static void members_elsewhere(groups_t *groups)
{
    for (uint32_t r = 0; r < groups->size; r++) {
        const uint32_t here = owner_fewest(groups, groups->places->host_of[r]);
        if (groups->owners->of_rank[r] == NO_OWNER && here != NO_OWNER) {
            member_add(groups, r, here);
        }
    }
    for (uint32_t r = 0; r < groups->size; r++) {
        if (groups->owners->of_rank[r] != NO_OWNER) {
            continue;
        }
        const uint32_t owner = owner_fewest(groups, NO_OWNER);
        for (uint32_t q = r; q < groups->size; q++) {
            if (groups->places->host_of[q] == groups->places->host_of[r]) {
                member_add(groups, q, owner);
            }
        }
    }
}

/* Lists the ranks group by group. `members` then holds how many of each are listed. */
static void groups_list(groups_t *groups)
{
    owners_t *owners = groups->owners;
    const uint32_t nowners = owners->devices.nowners;

    owners->even = true;
    owners->first[0] = 0;
    for (uint32_t p = 0; p < nowners; p++) {
        owners->even = owners->even && groups->members[p] == groups->members[0];
        owners->first[p + 1] = owners->first[p] + groups->members[p];
    }
    for (uint32_t p = 0; p < nowners; p++) {
        owners->grouped[owners->first[p]] = owners->order[p];
        groups->members[p] = 1;
    }
    for (uint32_t r = 0; r < groups->size; r++) {
        const uint32_t p = owners->of_rank[r];
        if (owners->order[p] != r) {
            owners->grouped[owners->first[p] + groups->members[p]++] = r;
        }
    }
}

static bool owners_open(owners_t *owners, uint32_t size)
{
    *owners = (owners_t){.order = calloc(size, sizeof *owners->order),
                         .device = calloc(size, sizeof *owners->device),
                         .of_rank = calloc(size, sizeof *owners->of_rank),
                         .grouped = calloc(size, sizeof *owners->grouped),
                         .first = calloc((size_t)size + 1, sizeof *owners->first)};
    return owners->order != NULL && owners->device != NULL && owners->of_rank != NULL && owners->grouped != NULL &&
           owners->first != NULL;
}

void owners_close(owners_t *owners)
{
    free(owners->first);
    free(owners->grouped);
    free(owners->of_rank);
    free(owners->device);
    free(owners->order);
    *owners = (owners_t){0};
}

static void owners_fill(owners_t *owners, const places_t *places, const owners_claim_t *claims, uint32_t size,
                        uint32_t *members)
{
    groups_t groups = {.claims = claims, .places = places, .size = size, .owners = owners, .members = members};

    owners->nhosts = places->nhosts;
    for (uint32_t p = 0; p < owners->devices.nowners; p++) {
        owners->order[p] = places->owners[p].rank;
        owners->device[p] = places->owners[p].device;
    }
    for (uint32_t r = 0; r < size; r++) {
        owners->of_rank[r] = NO_OWNER;
    }
    members_at_home(&groups);
    members_elsewhere(&groups);
    groups_list(&groups);
}

mpinpu_status_t owners_pick(const owners_claim_t *claims, uint32_t size, owners_t *owners, char *why, size_t why_bytes)
{
    places_t places;
    owners_t made = {0};
    uint32_t *members = calloc(size, sizeof *members);
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    if (places_open(&places, size) && owners_open(&made, size) && members != NULL) {
        hosts_number(&places, claims, size);
        devices_claim(&places, claims, size, true);
        devices_claim(&places, claims, size, false);
        const atlas_ranks_t ranks = {.nranks = size,
                                     .nhosts = places.nhosts,
                                     .host_of = places.host_of,
                                     .devices_of = places.devices_of,
                                     .hosts = places.hosts};
        status = atlas_devices_pick(&ranks, &made.devices, places.owners, why, why_bytes);
    }
    if (status == MPINPU_ERR_NO_MEMORY) {
        (void)snprintf(why, why_bytes, "no memory for a communicator's state");
    }
    if (status == MPINPU_OK) {
        owners_fill(&made, &places, claims, size, members);
        *owners = made;
    } else {
        owners_close(&made);
    }
    free(members);
    places_close(&places);
    return status;
}
