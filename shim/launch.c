/* SPDX-License-Identifier: BSD-3-Clause */
/* libmpinpu-launch.so: what `mpinpu run` preloads beside libmpinpu.so. Before main it gives a rank the variables by
   which torchrun tells a process its place in a job: RANK, LOCAL_RANK, WORLD_SIZE and LOCAL_WORLD_SIZE from Open MPI's,
   and MASTER_ADDR and MASTER_PORT from MPINPU_MASTER, "PORT:ADDRESS", which it takes away. A variable that is there
   already stays. Where MPINPU_MASTER or Open MPI's rank is not set, as in what a rank itself starts, it does nothing.

   Only `environ` is touched, by no function of libc: a shell has its own getenv and setenv, which work from its main
   on.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

#define REQUEST "MPINPU_MASTER"

/* Variables in the order in which they are added. */
static const struct row {
    const char *name;
    const char *from; /* Open MPI's variable, or NULL */
} rows[] = {
    {"RANK", "OMPI_COMM_WORLD_RANK"},
    {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE"},
    {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"MASTER_PORT", NULL},
    {"MASTER_ADDR", NULL},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0], ROW_PORT = ROW_COUNT - 2, ROW_ADDRESS = ROW_COUNT - 1 };

/* The value of a variable, or NULL. */
static const char *value_of(const char *name)
{
    size_t bytes = strlen(name);

    for (char **entry = environ; *entry != NULL; entry++) {
        if (strncmp(*entry, name, bytes) == 0 && (*entry)[bytes] == '=') {
            return *entry + bytes + 1;
        }
    }
    return NULL;
}

/* On rank 0: whether it can listen at this address and port, as a program that reads the two variables will. A name is
   left unchecked: to look it up may take long. */
static void master_check(const char *address, const char *port)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const int on = 1;
    char text[512];
    int length = 0;

    if (getaddrinfo(address, port, &wanted, &found) != 0) {
        return;
    }
    int listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener >= 0) {
        (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        int failure = bind(listener, found->ai_addr, found->ai_addrlen) == 0 ? 0 : errno;
        if (failure == EADDRINUSE) {
            length = snprintf(text, sizeof text,
                              "mpinpu: MASTER_PORT=%s is in use on the host of rank 0; choose another: "
                              "MASTER_PORT=29500 mpinpu run ...\n",
                              port);
        } else if (failure == EADDRNOTAVAIL) {
            length = snprintf(text, sizeof text,
                              "mpinpu: MASTER_ADDR=%s is not an address of the host of rank 0; set it: MASTER_ADDR=... "
                              "mpinpu run ...\n",
                              address);
        }
        (void)close(listener);
    }
    freeaddrinfo(found);
    if (length > 0) {
        ssize_t written = write(STDERR_FILENO, text, (size_t)length);
        (void)written;
    }
}

/* "NAME=value" in memory that stays with the environment; NULL for want of memory. */
static char *entry_new(const char *name, const char *value, size_t value_bytes)
{
    size_t name_bytes = strlen(name);
    char *entry = malloc(name_bytes + 1 + value_bytes + 1);

    if (entry != NULL) {
        memcpy(entry, name, name_bytes);
        entry[name_bytes] = '=';
        memcpy(entry + name_bytes + 1, value, value_bytes);
        entry[name_bytes + 1 + value_bytes] = '\0';
    }
    return entry;
}

__attribute__((constructor)) static void launch_begin(void)
{
    const char *master = environ != NULL ? value_of(REQUEST) : NULL;
    const char *colon = master != NULL ? strchr(master, ':') : NULL;
    const char *rank = colon != NULL ? value_of(rows[0].from) : NULL;
    const int saved_errno = errno;
    size_t count = 0;
    bool set[ROW_COUNT] = {false};

    if (rank == NULL) {
        return;
    }
    while (environ[count] != NULL) {
        count++;
    }
    char **changed = malloc((count + ROW_COUNT + 1) * sizeof *changed);
    if (changed == NULL) {
        return;
    }
    size_t used = 0;
    for (size_t e = 0; e < count; e++) {
        if (strncmp(environ[e], REQUEST "=", sizeof REQUEST) != 0) {
            changed[used++] = environ[e];
        }
    }
    for (int r = 0; r < ROW_COUNT; r++) {
        const char *value = r == ROW_PORT ? master : r == ROW_ADDRESS ? colon + 1 : value_of(rows[r].from);
        if (value == NULL || value_of(rows[r].name) != NULL) {
            continue;
        }
        changed[used] = entry_new(rows[r].name, value, r == ROW_PORT ? (size_t)(colon - master) : strlen(value));
        set[r] = changed[used] != NULL;
        used += set[r] ? 1 : 0;
    }
    changed[used] = NULL;
    environ = changed;
    if (set[ROW_PORT] && set[ROW_ADDRESS] && strcmp(rank, "0") == 0) {
        master_check(colon + 1, value_of(rows[ROW_PORT].name));
    }
    errno = saved_errno;
}
