/* SPDX-License-Identifier: BSD-3-Clause */
/* The report, word for word. */
#include "shim/report.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const report_head_t head = {.version = "1.2.3",
                                   .job_size = 4,
                                   .engine = "a \"b\"\\\n",
                                   .windows = "64 MiB",
                                   .setup_ns = 9123456,
                                   .communicators = 1};

/* What a writer writes, for the caller to free. */
static char *written(void (*write)(const report_t *, const report_head_t *, FILE *), const report_t *report)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);

    cr_assert_not_null(out);
    write(report, &head, out);
    fclose(out);
    return text;
}

static report_t *sample(void)
{
    report_t *report = report_new();

    cr_assert_not_null(report);
    report_call(report, REPORT_BLOCKING, COLLECTIVE_ALLREDUCE, DTYPE_F64, 1, REASON_ENGINE, 400);
    report_call(report, REPORT_BLOCKING, COLLECTIVE_ALLREDUCE, DTYPE_F64, 64, REASON_ENGINE, 600);
    report_call(report, REPORT_BLOCKING, COLLECTIVE_ALLREDUCE, DTYPE_F64, 65, REASON_ONE_RANK, 999);
    report_call(report, REPORT_BLOCKING, COLLECTIVE_ALLREDUCE, DTYPE_F64, 1024, REASON_MIN_BYTES, 9996);
    report_call(report, REPORT_BLOCKING, COLLECTIVE_REDUCE_SCATTER, REPORT_NO_DTYPE, 1048577, REASON_USER_OP,
                123456789);
    report_call(report, REPORT_BLOCKING, COLLECTIVE_REDUCE_SCATTER_BLOCK, DTYPE_FLONG_I32, 0, REASON_ZERO_COUNT, 0);
    return report;
}

Test(report_text, table)
{
    report_t *report = sample();
    char *text = written(report_write, report);

    cr_assert_str_eq(text,
                     "mpinpu 1.2.3: the calls of rank 0 of 4\n"
                     "  engine: a \"b\"\\\n; windows: 64 MiB; set-up: 9.12 ms for 1 communicator\n"
                     "  collective                datatype            bytes        calls total bytes  by engine   "
                     " in time     by MPI    "
                     "in time\n"
                     "  allreduce                 float64             1-64             2        65 B          2   "
                     " 1.00 us          0    "
                     "      -\n"
                     "  allreduce                 float64             65-1K            2    1.06 KiB          1   "
                     "  999 ns          1    "
                     "10.0 us\n"
                     "  reduce_scatter            other               >1M              1    1.00 MiB          0   "
                     "       -          1    "
                     " 123 ms\n"
                     "  reduce_scatter_block      long double,int32   0                1         0 B          0   "
                     "       -          1    "
                     "   0 ns\n"
                     "  all                                                            6    1.00 MiB          3   "
                     " 2.00 us          3    "
                     " 123 ms\n"
                     "  done here:\n"
                     "           2  engine\n"
                     "           1  one rank: copied\n"
                     "  left to the host MPI, because of:\n"
                     "           1  zero count\n"
                     "           1  user op\n"
                     "           1  fewer bytes than MPINPU_MIN_BYTES\n");
    free(text);
    report_free(report);
}

Test(report_text, json)
{
    report_t *report = report_new();
    report_call(report, REPORT_BLOCKING, COLLECTIVE_ALLREDUCE, DTYPE_I32, 4, REASON_ENGINE, 250);
    report_call(report, REPORT_BLOCKING, COLLECTIVE_ALLREDUCE, DTYPE_I32, 4, REASON_NO_COMM, 300);
    char *text = written(report_write_json, report);

    cr_assert_str_eq(text, "{\n"
                           "  \"version\": \"1.2.3\",\n"
                           "  \"rank\": 0,\n"
                           "  \"job_size\": 4,\n"
                           "  \"engine\": \"a \\\"b\\\"\\\\\\u000a\",\n"
                           "  \"windows\": \"64 MiB\",\n"
                           "  \"setup_nanoseconds\": 9123456,\n"
                           "  \"communicators\": 1,\n"
                           "  \"rows\": [\n"
                           "    {\"collective\": \"allreduce\", \"datatype\": \"int32\", \"size_class\": \"1-64\", "
                           "\"engine\": {\"calls\": 1, \"bytes\": 4, \"nanoseconds\": 250}, "
                           "\"host_mpi\": {\"calls\": 1, \"bytes\": 4, \"nanoseconds\": 300}}\n"
                           "  ],\n"
                           "  \"reasons\": [\n"
                           "    {\"by\": \"engine\", \"calls\": 1, \"reason\": \"engine\"},\n"
                           "    {\"by\": \"host_mpi\", \"calls\": 1, \"reason\": \"engine not available on this "
                           "communicator\"}\n"
                           "  ]\n"
                           "}\n");
    free(text);
    report_free(report);
}

static void write_with_stages(const report_t *report, const report_head_t *plain, FILE *out,
                              void (*write)(const report_t *, const report_head_t *, FILE *))
{
    report_head_t staged = *plain;

    staged.nstages = 2;
    staged.stages[0] = (report_stage_t){.name = "encode", .nanoseconds = 1234567};
    staged.stages[1] = (report_stage_t){.name = "to device", .nanoseconds = 42};
    write(report, &staged, out);
}

static void table_with_stages(const report_t *report, const report_head_t *plain, FILE *out)
{
    write_with_stages(report, plain, out, report_write);
}

static void json_with_stages(const report_t *report, const report_head_t *plain, FILE *out)
{
    write_with_stages(report, plain, out, report_write_json);
}

