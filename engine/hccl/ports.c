/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: vasprintf, strerror_r */

#include "engine/hccl/ports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RESERVED_NAME "net.ipv4.ip_local_reserved_ports"
#define RANGE_NAME    "net.ipv4.ip_local_port_range"

enum { PORT_LAST = 65535, BASE_LEAST = 1024, BASE_MOST = 65520, COUNT_OLD = 16, COUNT_NEW = 32, SINCE_NEW = 802 };

static void port_set_add(port_set_t *set, uint32_t first, uint32_t last)
{
    for (uint32_t port = first; port <= last; port++) {
        set->words[port / 64] |= UINT64_C(1) << port % 64;
    }
}

bool port_set_empty(const port_set_t *set)
{
    for (size_t w = 0; w < PORT_SET_WORDS; w++) {
        if (set->words[w] != 0) {
            return false;
        }
    }
    return true;
}

/* The port at *text, which moves behind it; -1 if there is none. */
static int32_t port_read(const char **text)
{
    int32_t port = 0;

    if (**text < '0' || **text > '9') {
        return -1;
    }
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        port = port * 10 + (**text - '0');
        if (port > PORT_LAST) {
            return -1;
        }
    }
    return port;
}

bool port_set_parse(const char *text, port_set_t *set)
{
    *set = (port_set_t){{0}};
    while (*text != '\0' && *text != '\n') {
        int32_t first = port_read(&text);
        int32_t last = first;
        if (*text == '-') {
            text++;
            last = port_read(&text);
        }
        if (first < 0 || last < first || (*text == ',' && (text[1] < '0' || text[1] > '9'))) {
            return false;
        }
        port_set_add(set, (uint32_t)first, (uint32_t)last);
        if (*text == ',') {
            text++;
        } else if (*text != '\0' && *text != '\n') {
            return false;
        }
    }
    return true;
}

char *port_set_text(const port_set_t *set)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    if (stream == NULL) {
        return NULL;
    }
    const char *comma = "";
    for (uint32_t port = 0; port <= PORT_LAST; port++) {
        uint32_t last = port;
        if (!port_set_has(set, port)) {
            continue;
        }
        while (last < PORT_LAST && port_set_has(set, last + 1)) {
            last++;
        }
        fprintf(stream, last == port ? "%s%u" : "%s%u-%u", comma, port, last);
        comma = ",";
        port = last;
    }
    if (fclose(stream) != 0) {
        free(text);
        return NULL;
    }
    return text;
}

mpinpu_status_t ports_of_hccl(const char *base, const char *range, unsigned cann, port_set_t *set)
{
    port_set_t ports = {{0}};
    uint32_t count = cann != 0 && cann < SINCE_NEW ? COUNT_OLD : COUNT_NEW;
    int32_t first = PORTS_BASE;

    if (range != NULL) {
        if (strcmp(range, "auto") != 0 && (!port_set_parse(range, &ports) || port_set_empty(&ports))) {
            return MPINPU_ERR_INVALID;
        }
        *set = ports;
        return MPINPU_OK;
    }
    if (base != NULL) {
        first = port_read(&base);
        if (*base != '\0' || first < BASE_LEAST || first > BASE_MOST) {
            return MPINPU_ERR_INVALID;
        }
    }
    uint32_t last = (uint32_t)first + count - 1;
    port_set_add(&ports, (uint32_t)first, last < PORT_LAST ? last : PORT_LAST);
    *set = ports;
    return MPINPU_OK;
}

/* The whole of a file of the kernel, or NULL. The caller frees it. */
static char *file_read(const char *proc, const char *name)
{
    char path[4096];
    char *text = NULL;
    size_t bytes = 0;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", proc, name) >= sizeof path) {
        return NULL;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return NULL;
    }
    if (getdelim(&text, &bytes, '\0', file) < 0) { /* an empty file too */
        free(text);
        text = NULL;
    }
    (void)fclose(file);
    return text;
}

static void kernel_read(const char *proc, ports_t *ports)
{
    char *reserved = file_read(proc, "sys/net/ipv4/ip_local_reserved_ports");
    char *range = file_read(proc, "sys/net/ipv4/ip_local_port_range");

    ports->reserved_known = reserved != NULL && port_set_parse(reserved, &ports->reserved);
    if (!ports->reserved_known) {
        ports->reserved = (port_set_t){{0}};
    }
    if (range != NULL) {
        const char *text = range;
        int32_t least = port_read(&text);
        text += strspn(text, " \t");
        int32_t most = port_read(&text);
        if (least >= 0 && most >= least) {
            ports->ephemeral[0] = (uint32_t)least;
            ports->ephemeral[1] = (uint32_t)most;
        }
    }
    free(range);
    free(reserved);
}

