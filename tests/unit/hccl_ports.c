/* SPDX-License-Identifier: BSD-3-Clause */
/* HCCL's ports: the kernel's lists from a folder that the test writes, and real sockets for the ports in use. */
#include "engine/hccl/ports.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINES_MAX = 8 };

static char proc[64];

static void file_write(const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", proc, name);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

/* A folder like /proc with these two files; NULL: without. */
static void proc_make(const char *reserved, const char *range)
{
    static const char *const folders[] = {"sys", "sys/net", "sys/net/ipv4"};
    char path[128];

    snprintf(proc, sizeof proc, "/tmp/mpinpu-ports-XXXXXX");
    cr_assert_not_null(mkdtemp(proc));
    for (int f = 0; f < 3; f++) {
        snprintf(path, sizeof path, "%s/%s", proc, folders[f]);
        cr_assert_eq(mkdir(path, 0700), 0);
    }
    if (reserved != NULL) {
        file_write("sys/net/ipv4/ip_local_reserved_ports", reserved);
    }
    if (range != NULL) {
        file_write("sys/net/ipv4/ip_local_port_range", range);
    }
}

static void proc_remove(void)
{
    static const char *const names[] = {"sys/net/ipv4/ip_local_reserved_ports",
                                        "sys/net/ipv4/ip_local_port_range",
                                        "sys/net/ipv4",
                                        "sys/net",
                                        "sys",
                                        ""};
    char path[128];

    for (int n = 0; n < 6 && proc[0] != '\0'; n++) {
        snprintf(path, sizeof path, "%s/%s", proc, names[n]);
        (void)remove(path);
    }
}

TestSuite(hccl_ports, .fini = proc_remove);

/* What ports_describe said, each line headed by "good: " or "bad: ". */
typedef struct said {
    int lines;
    char line[LINES_MAX][512];
} said_t;

static void line_keep(void *context, bool good, const char *text)
{
    said_t *said = context;

    cr_assert_lt(said->lines, LINES_MAX);
    snprintf(said->line[said->lines++], sizeof said->line[0], "%s: %s", good ? "good" : "bad", text);
}

static said_t describe(const ports_t *ports)
{
    said_t said = {.lines = 0};

    ports_describe(ports, line_keep, &said);
    return said;
}

#define SAID(said, ...)                                                                              \
    do {                                                                                             \
        static const char *const expected[] = {__VA_ARGS__};                                         \
        for (int l = 0; l < (said)->lines && l < (int)(sizeof expected / sizeof expected[0]); l++) { \
            cr_assert_str_eq((said)->line[l], expected[l]);                                          \
        }                                                                                            \
        cr_assert_eq((said)->lines, (int)(sizeof expected / sizeof expected[0]));                    \
    } while (0)

Test(hccl_ports, sets)
{
    static const struct text {
        const char *text;
        const char *again; /* NULL: malformed */
    } texts[] = {
        {"", ""},
        {"\n", ""},
        {"80", "80"},
        {"80\n", "80"},
        {"8080,60000-60015", "8080,60000-60015"},
        {"60000-60015,8080\n", "8080,60000-60015"},
        {"1,2,3,5", "1-3,5"},
        {"10-20,15-30", "10-30"},
        {"63,64", "63-64"},
        {"0-65535", "0-65535"},
        {"65535", "65535"},
        {"65536", NULL},
        {"20-10", NULL},
        {"10-", NULL},
        {"-10", NULL},
        {"10,", NULL},
        {",10", NULL},
        {"10 20", NULL},
        {"10;20", NULL},
        {"a", NULL},
        {"10-20-30", NULL},
        {"99999999999999999999", NULL},
    };

    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++) {
        port_set_t set;
        bool parsed = port_set_parse(texts[t].text, &set);
        cr_assert_eq(parsed, texts[t].again != NULL, "%s", texts[t].text);
        if (parsed) {
            char *again = port_set_text(&set);
            cr_assert_not_null(again);
            cr_assert_str_eq(again, texts[t].again);
            free(again);
        }
    }
}

