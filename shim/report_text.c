/* SPDX-License-Identifier: BSD-3-Clause */
/* The report as a table for people and as JSON for programs. */
#include "shim/report_counts.h"

#include <inttypes.h>

/* A row of the report, read at one moment. */
typedef struct row {
    report_mode_t mode;
    collective_kind_t kind;
    int dtype;
    int size_class;
    uint64_t calls[2]; /* by the engine, by the host MPI */
    uint64_t bytes[2];
    uint64_t nanoseconds[2];
} row_t;

typedef void row_visit_t(const row_t *row, void *context);

static uint64_t read_count(const atomic_uint_least64_t *count)
{
    return atomic_load_explicit(count, memory_order_relaxed); /* relaxed: each count stands for itself */
}

/* Visits the rows that have calls, ordered by mode, collective, datatype and size. */
static void rows_visit(const report_t *report, row_visit_t *visit, void *context)
{
    const int classes = REPORT_CLASS_COUNT;
    const int dtypes = DTYPE_COUNT + 1;

    for (int i = 0; i < REPORT_MODE_COUNT * COLLECTIVE_KIND_COUNT * dtypes * classes; i++) {
        row_t row = {.mode = (report_mode_t)(i / classes / dtypes / COLLECTIVE_KIND_COUNT),
                     .kind = (collective_kind_t)(i / classes / dtypes % COLLECTIVE_KIND_COUNT),
                     .dtype = i / classes % dtypes,
                     .size_class = i % classes};
        for (int by = 0; by < 2; by++) {
            const report_count_t *count = &report->row[row.mode][row.kind][row.dtype][row.size_class][by];
            row.calls[by] = read_count(&count->calls);
            row.bytes[by] = read_count(&count->bytes);
            row.nanoseconds[by] = read_count(&count->nanoseconds);
        }
        if (row.calls[0] + row.calls[1] > 0) {
            visit(&row, context);
        }
    }
}

const char *report_function(report_mode_t mode, collective_kind_t kind)
{
    static const char *const names[REPORT_MODE_COUNT][COLLECTIVE_KIND_COUNT] = {
        [REPORT_BLOCKING] = {"MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block"},
        [REPORT_NONBLOCKING] = {"MPI_Iallreduce", "MPI_Ireduce_scatter", "MPI_Ireduce_scatter_block"},
        [REPORT_PERSISTENT] = {"MPI_Allreduce_init", "MPI_Reduce_scatter_init", "MPI_Reduce_scatter_block_init"}};

    return names[mode][kind];
}

/* The collective as its function is called: "allreduce", "iallreduce", "allreduce_init". */
static void row_name(const row_t *row, char name[32])
{
    static const struct {
        const char *head;
        const char *tail;
    } modes[REPORT_MODE_COUNT] = {
        [REPORT_BLOCKING] = {"", ""}, [REPORT_NONBLOCKING] = {"i", ""}, [REPORT_PERSISTENT] = {"", "_init"}};

    (void)snprintf(name, 32, "%s%s%s", modes[row->mode].head, collective_kind_name(row->kind), modes[row->mode].tail);
}

static const char *row_dtype_name(const row_t *row)
{
    return row->dtype == REPORT_NO_DTYPE ? "other" : dtype_name((dtype_t)row->dtype);
}

static void row_add(const row_t *row, void *context)
{
    row_t *total = context;

    for (int by = 0; by < 2; by++) {
        total->calls[by] += row->calls[by];
        total->bytes[by] += row->bytes[by];
        total->nanoseconds[by] += row->nanoseconds[by];
    }
}

/* Three figures and a unit: "1.25 us", "830 ms". */
static void time_text(uint64_t nanoseconds, char text[16])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    double value = (double)nanoseconds;
    int unit = 0;

    while (unit < 3 && value >= 999.5) {
        value /= 1000;
        unit++;
    }
    int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, 16, "%.*f %s", digits, value, units[unit]);
}

/* Three figures and a unit, "1.25 MiB"; bytes below a kibibyte as they are. */
static void bytes_text(uint64_t bytes, char text[16])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    int unit = 0;

    while (unit < 5 && value >= (unit == 0 ? 1024 : 999.5)) {
        value /= 1024;
        unit++;
    }
    int digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(text, 16, "%.*f %s", digits, value, units[unit]);
}

static void columns_write(const row_t *row, FILE *out)
{
    char time[2][16];
    char bytes[16];

    bytes_text(row->bytes[0] + row->bytes[1], bytes);

    for (int by = 0; by < 2; by++) {
        time_text(row->nanoseconds[by], time[by]);
    }
    fprintf(out, " %10" PRIu64 " %11s %10" PRIu64 " %10s %10" PRIu64 " %10s\n", row->calls[0] + row->calls[1], bytes,
            row->calls[0], row->calls[0] > 0 ? time[0] : "-", row->calls[1], row->calls[1] > 0 ? time[1] : "-");
}

static void row_write(const row_t *row, void *context)
{
    FILE *out = context;
    char name[32];

    row_name(row, name);
    fprintf(out, "  %-25s %-19s %-7s", name, row_dtype_name(row), report_class_text(row->size_class));
    columns_write(row, out);
}

