/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE */

#include "engine/host/exposure.h"

#include "transport/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum {
    CANDIDATES_MOST = 32, /* buffers whose uses are counted */
    USES_WANTED = 3,      /* before a buffer is exposed */
    USES_REFUSED = 1000,  /* before one that could not be is tried again */
    FORK_PATIENCE_S = 1
};

typedef struct exposure {
    uint64_t id; /* 0: unused entry */
    uint64_t used;
    unsigned pins; /* collectives under way on it */
    pages_t pages;
} exposure_t;

/* A buffer that is not exposed. */
typedef struct candidate {
    uintptr_t from;
    uintptr_t end;
    unsigned uses;
    unsigned wanted;
    uint64_t used;
} candidate_t;

struct exposures {
    pthread_mutex_t lock;
    pthread_cond_t unpinned;
    size_t most;
    size_t bytes;
    bool huge;
    bool allowed;
    uint64_t ids;   /* given out so far */
    uint64_t clock; /* counts uses */
    exposure_t kept[EXPOSURES_MOST];
    candidate_t seen[CANDIDATES_MOST];
};

/* What the handlers of fork find; release and acquire, since any thread may fork. */
static _Atomic(exposures_t *) exposures_open_now;

/* The peers hear of it; to the program the pages are memory like other memory, and stay where they are. Only who owns
   the memory could put other pages there: another thread may be writing to it, or giving it back. */
static void exposure_drop(exposures_t *exposures, exposure_t *exposure)
{
    exposures->bytes -= exposure->pages.bytes;
    pages_forget(&exposure->pages);
    exposure->id = 0;
}

/* Waits, with the lock held, until no collective is under way on exposed buffers, but not for ever: what the others
   wait for could be the caller. */
static bool exposures_wait(exposures_t *exposures)
{
    struct timespec until;
    int e = 0;

    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FORK_PATIENCE_S;
    while (e < EXPOSURES_MOST) {
        if (exposures->kept[e].id == 0 || exposures->kept[e].pins == 0) {
            e++;
        } else if (pthread_cond_timedwait(&exposures->unpinned, &exposures->lock, &until) != 0) {
            return false;
        }
    }
    return true;
}

/* A child gets a copy of private pages, but would share exposed ones. It is the child that copies them, since it has
   one thread only, and its parent waits till it has. */
static int fork_pipe[2] = {-1, -1};
/* Whether any page of this process was ever exposed. Relaxed: who forks has done so, or has synchronised with who did.
 */
static _Atomic bool exposed_once;
static exposures_t *fork_locked;

static void exposures_fork_prepare(void)
{
    exposures_t *exposures = atomic_load_explicit(&exposures_open_now, memory_order_acquire);

    fork_locked = NULL;
    fork_pipe[0] = fork_pipe[1] = -1;
    if (!atomic_load_explicit(&exposed_once, memory_order_relaxed)) {
        return;
    }
    if (exposures != NULL) {
        pthread_mutex_lock(&exposures->lock);
        fork_locked = exposures;
        if (!exposures_wait(exposures)) {
            log_warn("a process was forked while collectives are under way: it may see what they write");
        }
    }
    if (pipe2(fork_pipe, O_CLOEXEC) != 0) {
        log_warn("no pipe: a forked process may see what its parent writes");
        fork_pipe[0] = fork_pipe[1] = -1;
    }
}

static void exposures_fork_parent(void)
{
    char done;

    if (fork_pipe[1] >= 0) {
        (void)close(fork_pipe[1]);
        /* The end of the file where the child has gone. */
        while (read(fork_pipe[0], &done, 1) < 0 && errno == EINTR) {
        }
        (void)close(fork_pipe[0]);
    }
    if (fork_locked != NULL) {
        pthread_mutex_unlock(&fork_locked->lock);
    }
}

static void exposures_fork_child(void)
{
    if (atomic_load_explicit(&exposed_once, memory_order_relaxed) && pages_return(NULL, SIZE_MAX / 2) > 0) {
        log_warn("no memory for a child's own copy of buffers, which it shares with its parent");
    }
    if (fork_pipe[1] >= 0) {
        (void)close(fork_pipe[0]);
        (void)close(fork_pipe[1]);
    }
    /* It takes no part in its parent's collectives. */
    atomic_store_explicit(&exposures_open_now, NULL, memory_order_relaxed);
    if (fork_locked != NULL) {
        pthread_mutex_unlock(&fork_locked->lock);
    }
}