Test(hccl_ports, ports_of_the_variables)
{
    static const struct ports_case {
        const char *base;
        const char *range;
        unsigned cann;
        const char *ports; /* NULL: refused */
    } cases[] = {
        {NULL, NULL, 801, "60000-60015"},
        {NULL, NULL, 802, "60000-60031"},
        {NULL, NULL, 0, "60000-60031"},
        {"50000", NULL, 800, "50000-50015"},
        {"50000", NULL, 900, "50000-50031"},
        {"1024", NULL, 800, "1024-1039"},
        {"65520", NULL, 800, "65520-65535"},
        {"65520", NULL, 900, "65520-65535"},
        {"1023", NULL, 800, NULL},
        {"65521", NULL, 800, NULL},
        {"", NULL, 800, NULL},
        {"60000x", NULL, 800, NULL},
        {"-1", NULL, 800, NULL},
        {"50000", "auto", 800, ""},
        {NULL, "61000-61050,62000", 800, "61000-61050,62000"},
        {NULL, "61000-", 800, NULL},
        {NULL, "", 800, NULL},
    };

    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        port_set_t set;
        mpinpu_status_t status = ports_of_hccl(cases[c].base, cases[c].range, cases[c].cann, &set);
        cr_assert_eq(status, cases[c].ports == NULL ? MPINPU_ERR_INVALID : MPINPU_OK, "case %zu", c);
        if (status == MPINPU_OK) {
            char *text = port_set_text(&set);
            cr_assert_str_eq(text, cases[c].ports);
            free(text);
        }
    }
}

/* A socket bound to a port that the kernel chose; listens if asked to. */
static int socket_make(bool listens, uint32_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    int descriptor = socket(AF_INET, SOCK_STREAM, 0);

    cr_assert_geq(descriptor, 0);
    cr_assert_eq(bind(descriptor, (struct sockaddr *)&address, bytes), 0);
    cr_assert_eq(getsockname(descriptor, (struct sockaddr *)&address, &bytes), 0);
    cr_assert(!listens || listen(descriptor, 1) == 0);
    *port = ntohs(address.sin_port);
    return descriptor;
}

/* Checks the one port `port`. */
static void port_check(uint32_t port, ports_t *ports)
{
    port_set_t set;
    char text[16];

    snprintf(text, sizeof text, "%u", port);
    cr_assert(port_set_parse(text, &set));
    cr_assert_eq(ports_check(&set, proc, ports), MPINPU_OK);
}

Test(hccl_ports, port_in_use)
{
    static ports_t ports;
    uint32_t port;
    char expected[256];

    proc_make("0-65535\n", "32768\t60999\n");
    for (int listens = 0; listens < 2; listens++) {
        int descriptor = socket_make(listens != 0, &port);
        port_check(port, &ports);
        cr_assert(port_set_has(&ports.blocked, port));
        said_t said = describe(&ports);
        snprintf(expected, sizeof expected,
                 "bad: ports %u of %u cannot be bound (Address already in use): end the program that has them, or set "
                 "HCCL_IF_BASE_PORT",
                 port, port);
        cr_assert_str_eq(said.line[0], expected);
        snprintf(expected, sizeof expected, "good: ports %u are reserved in net.ipv4.ip_local_reserved_ports", port);
        cr_assert_str_eq(said.line[1], expected);
        cr_assert_eq(said.lines, 2);
        close(descriptor);
        port_check(port, &ports);
        cr_assert(port_set_empty(&ports.blocked));
    }
}

/* The other tests look at what the kernel's files say alone: their ports are never bound, but taken as free. */
static void ports_read(const char *hccl, ports_t *ports)
{
    port_set_t set;

    cr_assert(port_set_parse(hccl, &set));
    cr_assert_eq(ports_check(&set, proc, ports), MPINPU_OK);
    ports->blocked = (port_set_t){{0}};
}

