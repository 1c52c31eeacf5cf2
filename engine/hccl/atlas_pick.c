/* SPDX-License-Identifier: BSD-3-Clause */
/* The largest legal set of devices. On each host a matching of devices with ranks that can drive them says which
   numbers of devices the host could bring; then the numbers are chosen over all hosts. */
#include "engine/hccl/atlas.h"

#include <stdio.h>
#include <stdlib.h>

enum { NONE = UINT32_MAX };

/* A host whose ranks can drive devices. */
typedef struct server {
    uint32_t host;
    uint32_t superpod;
    uint32_t first; /* its ranks are rank_list[first .. first + nranks) */
    uint32_t nranks;
    uint64_t sizes; /* bit n: it could bring n devices */
    uint32_t drivable;
    uint32_t take; /* devices that it brings */
} server_t;

typedef struct pick {
    const atlas_ranks_t *ranks;
    const atlas_product_t *product;
    uint32_t *rank_list; /* ranks by host, ascending */
    uint32_t *device_of; /* matching_t: room for all ranks */
    server_t *servers;   /* in the order of their HCCL ranks */
    uint32_t nservers;
} pick_t;

/* Devices matched with ranks of one server. Ranks are known by their place in its list. */
typedef struct matching {
    const uint64_t *devices_of;
    const uint32_t *rank_list;
    uint32_t nranks;
    uint32_t *device_of;                 /* the device that the rank drives, or NONE */
    uint32_t rank_at[ATLAS_DEVICES_MAX]; /* the rank that drives the device, or NONE */
} matching_t;

static bool rank_can(const matching_t *matching, uint32_t rank, uint32_t device)
{
    return (matching->devices_of[matching->rank_list[rank]] >> device & 1) != 0;
}

static bool rank_give(matching_t *matching, uint32_t rank, uint32_t device)
{
    matching->device_of[rank] = device;
    matching->rank_at[device] = rank;
    return true;
}

/* Finds a rank for a device, moving ranks from device to device where that makes room (an augmenting path of bipartite
   matching). `tried` holds the devices on the path; its depth is at most their number. */
static bool device_match(matching_t *matching, uint32_t device, uint64_t *tried) /* NOLINT(misc-no-recursion) */
{
    *tried |= UINT64_C(1) << device;
    for (uint32_t r = 0; r < matching->nranks; r++) { /* the lowest free rank, so that ranks stand in order */
        if (matching->device_of[r] == NONE && rank_can(matching, r, device)) {
            return rank_give(matching, r, device);
        }
    }
    for (uint32_t r = 0; r < matching->nranks; r++) {
        uint32_t other = matching->device_of[r];
        if (rank_can(matching, r, device) && (*tried >> other & 1) == 0 && device_match(matching, other, tried)) {
            return rank_give(matching, r, device);
        }
    }
    return false;
}

/* Matches as many devices of `zone` as there are ranks for; how many. */
static uint32_t zone_match(const pick_t *pick, const server_t *server, uint64_t zone, matching_t *matching)
{
    uint32_t matched = 0;
    uint64_t seen = 0;

    *matching = (matching_t){.devices_of = pick->ranks->devices_of,
                             .rank_list = pick->rank_list + server->first,
                             .nranks = server->nranks,
                             .device_of = pick->device_of};
    for (uint32_t r = 0; r < server->nranks; r++) {
        matching->device_of[r] = NONE;
        seen |= matching->devices_of[matching->rank_list[r]];
    }
    for (uint32_t d = 0; d < ATLAS_DEVICES_MAX; d++) {
        uint64_t tried = 0;
        matching->rank_at[d] = NONE;
        if ((seen & zone) >> d & 1) {
            matched += device_match(matching, d, &tried);
        }
    }
    return matched;
}

/* The zone-th part of a server in which `size` devices must lie; 0 behind the last. */
static uint64_t zone_of(const atlas_product_t *product, uint32_t size, uint32_t zone)
{
    if (product->group == 0 || size > product->group) {
        return zone == 0 ? UINT64_MAX : 0;
    }
    if ((zone + 1) * product->group > product->devices) {
        return 0;
    }
    return ((UINT64_C(1) << product->group) - 1) << (zone * product->group);
}

/* Leaves in `matching` one that has at least `size` devices of a legal zone; false if there is none. */
static bool size_match(const pick_t *pick, const server_t *server, uint32_t size, matching_t *matching)
{
    for (uint32_t zone = 0; zone_of(pick->product, size, zone) != 0; zone++) {
        if (zone_match(pick, server, zone_of(pick->product, size, zone), matching) >= size) {
            return true;
        }
    }
    return false;
}

