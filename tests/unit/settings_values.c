/* SPDX-License-Identifier: BSD-3-Clause */
/* Values that are allowed, what they come to, and how they are printed. */
#include "tests/unit/settings_environment.h"

#include <criterion/criterion.h>

Test(settings_values, defaults)
{
    parsed_t parsed = PARSE("HOME=/root", "MPINPU", "XMPINPU_ENGINE=off");

    cr_assert_eq(parsed.complaints, 0, "%s", parsed.complaint[0]);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_ENGINE), SETTING_ENGINE_AUTO);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_REPORT), SETTING_REPORT_OFF);
    cr_assert_str_empty(settings_path(&parsed.settings, SETTING_REPORT));
    cr_assert_eq(settings_get(&parsed.settings, SETTING_LOG), SETTING_LOG_WARN);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_MIN_BYTES), 0);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_WINDOWS), 1);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_WINDOW_BYTES), 67108864);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_REPRODUCIBLE), 0);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_DEVICE_MAP), SETTING_DEVICE_MAP_AUTO);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_DEVICE_PROCESSES), 1);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_HCCL_AFTER), 2);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_HCCL_MIN_BYTES), SETTING_BYTES_AUTO);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_HCCL_CHUNK_BYTES), 0);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_HCCL_DEPTH), 0);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_FP64), SETTING_FP64_AUTO);
    for (int s = 0; s < SETTING_COUNT; s++) {
        cr_assert_not(parsed.settings.value[s].from_variable);
    }
}