static void exposures_fork_handle(void)
{
    (void)pthread_atfork(exposures_fork_prepare, exposures_fork_parent, exposures_fork_child);
}

/* The bounds of all that was ever exposed; relaxed, since who exposes memory does not advise on it. */
static _Atomic uintptr_t exposed_lowest = UINTPTR_MAX;
static _Atomic uintptr_t exposed_highest;

/* The program is about to give up contents of memory, or to move it: memory of its own, so what of it is exposed can be
   made private first, to which the kernel then does what the program expects. */
static void exposures_hear(void *address, size_t bytes, bool discards)
{
    const uintptr_t from = (uintptr_t)address;

    if (from >= atomic_load_explicit(&exposed_highest, memory_order_relaxed) ||
        from + bytes <= atomic_load_explicit(&exposed_lowest, memory_order_relaxed)) {
        return;
    }
    if (discards) {
        pages_discard(address, bytes);
    } else {
        (void)pages_return(address, bytes);
    }
}

mpinpu_status_t exposures_open(size_t most, bool huge, memory_watch_place_t *watch, exposures_t **exposures)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    exposures_t *made = calloc(1, sizeof *made);

    if (made == NULL) {
        return MPINPU_ERR_NO_MEMORY;
    }
    if (pthread_mutex_init(&made->lock, NULL) != 0) {
        free(made);
        return MPINPU_ERR_NO_MEMORY;
    }
    if (pthread_cond_init(&made->unpinned, NULL) != 0) {
        (void)pthread_mutex_destroy(&made->lock);
        free(made);
        return MPINPU_ERR_NO_MEMORY;
    }
    made->most = most;
    made->allowed = true;
    made->huge = huge;
    (void)pthread_once(&once, exposures_fork_handle);
    atomic_store_explicit(&exposures_open_now, made, memory_order_release);
    atomic_store_explicit(watch, exposures_hear, memory_order_release);
    *exposures = made;
    return MPINPU_OK;
}

void exposures_close(exposures_t *exposures)
{
    if (exposures == NULL) {
        return;
    }
    pthread_mutex_lock(&exposures->lock);
    for (int e = 0; e < EXPOSURES_MOST; e++) {
        if (exposures->kept[e].id != 0) {
            exposure_drop(exposures, &exposures->kept[e]);
        }
    }
    atomic_store_explicit(&exposures_open_now, NULL, memory_order_release);
    pthread_mutex_unlock(&exposures->lock);
    /* Its memory stays: another thread may be about to fork. The watch stays, too, since the pages do. */
}

/* The exposure that holds the range, if it still does. */
static exposure_t *exposure_holding(exposures_t *exposures, uintptr_t from, uintptr_t end)
{
    for (int e = 0; e < EXPOSURES_MOST; e++) {
        exposure_t *exposure = &exposures->kept[e];
        const uintptr_t begin = (uintptr_t)exposure->pages.address;
        if (exposure->id == 0 || from >= begin + exposure->pages.bytes || end <= begin) {
            continue;
        }
        if (!pages_held(&exposure->pages)) {
            if (exposure->pins == 0) {
                exposure_drop(exposures, exposure);
            }
        } else if (from >= begin && end <= begin + exposure->pages.bytes) {
            return exposure;
        }
    }
    return NULL;
}

/* Whether the buffer has been used often enough. */
static candidate_t *candidate_count(exposures_t *exposures, uintptr_t from, uintptr_t end)
{
    candidate_t *oldest = &exposures->seen[0];

    for (int c = 0; c < CANDIDATES_MOST; c++) {
        candidate_t *candidate = &exposures->seen[c];
        if (candidate->uses > 0 && candidate->from == from && candidate->end == end) {
            candidate->uses++;
            candidate->used = exposures->clock;
            return candidate;
        }
        oldest = candidate->used < oldest->used ? candidate : oldest;
    }
    *oldest = (candidate_t){.from = from, .end = end, .uses = 1, .wanted = USES_WANTED, .used = exposures->clock};
    return oldest;
}

/* Gives up those that are gone, those in the way of the range, and, until there is an entry and room, those used
   longest ago. */