/* The reasons of one side that have calls, a line each. */
static void reasons_write(const report_t *report, bool host, const char *heading, FILE *out)
{
    bool headed = false;

    for (int r = 0; r < REASON_COUNT; r++) {
        uint64_t calls = read_count(&report->reason[r]);
        if (calls > 0 && reason_is_host((reason_t)r) == host) {
            fprintf(out, "%s  %10" PRIu64 "  %s\n", headed ? "" : heading, calls, reason_text((reason_t)r));
            headed = true;
        }
    }
}

void report_write(const report_t *report, const report_head_t *head, FILE *out)
{
    row_t total = {0};
    char setup[16];

    rows_visit(report, row_add, &total);
    time_text(head->setup_ns, setup);
    fprintf(out, "mpinpu %s: the calls of rank 0 of %d\n", head->version, head->job_size);
    fprintf(out, "  engine: %s; windows: %s; set-up: %s for %" PRIu64 " communicator%s\n", head->engine, head->windows,
            setup, head->communicators, head->communicators == 1 ? "" : "s");
    if (total.calls[0] + total.calls[1] == 0) {
        fprintf(out, "  no call of a collective that is intercepted\n");
        return;
    }
    fprintf(out, "  %-25s %-19s %-7s %10s %11s %10s %10s %10s %10s\n", "collective", "datatype", "bytes", "calls",
            "total bytes", "by engine", "in time", "by MPI", "in time");
    rows_visit(report, row_write, out);
    fprintf(out, "  %-25s %-19s %-7s", "all", "", "");
    columns_write(&total, out);
    reasons_write(report, false, "  done here:\n", out);
    reasons_write(report, true, "  left to the host MPI, because of:\n", out);
    for (unsigned s = 0; s < head->nstages; s++) {
        char time[16];
        time_text(head->stages[s].nanoseconds, time);
        fprintf(out, "%s  %10s  %s\n", s == 0 ? "  time on the NPUs by stage, several of them at once:\n" : "", time,
                head->stages[s].name);
    }
}

static void json_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char letter = (unsigned char)*text;
        if (letter < 0x20 || letter == 0x7f) {
            fprintf(out, "\\u%04x", (unsigned)letter);
        } else {
            fprintf(out, letter == '"' || letter == '\\' ? "\\%c" : "%c", letter);
        }
    }
    fputc('"', out);
}

typedef struct json {
    FILE *out;
    const char *separator; /* before the next element */
} json_t;

static void json_row_write(const row_t *row, void *context)
{
    static const char *const sides[] = {"engine", "host_mpi"};
    json_t *json = context;
    char name[32];

    row_name(row, name);
    fprintf(json->out, "%s    {\"collective\": \"%s\", \"datatype\": \"%s\", \"size_class\": \"%s\"", json->separator,
            name, row_dtype_name(row), report_class_text(row->size_class));
    for (int by = 0; by < 2; by++) {
        fprintf(json->out, ", \"%s\": {\"calls\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"nanoseconds\": %" PRIu64 "}",
                sides[by], row->calls[by], row->bytes[by], row->nanoseconds[by]);
    }
    fputc('}', json->out);
    json->separator = ",\n";
}

void report_write_json(const report_t *report, const report_head_t *head, FILE *out)
{
    json_t rows = {.out = out, .separator = "\n"};
    const char *separator = "\n";

    fprintf(out, "{\n  \"version\": ");
    json_text(head->version, out);
    fprintf(out, ",\n  \"rank\": 0,\n  \"job_size\": %d,\n  \"engine\": ", head->job_size);
    json_text(head->engine, out);
    fprintf(out, ",\n  \"windows\": ");
    json_text(head->windows, out);
    fprintf(out, ",\n  \"setup_nanoseconds\": %" PRIu64 ",\n  \"communicators\": %" PRIu64 ",\n  \"rows\": [",
            head->setup_ns, head->communicators);
    rows_visit(report, json_row_write, &rows);
    fprintf(out, "\n  ],\n  \"reasons\": [");
    for (int r = 0; r < REASON_COUNT; r++) {
        uint64_t calls = read_count(&report->reason[r]);
        if (calls > 0) {
            fprintf(out, "%s    {\"by\": \"%s\", \"calls\": %" PRIu64 ", \"reason\": ", separator,
                    reason_is_host((reason_t)r) ? "host_mpi" : "engine", calls);
            json_text(reason_text((reason_t)r), out);
            fputc('}', out);
            separator = ",\n";
        }
    }
    fprintf(out, "\n  ]");
    for (unsigned s = 0; s < head->nstages; s++) {
        fprintf(out, "%s    {\"stage\": ", s == 0 ? ",\n  \"npu_stages\": [\n" : ",\n");
        json_text(head->stages[s].name, out);
        fprintf(out, ", \"nanoseconds\": %" PRIu64 "}%s", head->stages[s].nanoseconds,
                s + 1 == head->nstages ? "\n  ]" : "");
    }
    fprintf(out, "\n}\n");
}