/* Which numbers of devices a server could bring. */
static void server_measure(const pick_t *pick, server_t *server)
{
    const atlas_product_t *product = pick->product;
    matching_t matching;
    uint32_t inside = 0; /* of one group */

    server->drivable = zone_match(pick, server, UINT64_MAX, &matching);
    for (uint32_t zone = 0; zone_of(product, 1, zone) != 0; zone++) {
        uint32_t matched = zone_match(pick, server, zone_of(product, 1, zone), &matching);
        inside = matched > inside ? matched : inside;
    }
    for (uint32_t size = 1; size < ATLAS_DEVICES_MAX; size++) {
        uint32_t most = size > product->group ? server->drivable : inside;
        server->sizes |= size <= most ? product->sizes & UINT64_C(1) << size : 0;
    }
}

/* How many servers can bring `size` devices, at most as many as the product allows. */
static uint32_t size_servers(const pick_t *pick, uint32_t size)
{
    uint32_t servers = 0;

    for (uint32_t s = 0; s < pick->nservers; s++) {
        servers += pick->servers[s].sizes >> size & 1;
    }
    return servers < pick->product->servers ? servers : pick->product->servers;
}

static uint32_t size_largest(const server_t *server)
{
    uint32_t size = ATLAS_DEVICES_MAX - 1;

    while (size > 0 && (server->sizes >> size & 1) == 0) {
        size--;
    }
    return size;
}

/* The same number on all servers that take part: the one with the largest product. */
static void takes_equal(pick_t *pick)
{
    uint32_t best = 0;
    uint64_t devices = 0;

    for (uint32_t size = ATLAS_DEVICES_MAX - 1; size > 0; size--) {
        uint64_t these = (uint64_t)size * size_servers(pick, size);
        if (these >= devices && these != 0) {
            best = size;
            devices = these;
        }
    }
    uint32_t left = size_servers(pick, best);
    for (uint32_t s = 0; s < pick->nservers && left > 0; s++) {
        if ((pick->servers[s].sizes >> best & 1) != 0) {
            pick->servers[s].take = best;
            left--;
        }
    }
}

/* Each server all it can; where there are too many servers, those that bring most. */
static void takes_unequal(pick_t *pick)
{
    uint32_t left = pick->product->servers;

    for (uint32_t size = ATLAS_DEVICES_MAX - 1; size > 0; size--) {
        for (uint32_t s = 0; s < pick->nservers && left > 0; s++) {
            if (size_largest(&pick->servers[s]) == size) {
                pick->servers[s].take = size;
                left--;
            }
        }
    }
}

/* The owners of one server, devices ascending; how many. */
static uint32_t server_owners(const pick_t *pick, const server_t *server, atlas_owner_t *owners)
{
    matching_t matching;
    uint32_t nowners = 0;

    if (server->take == 0 || !size_match(pick, server, server->take, &matching)) {
        return 0;
    }
    for (uint32_t d = 0; d < ATLAS_DEVICES_MAX && nowners < server->take; d++) {
        if (matching.rank_at[d] != NONE) {
            owners[nowners++] =
                (atlas_owner_t){.rank = matching.rank_list[matching.rank_at[d]], .host = server->host, .device = d};
        }
    }
    return nowners;
}

/* Whether superpods bring unequal numbers of servers; they stand together. */
static bool superpods_unequal(const pick_t *pick)
{
    uint32_t first = 0;
    uint32_t count = 0;
    uint32_t superpod = 0;

    for (uint32_t s = 0; s < pick->nservers; s++) {
        if (pick->servers[s].take == 0) {
            continue;
        }
        if (count > 0 && pick->servers[s].superpod != superpod) {
            if (first != 0 && first != count) {
                return true;
            }
            first = count;
            count = 0;
        }
        superpod = pick->servers[s].superpod;
        count++;
    }
    return first != 0 && first != count;
}

static void owners_fill(const pick_t *pick, atlas_devices_t *devices, atlas_owner_t *owners)
{
    *devices = (atlas_devices_t){.product = pick->product, .least = ATLAS_DEVICES_MAX};
    for (uint32_t s = 0; s < pick->nservers; s++) {
        const server_t *server = &pick->servers[s];
        devices->drivable += server->drivable;
        if (server->take == 0) {
            continue;
        }
        devices->nowners += server_owners(pick, server, owners + devices->nowners);
        devices->servers++;
        devices->least = server->take < devices->least ? server->take : devices->least;
        devices->most = server->take > devices->most ? server->take : devices->most;
    }
    bool power_of_two = (devices->servers & (devices->servers - 1)) == 0;
    devices->warnings = (uint32_t)(devices->least != devices->most) << ATLAS_WARNING_UNEQUAL |
                        (uint32_t)(pick->product->power_of_two && !power_of_two) << ATLAS_WARNING_SERVERS |
                        (uint32_t)superpods_unequal(pick) << ATLAS_WARNING_SUPERPODS |
                        (uint32_t)(devices->nowners < devices->drivable) << ATLAS_WARNING_UNUSED;
}