/* 0, or why the port cannot be bound on any address. Connections that have ended (TIME_WAIT) do not block it. */
static int port_try(uint32_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1;
    int error = 0;
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor < 0) {
        return errno;
    }
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        error = errno;
    }
    (void)close(descriptor);
    return error;
}

mpinpu_status_t ports_check(const port_set_t *hccl, const char *proc, ports_t *ports)
{
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (descriptor < 0) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    (void)close(descriptor);
    *ports = (ports_t){.hccl = *hccl};
    kernel_read(proc, ports);
    ports->reserved_all = true;
    for (uint32_t port = 0; port <= PORT_LAST; port++) {
        if (!port_set_has(hccl, port)) {
            continue;
        }
        ports->reserved_all = ports->reserved_all && port_set_has(&ports->reserved, port);
        int error = port_try(port);
        if (error != 0) {
            ports->block_errno = ports->block_errno == 0 ? error : ports->block_errno;
            port_set_add(&ports->blocked, port, port);
        }
    }
    return MPINPU_OK;
}

/* Whether the kernel may give one of HCCL's ports to any connection. */
static bool ports_exposed(const ports_t *ports)
{
    for (uint32_t port = ports->ephemeral[0]; port <= ports->ephemeral[1]; port++) {
        if (port_set_has(&ports->hccl, port) && !port_set_has(&ports->reserved, port)) {
            return true;
        }
    }
    return false;
}

bool ports_safe(const ports_t *ports)
{
    return port_set_empty(&ports->blocked) && !ports_exposed(ports);
}

typedef struct sink {
    void (*line)(void *context, bool good, const char *text);
    void *context;
} sink_t;

static void say(const sink_t *sink, bool good, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void say(const sink_t *sink, bool good, const char *format, ...)
{
    char *text;
    va_list list;

    va_start(list, format);
    int bytes = vasprintf(&text, format, list);
    va_end(list);
    if (bytes >= 0) {
        sink->line(sink->context, good, text);
        free(text);
    }
}

static void reservation_say(const sink_t *sink, const ports_t *ports, const char *hccl)
{
    port_set_t all = ports->reserved;

    if (!ports->reserved_known) {
        say(sink, false, "cannot read " RESERVED_NAME ": ports %s must be in it", hccl);
        return;
    }
    if (ports->reserved_all) {
        say(sink, true, "ports %s are reserved in " RESERVED_NAME, hccl);
        return;
    }
    if (ports_exposed(ports)) {
        say(sink, false,
            "ports %s are not all reserved: the kernel may give them to any program (" RANGE_NAME " is %u %u)", hccl,
            ports->ephemeral[0], ports->ephemeral[1]);
    } else {
        say(sink, false, "ports %s are not all reserved in " RESERVED_NAME, hccl);
    }
    for (size_t w = 0; w < PORT_SET_WORDS; w++) {
        all.words[w] |= ports->hccl.words[w];
    }
    char *list = port_set_text(&all);
    if (list != NULL) {
        say(sink, false, "reserve them now, as root: sysctl -w " RESERVED_NAME "=%s", list);
        say(sink, false, "and after a restart, a line in /etc/sysctl.conf: " RESERVED_NAME " = %s", list);
    }
    free(list);
}

void ports_describe(const ports_t *ports, void (*line)(void *context, bool good, const char *text), void *context)
{
    const sink_t sink = {line, context};
    char *hccl = port_set_text(&ports->hccl);
    char *blocked = port_set_text(&ports->blocked);

    if (hccl != NULL && blocked != NULL) {
        if (port_set_empty(&ports->hccl)) {
            say(&sink, true, "HCCL looks for free ports itself");
        } else {
            if (port_set_empty(&ports->blocked)) {
                say(&sink, true, "ports %s are free", hccl);
            } else {
                char reason[128];
                say(&sink, false,
                    "ports %s of %s cannot be bound (%s): end the program that has them, or set "
                    "HCCL_IF_BASE_PORT",
                    blocked, hccl, strerror_r(ports->block_errno, reason, sizeof reason));
            }
            reservation_say(&sink, ports, hccl);
        }
    }
    free(blocked);
    free(hccl);
}
