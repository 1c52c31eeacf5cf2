/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-in refuses what the products do not allow: devices together, types and ops, wrong calls of collectives. */
#include "tests/cann/job.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* --- which devices form a communicator --- */

typedef struct layout {
    const char *soc;
    const char *devices; /* a digit a rank */
    const char *servers; /* a letter a rank */
    HcclResult expected;
} layout_t;

static const layout_t layouts[] = {
    {"Ascend910A", "0", "a", HCCL_SUCCESS},
    {"Ascend910A", "31", "aa", HCCL_SUCCESS},
    {"Ascend910A", "34", "aa", HCCL_E_PARA},   /* across the rings */
    {"Ascend910A", "012", "aaa", HCCL_E_PARA}, /* three */
    {"Ascend910A", "4567", "aaaa", HCCL_SUCCESS},
    {"Ascend910A", "2345", "aaaa", HCCL_E_PARA},
    {"Ascend910A", "01234567", "aaaaaaaa", HCCL_SUCCESS},
    {"Ascend910A", "012345", "aaaaaa", HCCL_E_PARA},
    {"Ascend910A", "0145", "aabb", HCCL_SUCCESS},
    {"Ascend910A", "010", "aab", HCCL_E_PARA}, /* unequal */
    {"Ascend910B", "012", "aaa", HCCL_E_PARA}, /* of the old series, without a digit */
    {"Ascend910B1", "012", "aaa", HCCL_SUCCESS},
    {"Ascend910B1", "0346", "aaaa", HCCL_SUCCESS},
    {"Ascend910B1", "010", "aab", HCCL_SUCCESS},
    {"Ascend910B1", "00", "aa", HCCL_E_UNAVAIL}, /* two processes on one device */
    {"Ascend910_9391", "012345", "aaaaaa", HCCL_SUCCESS},
    {"Ascend310P3", "012", "aaa", HCCL_SUCCESS},
    {"Ascend310P3", "00", "ab", HCCL_E_PARA},
    {"Ascend950PR", "01", "aa", HCCL_SUCCESS},
    {"Ascend310B1", "01", "aa", HCCL_E_PARA},
};

static void body_layout(process_t *self)
{
    const layout_t *layout = self->argument;
    seat_t seat;
    HcclComm comm = NULL;
    HcclResult codes[PROCESSES_MAX];
    char server[64];
    int refused = 0;
    snprintf(server, sizeof server, "%s%c", getenv("CANN_SERVER"), layout->servers[self->rank]);
    setenv("CANN_SERVER", server, 1);
    setenv("CANN_SOC", layout->soc, 1);
    setenv("CANN_HASTE", "200", 1); /* for those that wait for one that was refused */
    seat_take(&seat, layout->devices[self->rank] - '0');
    HcclResult mine = job_communicator(&seat, self, &comm);
    process_allgather(self, &mine, codes, sizeof mine);
    for (int r = 0; r < self->size; r++) {
        refused += codes[r] == layout->expected;
        process_require(codes[r] == HCCL_SUCCESS ? layout->expected == HCCL_SUCCESS
                                                 : codes[r] == layout->expected || codes[r] == HCCL_E_TIMEOUT,
                        "%s, devices %s of servers %s: rank %d gets %d, not %d", layout->soc, layout->devices,
                        layout->servers, r, codes[r], layout->expected);
    }
    process_require(refused > 0, "%s, devices %s of servers %s: none gets %d", layout->soc, layout->devices,
                    layout->servers, layout->expected);
}

Test(rules, devices_together)
{
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        job_install("8.2.RC1");
        cr_expect_eq(processes_run((int)strlen(layouts[i].devices), 20, 0, body_layout, (void *)(uintptr_t)&layouts[i]),
                     0, "%s %s %s", layouts[i].soc, layouts[i].devices, layouts[i].servers);
    }
}

/* --- which types and ops --- */

typedef struct support {
    const char *soc;
    bool scatter_v;
    HcclDataType type;
    const char *ops; /* those that it does */
} support_t;

