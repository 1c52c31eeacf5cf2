/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: asprintf */

#include "shim/trace.h"

#include "transport/log.h"
#include "transport/transport.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Events kept before they are written, and nanoseconds after which they are if another comes: few at first, for jobs
   that fail soon, and twice as many each time. */
enum { EVENTS = 8192, TEXT_BYTES = 256 * 1024, CLOCK_ROUNDS = 16 };
static const uint64_t kept_least_ns = UINT64_C(1000000);
static const uint64_t kept_most_ns = UINT64_C(1000000000);

struct trace {
    pthread_mutex_t lock; /* of what follows */
    pid_t pid;            /* of who opened it: a forked child must not write to it */
    int file;             /* -1: it could not be written */
    char *path;
    uint64_t process; /* its number in the trace */
    trace_clock_t clock;
    bool clock_written;
    uint64_t lines;
    uint64_t written_ns; /* when the last events were, */
    uint64_t kept_ns;    /* and after which time more are */
    size_t nevents;
    trace_event_t *events;
    char *text;
    size_t length;
    atomic_uint threads; /* that have been numbered; relaxed, as the next: only the numbers matter */
    _Atomic uint64_t ids;
};

/* The one of the process, for its end without MPI_Finalize. */
static trace_t *opened;

static void text_write(trace_t *trace)
{
    for (size_t done = 0; done < trace->length && trace->file >= 0;) {
        const ssize_t wrote = write(trace->file, trace->text + done, trace->length - done);
        if (wrote >= 0) {
            done += (size_t)wrote;
        } else if (errno != EINTR) {
            log_warn("MPINPU_TRACE: the trace of this rank ends here: %s: %m", trace->path);
            (void)close(trace->file);
            trace->file = -1;
        }
    }
    trace->length = 0;
}

static void line_put(trace_t *trace, const char *line, size_t length)
{
    if (trace->length + length + 4 > TEXT_BYTES) {
        text_write(trace);
    }
    /* The comma stands before, so that a file without its end has none too many. */
    memcpy(trace->text + trace->length, trace->lines > 0 ? ",\n" : "[\n", 2);
    memcpy(trace->text + trace->length + 2, line, length);
    trace->length += 2 + length;
    trace->lines++;
}

/* A line of what the trace says of itself. */
static void about_put(trace_t *trace, const char *name, const char *arguments)
{
    char line[TRACE_LINE_BYTES];
    const int length =
        snprintf(line, sizeof line, "{\"ph\":\"M\",\"pid\":%" PRIu64 ",\"tid\":0,\"name\":\"%s\",\"args\":{%s}}",
                 trace->process, name, arguments);

    if (length > 0 && (size_t)length < sizeof line) {
        line_put(trace, line, (size_t)length);
    }
}

static void clock_put(trace_t *trace)
{
    const trace_clock_t *clock = &trace->clock;
    char arguments[256];

    (void)snprintf(arguments, sizeof arguments,
                   "\"clock\":\"%s\",\"offset_ns\":%" PRId64 ",\"uncertainty_ns\":%" PRId64,
                   clock->shared     ? "the job's"
                   : clock->measured ? "measured against the job's"
                                     : "not measured",
                   clock->offset_ns, clock->uncertainty_ns);
    about_put(trace, "mpinpu_clock", arguments);
    trace->clock_written = true;
}

/* With the lock. */
static void events_write(trace_t *trace, bool last)
{
    char line[TRACE_LINE_BYTES];

    if (!trace->clock_written && (trace->clock.measured || last)) {
        clock_put(trace);
    }
    for (size_t e = 0; e < trace->nevents; e++) {
        const size_t length =
            trace_event_text(&trace->events[e], trace->process, trace->clock.offset_ns, line, sizeof line);
        if (length > 0) {
            line_put(trace, line, length);
        }
    }
    trace->nevents = 0;
    text_write(trace);
}

/* What tells a job from others that wrote to the same folder, and not from those that it spawned: "123-..." of
   PMIX_NAMESPACE, which is a number with the job's own in its lower 16 bits (Open MPI 4), or has it behind an @ (5). */
