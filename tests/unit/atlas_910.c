/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of the Atlas training series: 1, 2, 4 or 8 of a server, in two groups; worked out by hand. */
#include "tests/unit/atlas_hosts.h"

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
