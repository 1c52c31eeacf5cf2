/* SPDX-License-Identifier: BSD-3-Clause */
/* Which devices are picked for a communicator: every rule and every refusal, worked out by hand. */
#include "engine/hccl/atlas.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOSTS_MAX = 1300, RANKS_MAX = 11000, OWNERS_TEXT = 2048 };

static uint32_t host_of[RANKS_MAX];
static uint64_t devices_of[RANKS_MAX];
static atlas_host_t hosts[HOSTS_MAX];
static atlas_ranks_t ranks;
static atlas_owner_t owners[RANKS_MAX];
static atlas_devices_t devices;
static char why[256];

/* Adds a host of a product (a negative one: without devices) with so many ranks, each of which can drive `visible`. */
static void host_add(int series, uint32_t nranks, uint64_t visible)
{
    ranks.host_of = host_of;
    ranks.devices_of = devices_of;
    ranks.hosts = hosts;
    hosts[ranks.nhosts].product = series < 0 ? NULL : atlas_product((atlas_series_t)series);
    for (uint32_t r = 0; r < nranks; r++) {
        host_of[ranks.nranks] = ranks.nhosts;
        devices_of[ranks.nranks++] = visible;
    }
    ranks.nhosts++;
}

/* Adds a rank to the last host. */
static void rank_add(uint64_t visible)
{
    host_of[ranks.nranks] = ranks.nhosts - 1;
    devices_of[ranks.nranks++] = visible;
}

static mpinpu_status_t pick(void)
{
    why[0] = '\0';
    memset(owners, 0xff, sizeof owners);
    return atlas_devices_pick(&ranks, &devices, owners, why, sizeof why);
}

/* Picks; the owners must be these, as "rank@host:device ..." in HCCL's order. */
static void picked(const char *expected)
{
    char text[OWNERS_TEXT] = "";
    size_t length = 0;

    cr_assert_eq(pick(), MPINPU_OK, "%s", why);
    for (uint32_t o = 0; o < devices.nowners && length < sizeof text; o++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%u@%u:%u", o == 0 ? "" : " ", owners[o].rank,
                                   owners[o].host, owners[o].device);
    }
    cr_assert_str_eq(text, expected);
}

/* The warnings must be these, each a sentence, in this order. */
static void warned(const char *first, ...)
{
    va_list list;
    const char *sentence = first;

    va_start(list, first);
    for (int w = 0; w < ATLAS_WARNING_COUNT; w++) {
        char text[256];
        if ((devices.warnings >> w & 1) == 0) {
            continue;
        }
        atlas_warning_text(&devices, (atlas_warning_t)w, text, sizeof text);
        cr_assert_not_null(sentence, "one too many: %s", text);
        cr_assert_str_eq(text, sentence);
        sentence = va_arg(list, const char *);
    }
    va_end(list);
    cr_assert_null(sentence, "not said: %s", sentence);
}

static void refused(const char *sentence)
{
    cr_assert_eq(pick(), MPINPU_ERR_UNSUPPORTED);
    cr_assert_str_eq(why, sentence);
}

#define UNUSED_910(used, drivable)                                                                                   \
    used " of " drivable " devices are used: Atlas training series takes 1, 2, 4 or 8 devices a server, as many on " \
         "each, and 2 or 4 of them all in 0-3 or all in 4-7; at most 512 servers"

Test(atlas_910, eight_ranks_on_eight_devices)
{
    host_add(ATLAS_910, 8, 0xff);
    picked("0@0:0 1@0:1 2@0:2 3@0:3 4@0:4 5@0:5 6@0:6 7@0:7");
    warned(NULL);
    cr_assert_eq(devices.servers, 1);
    cr_assert_eq(devices.least, 8);
    cr_assert_eq(devices.most, 8);
    cr_assert_eq(devices.product->series, ATLAS_910);
}

Test(atlas_910, seven_ranks_are_four_devices_of_the_first_group)
{
    host_add(ATLAS_910, 7, 0xff);
    picked("0@0:0 1@0:1 2@0:2 3@0:3");
    warned(UNUSED_910("4", "7"), NULL);
}

Test(atlas_910, twelve_ranks_are_eight)
{
    host_add(ATLAS_910, 12, 0xff);
    picked("0@0:0 1@0:1 2@0:2 3@0:3 4@0:4 5@0:5 6@0:6 7@0:7");
    warned(NULL);
}