static int servers_compare(const void *left, const void *right)
{
    const server_t *a = left;
    const server_t *b = right;

    if (a->superpod != b->superpod) {
        return a->superpod < b->superpod ? -1 : 1;
    }
    return (a->host > b->host) - (a->host < b->host);
}

/* Lists the ranks that can drive devices by their host, and the hosts that have such. `servers` is zeroed and has a
   place for each host. */
static void servers_list(pick_t *pick)
{
    const atlas_ranks_t *ranks = pick->ranks;
    uint32_t place = 0;

    for (uint32_t r = 0; r < ranks->nranks; r++) {
        uint32_t host = ranks->host_of[r];
        pick->servers[host].nranks += ranks->hosts[host].product != NULL && ranks->devices_of[r] != 0;
    }
    for (uint32_t h = 0; h < ranks->nhosts; h++) {
        pick->servers[h].host = h;
        pick->servers[h].superpod = ranks->hosts[h].superpod;
        pick->servers[h].first = place;
        place += pick->servers[h].nranks;
        pick->servers[h].nranks = 0;
    }
    for (uint32_t r = 0; r < ranks->nranks; r++) {
        server_t *server = &pick->servers[ranks->host_of[r]];
        if (ranks->hosts[server->host].product != NULL && ranks->devices_of[r] != 0) {
            pick->rank_list[server->first + server->nranks++] = r;
        }
    }
    for (uint32_t h = 0; h < ranks->nhosts; h++) {
        if (pick->servers[h].nranks > 0) {
            pick->servers[pick->nservers++] = pick->servers[h];
        }
    }
}

/* The one product of all servers; false and `why` where that is not so. */
static bool product_agree(pick_t *pick, char *why, size_t why_bytes)
{
    const atlas_ranks_t *ranks = pick->ranks;

    if (pick->nservers == 0) {
        snprintf(why, why_bytes, "no rank can drive a device");
        return false;
    }
    pick->product = ranks->hosts[pick->servers[0].host].product;
    for (uint32_t s = 1; s < pick->nservers; s++) {
        const atlas_product_t *product = ranks->hosts[pick->servers[s].host].product;
        if (product != pick->product) {
            snprintf(why, why_bytes, "host %u has %s and host %u has %s: HCCL works among devices of one product",
                     pick->servers[0].host, pick->product->name, pick->servers[s].host, product->name);
            return false;
        }
    }
    return true;
}

/* Whether the devices have numbers that the product has. */
static bool numbers_check(const pick_t *pick, char *why, size_t why_bytes)
{
    const atlas_product_t *product = pick->product;

    for (uint32_t s = 0; s < pick->nservers; s++) {
        const server_t *server = &pick->servers[s];
        for (uint32_t r = 0; r < server->nranks; r++) {
            uint32_t rank = pick->rank_list[server->first + r];
            for (uint32_t d = product->devices; d < ATLAS_DEVICES_MAX; d++) {
                if ((pick->ranks->devices_of[rank] >> d & 1) != 0) {
                    snprintf(why, why_bytes, "rank %u on host %u has device %u, but %s numbers its devices 0 to %u",
                             rank, server->host, d, product->name, product->devices - 1);
                    return false;
                }
            }
        }
    }
    return true;
}

static mpinpu_status_t pick_run(pick_t *pick, atlas_devices_t *devices, atlas_owner_t *owners, char *why,
                                size_t why_bytes)
{
    servers_list(pick);
    if (!product_agree(pick, why, why_bytes) || !numbers_check(pick, why, why_bytes)) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    qsort(pick->servers, pick->nservers, sizeof *pick->servers, servers_compare);
    for (uint32_t s = 0; s < pick->nservers; s++) {
        server_measure(pick, &pick->servers[s]);
    }
    if (pick->product->unequal) {
        takes_unequal(pick);
    } else {
        takes_equal(pick);
    }
    owners_fill(pick, devices, owners);
    return MPINPU_OK;
}

mpinpu_status_t atlas_devices_pick(const atlas_ranks_t *ranks, atlas_devices_t *devices, atlas_owner_t *owners,
                                   char *why, size_t why_bytes)
{
    pick_t pick = {.ranks = ranks};
    mpinpu_status_t status = MPINPU_ERR_NO_MEMORY;

    for (uint32_t r = 0; r < ranks->nranks; r++) {
        if (ranks->host_of[r] >= ranks->nhosts) {
            return MPINPU_ERR_INVALID;
        }
    }
    pick.rank_list = calloc((size_t)ranks->nranks + 1, sizeof *pick.rank_list);
    pick.servers = calloc((size_t)ranks->nhosts + 1, sizeof *pick.servers);
    pick.device_of = calloc((size_t)ranks->nranks + 1, sizeof *pick.device_of);
    if (pick.rank_list != NULL && pick.servers != NULL && pick.device_of != NULL) {
        status = pick_run(&pick, devices, owners, why, why_bytes);
    }
    free(pick.device_of);
    free(pick.servers);
    free(pick.rank_list);
    return status;
}