static const support_t supports[] = {
    {"Ascend910A", false, HCCL_DATA_TYPE_INT8, "sum prod max min"},
    {"Ascend910A", false, HCCL_DATA_TYPE_INT16, ""},
    {"Ascend910A", false, HCCL_DATA_TYPE_INT64, "sum prod max min"},
    {"Ascend910A", false, HCCL_DATA_TYPE_BFP16, ""},
    {"Ascend910A", false, HCCL_DATA_TYPE_FP64, ""},
    {"Ascend910A", true, HCCL_DATA_TYPE_FP32, ""},
    {"Ascend910B1", false, HCCL_DATA_TYPE_INT16, "sum max min"},
    {"Ascend910B1", false, HCCL_DATA_TYPE_BFP16, "sum max min"},
    {"Ascend910B1", false, HCCL_DATA_TYPE_FP64, ""},
    {"Ascend910B1", false, HCCL_DATA_TYPE_UINT8, ""},
    {"Ascend910B1", false, HCCL_DATA_TYPE_UINT64, ""},
    {"Ascend910B1", true, HCCL_DATA_TYPE_FP32, "sum max min"},
    {"Ascend910B1", true, HCCL_DATA_TYPE_INT64, ""},
    {"Ascend910_9391", true, HCCL_DATA_TYPE_INT64, "sum max min"},
    {"Ascend310P3", false, HCCL_DATA_TYPE_INT16, "sum"},
    {"Ascend310P3", false, HCCL_DATA_TYPE_INT64, ""},
    {"Ascend310P3", true, HCCL_DATA_TYPE_FP16, "sum"},
    {"Ascend310P3", true, HCCL_DATA_TYPE_INT32, ""},
    {"Ascend950PR", false, HCCL_DATA_TYPE_FP64, "sum prod max min"},
    {"Ascend950PR", false, HCCL_DATA_TYPE_UINT64, "sum prod max min"},
    {"Ascend950PR", false, HCCL_DATA_TYPE_UINT32, ""},
    {"Ascend950PR", true, HCCL_DATA_TYPE_FP32, "sum prod max min"},
    {"Ascend950PR", true, HCCL_DATA_TYPE_BFP16, "sum max min"},
};

static void body_support(process_t *self)
{
    static const char *const names[] = {"sum", "prod", "max", "min"}; /* as HcclReduceOp numbers them */
    const support_t *support = self->argument;
    const uint64_t count = 1;
    const uint64_t place = 0;
    seat_t seat;
    HcclComm comm = NULL;
    setenv("CANN_SOC", support->soc, 1);
    seat_take(&seat, 0);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    void *send = device_new(&seat, NULL, 8);
    void *recv = device_new(&seat, NULL, 8);
    for (HcclReduceOp op = HCCL_REDUCE_SUM; op <= HCCL_REDUCE_MIN; op++) {
        HcclResult expected = strstr(support->ops, names[op]) != NULL ? HCCL_SUCCESS : HCCL_E_NOT_SUPPORT;
        HcclResult got =
            support->scatter_v
                ? seat.cann.HcclReduceScatterV(send, &count, &place, recv, 1, support->type, op, comm, seat.stream)
                : seat.cann.HcclAllReduce(send, recv, 1, support->type, op, comm, seat.stream);
        process_require(got == expected, "%s, type %d, %s%s: %d, not %d", support->soc, support->type, names[op],
                        support->scatter_v ? " by blocks" : "", got, expected);
    }
}

Test(rules, types_and_ops)
{
    for (size_t i = 0; i < sizeof supports / sizeof supports[0]; i++) {
        job_install("8.2.RC1");
        cr_expect_eq(processes_run(1, 20, 0, body_support, (void *)(uintptr_t)&supports[i]), 0);
    }
}

/* ReduceScatterV needs the same number of devices on each server of A2, and one server of A3. */
static void body_scatter_v_servers(process_t *self)
{
    const uint64_t counts[] = {1, 1, 1};
    const uint64_t places[] = {0, 1, 2};
    const layout_t *layout = self->argument;
    seat_t seat;
    HcclComm comm = NULL;
    char server[64];
    snprintf(server, sizeof server, "%s%c", getenv("CANN_SERVER"), layout->servers[self->rank]);
    setenv("CANN_SERVER", server, 1);
    setenv("CANN_SOC", layout->soc, 1);
    seat_take(&seat, layout->devices[self->rank] - '0');
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    void *send = device_new(&seat, NULL, 64);
    void *recv = device_new(&seat, NULL, 64);
    expect_code(&seat,
                seat.cann.HcclReduceScatterV(send, counts, places, recv, 1, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm,
                                             seat.stream),
                layout->expected);
}

