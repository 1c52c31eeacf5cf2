/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL's own variables: what each allows on which product, what ranks compare, what reproducible runs set. */
#include "engine/hccl/environment.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { COMPLAINTS_MAX = 8, ANY = -1 };

typedef struct parsed {
    hccl_environment_t hccl;
    int complaints;
    char complaint[COMPLAINTS_MAX][640];
} parsed_t;

static parsed_t parsed;

static void complaint_keep(void *context, const char *sentence)
{
    (void)context;
    cr_assert_lt(parsed.complaints, COMPLAINTS_MAX);
    snprintf(parsed.complaint[parsed.complaints++], sizeof parsed.complaint[0], "%s", sentence);
}

/* Parses for a product (ANY: none) an environment that ends in NULL. */
static void parse(int series, const char *const *environment)
{
    const atlas_product_t *product = series == ANY ? NULL : atlas_product((atlas_series_t)series);

    parsed.complaints = 0;
    hccl_environment_parse(&parsed.hccl, (char *const *)environment, product, complaint_keep, NULL);
}

#define PARSE(series, ...) parse(series, (const char *const[]){__VA_ARGS__, NULL})

static const struct right_case {
    int series;
    const char *entry;
} right_cases[] = {
    {ANY, "HCCL_CONNECT_TIMEOUT=120"},
    {ANY, "HCCL_CONNECT_TIMEOUT=7200"},
    {ATLAS_910, "HCCL_EXEC_TIMEOUT=1"},
    {ATLAS_910, "HCCL_EXEC_TIMEOUT=17340"},
    {ATLAS_A2, "HCCL_EXEC_TIMEOUT=0"},
    {ATLAS_A3, "HCCL_EXEC_TIMEOUT=2147483647"},
    {ANY, "HCCL_EXEC_TIMEOUT=0"},
    {ANY, "HCCL_BUFFSIZE=1"},
    {ANY, "HCCL_BUFFSIZE=4096"},
    {ANY, "HCCL_IF_BASE_PORT=1024"},
    {ANY, "HCCL_IF_BASE_PORT=65520"},
    {ATLAS_A2, "HCCL_HOST_SOCKET_PORT_RANGE=auto"},
    {ATLAS_A3, "HCCL_NPU_SOCKET_PORT_RANGE=61000-61050,62000"},
    {ANY, "HCCL_IF_IP=10.0.0.7"},
    {ANY, "HCCL_IF_IP=fe80::1"},
    {ANY, "HCCL_SOCKET_IFNAME=eth"},
    {ANY, "HCCL_SOCKET_IFNAME=^=eth0,endvnic"},
    {ANY, "HCCL_SOCKET_FAMILY=AF_INET6"},
    {ANY, "HCCL_WHITELIST_DISABLE=0"},
    {ATLAS_A2, "HCCL_DETERMINISTIC=strict"},
    {ATLAS_A2, "HCCL_DETERMINISTIC=TRUE"},
    {ATLAS_A2, "HCCL_OP_EXPANSION_MODE=HOST_TS"},
    {ATLAS_A3, "HCCL_OP_EXPANSION_MODE=AICPU_CacheDisable"},
    {ATLAS_310P, "HCCL_OP_EXPANSION_MODE=HOST"},
    {ATLAS_950, "HCCL_OP_EXPANSION_MODE=CCU_SCHED"},
    {ATLAS_910, "HCCL_ALGO=level0:NA;level1:H-D_R"},
    {ATLAS_A3, "HCCL_ALGO=level0:NA;level1:NHR;level2:ring"},
    {ATLAS_A2, "HCCL_ALGO=allreduce=level0:NA;level1:NB/reducescatter=level0:NA;level1:ring"},
    {ATLAS_A2, "HCCL_INTRA_PCIE_ENABLE=0"},
    {ATLAS_A3, "HCCL_INTER_HCCS_DISABLE=TRUE"},
    {ANY, "HCCL_RDMA_TC=0"},
    {ANY, "HCCL_RDMA_TC=252"},
    {ANY, "HCCL_RDMA_SL=7"},
    {ATLAS_910, "HCCL_RDMA_TIMEOUT=24"},
    {ATLAS_A2, "HCCL_RDMA_TIMEOUT=20"},
    {ANY, "HCCL_RDMA_RETRY_CNT=7"},
    {ANY, "HCCL_RDMA_QPS_PER_CONNECTION=32"},
    {ANY, "HCCL_MULTI_QP_THRESHOLD=8192"},
    {ATLAS_A3, "HCCL_OP_RETRY_ENABLE=L1:1, L2:1"},
    {ANY, "ASCEND_RT_VISIBLE_DEVICES=0,1,2,3"},
    {ANY, "ASCEND_RT_VISIBLE_DEVICES=7"},
    {ANY, "HCCL_SOMETHING_ELSE=-1"},
    {ANY, "XHCCL_BUFFSIZE=-1"},
};