static exposure_t *exposure_room(exposures_t *exposures, uintptr_t from, uintptr_t end)
{
    exposure_t *room;

    do {
        exposure_t *oldest = NULL;
        room = NULL;
        for (int e = 0; e < EXPOSURES_MOST; e++) {
            exposure_t *exposure = &exposures->kept[e];
            const uintptr_t begin = (uintptr_t)exposure->pages.address;
            const bool in_way = exposure->id != 0 && from < begin + exposure->pages.bytes && end > begin;
            if (exposure->id != 0 && exposure->pins == 0 && (in_way || !pages_held(&exposure->pages))) {
                exposure_drop(exposures, exposure);
            }
            if (exposure->id == 0) {
                room = exposure;
            } else if (in_way && exposure->pins > 0) {
                return NULL;
            } else if (exposure->pins == 0 && (oldest == NULL || exposure->used < oldest->used)) {
                oldest = exposure;
            }
        }
        if (room == NULL || exposures->bytes + (end - from) > exposures->most) {
            if (oldest == NULL) {
                return NULL;
            }
            exposure_drop(exposures, oldest);
            room = NULL;
        }
    } while (room == NULL);
    return room;
}

static exposure_t *exposure_make(exposures_t *exposures, candidate_t *candidate)
{
    const uintptr_t from = candidate->from;
    const uintptr_t end = candidate->end;
    char why[160] = "";
    exposure_t *room = NULL;
    mpinpu_status_t status = MPINPU_ERR_UNSUPPORTED;

    candidate->uses = 0;
    if (!pages_process_allows(exposures->huge, why, sizeof why)) {
        exposures->allowed = false;
        log_info("buffers are not shared in place: %s", why);
        return NULL;
    }
    if (end - from <= exposures->most) {
        room = exposure_room(exposures, from, end);
    }
    if (room != NULL) {
        status =
            pages_share((void *)from, end - from, &room->pages, why, sizeof why); // NOLINT(performance-no-int-to-ptr)
    }
    if (status != MPINPU_OK) {
        log_info("%zu bytes at %#" PRIxPTR " are not shared in place: %s", (size_t)(end - from), from, why);
        candidate->uses = 1;
        candidate->wanted = USES_REFUSED;
        return NULL;
    }
    if (from < atomic_load_explicit(&exposed_lowest, memory_order_relaxed)) {
        atomic_store_explicit(&exposed_lowest, from, memory_order_relaxed);
    }
    if (end > atomic_load_explicit(&exposed_highest, memory_order_relaxed)) {
        atomic_store_explicit(&exposed_highest, end, memory_order_relaxed);
    }
    atomic_store_explicit(&exposed_once, true, memory_order_relaxed);
    room->id = ++exposures->ids;
    exposures->bytes += end - from;
    log_info("%zu bytes at %#" PRIxPTR " are shared in place", (size_t)(end - from), from);
    return room;
}

bool exposure_find(exposures_t *exposures, const void *buffer, size_t bytes, exposure_view_t *view)
{
    const uintptr_t page = pages_size();
    const uintptr_t from = ((uintptr_t)buffer + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)buffer + bytes) / page * page;
    exposure_t *exposure = NULL;

    if (from >= end) {
        return false;
    }
    pthread_mutex_lock(&exposures->lock);
    exposures->clock++;
    exposure = exposure_holding(exposures, from, end);
    if (exposure == NULL && exposures->allowed) {
        candidate_t *candidate = candidate_count(exposures, from, end);
        if (candidate->uses >= candidate->wanted) {
            exposure = exposure_make(exposures, candidate);
        }
    }
    if (exposure != NULL) {
        exposure->used = exposures->clock;
        exposure->pins++;
        *view = (exposure_view_t){.id = exposure->id,
                                  .address = (uint64_t)(uintptr_t)exposure->pages.address,
                                  .card = pages_card(&exposure->pages)};
    }
    pthread_mutex_unlock(&exposures->lock);
    return exposure != NULL;
}

void exposure_release(exposures_t *exposures, uint64_t id)
{
    pthread_mutex_lock(&exposures->lock);
    for (int e = 0; e < EXPOSURES_MOST; e++) {
        if (exposures->kept[e].id == id && --exposures->kept[e].pins == 0) {
            (void)pthread_cond_broadcast(&exposures->unpinned);
        }
    }
    pthread_mutex_unlock(&exposures->lock);
}

uint64_t exposures_list(exposures_t *exposures, uint64_t ids[EXPOSURES_MOST])
{
    uint64_t newest;

    pthread_mutex_lock(&exposures->lock);
    for (int e = 0; e < EXPOSURES_MOST; e++) {
        ids[e] = exposures->kept[e].id;
    }
    newest = exposures->ids;
    pthread_mutex_unlock(&exposures->lock);
    return newest;
}
