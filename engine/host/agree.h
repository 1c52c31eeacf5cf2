/* SPDX-License-Identifier: BSD-3-Clause */
/* How the ranks of a communicator come to one conclusion: each says who it is and what it can do, and all draw the same
   conclusion from the same words. One exchange, one more for a check, two more where processes meet for the first time.
 */
#ifndef ENGINE_HOST_AGREE_H
#define ENGINE_HOST_AGREE_H

#include "engine/host/host.h"

/* What each rank says of itself, at most 384 bytes. */
typedef struct hello {
    uint64_t magic;
    transport_identity_t identity;
    uint64_t region; /* offset in its window */
    uint64_t half;   /* 0: no region */
    uint32_t comm_id;
    uint32_t card_bytes;
    int32_t status;        /* of its engine */
    int32_t window_status; /* of its window */
    int32_t crowded;       /* the ranks of its host share CPUs */
    uint32_t offers;       /* of its engine_config_t */
    int64_t compared[ENGINE_COMPARED_MAX];
    char why[HOST_WHY_BYTES]; /* of the first status that is not MPINPU_OK */
} hello_t;

_Static_assert(sizeof(hello_t) <= 384, "a rank's word at start is bounded");

/* Fills in this rank's words; takes a region of the window (comm->has_region). */
void hello_fill(engine_comm_t *comm, hello_t *hello);

/* The conclusion from all ranks' words; `why` names the first rank that had the cause. */
mpinpu_status_t hellos_judge(const engine_comm_t *comm, const hello_t *hellos, char *why, size_t why_bytes);

/* Sets what follows from all words before the ranks are connected: their numbers, whether windows are tried. */
void hellos_settle(engine_comm_t *comm, const hello_t *hellos);

/* Numbers the hosts in order of their first rank, a number a rank in `host_of`; returns how many there are. With
   `together` by identity, else every rank is a host of its own. */
uint32_t hosts_number(const hello_t *hellos, uint32_t size, bool together, uint32_t *host_of);

/* What each rank says after it has looked at the others' words. */
typedef struct verdict {
    int32_t strangers; /* there are ranks whose card it lacks, or whose window it has not mapped */
    int32_t status;    /* of making peers known */
    int32_t window_status;
    char why[HOST_WHY_BYTES];
} verdict_t;

/* Makes the ranks' processes known, makes sure that every host is reached, and maps the windows of those on this host:
   collective. comm->windows becomes false on all ranks where it fails on one. `verdicts` is room for one a rank. */
mpinpu_status_t ranks_connect(engine_comm_t *comm, const engine_exchange_t *exchange, const hello_t *hellos,
                              verdict_t *verdicts, char *why, size_t why_bytes);

/* The last part: where the ranks are, and which paths that opens. */
void ranks_place(engine_comm_t *comm, const hello_t *hellos);

/* Says once in this process, on rank 0, why windows are not used: the cause that `rank` had. */
void windows_say(engine_comm_t *comm, uint32_t rank, const char *cause);

#endif