Test(hccl_environment, right)
{
    for (size_t c = 0; c < sizeof right_cases / sizeof right_cases[0]; c++) {
        PARSE(right_cases[c].series, right_cases[c].entry);
        cr_assert_eq(parsed.complaints, 0, "%s: %s", right_cases[c].entry, parsed.complaint[0]);
        cr_assert_eq(parsed.hccl.wrong, 0);
    }
}

static const struct wrong_case {
    int series;
    const char *entry;
    const char *allowed;
} wrong_cases[] = {
    {ANY, "HCCL_CONNECT_TIMEOUT=119", "a number from 120 to 7200"},
    {ANY, "HCCL_CONNECT_TIMEOUT=7201", "a number from 120 to 7200"},
    {ANY, "HCCL_CONNECT_TIMEOUT=", "a number from 120 to 7200"},
    {ANY, "HCCL_CONNECT_TIMEOUT=2m", "a number from 120 to 7200"},
    {ANY, "HCCL_CONNECT_TIMEOUT=99999999999999999999", "a number from 120 to 7200"},
    {ATLAS_910, "HCCL_EXEC_TIMEOUT=0", "a number from 1 to 17340"},
    {ATLAS_310P, "HCCL_EXEC_TIMEOUT=17341", "a number from 1 to 17340"},
    {ATLAS_A2, "HCCL_EXEC_TIMEOUT=2147483648", "a number from 0 up"},
    {ATLAS_A2, "HCCL_EXEC_TIMEOUT=-1", "a number from 0 up"},
    {ANY, "HCCL_BUFFSIZE=0", "a number from 1 up"},
    {ANY, "HCCL_IF_BASE_PORT=1023", "a number from 1024 to 65520"},
    {ANY, "HCCL_IF_BASE_PORT=65521", "a number from 1024 to 65520"},
    {ATLAS_A2, "HCCL_HOST_SOCKET_PORT_RANGE=61050-61000", "auto, or ports and ranges such as 61000-61050,62000"},
    {ANY, "HCCL_IF_IP=eth0", "an IPv4 or IPv6 address"},
    {ANY, "HCCL_SOCKET_IFNAME=eth0,", "names of network interfaces such as eth0,eth1, =eth0 or ^docker"},
    {ANY, "HCCL_SOCKET_IFNAME=^", "names of network interfaces such as eth0,eth1, =eth0 or ^docker"},
    {ANY, "HCCL_SOCKET_IFNAME=averylonginterfacename",
     "names of network interfaces such as eth0,eth1, =eth0 or ^docker"},
    {ANY, "HCCL_SOCKET_FAMILY=IPv4", "AF_INET or AF_INET6"},
    {ANY, "HCCL_WHITELIST_DISABLE=2", "0 or 1"},
    {ATLAS_A2, "HCCL_DETERMINISTIC=1", "false, true or strict"},
    {ATLAS_A2, "HCCL_OP_EXPANSION_MODE=CCU_MS", "HOST, HOST_TS, AI_CPU or AIV"},
    {ATLAS_A3, "HCCL_OP_EXPANSION_MODE=HOST", "AI_CPU, AICPU_CacheDisable or AIV"},
    {ATLAS_310P, "HCCL_OP_EXPANSION_MODE=AIV", "HOST or AI_CPU"},
    {ANY, "HCCL_OP_EXPANSION_MODE=AI", "HOST, HOST_TS, AI_CPU, AICPU_CacheDisable, AICPU_TS, AIV, CCU_MS or CCU_SCHED"},
    {ANY, "HCCL_RDMA_TC=130", "a multiple of 4 from 0 to 255"},
    {ANY, "HCCL_RDMA_TC=256", "a multiple of 4 from 0 to 255"},
    {ANY, "HCCL_RDMA_SL=8", "a number from 0 to 7"},
    {ATLAS_910, "HCCL_RDMA_TIMEOUT=25", "a number from 5 to 24"},
    {ATLAS_A2, "HCCL_RDMA_TIMEOUT=21", "a number from 5 to 20"},
    {ANY, "HCCL_RDMA_RETRY_CNT=0", "a number from 1 to 7"},
    {ANY, "HCCL_RDMA_QPS_PER_CONNECTION=33", "a number from 1 to 32"},
    {ANY, "HCCL_MULTI_QP_THRESHOLD=8193", "a number from 1 to 8192"},
    {ANY, "ASCEND_RT_VISIBLE_DEVICES=1,0", "device numbers in ascending order such as 0,1,2,3"},
    {ANY, "ASCEND_RT_VISIBLE_DEVICES=0, 1", "device numbers in ascending order such as 0,1,2,3"},
    {ANY, "ASCEND_RT_VISIBLE_DEVICES=0,0", "device numbers in ascending order such as 0,1,2,3"},
};

