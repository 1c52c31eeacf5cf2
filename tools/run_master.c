/* SPDX-License-Identifier: BSD-3-Clause */
/* MASTER_ADDR and MASTER_PORT: where rank 0 can be reached. */
#include "config.h" /* _GNU_SOURCE */

#include "tools/run.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME_BYTES = 256 };

/* Where the ports are: below those that Linux gives to clients (net.ipv4.ip_local_port_range, from 32768 up), and
   without those that CANN takes (16666, 60000 and up), so that one that is free here is likely to be free on another
   host. */
enum { PORT_FIRST = 20000, PORT_COUNT = 10000, PORT_TRIES = 200 };

/* What mpirun says of where the ranks go. */
typedef struct map {
    char first[NAME_BYTES]; /* the host of rank 0, or "" where it is not told */
    char other[NAME_BYTES]; /* one of the other hosts, or "" */
} map_t;

/* Whether nothing on this host has the port, over IPv4 and IPv6. */
static bool port_free(int port)
{
    const int off = 0;
    struct sockaddr_in6 both = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port), .sin6_addr = in6addr_any};
    struct sockaddr_in old = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int made = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free;

    if (made >= 0 && setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) {
        is_free = bind(made, (struct sockaddr *)&both, sizeof both) == 0;
    } else {
        if (made >= 0) {
            (void)close(made);
        }
        made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        is_free = made >= 0 && bind(made, (struct sockaddr *)&old, sizeof old) == 0;
    }
    if (made >= 0) {
        (void)close(made);
    }
    return is_free;
}

static int port_choose(void)
{
    unsigned start = 0;

    if (getrandom(&start, sizeof start, 0) != (ssize_t)sizeof start) {
        start = (unsigned)getpid();
    }
    for (unsigned t = 0; t < PORT_TRIES; t++) {
        int port = PORT_FIRST + (int)((start + t) % PORT_COUNT);
        if (port_free(port)) {
            return port;
        }
    }
    return -1;
}

/* The lines of interest are "Data for node: NAME<tab>Num slots: ..." and below it, for each rank of that host,
   "Process OMPI jobid: [1,1] App: 0 Process rank: 0 Bound: ..." (Open MPI 4.1; 5.0 has the same words). */
static void map_read(FILE *text, map_t *map)
{
    static const char node[] = "Data for node: ";
    char line[4096];
    char host[NAME_BYTES] = "";

    while (fgets(line, sizeof line, text) != NULL) {
        const char *at = strstr(line, node);
        if (at != NULL) {
            at += strlen(node);
            snprintf(host, sizeof host, "%.*s", (int)strcspn(at, " \t\n"), at);
        } else if (host[0] != '\0' && strstr(line, "Process rank: ") != NULL) {
            bool is_first = strstr(line, "Process rank: 0 ") != NULL;
            if (is_first) {
                snprintf(map->first, sizeof map->first, "%s", host);
            }
            if (!is_first && map->other[0] == '\0' && strcmp(host, map->first) != 0) {
                snprintf(map->other, sizeof map->other, "%s", host);
            }
        }
    }
    /* Where another host's ranks were listed before rank 0, `other` may be a host that turned out to be rank 0's. */
    if (strcmp(map->other, map->first) == 0) {
        map->other[0] = '\0';
    }
}

/* Asks mpirun where it would put the ranks; leaves a map of zeros where it does not tell. What it complains of it will
   complain of again when it is run. As long as it has not started its daemons it does not know how many ranks a host
   may have, and is not to mind. */
static void map_ask(const run_words_t *words, map_t *map)
{
    static const char many[] = "OMPI_MCA_rmaps_base_oversubscribe";
    extern char **environ;
    posix_spawn_file_actions_t actions;
    const bool asked = getenv(many) != NULL;
    int ends[2];
    pid_t child = -1;

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0); /* stdin is for rank 0 */
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    (void)setenv(many, "1", 0);
    bool started = posix_spawnp(&child, words->word[0], &actions, NULL, words->word, environ) == 0;
    if (!asked) {
        (void)unsetenv(many);
    }
    posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    FILE *text = fdopen(ends[0], "r");
    if (text == NULL) {
        (void)close(ends[0]);
    } else {
        map_read(text, map);
        (void)fclose(text);
    }
    if (started) {
        (void)waitpid(child, NULL, 0);
    }
}