Test(report_text, stages_on_the_npus)
{
    report_t *report = sample();
    char *text = written(table_with_stages, report);

    cr_assert_not_null(strstr(text, "  time on the NPUs by stage, several of them at once:\n"
                                    "     1.23 ms  encode\n"
                                    "       42 ns  to device\n"),
                       "%s", text);
    free(text);
    text = written(json_with_stages, report);
    cr_assert_not_null(strstr(text, "  ],\n"
                                    "  \"npu_stages\": [\n"
                                    "    {\"stage\": \"encode\", \"nanoseconds\": 1234567},\n"
                                    "    {\"stage\": \"to device\", \"nanoseconds\": 42}\n"
                                    "  ]\n"
                                    "}\n"),
                       "%s", text);
    free(text);
    report_free(report);
}

Test(report_text, nothing_called)
{
    report_t *report = report_new();
    char *text = written(report_write, report);

    cr_assert_not_null(strstr(text, "  no call of a collective that is intercepted\n"));
    cr_assert_null(strstr(text, "datatype"));
    free(text);
    text = written(report_write_json, report);
    cr_assert_not_null(strstr(text, "\"rows\": [\n  ],\n  \"reasons\": [\n  ]\n}\n"));
    free(text);
    report_free(report);
}

/* Every size falls into the class whose bounds hold it. */
Test(report_text, size_classes)
{
    static const struct bound {
        size_t bytes;
        const char *text;
    } bounds[] = {{0, " 0 "},
                  {1, " 1-64 "},
                  {64, " 1-64 "},
                  {65, " 65-1K "},
                  {1024, " 65-1K "},
                  {1025, " 1K-64K "},
                  {65536, " 1K-64K "},
                  {65537, " 64K-1M "},
                  {1048576, "64K-1M "},
                  {1048577, " >1M "},
                  {(size_t)1 << 34, " >1M "}};

    for (size_t b = 0; b < sizeof bounds / sizeof bounds[0]; b++) {
        report_t *report = report_new();
        report_call(report, REPORT_BLOCKING, COLLECTIVE_ALLREDUCE, DTYPE_U8, bounds[b].bytes, REASON_ENGINE, 1);
        char *text = written(report_write, report);
        cr_assert_not_null(strstr(text, bounds[b].text), "%zu bytes: %s", bounds[b].bytes, text);
        free(text);
        report_free(report);
    }
}

static void *count_thousands(void *report)
{
    for (int i = 0; i < 20000; i++) {
        report_call(report, REPORT_BLOCKING, COLLECTIVE_ALLREDUCE, DTYPE_F32, 4, REASON_ENGINE, 1);
    }
    return NULL;
}

Test(report_text, threads_lose_no_call)
{
    report_t *report = report_new();
    pthread_t threads[4];

    for (int t = 0; t < 4; t++) {
        cr_assert_eq(pthread_create(&threads[t], NULL, count_thousands, report), 0);
    }
    for (int t = 0; t < 4; t++) {
        pthread_join(threads[t], NULL);
    }
    char *text = written(report_write_json, report);
    cr_assert_not_null(strstr(text, "\"engine\": {\"calls\": 80000, \"bytes\": 320000, \"nanoseconds\": 80000}"), "%s",
                       text);
    free(text);
    report_free(report);
}

Test(report_text, file)
{
    report_t *report = sample();
    char path[] = "/tmp/mpinpu-report-XXXXXX";
    char first[2] = "";
    int descriptor = mkstemp(path);

    cr_assert_geq(descriptor, 0);
    cr_assert_eq(report_print(report, &head, path), MPINPU_OK);
    FILE *file = fdopen(descriptor, "r");
    cr_assert_eq(fread(first, 1, 1, file), 1);
    cr_assert_str_eq(first, "{");
    fclose(file);
    remove(path);
    cr_assert_eq(report_print(report, &head, "/nonexistent/folder/report"), MPINPU_ERR_INVALID);
    cr_assert_eq(report_print(report, &head, "/dev/full"), MPINPU_ERR_INVALID);
    report_free(report);
}

/* Each way to call a collective has a name and rows of its own. */
Test(report_text, modes)
{
    static const char *const names[] = {"allreduce",      "reduce_scatter",      "reduce_scatter_block",
                                        "iallreduce",     "ireduce_scatter",     "ireduce_scatter_block",
                                        "allreduce_init", "reduce_scatter_init", "reduce_scatter_block_init"};
    report_t *report = report_new();
    char expected[128];

    cr_assert_not_null(report);
    for (int n = 0; n < 9; n++) {
        for (int call = 0; call <= n; call++) {
            report_call(report, (report_mode_t)(n / 3), (collective_kind_t)(n % 3), DTYPE_F32, 4, REASON_PERSISTENT, 1);
        }
    }
    char *text = written(report_write, report);
    char *json = written(report_write_json, report);
    for (int n = 0; n < 9; n++) {
        snprintf(expected, sizeof expected, "\n  %-25s float32             1-64    %10d %9d B ", names[n], n + 1,
                 4 * (n + 1));
        cr_expect_not_null(strstr(text, expected), "%s in:\n%s", expected, text);
        snprintf(expected, sizeof expected, "\"collective\": \"%s\", \"datatype\": \"float32\"", names[n]);
        cr_expect_not_null(strstr(json, expected), "%s in:\n%s", expected, json);
    }
    cr_expect_not_null(strstr(text, "          45  persistent\n"), "%s", text);
    free(json);
    free(text);
    report_free(report);
}