Test(hccl_environment, wrong)
{
    for (size_t c = 0; c < sizeof wrong_cases / sizeof wrong_cases[0]; c++) {
        char expected[512];

        PARSE(wrong_cases[c].series, wrong_cases[c].entry);
        cr_assert_eq(parsed.complaints, 1, "%s", wrong_cases[c].entry);
        cr_assert_eq(parsed.hccl.wrong, 1);
        snprintf(expected, sizeof expected, "%s is not %s: HCCL does not start with it", wrong_cases[c].entry,
                 wrong_cases[c].allowed);
        cr_assert_str_eq(parsed.complaint[0], expected);
    }
}

Test(hccl_environment, wrong_algorithms)
{
    static const char *const algorithms[] = {
        "HCCL_ALGO=ring",
        "HCCL_ALGO=level1:ring",
        "HCCL_ALGO=level0:NA;level2:ring",
        "HCCL_ALGO=level0:NA;level1:tree",
        "HCCL_ALGO=level0:NA;level1:",
        "HCCL_ALGO=level0:NA;",
        "HCCL_ALGO=level0:NA;level1:NHR;level2:NHR;level3:NHR",
        "HCCL_ALGO=allreduce=",
        "HCCL_ALGO==level0:NA",
        "HCCL_ALGO=allreduce=level0:NA/level0:NA",
        "HCCL_ALGO=allreduce=level0:NA/",
    };

    for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
        PARSE(ATLAS_A3, algorithms[a]);
        cr_assert_eq(parsed.hccl.wrong, 1, "%s", algorithms[a]);
    }
}

Test(hccl_environment, no_effect_on_the_product)
{
    PARSE(ATLAS_910, "HCCL_DETERMINISTIC=what", "HCCL_OP_EXPANSION_MODE=HOST", "HCCL_HOST_SOCKET_PORT_RANGE=auto");
    cr_assert_eq(parsed.complaints, 3);
    cr_assert_str_eq(parsed.complaint[0], "HCCL_DETERMINISTIC has no effect on Atlas training series");
    cr_assert_str_eq(parsed.complaint[1], "HCCL_OP_EXPANSION_MODE has no effect on Atlas training series");
    cr_assert_str_eq(parsed.complaint[2], "HCCL_HOST_SOCKET_PORT_RANGE has no effect on Atlas training series");
    cr_assert_eq(parsed.hccl.wrong, 0);
    PARSE(ATLAS_310P, "HCCL_ALGO=level0:NA");
    cr_assert_str_eq(parsed.complaint[0], "HCCL_ALGO has no effect on Atlas 300I Duo");
    PARSE(ATLAS_A2, "HCCL_OP_RETRY_ENABLE=L1:1");
    cr_assert_str_eq(parsed.complaint[0], "HCCL_OP_RETRY_ENABLE has no effect on Atlas A2 training series");
}