Test(atlas_910, second_group)
{
    host_add(ATLAS_910, 4, 0xf0);
    picked("0@0:4 1@0:5 2@0:6 3@0:7");
    warned(NULL);
}

Test(atlas_910, four_that_straddle_are_two)
{
    host_add(ATLAS_910, 4, 0x3c);
    picked("0@0:2 1@0:3");
    warned(UNUSED_910("2", "4"), NULL);
}

Test(atlas_910, three_in_the_second_group_are_two)
{
    host_add(ATLAS_910, 4, 0xe1);
    picked("0@0:5 1@0:6");
    warned(UNUSED_910("2", "4"), NULL);
}

Test(atlas_910, two_across_the_groups_are_one)
{
    host_add(ATLAS_910, 2, 0x11);
    picked("0@0:0");
    warned(UNUSED_910("1", "2"), NULL);
}

Test(atlas_910, three_devices_are_two)
{
    host_add(ATLAS_910, 3, 0x07);
    picked("0@0:0 1@0:1");
    warned(UNUSED_910("2", "3"), NULL);
}

Test(atlas_910, one_device_and_many_ranks)
{
    host_add(ATLAS_910, 6, 0x20);
    picked("0@0:5");
    warned(NULL);
}

Test(atlas_910, devices_that_the_application_has_set)
{
    host_add(ATLAS_910, 0, 0);
    rank_add(0x08);
    rank_add(0x04);
    rank_add(0x02);
    rank_add(0x01);
    picked("3@0:0 2@0:1 1@0:2 0@0:3");
    warned(NULL);
}

Test(atlas_910, two_ranks_on_one_device)
{
    host_add(ATLAS_910, 0, 0);
    rank_add(0x01);
    rank_add(0x01);
    rank_add(0x02);
    rank_add(0x02);
    picked("0@0:0 2@0:1");
    warned(NULL);
}

/* Rank 0 sees all, the others one each: only if rank 0 takes the one that nobody else can drive are there four. */
Test(atlas_910, ranks_make_room)
{
    host_add(ATLAS_910, 0, 0);
    rank_add(0x0f);
    rank_add(0x01);
    rank_add(0x02);
    rank_add(0x04);
    picked("1@0:0 2@0:1 3@0:2 0@0:3");
    warned(NULL);
}

Test(atlas_910, the_same_number_on_each_server)
{
    host_add(ATLAS_910, 4, 0xff);
    host_add(ATLAS_910, 2, 0xff);
    picked("0@0:0 1@0:1 4@1:0 5@1:1");
    warned(UNUSED_910("4", "6"), NULL);
    cr_assert_eq(devices.servers, 2);
}

Test(atlas_910, a_server_with_little_is_left_out)
{
    host_add(ATLAS_910, 8, 0xff);
    host_add(ATLAS_910, 1, 0xff);
    host_add(ATLAS_910, 8, 0xff);
    picked("0@0:0 1@0:1 2@0:2 3@0:3 4@0:4 5@0:5 6@0:6 7@0:7 "
           "9@2:0 10@2:1 11@2:2 12@2:3 13@2:4 14@2:5 15@2:6 16@2:7");
    warned(UNUSED_910("16", "17"), NULL);
    cr_assert_eq(devices.servers, 2);
}

Test(atlas_910, groups_may_differ_between_servers)
{
    host_add(ATLAS_910, 4, 0x0f);
    host_add(ATLAS_910, 4, 0xf0);
    picked("0@0:0 1@0:1 2@0:2 3@0:3 4@1:4 5@1:5 6@1:6 7@1:7");
    warned(NULL);
}

Test(atlas_910, three_servers_are_not_a_power_of_two)
{
    for (int h = 0; h < 3; h++) {
        host_add(ATLAS_910, 2, 0xff);
    }
    picked("0@0:0 1@0:1 2@1:0 3@1:1 4@2:0 5@2:1");
    warned("3 servers bring devices: Atlas training series is fastest where that is a power of two", NULL);
}

Test(atlas_910, at_most_512_servers)
{
    for (int h = 0; h < 513; h++) {
        host_add(ATLAS_910, 8, 0xff);
    }
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_eq(devices.servers, 512);
    cr_assert_eq(devices.nowners, 4096);
    cr_assert_eq(owners[4095].rank, 4095);
    cr_assert_eq(owners[4095].host, 511);
    warned(UNUSED_910("4096", "4104"), NULL);
}

