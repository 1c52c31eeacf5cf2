/* SPDX-License-Identifier: BSD-3-Clause */
/* Which process drives which device, and which ranks it serves. */
#include "engine/hccl/owners.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { RANKS_MAX = 64, WHY_BYTES = 256 };

/* Every number of ranks and devices: each device in use has one driver, the first of its ranks; neighbours share; the
   shares differ by one rank at most. */
Test(owners, devices_of_neighbours)
{
    for (int ranks = 1; ranks <= 40; ranks++) {
        for (unsigned devices = 1; devices <= 16; devices++) {
            unsigned served[16] = {0};
            unsigned last = 0;
            for (int r = 0; r < ranks; r++) {
                const owners_process_t process = {.local_rank = r, .local_ranks = ranks, .devices = devices};
                uint32_t device = UINT32_MAX;
                bool drives = false;
                owners_device_find(&process, &device, &drives);
                cr_assert_lt(device, devices);
                cr_assert_eq(drives, served[device] == 0, "%d of %d ranks, %u devices", r, ranks, devices);
                cr_assert(device == last || device == last + 1);
                last = device;
                served[device]++;
            }
            const unsigned used = (unsigned)ranks < devices ? (unsigned)ranks : devices;
            for (unsigned d = 0; d < used; d++) {
                cr_assert_geq(served[d], (unsigned)ranks / used);
                cr_assert_leq(served[d], ((unsigned)ranks + used - 1) / used);
            }
        }
    }
}

Test(owners, devices_of_a_map)
{
    static const uint8_t map[] = {5, 2};
    static const struct {
        int ranks;
        uint32_t device[4];
        bool drives[4];
    } rows[] = {{1, {5}, {true}},
                {2, {5, 2}, {true, true}},
                {3, {5, 5, 2}, {true, false, true}},
                {4, {5, 5, 2, 2}, {true, false, true, false}}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int r = 0; r < rows[i].ranks; r++) {
            const owners_process_t process = {
                .local_rank = r, .local_ranks = rows[i].ranks, .devices = 8, .map = map, .mapped = 2};
            uint32_t device = 0;
            bool drives = false;
            owners_device_find(&process, &device, &drives);
            cr_expect(device == rows[i].device[r] && drives == rows[i].drives[r], "rank %d of %d: %u %d", r,
                      rows[i].ranks, device, drives);
        }
    }
}

/* A list for all ranks cannot be told from one of each rank's own. */
Test(owners, devices_of_lists)
{
    for (int r = 0; r < 4; r++) {
        owners_process_t process = {.local_rank = r, .local_ranks = 4, .devices = 1, .listed = true};
        uint32_t device = 7;
        bool drives = false;
        owners_device_find(&process, &device, &drives);
        cr_expect(device == 0 && drives == (r == 0));
        process.lists_differ = true;
        owners_device_find(&process, &device, &drives);
        cr_expect(device == 0 && drives);
        process = (owners_process_t){.local_rank = r, .local_ranks = 4, .devices = 4, .listed = true};
        owners_device_find(&process, &device, &drives);
        cr_expect(device == (uint32_t)r && drives);
    }
}

/* Claims by text, a word a rank: host letter, device digit or '-', then 'd' where it drives and 'g' where it is given.
 */
static uint32_t claims_read(const char *text, atlas_series_t series, owners_claim_t *claims)
{
    uint32_t n = 0;

    for (; *text != '\0'; n++) {
        claims[n] = (owners_claim_t){.host = (uint64_t)(unsigned char)text[0],
                                     .device = text[1] == '-' ? OWNERS_NO_DEVICE : (uint32_t)(text[1] - '0'),
                                     .series = series};
        for (text += 2; *text != ' ' && *text != '\0'; text++) {
            claims[n].drives = claims[n].drives || *text == 'd';
            claims[n].given = claims[n].given || *text == 'g';
        }
        text += strspn(text, " ");
    }
    return n;
}