Test(rules, scatter_v_over_servers)
{
    static const layout_t cases[] = {
        {"Ascend910B1", "010", "aab", HCCL_E_NOT_SUPPORT},
        {"Ascend910B1", "00", "ab", HCCL_SUCCESS},
        {"Ascend910_9391", "00", "ab", HCCL_E_NOT_SUPPORT},
        {"Ascend910_9391", "01", "aa", HCCL_SUCCESS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        job_install("8.2.RC1");
        cr_expect_eq(
            processes_run((int)strlen(cases[i].devices), 20, 0, body_scatter_v_servers, (void *)(uintptr_t)&cases[i]),
            0);
    }
}

/* --- wrong calls --- */

static HcclResult allreduce(seat_t *seat, void *send, void *recv, uint64_t count, HcclComm comm, aclrtStream stream)
{
    return seat->cann.HcclAllReduce(send, recv, count, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, stream);
}

static void body_wrong(process_t *self)
{
    seat_t seat;
    HcclComm comm = NULL;
    HcclResult none = HCCL_E_REMOTE;
    int host[16] = {0};
    seat_take(&seat, 0);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    char *send = device_new(&seat, NULL, 64);
    char *recv = device_new(&seat, NULL, 64);
    expect_code(&seat, allreduce(&seat, send, recv, 16, comm, NULL), HCCL_E_PTR);
    expect_code(&seat, allreduce(&seat, send, recv, 16, NULL, seat.stream), HCCL_E_PTR);
    expect_code(&seat, allreduce(&seat, NULL, recv, 16, comm, seat.stream), HCCL_E_PTR);
    expect_code(&seat, allreduce(&seat, NULL, NULL, 0, NULL, NULL), HCCL_SUCCESS); /* count 0 comes first */
    expect_code(&seat, allreduce(&seat, send, host, 16, comm, seat.stream), HCCL_E_PARA);
    expect_code(&seat, allreduce(&seat, send, recv, 17, comm, seat.stream), HCCL_E_PARA);
    expect_code(&seat, allreduce(&seat, send + 2, recv, 4, comm, seat.stream), HCCL_E_PARA);
    expect_code(&seat, allreduce(&seat, send, send + 4, 8, comm, seat.stream), HCCL_E_PARA);
    expect_code(&seat, allreduce(&seat, send, recv, 0x800000000, comm, seat.stream), HCCL_E_PARA);
    expect_code(&seat, seat.cann.HcclAllReduce(send, recv, 1, 77, HCCL_REDUCE_SUM, comm, seat.stream), HCCL_E_PARA);
    expect_code(&seat, seat.cann.HcclAllReduce(send, recv, 1, HCCL_DATA_TYPE_INT32, 4, comm, seat.stream), HCCL_E_PARA);
    expect_code(&seat,
                seat.cann.HcclReduceScatter(send, send, 4, HCCL_DATA_TYPE_INT32, HCCL_REDUCE_SUM, comm, seat.stream),
                HCCL_E_PARA); /* in place */
    expect_code(&seat, allreduce(&seat, send, send, 16, comm, seat.stream), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.HcclGetCommAsyncError(comm, &none), HCCL_SUCCESS);
    process_require(none == HCCL_SUCCESS, "%d", none);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.HcclCommDestroy(NULL), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.HcclCommDestroy(comm), HCCL_SUCCESS);
    expect_code(&seat, allreduce(&seat, send, recv, 16, comm, seat.stream), HCCL_E_PARA);
    expect_code(&seat, seat.cann.HcclCommDestroy(comm), HCCL_E_PARA);
}

Test(rules, wrong_calls)
{
    job_install("8.2.RC1");
    cr_expect_eq(processes_run(1, 20, 0, body_wrong, NULL), 0);
}

static void body_without_device(process_t *self)
{
    char why[256];
    seat_t seat;
    HcclRootInfo info;
    HcclComm comm = NULL;
    (void)self;
    memset(&seat, 0, sizeof seat);
    memset(&info, 0, sizeof info);
    process_require(cann_open(&seat.cann, why, sizeof why) == MPINPU_OK, "%s", why);
    process_require(cann_start(&seat.cann, why, sizeof why) == MPINPU_OK, "%s", why);
    expect_code(&seat, seat.cann.HcclGetRootInfo(&info), HCCL_E_RUNTIME);
    expect_code(&seat, seat.cann.HcclCommInitRootInfo(1, &info, 0, &comm), HCCL_E_RUNTIME);
    expect_code(&seat, seat.cann.aclrtSetDevice(0), ACL_SUCCESS);
    expect_code(&seat, seat.cann.HcclCommInitRootInfo(1, &info, 0, &comm), HCCL_E_PARA); /* not a root info */
    setenv("HCCL_CONNECT_TIMEOUT", "5", 1);
    expect_code(&seat, seat.cann.HcclGetRootInfo(&info), HCCL_E_PARA); /* out of its range */
    const char *said = seat.cann.aclGetRecentErrMsg();
    process_require(said != NULL && strstr(said, "HCCL_CONNECT_TIMEOUT=5") != NULL, "%s", said != NULL ? said : "");
    process_require(seat.cann.aclGetRecentErrMsg() == NULL, "a text is given once");
    unsetenv("HCCL_CONNECT_TIMEOUT");
    expect_code(&seat, seat.cann.HcclGetRootInfo(&info), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.HcclCommInitRootInfo(1, &info, 1, &comm), HCCL_E_PARA);
    expect_code(&seat, seat.cann.HcclCommInitRootInfo(1, &info, 0, &comm), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.HcclCommInitRootInfo(1, &info, 0, &comm), HCCL_E_TIMEOUT); /* serves one */
}

