/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: clock_gettime */

#include "engine/host/agree.h"

#include "engine/host/tiny.h"
#include "engine/host/wait.h"
#include "transport/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Halves of a region: what is asked for, and the least that is worth having. */
static const size_t half_wanted = (size_t)1 << 20;
static const size_t half_least = (size_t)16 << 10;
/* How long a new communicator waits for peers to leave regions, milliseconds. */
static const long patience_ms = 20;

static const uint64_t hello_magic = UINT64_C(0x6d70696e70750003); /* changes with the layout and with the plans */

/* Takes a region. Peers are given a moment to leave regions that I have left: they do so when they free the
   communicator, which may be never, if they wait for me to go on. */
static mpinpu_status_t region_wait(const engine_comm_t *comm, size_t *offset, size_t *half)
{
    engine_t *engine = comm->engine;
    struct timespec begin;
    struct timespec now;
    mpinpu_status_t status;
    bool patient = true;

    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        status = region_take(engine->regions, comm->size, half_wanted, half_least, patient, offset, half);
        if (status == MPINPU_IN_PROGRESS) {
            wait_t wait = {.polls = engine->spin_polls};
            wait_long(engine, &wait);
            (void)clock_gettime(CLOCK_MONOTONIC, &now);
            patient = (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < patience_ms;
        }
    } while (status == MPINPU_IN_PROGRESS);
    return status;
}

void hello_fill(engine_comm_t *comm, hello_t *hello)
{
    engine_t *engine = comm->engine;

    *hello = (hello_t){.magic = hello_magic,
                       .status = (int32_t)engine->status,
                       .crowded = engine->crowded,
                       .offers = engine->config.offers};
    memcpy(hello->compared, engine->config.compared.values, sizeof hello->compared);
    memcpy(hello->why, engine->why, sizeof hello->why);
    if (engine->status != MPINPU_OK) {
        return;
    }
    const void *card;
    size_t card_bytes;
    transport_card_get(engine->transport, &card, &card_bytes);
    hello->identity = transport_identity_get(engine->transport);
    hello->card_bytes = (uint32_t)card_bytes;
    hello->comm_id = atomic_fetch_add_explicit(&engine->comm_ids, 1, memory_order_relaxed);
    hello->window_status = (int32_t)engine->window_status;
    if (engine->window_status == MPINPU_OK) {
        size_t offset = 0;
        size_t half = 0;
        hello->window_status = (int32_t)region_wait(comm, &offset, &half);
        if (hello->window_status == MPINPU_OK) {
            comm->has_region = true;
            comm->region = offset;
            hello->region = offset;
            hello->half = half;
        } else {
            (void)snprintf(hello->why, sizeof hello->why, "its window has no room for one more communicator");
        }
    } else {
        memcpy(hello->why, engine->window_why, sizeof hello->why);
    }
}

mpinpu_status_t hellos_judge(const engine_comm_t *comm, const hello_t *hellos, char *why, size_t why_bytes)
{
    const engine_compared_t *compared = &comm->engine->config.compared;

    for (uint32_t r = 0; r < comm->size; r++) {
        if (hellos[r].magic != hello_magic) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 " runs another version of the library than rank 0", r);
            return MPINPU_ERR_DISAGREE;
        }
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        for (unsigned v = 0; v < compared->count; v++) {
            if (hellos[r].compared[v] != hellos[0].compared[v]) {
                (void)snprintf(why, why_bytes, "%s differs: %" PRId64 " on rank 0, %" PRId64 " on rank %" PRIu32,
                               compared->names[v], hellos[0].compared[v], hellos[r].compared[v], r);
                return MPINPU_ERR_DISAGREE;
            }
        }
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        if (hellos[r].status != MPINPU_OK) {
            (void)snprintf(why, why_bytes, "rank %" PRIu32 ": %.*s", r, HOST_WHY_BYTES - 1, hellos[r].why);
            return (mpinpu_status_t)hellos[r].status;
        }
    }
    return MPINPU_OK;
}

uint32_t hosts_number(const hello_t *hellos, uint32_t size, bool together, uint32_t *host_of)
{
    uint32_t nhosts = 0;

    for (uint32_t r = 0; r < size; r++) {
        uint32_t before = r;
        /* Neighbours in rank order mostly share a host, so the search from behind is short. */
        if (together) {
            while (before > 0 && hellos[before - 1].identity.host != hellos[r].identity.host) {
                before--;
            }
        } else {
            before = 0;
        }
        host_of[r] = before > 0 ? host_of[before - 1] : nhosts++;
    }
    return nhosts;
}

void windows_say(engine_comm_t *comm, uint32_t rank, const char *cause)
{
    if (comm->rank == 0 && !atomic_exchange_explicit(&comm->engine->window_warned, true, memory_order_relaxed)) {
        log_warn("no shared windows, messages are used instead: rank %" PRIu32 ": %.*s", rank, HOST_WHY_BYTES - 1,
                 cause);
    }
}

/* Whether all ranks have a region, and the half that all have. */
static bool windows_agree(engine_comm_t *comm, const hello_t *hellos)
{
    size_t half = SIZE_MAX;

    if (!comm->engine->config.windows) {
        return false;
    }
    for (uint32_t r = 0; r < comm->size; r++) {
        if (hellos[r].window_status != MPINPU_OK) {
            windows_say(comm, r, hellos[r].why);
            return false;
        }
        half = hellos[r].half < half ? hellos[r].half : half;
    }
    comm->half = half;
    return true;
}

void hellos_settle(engine_comm_t *comm, const hello_t *hellos)
{
    for (uint32_t r = 0; r < comm->size; r++) {
        comm->ranks[r].id = hellos[r].comm_id;
        comm->crowded = comm->crowded || hellos[r].crowded != 0;
        comm->offers |= hellos[r].offers;
    }
    comm->windows = windows_agree(comm, hellos);
}

void ranks_place(engine_comm_t *comm, const hello_t *hellos)
{
    comm->nhosts = hosts_number(hellos, comm->size, comm->windows, comm->host_of);
    if (!comm->windows || comm->nhosts == comm->size) {
        comm->half = 0;
        comm->windows = false;
    }
    comm->tiny = comm->windows && comm->nhosts == 1 && comm->size <= TINY_RANKS_MAX;
}