/* The groups as a text: the ranks of each, its owner first. */
static void groups_write(const owners_t *owners, char *text, size_t bytes)
{
    size_t length = 0;

    text[0] = '\0';
    for (uint32_t p = 0; p < owners->devices.nowners; p++) {
        for (uint32_t i = owners->first[p]; i < owners->first[p + 1]; i++) {
            length += (size_t)snprintf(text + length, bytes - length, "%s%u",
                                       i > owners->first[p] ? ","
                                       : p                  ? " "
                                                            : "",
                                       owners->grouped[i]);
            cr_assert_eq(owners->of_rank[owners->grouped[i]], p);
        }
        cr_assert_eq(owners->grouped[owners->first[p]], owners->order[p]);
    }
}

Test(owners, groups)
{
    static const struct {
        atlas_series_t series;
        const char *claims;
        const char *groups;
        bool even;
    } rows[] = {
        {ATLAS_A2, "a0d a1d a2d", "0 1 2", true},
        {ATLAS_A2, "a0d a0 a1d a1", "0,1 2,3", true},
        {ATLAS_A2, "a0d a0 a0 a1d a1", "0,1,2 3,4", false},
        /* The driver of device 1 is not in the communicator: its neighbours go to the others, balanced. */
        {ATLAS_A2, "a0d a1 a1 a2d", "0,1 3,2", true},
        /* A host without devices goes to one owner. */
        {ATLAS_A2, "a0d a1d b- b-", "0,2,3 1", false},
        {ATLAS_A2, "b- b- a0d a1d c- c-", "2,0,1 3,4,5", true},
        {ATLAS_A2, "a- b0d a- b1d b1", "1,0,2 3,4", false},
        /* Two hosts. */
        {ATLAS_A2, "a0d a0 b0d b0", "0,1 2,3", true},
        {ATLAS_A2, "a0d b0d a0 b0", "0,2 1,3", true},
        /* One device claimed twice: the application's choice, else the lower rank. */
        {ATLAS_A2, "a0d a0d a1d", "0,1 2", false},
        {ATLAS_A2, "a0d a0dg a1d", "1,0 2", false},
        /* What the rules leave out serves nobody: 910A takes 1, 2, 4 or 8. */
        {ATLAS_910, "a0d a0 a1d a1 a2d a2", "0,1,4 2,3,5", true},
        {ATLAS_910, "a3d a3 a4d a4", "0,1,2,3", true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        owners_claim_t claims[RANKS_MAX];
        owners_t owners;
        char text[256];
        char why[WHY_BYTES] = "";
        const uint32_t n = claims_read(rows[i].claims, rows[i].series, claims);
        cr_assert_eq(owners_pick(claims, n, &owners, why, sizeof why), MPINPU_OK, "%s: %s", rows[i].claims, why);
        groups_write(&owners, text, sizeof text);
        cr_expect_str_eq(text, rows[i].groups, "%s: %s, not %s", rows[i].claims, text, rows[i].groups);
        cr_expect_eq(owners.even, rows[i].even, "%s", rows[i].claims);
        cr_expect_eq(owners.first[owners.devices.nowners], n);
        owners_close(&owners);
    }
}

Test(owners, lists_that_differ_are_each_ranks_own)
{
    owners_claim_t claims[RANKS_MAX];
    owners_t owners;
    char text[256];
    char why[WHY_BYTES] = "";

    const uint32_t n = claims_read("a0d a1 a2 b0d b0", ATLAS_A2, claims);
    for (uint32_t r = 0; r < 3; r++) {
        claims[r].list = 10 + r;
    }
    cr_expect(owners_lists_differ(claims, n, 'a') && !owners_lists_differ(claims, n, 'b'));
    cr_assert_eq(owners_pick(claims, n, &owners, why, sizeof why), MPINPU_OK);
    groups_write(&owners, text, sizeof text);
    cr_expect_str_eq(text, "0 1 2 3,4");
    owners_close(&owners);
}

Test(owners, nobody_drives)
{
    owners_claim_t claims[RANKS_MAX];
    owners_t owners;
    char why[WHY_BYTES] = "";

    const uint32_t n = claims_read("a0 a1 b-", ATLAS_A2, claims);
    cr_expect_eq(owners_pick(claims, n, &owners, why, sizeof why), MPINPU_ERR_UNSUPPORTED);
    cr_expect_str_not_empty(why);
}