/* Whether the host is this one: mpirun calls it by its name, with the domain or without. */
static bool host_is_here(const char *host)
{
    char here[NAME_BYTES] = "";

    (void)gethostname(here, sizeof here - 1);
    size_t bytes = strcspn(here, ".");
    return strcspn(host, ".") == bytes && strncmp(host, here, bytes) == 0;
}

static bool address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 == 127;
    }
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* In digits, which every host understands alike; false for a loopback address, which none but this one does. */
static bool address_text(const struct sockaddr *address, socklen_t bytes, char text[NAME_BYTES])
{
    return !address_is_loopback(address) && getnameinfo(address, bytes, text, NAME_BYTES, NULL, 0, NI_NUMERICHOST) == 0;
}

/* The address that a packet from here to `found` has as its sender. */
static bool address_towards(const struct addrinfo *found, char text[NAME_BYTES])
{
    struct sockaddr_storage own;
    socklen_t bytes = sizeof own;
    int udp = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    bool known = udp >= 0 && connect(udp, found->ai_addr, found->ai_addrlen) == 0 && /* sends nothing */
                 getsockname(udp, (struct sockaddr *)&own, &bytes) == 0 &&
                 address_text((struct sockaddr *)&own, bytes, text);
    if (udp >= 0) {
        (void)close(udp);
    }
    return known;
}

/* The address of rank 0's host, as the other hosts of the job can use it. */
static void address_choose(const map_t *map, char text[NAME_BYTES])
{
    const bool here = map->first[0] == '\0' || host_is_here(map->first);
    const char *asked = here ? map->other : map->first;
    struct addrinfo *found = NULL;
    const struct addrinfo wanted = {.ai_socktype = SOCK_DGRAM};

    if (here && map->first[0] != '\0' && map->other[0] == '\0') {
        snprintf(text, NAME_BYTES, "127.0.0.1");
        return;
    }
    if (asked[0] != '\0' && getaddrinfo(asked, "9", &wanted, &found) == 0) {
        bool known = here ? address_towards(found, text) : address_text(found->ai_addr, found->ai_addrlen, text);
        freeaddrinfo(found);
        if (known) {
            return;
        }
    }
    if (here) {
        text[NAME_BYTES - 1] = '\0';
        (void)gethostname(text, NAME_BYTES - 1);
    } else {
        snprintf(text, NAME_BYTES, "%s", map->first);
    }
}

bool run_master_find(const run_words_t *map_words, char master[RUN_MASTER_BYTES])
{
    const char *address = getenv("MASTER_ADDR");
    const char *port_text = getenv("MASTER_PORT");
    char chosen[NAME_BYTES] = "";
    char *end = NULL;
    long port;

    if (port_text != NULL && port_text[0] != '\0') {
        port = strtol(port_text, &end, 10);
        if (*end != '\0' || port < 1 || port > 65535) {
            fprintf(stderr, "mpinpu: run: MASTER_PORT=%s is not a port, a number from 1 to 65535\n", port_text);
            return false;
        }
    } else {
        port = port_choose();
        if (port < 0) {
            fprintf(stderr,
                    "mpinpu: run: no free port for MASTER_PORT was found from %d to %d; set one: MASTER_PORT=29500 "
                    "mpinpu run ...\n",
                    PORT_FIRST, PORT_FIRST + PORT_COUNT - 1);
            return false;
        }
    }
    if (address == NULL || address[0] == '\0') {
        map_t map = {0};
        if (!map_words->no_map) {
            map_ask(map_words, &map);
        }
        address_choose(&map, chosen);
        address = chosen;
    }
    if (strlen(address) >= NAME_BYTES || strpbrk(address, " \t\n") != NULL) {
        fprintf(stderr, "mpinpu: run: MASTER_ADDR=%s is not the name or address of a host\n", address);
        return false;
    }
    snprintf(master, RUN_MASTER_BYTES, "%ld:%s", port, address);
    return true;
}
