/* SPDX-License-Identifier: BSD-3-Clause */
/* The ports of a host on which HCCL gathers its ranks: whether they are free, and kept from other programs. The kernel
   gives a connection any port of net.ipv4.ip_local_port_range that net.ipv4.ip_local_reserved_ports does not list;
   HCCL's lie in the usual range, so an unlucky connection of any program makes a job fail (error EI0019, EJ0003). */
#ifndef ENGINE_HCCL_PORTS_H
#define ENGINE_HCCL_PORTS_H

#include "transport/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { PORTS_BASE = 60000, PORT_SET_WORDS = 65536 / 64 };

/* A set of ports. */
typedef struct port_set {
    uint64_t words[PORT_SET_WORDS];
} port_set_t;

static inline bool port_set_has(const port_set_t *set, uint32_t port)
{
    return (set->words[port / 64] >> port % 64 & 1) != 0;
}

bool port_set_empty(const port_set_t *set);

/* The ports of a text such as the kernel writes it, "8080,60000-60015"; an empty one is the empty set. False where it
   is no such text; *set is then undefined. */
bool port_set_parse(const char *text, port_set_t *set);

/* The set as such a text, or NULL for want of memory. The caller frees it. */
char *port_set_text(const port_set_t *set);

/* The ports that HCCL uses. base: HCCL_IF_BASE_PORT, or NULL: PORTS_BASE. range: HCCL_HOST_SOCKET_PORT_RANGE, or NULL
   (also where the product does not know it); "auto" gives the empty set, since HCCL then looks for free ones itself.
   From the base on there are 16, since CANN 8.2 32 (the variable's pages); an unknown version (0) is taken for a new
   one. MPINPU_ERR_INVALID: one of the texts is not what the variable allows. */
mpinpu_status_t ports_of_hccl(const char *base, const char *range, unsigned cann, port_set_t *set);

/* What was found of these ports on this host. */
typedef struct ports {
    port_set_t hccl;
    port_set_t blocked;    /* those of them that cannot be bound */
    int block_errno;       /* why the lowest of these cannot */
    port_set_t reserved;   /* all that the kernel reserves */
    bool reserved_known;   /* false: the kernel's list could not be read */
    uint32_t ephemeral[2]; /* ip_local_port_range, both included; 0, 0: not known */
    bool reserved_all;     /* all of HCCL's are reserved */
} ports_t;

/* Tries to bind each port of `hccl`, and reads what the kernel reserves; `proc` is the place of the kernel's files
   ("/proc"). MPINPU_ERR_UNSUPPORTED where there are no sockets. Any thread. */
mpinpu_status_t ports_check(const port_set_t *hccl, const char *proc, ports_t *ports);

/* Whether a job may rely on HCCL's ports: all are free, and the kernel gives none of them to other programs. */
bool ports_safe(const ports_t *ports);

/* Writes what was found, a line each, with what to do: the sysctl lines for now and for ever that reserve HCCL's ports
   beside what is reserved already. `good` says that nothing need be done. */
void ports_describe(const ports_t *ports, void (*line)(void *context, bool good, const char *text), void *context);

#endif
