/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* localtime_r */

#include "shim/stall.h"

#include "mpi_compat/exchange.h"
#include "mpi_compat/progress.h"
#include "shim/outstanding.h"
#include "transport/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

enum { NAME_BYTES = MPI_MAX_OBJECT_NAME + 16, PLACE_BYTES = NAME_BYTES + 64, SINCE_BYTES = 64 };

bool comm_name_text(MPI_Comm comm, char *text, size_t bytes)
{
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;

    if (!compat_comm_valid(comm)) {
        (void)snprintf(text, bytes, "a communicator that was freed");
        return false;
    }
    if (PMPI_Comm_get_name(comm, name, &length) != MPI_SUCCESS || length == 0) {
        (void)snprintf(text, bytes, "communicator %d", (int)PMPI_Comm_c2f(comm));
        return false;
    }
    (void)snprintf(text, bytes, "%s", name);
    return true;
}

/* The same with quotes about a name that may be of several words. */
static void comm_quoted_text(MPI_Comm comm, char *text, size_t bytes)
{
    char name[NAME_BYTES];

    const bool quotes = comm_name_text(comm, name, sizeof name) && comm != MPI_COMM_WORLD;
    (void)snprintf(text, bytes, quotes ? "\"%s\"" : "%s", name);
}

/* "60 s, since 11:32:05". */
static void since_text(int64_t waited_ns, char text[SINCE_BYTES])
{
    const int64_t seconds = waited_ns / 1000000000;
    const time_t since = time(NULL) - (time_t)seconds;
    struct tm parts = {0};

    (void)localtime_r(&since, &parts);
    (void)snprintf(text, SINCE_BYTES, "%" PRId64 " s, since %02d:%02d:%02d", seconds, parts.tm_hour, parts.tm_min,
                   parts.tm_sec);
}

/* "rank 3 (nid007)", "ranks 3 (nid007), 5 (nid007) and 9 more". */
static void late_text(const engine_stall_t *stall, const comm_state_t *state, char *text, size_t bytes)
{
    size_t length = (size_t)snprintf(text, bytes, "rank%s", stall->late > 1 ? "s" : "");

    for (uint32_t i = 0; i < stall->late && i < ENGINE_LATE_NAMED && length < bytes; i++) {
        const char *host = state != NULL && state->engine_comm != NULL
                               ? process.vtable->comm_host(state->engine_comm, stall->ranks[i])
                               : "";
        const char *before = i == 0 ? " " : i + 1 == stall->late ? " and " : ", ";
        length += (size_t)snprintf(text + length, bytes - length, host[0] != '\0' ? "%s%" PRIu32 " (%s)" : "%s%" PRIu32,
                                   before, stall->ranks[i], host);
    }
    if (stall->late > ENGINE_LATE_NAMED && length < bytes) {
        (void)snprintf(text + length, bytes - length, " and %" PRIu32 " more", stall->late - ENGINE_LATE_NAMED);
    }
}

bool stall_say(const engine_stall_t *stall)
{
    const comm_state_t *state = stall->owner;
    const collective_t *collective = stall->collective;
    const bool called = collective->kind < COLLECTIVE_KIND_COUNT;
    char name[PLACE_BYTES] = "the ranks that share an NPU";
    char since[SINCE_BYTES];
    char late[320] = "";

    if (outstanding_aside()) {
        return false; /* the names are MPI's, and the program computes: it does not wait */
    }
    if (stall->late == 0) {
        return true; /* it has just come to its end */
    }
    if (state != NULL) {
        comm_quoted_text(atomic_load_explicit(&state->comm, memory_order_relaxed), name, sizeof name);
    }
    since_text(stall->waited_ns, since);
    late_text(stall, state, late, sizeof late);
    log_warn("%s of %zu %s by %s on %s (%" PRIu32 " ranks, this is rank %" PRIu32
             ")%s has waited %s, for %s; it waits on",
             called ? report_function(stall->nonblocking ? REPORT_NONBLOCKING : REPORT_BLOCKING, collective->kind)
                    : collective_kind_name(collective->kind),
             collective_total(collective, stall->size), dtype_name(collective->dtype), op_name(collective->op), name,
             stall->size, stall->rank, stall->place, since, late);
    return true;
}

/* What the thread is setting up. */
static _Thread_local struct {
    const comm_state_t *state; /* NULL: nothing */
    MPI_Comm comm;
    uint64_t began;
    unsigned calls;
    bool said;
} setting_up;

static pthread_mutex_t setups_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned setups; /* threads that do */

/* The host MPI calls this, in the thread that waits. */
static int setup_look(void)
{
    enum { CALLS_A_LOOK = 256 };
    const int64_t patience = settings_get(&process.settings, SETTING_STALL_S) * 1000000000;
    char name[PLACE_BYTES];
    char since[SINCE_BYTES];

    if (setting_up.state == NULL || setting_up.said || ++setting_up.calls % CALLS_A_LOOK != 0) {
        return 0;
    }
    const int64_t waited = (int64_t)(process_clock() - setting_up.began);
    if (waited >= patience) {
        setting_up.said = true;
        comm_quoted_text(setting_up.comm, name, sizeof name);
        since_text(waited, since);
        log_warn(
            "the set-up of %s (%d ranks, this is rank %d) has waited %s, for ranks that have not come to their first "
            "collective on it, which cannot be told apart yet; it waits on",
            name, setting_up.state->size, setting_up.state->rank, since);
    }
    return 0;
}

void stall_setup_begin(const comm_state_t *state, MPI_Comm comm)
{
    if (settings_get(&process.settings, SETTING_STALL_S) == 0) {
        return;
    }
    setting_up.state = state;
    setting_up.comm = comm;
    setting_up.began = process_clock();
    setting_up.said = false;
    pthread_mutex_lock(&setups_lock);
    if (setups++ == 0) {
        (void)compat_progress_register(setup_look);
    }
    pthread_mutex_unlock(&setups_lock);
}

void stall_setup_end(void)
{
    if (setting_up.state == NULL) {
        return;
    }
    setting_up.state = NULL;
    pthread_mutex_lock(&setups_lock);
    if (--setups == 0) {
        compat_progress_unregister(setup_look);
    }
    pthread_mutex_unlock(&setups_lock);
}
