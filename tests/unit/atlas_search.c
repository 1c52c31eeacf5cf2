/* SPDX-License-Identifier: BSD-3-Clause */
/* What is picked, against a search through all sets of devices: random ranks on up to three hosts, each of which can
   drive some of eight devices. The rules are written down once more, set by set. */
#include "tests/unit/atlas_hosts.h"

enum { DEVICES = 8, SETS = 1 << DEVICES, HOSTS = 3, ROUNDS = 400 };

static uint64_t state = 88172645463325252;

static uint32_t random_below(uint32_t bound)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % bound;
}

static bool legal_910(uint32_t set)
{
    switch (__builtin_popcount(set)) {
    case 1:
    case 8:
        return true;
    case 2:
    case 4:
        return (set & 0x0f) == 0 || (set & 0xf0) == 0;
    default:
        return false;
    }
}

static bool legal_any(uint32_t set)
{
    return set != 0;
}

/* Whether each device of the set has a rank of its own among those of the host from `rank` on (by trying all). */
static bool drivable(uint32_t set, uint32_t host, uint32_t rank)
{
    if (set == 0) {
        return true;
    }
    for (; rank < ranks.nranks; rank++) {
        if (host_of[rank] != host) {
            continue;
        }
        for (uint32_t d = 0; d < DEVICES; d++) {
            if ((set >> d & 1) != 0 && (devices_of[rank] >> d & 1) != 0 && drivable(set & ~(1U << d), host, rank + 1)) {
                return true;
            }
        }
    }
    return false;
}

/* The most devices: `equal` wants as many on each host that takes part. */
static uint32_t most_devices(bool (*legal)(uint32_t set), bool equal)
{
    uint32_t hosts_of[DEVICES + 1] = {0}; /* that have a legal set of so many devices */
    uint32_t all = 0;
    uint32_t best = 0;

    for (uint32_t host = 0; host < ranks.nhosts; host++) {
        bool sizes[DEVICES + 1] = {false};
        uint32_t most = 0;
        for (uint32_t set = 1; set < SETS; set++) {
            uint32_t size = (uint32_t)__builtin_popcount(set);
            if (!sizes[size] && legal(set) && drivable(set, host, 0)) {
                sizes[size] = true;
                most = size > most ? size : most;
            }
        }
        for (uint32_t size = 1; size <= DEVICES; size++) {
            hosts_of[size] += sizes[size];
        }
        all += most;
    }
    for (uint32_t size = 1; size <= DEVICES; size++) {
        best = size * hosts_of[size] > best ? size * hosts_of[size] : best;
    }
    return equal ? best : all;
}

/* The owners are legal: each can drive its device, none twice, and the sets of the hosts are as the rules want. */
static void owners_check(bool (*legal)(uint32_t set), bool equal)
{
    uint32_t sets[HOSTS] = {0};
    uint64_t seen = 0;
    int size = 0;

    for (uint32_t o = 0; o < devices.nowners; o++) {
        const atlas_owner_t *owner = &owners[o];
        cr_assert_eq(host_of[owner->rank], owner->host);
        cr_assert((devices_of[owner->rank] >> owner->device & 1) != 0);
        cr_assert((seen >> owner->rank & 1) == 0);
        cr_assert((sets[owner->host] >> owner->device & 1) == 0);
        seen |= UINT64_C(1) << owner->rank;
        sets[owner->host] |= 1U << owner->device;
    }
    for (uint32_t host = 0; host < HOSTS; host++) {
        if (sets[host] != 0) {
            cr_assert(legal(sets[host]));
            cr_assert(!equal || size == 0 || size == __builtin_popcount(sets[host]));
            size = __builtin_popcount(sets[host]);
        }
    }
}

static void search(atlas_series_t series, bool (*legal)(uint32_t set), bool equal)
{
    for (int round = 0; round < ROUNDS; round++) {
        ranks = (atlas_ranks_t){.nranks = 0};
        for (uint32_t host = 1 + random_below(HOSTS); host > 0; host--) {
            uint64_t common = random_below(SETS) | random_below(SETS);
            host_add((int)series, 0, 0);
            for (uint32_t r = random_below(7); r > 0; r--) {
                uint64_t one = UINT64_C(1) << random_below(DEVICES);
                rank_add(random_below(3) == 0 ? one : random_below(2) == 0 ? random_below(SETS) & common : common);
            }
        }
        uint32_t expected = most_devices(legal, equal);
        if (expected == 0) {
            refused("no rank can drive a device");
            continue;
        }
        cr_assert_eq(pick(), MPINPU_OK, "round %d: %s", round, why);
        cr_assert_eq(devices.nowners, expected, "round %d: %u, not %u", round, devices.nowners, expected);
        owners_check(legal, equal);
    }
}

Test(atlas_search, training_series)
{
    search(ATLAS_910, legal_910, true);
}

Test(atlas_search, a2)
{
    search(ATLAS_A2, legal_any, false);
}

Test(atlas_search, ascend950)
{
    search(ATLAS_950, legal_any, true);
}
