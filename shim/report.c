/* SPDX-License-Identifier: BSD-3-Clause */
/* The counts of the report. report_text.c writes them. */
#include "shim/report.h"

#include "shim/report_counts.h"
#include "transport/log.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

typedef enum answered_by { BY_ENGINE, BY_HOST } answered_by_t;

static const struct reason_row {
    answered_by_t by;
    const char *text;
} reasons[REASON_COUNT] = {
#define REASON(NAME, by, text) {BY_##by, text},
#include "shim/reasons.def"
#undef REASON
};

/* The largest call of each size class but the last. */
static const size_t class_most[REPORT_CLASS_COUNT - 1] = {0, 64, 1 << 10, 64 << 10, 1 << 20};
static const char *const class_texts[REPORT_CLASS_COUNT] = {"0", "1-64", "65-1K", "1K-64K", "64K-1M", ">1M"};

const char *reason_text(reason_t reason)
{
    return reasons[reason].text;
}

bool reason_is_host(reason_t reason)
{
    return reasons[reason].by == BY_HOST;
}

const char *report_class_text(int size_class)
{
    return class_texts[size_class];
}

report_t *report_new(void)
{
    return calloc(1, sizeof(report_t));
}

void report_free(report_t *report)
{
    free(report);
}

/* Relaxed: the counts order nothing, and each is read on its own. */
static void add(atomic_uint_least64_t *count, uint64_t amount)
{
    atomic_fetch_add_explicit(count, amount, memory_order_relaxed);
}

void report_call(report_t *report, report_mode_t mode, collective_kind_t kind, int dtype, size_t bytes, reason_t reason,
                 uint64_t nanoseconds)
{
    int size_class = 0;

    while (size_class < REPORT_CLASS_COUNT - 1 && bytes > class_most[size_class]) {
        size_class++;
    }
    report_count_t *count = &report->row[mode][kind][dtype][size_class][reason_is_host(reason)];
    add(&count->calls, 1);
    add(&count->bytes, bytes);
    add(&count->nanoseconds, nanoseconds);
    add(&report->reason[reason], 1);
}

/* The table goes out in one piece, so that what other ranks print does not break it. */
static mpinpu_status_t table_print(const report_t *report, const report_head_t *head)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *memory = open_memstream(&text, &bytes);

    if (memory == NULL) {
        log_warn("the report is not printed: %m");
        return MPINPU_ERR_NO_MEMORY;
    }
    report_write(report, head, memory);
    if (fclose(memory) != 0) {
        log_warn("the report is not printed: %m");
        free(text);
        return MPINPU_ERR_NO_MEMORY;
    }
    for (size_t done = 0; done < bytes;) {
        ssize_t written = write(STDERR_FILENO, text + done, bytes - done);
        if (written < 0 && errno != EINTR) {
            break; /* stderr is closed: there is no one to tell */
        }
        done += written > 0 ? (size_t)written : 0;
    }
    free(text);
    return MPINPU_OK;
}

mpinpu_status_t report_print(const report_t *report, const report_head_t *head, const char *json_path)
{
    if (json_path == NULL) {
        return table_print(report, head);
    }
    FILE *file = fopen(json_path, "we");
    if (file == NULL) {
        log_warn("MPINPU_REPORT=json:%s: the report is not written: %m", json_path);
        return MPINPU_ERR_INVALID;
    }
    report_write_json(report, head, file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        log_warn("MPINPU_REPORT=json:%s: the report is not written whole: %m", json_path);
        return MPINPU_ERR_INVALID;
    }
    return MPINPU_OK;
}