static void job_key(char key[64])
{
    const char *space = getenv("PMIX_NAMESPACE");
    char *end = NULL;

    key[0] = '\0';
    if (space == NULL) {
        return;
    }
    const unsigned long number = strtoul(space, &end, 10);
    if (*end == '\0') {
        (void)snprintf(key, 64, "%lu", number >> 16);
    } else {
        (void)snprintf(key, 64, "%.*s", (int)strcspn(space, "@"), space);
    }
}

static void head_put(trace_t *trace, const trace_self_t *self)
{
    char host[64] = "";
    char escaped[200];
    char key[64];
    char arguments[512];

    (void)gethostname(host, sizeof host - 1);
    trace_text_escape(host, escaped, sizeof escaped);
    job_key(key);
    (void)snprintf(arguments, sizeof arguments, "\"name\":\"rank %d\"", self->rank);
    if (self->job != 0) {
        (void)snprintf(arguments, sizeof arguments, "\"name\":\"job %lu, rank %d\"", self->job, self->rank);
    }
    about_put(trace, "process_name", arguments);
    (void)snprintf(arguments, sizeof arguments, "\"labels\":\"%s\"", escaped);
    about_put(trace, "process_labels", arguments);
    (void)snprintf(arguments, sizeof arguments, "\"sort_index\":%" PRIu64, trace->process);
    about_put(trace, "process_sort_index", arguments);
    (void)snprintf(arguments, sizeof arguments,
                   "\"rank\":%d,\"ranks\":%d,\"job\":%lu,\"run\":\"%.63s\",\"host\":\"%s\",\"time\":%lld", self->rank,
                   self->size, self->job, key, escaped, (long long)time(NULL));
    about_put(trace, "mpinpu_rank", arguments);
}

