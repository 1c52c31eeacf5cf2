/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices of the other products, every refusal, and what the devices picked serve; worked out by hand. */
#include "tests/unit/atlas_hosts.h"

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