Test(atlas_910, a_host_without_devices_joins_as_hosts)
{
    host_add(-1, 3, 0);
    host_add(ATLAS_910, 2, 0xff);
    picked("3@1:0 4@1:1");
    warned(NULL);
    cr_assert_eq(devices.servers, 1);
}

Test(atlas_910, ranks_of_hosts_mixed)
{
    host_add(ATLAS_910, 0, 0);
    host_add(ATLAS_910, 0, 0);
    for (uint32_t r = 0; r < 4; r++) {
        host_of[r] = r % 2;
        devices_of[r] = 0x0f;
    }
    ranks.nranks = 4;
    picked("0@0:0 2@0:1 1@1:0 3@1:1");
    warned(NULL);
}

Test(atlas_910, device_number_that_no_server_has)
{
    host_add(ATLAS_910, 1, 0x01);
    host_add(ATLAS_910, 1, 0x100);
    refused("rank 1 on host 1 has device 8, but Atlas training series numbers its devices 0 to 7");
}

Test(atlas_a2, any_number_up_to_eight)
{
    host_add(ATLAS_A2, 5, 0xfb);
    picked("0@0:0 1@0:1 2@0:3 3@0:4 4@0:5");
    warned(NULL);
}

/* The Box16 numbers its devices 0 to 15; a job takes up to 8 of a server. */
Test(atlas_a2, eight_of_sixteen)
{
    host_add(ATLAS_A2, 16, 0xffff);
    picked("0@0:0 1@0:1 2@0:2 3@0:3 4@0:4 5@0:5 6@0:6 7@0:7");
    warned("8 of 16 devices are used: Atlas A2 training series takes 1 to 8 devices a server; at most 1152 servers",
           NULL);
}

Test(atlas_a2, unequal_numbers_are_slow)
{
    host_add(ATLAS_A2, 3, 0xff);
    host_add(ATLAS_A2, 1, 0xff);
    picked("0@0:0 1@0:1 2@0:2 3@1:0");
    warned("the servers bring from 1 to 3 devices: Atlas A2 training series is slow where the numbers are unequal",
           NULL);
    cr_assert_eq(devices.least, 1);
    cr_assert_eq(devices.most, 3);
}

Test(atlas_a2, six_servers_are_not_a_power_of_two)
{
    for (int h = 0; h < 6; h++) {
        host_add(ATLAS_A2, 1, 0xff);
    }
    picked("0@0:0 1@1:0 2@2:0 3@3:0 4@4:0 5@5:0");
    warned("6 servers bring devices: Atlas A2 training series is fastest where that is a power of two", NULL);
}

Test(atlas_a2, at_most_1152_servers_and_those_that_bring_most)
{
    host_add(ATLAS_A2, 1, 0xff);
    for (int h = 1; h < 1153; h++) {
        host_add(ATLAS_A2, 8, 0xff);
    }
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_eq(devices.servers, 1152);
    cr_assert_eq(devices.nowners, 9216);
    cr_assert_eq(owners[0].host, 1);
    cr_assert_eq(owners[9215].host, 1152);
    warned("1152 servers bring devices: Atlas A2 training series is fastest where that is a power of two",
           "9216 of 9217 devices are used: Atlas A2 training series takes 1 to 8 devices a server; at most 1152 "
           "servers",
           NULL);
}