Test(hccl_environment, pcie_and_roce_exclude_each_other)
{
    PARSE(ATLAS_A2, "HCCL_INTRA_PCIE_ENABLE=1", "HCCL_INTRA_ROCE_ENABLE=1");
    cr_assert_eq(parsed.hccl.wrong, 1);
    cr_assert_str_eq(parsed.complaint[0], "HCCL_INTRA_PCIE_ENABLE and HCCL_INTRA_ROCE_ENABLE must not both be 1");
    PARSE(ATLAS_A2, "HCCL_INTRA_PCIE_ENABLE=0", "HCCL_INTRA_ROCE_ENABLE=1");
    cr_assert_eq(parsed.complaints, 0);
}

Test(hccl_environment, texts)
{
    PARSE(ANY, "HCCL_IF_IP=10.0.0.7", "HCCL_BUFFSIZE=0400", "HCCL_BUFFSIZE=500");
    cr_assert_str_eq(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_IF_IP), "10.0.0.7");
    cr_assert_str_eq(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_BUFFSIZE), "0400");
    cr_assert_str_eq(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_CONNECT_TIMEOUT), "120");
    cr_assert_str_eq(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_EXEC_TIMEOUT), "1836");
    cr_assert_str_eq(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_IF_BASE_PORT), "60000");
    cr_assert_str_eq(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_WHITELIST_DISABLE), "1");
    cr_assert_str_empty(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_SOCKET_IFNAME));
    cr_assert(parsed.hccl.value[HCCL_VARIABLE_IF_IP].set);
    cr_assert_not(parsed.hccl.value[HCCL_VARIABLE_IF_BASE_PORT].set);
    cr_assert_str_eq(hccl_variable_row(HCCL_VARIABLE_RT_VISIBLE_DEVICES)->name, "ASCEND_RT_VISIBLE_DEVICES");
}

/* Values longer than all the room: cut off, and still told apart. */
Test(hccl_environment, long_texts)
{
    static char entry[9000] = "HCCL_DFS_CONFIG=";
    int64_t a;

    memset(entry + strlen(entry), 'x', sizeof entry - strlen(entry) - 1);
    PARSE(ANY, entry, "HCCL_IF_IP=10.0.0.7");
    cr_assert_eq(strlen(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_DFS_CONFIG)), 4094);
    cr_assert_str_empty(hccl_environment_text(&parsed.hccl, HCCL_VARIABLE_IF_IP));
    a = parsed.hccl.value[HCCL_VARIABLE_DFS_CONFIG].compared;
    entry[sizeof entry - 2] = 'y';
    PARSE(ANY, entry);
    cr_assert_neq(parsed.hccl.value[HCCL_VARIABLE_DFS_CONFIG].compared, a);
}

/* The names of the variables in which two environments differ, as ranks would find them. */
static void differ(const char *one, const char *other, const char *expected)
{
    int64_t values[2][HCCL_VARIABLE_COUNT];
    char text[512] = "";
    unsigned count;

    PARSE(ATLAS_A3, one);
    count = hccl_environment_compared(&parsed.hccl, values[0]);
    PARSE(ATLAS_A3, other);
    cr_assert_eq(hccl_environment_compared(&parsed.hccl, values[1]), count);
    for (unsigned c = 0; c < count; c++) {
        if (values[0][c] != values[1][c]) {
            strcat(text, hccl_compared_name(c));
        }
    }
    cr_assert_str_eq(text, expected, "%s and %s differ in '%s'", one, other, text);
    cr_assert_null(hccl_compared_name(count));
}