static bool file_open(trace_t *trace, const char *folder, const trace_self_t *self)
{
    char job[32] = "";

    if (self->job != 0) {
        (void)snprintf(job, sizeof job, "job%lu-", self->job);
    }
    if (asprintf(&trace->path, "%s/%srank-%d.json", folder, job, self->rank) < 0) {
        trace->path = NULL;
        errno = ENOMEM;
        return false;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        return false;
    }
    trace->file = open(trace->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return trace->file >= 0;
}

static void trace_free(trace_t *trace)
{
    if (trace->file >= 0) {
        (void)close(trace->file);
    }
    pthread_mutex_destroy(&trace->lock);
    free(trace->text);
    free(trace->events);
    free(trace->path);
    free(trace);
}

trace_t *trace_open(const char *folder, const trace_self_t *self)
{
    trace_t *trace = calloc(1, sizeof *trace);

    if (trace == NULL) {
        log_warn("MPINPU_TRACE: no memory for a trace");
        return NULL;
    }
    (void)pthread_mutex_init(&trace->lock, NULL);
    trace->pid = getpid();
    trace->file = -1;
    trace->kept_ns = kept_least_ns;
    trace->process = (uint64_t)self->job * 1000000 + (uint64_t)self->rank;
    trace->events = malloc(EVENTS * sizeof *trace->events);
    trace->text = malloc(TEXT_BYTES);
    errno = ENOMEM;
    if (trace->events == NULL || trace->text == NULL || !file_open(trace, folder, self)) {
        log_line(self->speaks ? LOG_WARN : LOG_INFO, "MPINPU_TRACE=%s: no trace is written: %s: %m", folder,
                 trace->path != NULL ? trace->path : folder);
        trace_free(trace);
        return NULL;
    }
    head_put(trace, self);
    text_write(trace);
    opened = trace;
    return trace;
}

void trace_close(trace_t *trace)
{
    char arguments[64];

    if (trace == NULL) {
        return;
    }
    opened = NULL;
    if (trace->pid == getpid()) {
        events_write(trace, true);
        (void)snprintf(arguments, sizeof arguments, "\"lines\":%" PRIu64, trace->lines);
        about_put(trace, "mpinpu_end", arguments);
        memcpy(trace->text + trace->length, "\n]\n", 3);
        trace->length += 3;
        text_write(trace);
    }
    trace_free(trace);
}

/* The end of a process that does not come to MPI_Finalize, as by exit or MPI_Abort. */
static __attribute__((destructor)) void trace_leave(void)
{
    if (opened != NULL && opened->pid == getpid() && pthread_mutex_trylock(&opened->lock) == 0) {
        events_write(opened, true);
        pthread_mutex_unlock(&opened->lock);
    }
}

static unsigned thread_number(trace_t *trace)
{
    static _Thread_local unsigned number; /* from 1 */

    if (number == 0) {
        number = atomic_fetch_add_explicit(&trace->threads, 1, memory_order_relaxed) + 1;
    }
    return number - 1;
}

void trace_event(trace_t *trace, const trace_event_t *event)
{
    const uint64_t now = event->end_ns > event->begin_ns ? event->end_ns : event->begin_ns;
    const unsigned thread = thread_number(trace);

    if (trace->pid != getpid()) {
        return;
    }
    pthread_mutex_lock(&trace->lock);
    if (trace->file >= 0) {
        trace->events[trace->nevents] = *event;
        trace->events[trace->nevents].thread = thread;
        trace->nevents++;
        if (trace->nevents == EVENTS || now - trace->written_ns >= trace->kept_ns) {
            trace->written_ns = now;
            trace->kept_ns = trace->kept_ns < kept_most_ns / 2 ? 2 * trace->kept_ns : kept_most_ns;
            events_write(trace, false);
        }
    }
    pthread_mutex_unlock(&trace->lock);
}

void trace_flush(trace_t *trace)
{
    pthread_mutex_lock(&trace->lock);
    if (trace->pid == getpid()) {
        events_write(trace, false);
    }
    pthread_mutex_unlock(&trace->lock);
}

uint64_t trace_id(trace_t *trace)
{
    return atomic_fetch_add_explicit(&trace->ids, 1, memory_order_relaxed) + 1;
}

static int64_t clock_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* What each rank tells of the exchanges. */
typedef struct clock_rounds {
    uint64_t host;
    int64_t entered[CLOCK_ROUNDS];
    int64_t left[CLOCK_ROUNDS];
} clock_rounds_t;

/* The clock of rank 0, by what all ranks tell. */
static mpinpu_status_t clock_measure(const engine_exchange_t *exchange, clock_rounds_t *all, trace_clock_t *clock)
{
    clock_rounds_t mine = {.host = transport_host_digest()};
    mpinpu_status_t status = MPINPU_OK;

    for (int r = 0; r < CLOCK_ROUNDS && status == MPINPU_OK; r++) {
        mine.entered[r] = clock_ns();
        status = exchange->agree(exchange->context, MPINPU_OK);
        mine.left[r] = clock_ns();
    }
    if (status == MPINPU_OK) {
        status = exchange->allgather(exchange->context, &mine, all, sizeof mine);
    }
    if (status != MPINPU_OK) {
        return status;
    }
    *clock = trace_clock_estimate(mine.entered, mine.left, all[0].entered, all[0].left, CLOCK_ROUNDS);
    /* In a time namespace the clock of the same host may be another. */
    if (exchange->rank == 0 ||
        (clock->measured && all[0].host == mine.host && clock->offset_ns <= clock->uncertainty_ns &&
         -clock->offset_ns <= clock->uncertainty_ns)) {
        *clock = (trace_clock_t){.measured = true, .shared = true};
    }
    return MPINPU_OK;
}

void trace_clock_align(trace_t *trace, const engine_exchange_t *exchange)
{
    static atomic_bool taken; /* relaxed: the exchange orders the rest */
    trace_clock_t clock = {0};
    clock_rounds_t *all = malloc((size_t)exchange->size * sizeof *all);
    const bool first = !atomic_exchange_explicit(&taken, true, memory_order_relaxed);

    /* Other threads may set up other communicators, on each rank in another order: then this is for a later one. */
    if (exchange->agree(exchange->context, first && all != NULL ? MPINPU_OK : MPINPU_ERR_UNSUPPORTED) != MPINPU_OK) {
        if (first) {
            atomic_store_explicit(&taken, false, memory_order_relaxed);
        }
    } else if (clock_measure(exchange, all, &clock) == MPINPU_OK && trace != NULL) {
        pthread_mutex_lock(&trace->lock);
        trace->clock = clock;
        pthread_mutex_unlock(&trace->lock);
    }
    free(all);
}