Test(hccl_ports, reserved)
{
    static ports_t ports;

    proc_make("8080,60000-60040\n", "32768\t60999\n");
    ports_read("60000-60015", &ports);
    cr_assert(ports.reserved_all);
    said_t said = describe(&ports);
    SAID(&said, "good: ports 60000-60015 are free",
         "good: ports 60000-60015 are reserved in net.ipv4.ip_local_reserved_ports");
}

Test(hccl_ports, nothing_reserved)
{
    static ports_t ports;

    proc_make("\n", "32768\t60999\n");
    ports_read("60000-60015", &ports);
    said_t said = describe(&ports);
    SAID(&said, "good: ports 60000-60015 are free",
         "bad: ports 60000-60015 are not all reserved: the kernel may give them to any program "
         "(net.ipv4.ip_local_port_range is 32768 60999)",
         "bad: reserve them now, as root: sysctl -w net.ipv4.ip_local_reserved_ports=60000-60015",
         "bad: and after a restart, a line in /etc/sysctl.conf: net.ipv4.ip_local_reserved_ports = 60000-60015");
}

Test(hccl_ports, what_is_reserved_stays_so)
{
    static ports_t ports;

    proc_make("60010-60012,8080,60016,3306\n", "32768\t60999\n");
    ports_read("60000-60015", &ports);
    said_t said = describe(&ports);
    SAID(&said, "good: ports 60000-60015 are free",
         "bad: ports 60000-60015 are not all reserved: the kernel may give them to any program "
         "(net.ipv4.ip_local_port_range is 32768 60999)",
         "bad: reserve them now, as root: sysctl -w net.ipv4.ip_local_reserved_ports=3306,8080,60000-60016",
         "bad: and after a restart, a line in /etc/sysctl.conf: net.ipv4.ip_local_reserved_ports = "
         "3306,8080,60000-60016");
}

/* Any one that is missing counts, not the last alone. */
Test(hccl_ports, one_is_missing)
{
    static ports_t ports;

    proc_make("60000-60006,60008-60015\n", "32768\t60999\n");
    ports_read("60000-60015", &ports);
    cr_assert_not(ports.reserved_all);
}

/* The last port of the range, and the one behind it. */
Test(hccl_ports, outside_the_range)
{
    static ports_t ports;

    proc_make("\n", "32768\t60999\n");
    ports_read("60999", &ports);
    said_t inside = describe(&ports);
    cr_assert_str_eq(inside.line[1], "bad: ports 60999 are not all reserved: the kernel may give them to any program "
                                     "(net.ipv4.ip_local_port_range is 32768 60999)");
    ports_read("61000-61015", &ports);
    said_t outside = describe(&ports);
    SAID(&outside, "good: ports 61000-61015 are free",
         "bad: ports 61000-61015 are not all reserved in net.ipv4.ip_local_reserved_ports",
         "bad: reserve them now, as root: sysctl -w net.ipv4.ip_local_reserved_ports=61000-61015",
         "bad: and after a restart, a line in /etc/sysctl.conf: net.ipv4.ip_local_reserved_ports = 61000-61015");
}

Test(hccl_ports, lists_that_cannot_be_read)
{
    static ports_t ports;

    proc_make(NULL, NULL);
    ports_read("60000-60015", &ports);
    cr_assert_not(ports.reserved_known);
    said_t said = describe(&ports);
    SAID(&said, "good: ports 60000-60015 are free",
         "bad: cannot read net.ipv4.ip_local_reserved_ports: ports 60000-60015 must be in it");
}

Test(hccl_ports, list_that_makes_no_sense)
{
    static ports_t ports;

    proc_make("60000-60015,what\n", "many\n");
    ports_read("60000-60015", &ports);
    cr_assert_not(ports.reserved_known);
    cr_assert_not(ports.reserved_all);
    cr_assert_eq(ports.ephemeral[0], 0);
    cr_assert_eq(ports.ephemeral[1], 0);
}

Test(hccl_ports, ports_that_hccl_finds_itself)
{
    static ports_t ports;

    proc_make("\n", "32768\t60999\n");
    ports_read("", &ports);
    said_t said = describe(&ports);
    SAID(&said, "good: HCCL looks for free ports itself");
}