Test(hccl_environment, compared)
{
    differ("A=1", "A=2", "");
    differ("HCCL_BUFFSIZE=200", "A=", "");
    differ("HCCL_BUFFSIZE=0200", "HCCL_BUFFSIZE=200", "");
    differ("HCCL_BUFFSIZE=201", "HCCL_BUFFSIZE=200", "HCCL_BUFFSIZE");
    differ("HCCL_DETERMINISTIC=TRUE", "HCCL_DETERMINISTIC=true", "");
    differ("HCCL_DETERMINISTIC=false", "A=", "");
    differ("HCCL_DETERMINISTIC=strict", "HCCL_DETERMINISTIC=true", "HCCL_DETERMINISTIC");
    differ("HCCL_ALGO=level0:NA;level1:ring", "A=", "HCCL_ALGO");
    differ("HCCL_EXEC_TIMEOUT=68", "A=", "HCCL_EXEC_TIMEOUT");
    differ("HCCL_CONNECT_TIMEOUT=240", "A=", "HCCL_CONNECT_TIMEOUT");
    differ("HCCL_IF_BASE_PORT=50000", "A=", "HCCL_IF_BASE_PORT");
    differ("HCCL_HOST_SOCKET_PORT_RANGE=auto", "A=", "HCCL_HOST_SOCKET_PORT_RANGE");
    differ("HCCL_WHITELIST_DISABLE=0", "A=", "HCCL_WHITELIST_DISABLE");
    differ("HCCL_OP_EXPANSION_MODE=AIV", "HCCL_OP_EXPANSION_MODE=AI_CPU", "HCCL_OP_EXPANSION_MODE");
    differ("HCCL_RDMA_TC=100", "A=", "HCCL_RDMA_TC");
    differ("HCCL_IF_IP=10.0.0.1", "HCCL_IF_IP=10.0.0.2", "");
    differ("HCCL_SOCKET_IFNAME=eth0", "HCCL_SOCKET_IFNAME=eth1", "");
    differ("ASCEND_RT_VISIBLE_DEVICES=0", "ASCEND_RT_VISIBLE_DEVICES=1", "");
    differ("HCCL_LOGIC_SUPERPOD_ID=0", "HCCL_LOGIC_SUPERPOD_ID=1", "");
    differ("HCCL_ENTRY_LOG_ENABLE=1", "A=", "");
}

static void set_keep(void *context, const char *name, const char *value)
{
    strcat(context, name);
    strcat(context, "=");
    strcat(context, value);
}

static void reproducible(int series, const char *entry, const char *expected)
{
    char text[256] = "";

    PARSE(series, entry);
    hccl_environment_reproducible(&parsed.hccl, atlas_product((atlas_series_t)series), set_keep, text);
    cr_assert_str_eq(text, expected);
}

Test(hccl_environment, reproducible)
{
    reproducible(ATLAS_910, "A=", "");
    reproducible(ATLAS_310P, "A=", "");
    reproducible(ATLAS_950, "A=", "");
    reproducible(ATLAS_A2, "A=", "HCCL_DETERMINISTIC=true");
    reproducible(ATLAS_A3, "A=", "HCCL_DETERMINISTIC=true");
    reproducible(ATLAS_A2, "HCCL_DETERMINISTIC=false", "HCCL_DETERMINISTIC=true");
    reproducible(ATLAS_A2, "HCCL_DETERMINISTIC=true", "");
    reproducible(ATLAS_A2, "HCCL_DETERMINISTIC=strict", "");
}

Test(hccl_environment, device_lists)
{
    static const struct list_case {
        const char *text;
        unsigned count;
        unsigned ascending;
    } cases[] = {
        {"0", 1, 1},  {"0,1,2,3", 4, 4}, {"3,1", 2, 0},  {"4,5,63", 3, 3}, {"64", 0, 0},  {"", 0, 0},    {"1,1", 0, 0},
        {"1,", 0, 0}, {",1", 0, 0},      {"1 ,2", 0, 0}, {"-1", 0, 0},     {"0-3", 0, 0}, {"all", 0, 0}, {"100", 0, 0},
    };
    uint8_t list[ATLAS_DEVICES_MAX];

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        cr_assert_eq(hccl_device_list(cases[c].text, false, list), cases[c].count, "%s", cases[c].text);
        cr_assert_eq(hccl_device_list(cases[c].text, true, list), cases[c].ascending, "%s", cases[c].text);
    }
    cr_assert_eq(hccl_device_list("7,0,12", false, list), 3);
    cr_assert_eq(list[0], 7);
    cr_assert_eq(list[1], 0);
    cr_assert_eq(list[2], 12);
}