Test(atlas_a3, sixteen_a_server_and_unequal)
{
    host_add(ATLAS_A3, 17, 0xffff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_eq(devices.nowners, 16);
    warned(NULL);
    host_add(ATLAS_A3, 1, 0x8000);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_eq(devices.nowners, 17);
    cr_assert_eq(owners[16].device, 15);
    warned("the servers bring from 1 to 16 devices: Atlas A3 training series is slow where the numbers are unequal",
           NULL);
}

Test(atlas_a3, three_servers_are_as_good_as_four)
{
    for (int h = 0; h < 3; h++) {
        host_add(ATLAS_A3, 1, 0xffff);
    }
    picked("0@0:0 1@1:0 2@2:0");
    warned(NULL);
}

Test(atlas_a3, superpods_stand_together)
{
    static const uint32_t superpods[] = {7, 2, 7, 2};

    for (int h = 0; h < 4; h++) {
        host_add(ATLAS_A3, 1, 1);
        hosts[h].superpod = superpods[h];
    }
    picked("1@1:0 3@3:0 0@0:0 2@2:0");
    warned(NULL);
    host_add(ATLAS_A3, 1, 1);
    hosts[4].superpod = 2;
    picked("1@1:0 3@3:0 4@4:0 0@0:0 2@2:0");
    warned("the superpods bring unequal numbers of servers: Atlas A3 training series is slow there", NULL);
}

Test(atlas_310p, thirty_two_of_one_server)
{
    host_add(ATLAS_310P, 40, UINT64_C(0xffffffff));
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_eq(devices.nowners, 32);
    cr_assert_eq(owners[31].device, 31);
    warned(NULL);
}

Test(atlas_310p, one_server)
{
    host_add(ATLAS_310P, 2, 0x3);
    host_add(ATLAS_310P, 3, 0x7);
    picked("2@1:0 3@1:1 4@1:2");
    warned("3 of 5 devices are used: Atlas 300I Duo takes 1 to 32 devices of one server", NULL);
}

Test(atlas_950, the_same_number_on_each_server)
{
    host_add(ATLAS_950, 3, 0xff);
    host_add(ATLAS_950, 2, 0xff);
    picked("0@0:0 1@0:1 3@1:0 4@1:1");
    warned("4 of 5 devices are used: Ascend 950 takes 1 to 8 devices a server, as many on each", NULL);
}

Test(atlas_devices, nobody_can_drive_a_device)
{
    host_add(-1, 2, 0);
    refused("no rank can drive a device");
    host_add(ATLAS_A2, 2, 0);
    refused("no rank can drive a device");
    host_add(-1, 1, 0xff);
    refused("no rank can drive a device");
}

Test(atlas_devices, products_differ)
{
    host_add(-1, 1, 0);
    host_add(ATLAS_A2, 1, 0xff);
    host_add(ATLAS_A2, 1, 0xff);
    host_add(ATLAS_A3, 1, 0xff);
    refused("host 1 has Atlas A2 training series and host 3 has Atlas A3 training series: HCCL works among devices of "
            "one product");
}

Test(atlas_devices, host_out_of_range)
{
    host_add(ATLAS_A2, 2, 0xff);
    host_of[1] = 1;
    cr_assert_eq(pick(), MPINPU_ERR_INVALID);
}

/* HcclReduceScatterV is narrower than the rest, and the wide types of the 950 stay inside a server. */
static bool serve(collective_kind_t kind, dtype_t dtype)
{
    return atlas_devices_serve(&devices, 902, kind, dtype, OP_SUM);
}

Test(atlas_devices, what_the_devices_serve)
{
    host_add(ATLAS_A2, 2, 0xff);
    host_add(ATLAS_A2, 2, 0xff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_F32));
    cr_assert_not(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_I64));
    cr_assert_not(serve(COLLECTIVE_ALLREDUCE, DTYPE_F64));
    host_add(ATLAS_A2, 1, 0xff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_not(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_F32));
    cr_assert(serve(COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_F32));
    cr_assert(serve(COLLECTIVE_ALLREDUCE, DTYPE_I64));
}

Test(atlas_devices, vector_on_one_server_of_a3)
{
    host_add(ATLAS_A3, 16, 0xffff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_I64));
    host_add(ATLAS_A3, 16, 0xffff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_not(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_I64));
    cr_assert(serve(COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_I64));
}

Test(atlas_devices, vector_on_four_devices_of_the_duo)
{
    host_add(ATLAS_310P, 4, 0xff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_F16));
    rank_add(0xff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_not(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_F16));
    cr_assert(serve(COLLECTIVE_ALLREDUCE, DTYPE_F16));
}

Test(atlas_devices, wide_types_of_the_950)
{
    host_add(ATLAS_950, 8, 0xff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert(serve(COLLECTIVE_ALLREDUCE, DTYPE_F64));
    cr_assert(serve(COLLECTIVE_ALLREDUCE, DTYPE_U64));
    cr_assert(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_I64));
    host_add(ATLAS_950, 8, 0xff);
    cr_assert_eq(pick(), MPINPU_OK);
    cr_assert_not(serve(COLLECTIVE_ALLREDUCE, DTYPE_F64));
    cr_assert_not(serve(COLLECTIVE_ALLREDUCE, DTYPE_U64));
    cr_assert_not(serve(COLLECTIVE_REDUCE_SCATTER, DTYPE_I64));
    cr_assert(serve(COLLECTIVE_ALLREDUCE, DTYPE_F32));
}