/* Each text, what it comes to, and how it is printed again. */
static const struct value_case {
    setting_t setting;
    const char *entry;
    int64_t number;
    const char *printed;
} value_cases[] = {
    {SETTING_ENGINE, "MPINPU_ENGINE=auto", SETTING_ENGINE_AUTO, "auto"},
    {SETTING_ENGINE, "MPINPU_ENGINE=host", SETTING_ENGINE_HOST, "host"},
    {SETTING_ENGINE, "MPINPU_ENGINE=hccl", SETTING_ENGINE_HCCL, "hccl"},
    {SETTING_ENGINE, "MPINPU_ENGINE=off", SETTING_ENGINE_OFF, "off"},
    {SETTING_REPORT, "MPINPU_REPORT=off", SETTING_REPORT_OFF, "off"},
    {SETTING_REPORT, "MPINPU_REPORT=summary", SETTING_REPORT_SUMMARY, "summary"},
    {SETTING_REPORT, "MPINPU_REPORT=json:/tmp/a b:c|d", SETTING_REPORT_JSON, "json:/tmp/a b:c|d"},
    {SETTING_LOG, "MPINPU_LOG=warn", 0, "warn"},
    {SETTING_LOG, "MPINPU_LOG=info", 1, "info"},
    {SETTING_LOG, "MPINPU_LOG=debug", 2, "debug"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=0", 0, "0"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=1", 1, "1"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=1500", 1500, "1500"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=007", 7, "7"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=4k", 4096, "4K"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=4096", 4096, "4K"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=3G", INT64_C(3221225472), "3G"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=8191T", INT64_C(9006099743113216), "8191T"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=8388607T", INT64_C(9223370937343148032), "8388607T"},
    {SETTING_MIN_BYTES, "MPINPU_MIN_BYTES=9223372036854775807", INT64_MAX, "9223372036854775807"},
    {SETTING_WINDOWS, "MPINPU_WINDOWS=on", 1, "on"},
    {SETTING_WINDOWS, "MPINPU_WINDOWS=off", 0, "off"},
    {SETTING_WINDOWS, "MPINPU_WINDOWS=1", 1, "on"},
    {SETTING_WINDOWS, "MPINPU_WINDOWS=0", 0, "off"},
    {SETTING_WINDOW_BYTES, "MPINPU_WINDOW_BYTES=1M", 1048576, "1M"},
    {SETTING_WINDOW_BYTES, "MPINPU_WINDOW_BYTES=1048577", 1048577, "1048577"},
    {SETTING_WINDOW_BYTES, "MPINPU_WINDOW_BYTES=1T", INT64_C(1099511627776), "1T"},
    {SETTING_REPRODUCIBLE, "MPINPU_REPRODUCIBLE=1", 1, "on"},
    {SETTING_REPRODUCIBLE, "MPINPU_REPRODUCIBLE=no", 0, "off"},
    {SETTING_DEVICE_MAP, "MPINPU_DEVICE_MAP=auto", SETTING_DEVICE_MAP_AUTO, "auto"},
    {SETTING_DEVICE_MAP, "MPINPU_DEVICE_MAP=devices:4,5,6,7", SETTING_DEVICE_MAP_DEVICES, "devices:4,5,6,7"},
    {SETTING_DEVICE_PROCESSES, "MPINPU_DEVICE_PROCESSES=8", 8, "8"},
    {SETTING_HCCL_AFTER, "MPINPU_HCCL_AFTER=0", 0, "0"},
    {SETTING_HCCL_AFTER, "MPINPU_HCCL_AFTER=2147483647", 2147483647, "2147483647"},
    {SETTING_HCCL_MIN_BYTES, "MPINPU_HCCL_MIN_BYTES=auto", SETTING_BYTES_AUTO, "auto"},
    {SETTING_HCCL_MIN_BYTES, "MPINPU_HCCL_MIN_BYTES=0", 0, "0"},
    {SETTING_HCCL_CHUNK_BYTES, "MPINPU_HCCL_CHUNK_BYTES=4M", 4194304, "4M"},
    {SETTING_HCCL_DEPTH, "MPINPU_HCCL_DEPTH=3", 3, "3"},
    {SETTING_TRACE, "MPINPU_TRACE=/tmp/a trace", 0, "/tmp/a trace"},
    {SETTING_STALL_S, "MPINPU_STALL_S=0", 0, "0"},
    {SETTING_FP64, "MPINPU_FP64=auto", SETTING_FP64_AUTO, "auto"},
    {SETTING_FP64, "MPINPU_FP64=exact", SETTING_FP64_EXACT, "exact"},
    {SETTING_FP64, "MPINPU_FP64=host", SETTING_FP64_HOST, "host"},
};

Test(settings_values, allowed)
{
    for (size_t c = 0; c < sizeof value_cases / sizeof value_cases[0]; c++) {
        const struct value_case *value = &value_cases[c];
        parsed_t parsed = PARSE(value->entry);
        char printed[64];

        cr_assert_eq(parsed.complaints, 0, "%s: %s", value->entry, parsed.complaint[0]);
        cr_assert_eq(settings_get(&parsed.settings, value->setting), value->number, "%s", value->entry);
        cr_assert(parsed.settings.value[value->setting].from_variable);
        settings_value_text(&parsed.settings, value->setting, printed, sizeof printed);
        cr_assert_str_eq(printed, value->printed);
        for (int s = 0; s < SETTING_COUNT; s++) {
            cr_assert(s == (int)value->setting || !parsed.settings.value[s].from_variable, "%s", value->entry);
        }
    }
}

Test(settings_values, path_is_kept_in_a_copy)
{
    char entry[] = "MPINPU_REPORT=json:/tmp/report";
    parsed_t parsed = PARSE(entry);
    settings_t copy = parsed.settings;

    memset(entry, 'x', sizeof entry - 1);
    memset(&parsed, 'y', sizeof parsed);
    cr_assert_str_eq(settings_path(&copy, SETTING_REPORT), "/tmp/report");
}

Test(settings_values, first_entry_of_a_name_counts)
{
    parsed_t parsed = PARSE("MPINPU_ENGINE=host", "MPINPU_ENGINE=off");

    cr_assert_eq(settings_get(&parsed.settings, SETTING_ENGINE), SETTING_ENGINE_HOST);
    cr_assert_eq(parsed.complaints, 0);
}

Test(settings_values, compared_among_ranks)
{
    static const char *const names[] = {"MPINPU_ENGINE",           "MPINPU_MIN_BYTES",  "MPINPU_WINDOWS",
                                        "MPINPU_WINDOW_BYTES",     "MPINPU_ZEROCOPY",   "MPINPU_REPRODUCIBLE",
                                        "MPINPU_DEVICE_PROCESSES", "MPINPU_HCCL_AFTER", "MPINPU_HCCL_MIN_BYTES",
                                        "MPINPU_HCCL_CHUNK_BYTES", "MPINPU_HCCL_DEPTH", "MPINPU_FP64"};
    parsed_t parsed =
        PARSE("MPINPU_ENGINE=host", "MPINPU_MIN_BYTES=9", "MPINPU_WINDOWS=off", "MPINPU_LOG=debug",
              "MPINPU_WINDOW_BYTES=2M", "MPINPU_ZEROCOPY=off", "MPINPU_REPRODUCIBLE=1", "MPINPU_REPORT=summary",
              "MPINPU_DEVICE_MAP=devices:3", "MPINPU_DEVICE_PROCESSES=2", "MPINPU_HCCL_AFTER=5",
              "MPINPU_HCCL_CHUNK_BYTES=1M", "MPINPU_HCCL_DEPTH=7", "MPINPU_HCCL_MIN_BYTES=3M", "MPINPU_FP64=host");
    engine_compared_t compared = settings_compared(&parsed.settings);
    const int64_t values[] = {SETTING_ENGINE_HOST, 9, 0, 2097152, SETTING_ZEROCOPY_OFF, 1, 2, 5, 3145728, 1048576, 7,
                              SETTING_FP64_HOST};

    cr_assert_eq(compared.count, 12);
    for (unsigned i = 0; i < compared.count; i++) {
        cr_assert_str_eq(compared.names[i], names[i]);
        cr_assert_eq(compared.values[i], values[i], "%s", names[i]);
    }
}