Test(rules, a_device_and_right_settings_first)
{
    job_install("8.2.RC1");
    cr_expect_eq(processes_run(1, 20, 0, body_without_device, NULL), 0);
}

static void body_config(process_t *self)
{
    seat_t seat;
    HcclRootInfo info;
    HcclCommConfig config;
    HcclComm comm = NULL;
    char name[128];
    (void)self;
    seat_take(&seat, 0);
    expect_code(&seat, seat.cann.HcclGetRootInfo(&info), HCCL_SUCCESS);
    memset(&config, 0, sizeof config);
    expect_code(&seat, seat.cann.HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm), HCCL_E_PARA);
    cann_comm_config_init(&config);
    config.hcclBufferSize = 0;
    expect_code(&seat, seat.cann.HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm), HCCL_E_PARA);
    cann_comm_config_init(&config);
    config.hcclBufferSize = 8;
    strcpy(config.hcclCommName, "mine");
    expect_code(&seat, seat.cann.HcclCommInitRootInfoConfig(1, &info, 0, &config, &comm), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.HcclGetCommName(comm, name), HCCL_SUCCESS);
    process_require(strcmp(name, "mine") == 0, "%s", name);
}

Test(rules, configuration)
{
    job_install("8.2.RC1");
    cr_expect_eq(processes_run(1, 20, 0, body_config, NULL), 0);
}

/* The buffers of a communicator are device memory, taken at the first collective. */
static void body_buffers(process_t *self)
{
    size_t before = 0;
    size_t made = 0;
    size_t used = 0;
    size_t after = 0;
    size_t total = 0;
    seat_t seat;
    HcclComm comm = NULL;
    seat_take(&seat, self->rank);
    void *memory = device_new(&seat, NULL, 64);
    expect_code(&seat, seat.cann.aclrtGetMemInfo(ACL_HBM_MEM, &before, &total), ACL_SUCCESS);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtGetMemInfo(ACL_HBM_MEM, &made, &total), ACL_SUCCESS);
    expect_code(&seat, allreduce(&seat, memory, memory, 16, comm, seat.stream), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtSynchronizeStream(seat.stream), ACL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtGetMemInfo(ACL_HBM_MEM, &used, &total), ACL_SUCCESS);
    expect_code(&seat, seat.cann.HcclCommDestroy(comm), HCCL_SUCCESS);
    expect_code(&seat, seat.cann.aclrtGetMemInfo(ACL_HBM_MEM, &after, &total), ACL_SUCCESS);
    process_require(made == before && before - used == (size_t)401 << 20 && after == before, "left: %zu, %zu, %zu, %zu",
                    before, made, used, after);
    expect_code(&seat, job_communicator(&seat, self, &comm), HCCL_SUCCESS);
    void *large = NULL;
    expect_code(&seat, seat.cann.aclrtMalloc(&large, after - ((size_t)400 << 20), ACL_MEM_MALLOC_HUGE_FIRST),
                ACL_SUCCESS);
    expect_code(&seat, allreduce(&seat, memory, memory, 16, comm, seat.stream), HCCL_E_MEMORY);
}

Test(rules, buffers_take_device_memory)
{
    setenv("CANN_MEMORY", "450", 1);
    job_install("8.2.RC1");
    cr_expect_eq(processes_run(2, 20, 0, body_buffers, NULL), 0);
}

/* Ranks that say different things of one communicator. */
static void body_disagree(process_t *self)
{
    const char *what = self->argument;
    HcclRootInfo all[2];
    HcclRootInfo mine;
    HcclComm comm = NULL;
    seat_t seat;
    bool odd = self->rank == 1;
    if (odd && strcmp(what, "settings") == 0) {
        setenv("HCCL_BUFFSIZE", "100", 1);
    } else if (odd && strcmp(what, "versions") == 0) {
        setenv("CANN_VERSION", "8.3.RC1", 1);
    }
    seat_take(&seat, self->rank);
    memset(&mine, 0, sizeof mine);
    if (!odd) {
        expect_code(&seat, seat.cann.HcclGetRootInfo(&mine), HCCL_SUCCESS);
    }
    process_allgather(self, &mine, all, sizeof mine);
    uint32_t ranks = odd && strcmp(what, "sizes") == 0 ? 3 : 2;
    uint32_t rank = strcmp(what, "ranks") == 0 ? 0 : (uint32_t)self->rank;
    expect_code(&seat, seat.cann.HcclCommInitRootInfo(ranks, &all[0], rank, &comm), HCCL_E_PARA);
}

Test(rules, ranks_that_disagree)
{
    static char *const cases[] = {"settings", "versions", "ranks", "sizes"};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        job_install("8.2.RC1");
        setenv("CANN_HASTE", "200", 1);
        cr_expect_eq(processes_run(2, 20, 0, body_disagree, cases[i]), 0, "%s", cases[i]);
    }
}
