/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong values and unknown names: each is told in one sentence, and the default stands. */
#include "tests/unit/settings_environment.h"

#include <criterion/criterion.h>

#define LIST_MEANING "LIST being numbers from 0 to 63, each once, such as 4,5,6,7"

static const struct complaint_case {
    const char *entry;
    const char *sentence;
} complaint_cases[] = {
    {"MPINPU_ENGINE=npu", "MPINPU_ENGINE=npu is not auto, host, hccl or off; using auto"},
    {"MPINPU_ENGINE=aut", "MPINPU_ENGINE=aut is not auto, host, hccl or off; using auto"},
    {"MPINPU_ENGINE=autos", "MPINPU_ENGINE=autos is not auto, host, hccl or off; using auto"},
    {"MPINPU_ENGINE=auto|host", "MPINPU_ENGINE=auto|host is not auto, host, hccl or off; using auto"},
    {"MPINPU_ENGINE=a\nb", "MPINPU_ENGINE=a?b is not auto, host, hccl or off; using auto"},
    {"MPINPU_REPORT=json:", "MPINPU_REPORT=json: is not off, summary or json:PATH; using off"},
    {"MPINPU_REPORT=json", "MPINPU_REPORT=json is not off, summary or json:PATH; using off"},
    {"MPINPU_REPORT=off:x", "MPINPU_REPORT=off:x is not off, summary or json:PATH; using off"},
    {"MPINPU_DEVICE_MAP=0,1", "MPINPU_DEVICE_MAP=0,1 is not auto or devices:LIST, " LIST_MEANING "; using auto"},
    {"MPINPU_DEVICE_MAP=devices:",
     "MPINPU_DEVICE_MAP=devices: is not auto or devices:LIST, " LIST_MEANING "; using auto"},
    {"MPINPU_DEVICE_MAP=devices",
     "MPINPU_DEVICE_MAP=devices is not auto or devices:LIST, " LIST_MEANING "; using auto"},
    {"MPINPU_DEVICE_MAP=devices:1,",
     "MPINPU_DEVICE_MAP=devices:1, is not auto or devices:LIST, " LIST_MEANING "; using auto"},
    {"MPINPU_DEVICE_MAP=devices:1, 2",
     "MPINPU_DEVICE_MAP=devices:1, 2 is not auto or devices:LIST, " LIST_MEANING "; using auto"},
    {"MPINPU_DEVICE_MAP=devices:2,3,2",
     "MPINPU_DEVICE_MAP=devices:2,3,2 is not auto or devices:LIST, " LIST_MEANING "; using auto"},
    {"MPINPU_DEVICE_MAP=devices:64",
     "MPINPU_DEVICE_MAP=devices:64 is not auto or devices:LIST, " LIST_MEANING "; using auto"},
    {"MPINPU_DEVICE_MAP=devices:0-3",
     "MPINPU_DEVICE_MAP=devices:0-3 is not auto or devices:LIST, " LIST_MEANING "; using auto"},
    {"MPINPU_DEVICE_PROCESSES=9", "MPINPU_DEVICE_PROCESSES=9 is not a number from 1 to 8; using 1"},
    {"MPINPU_HCCL_AFTER=-1", "MPINPU_HCCL_AFTER=-1 is not a number from 0 to 2147483647; using 2"},
    {"MPINPU_FP64=double", "MPINPU_FP64=double is not auto, exact or host; using auto"},
    {"MPINPU_LOG=WARN", "MPINPU_LOG=WARN is not warn, info or debug; using warn"},
    {"MPINPU_WINDOWS=2", "MPINPU_WINDOWS=2 is not on, off, 1, 0, yes, no, true or false; using on"},
    {"MPINPU_REPRODUCIBLE=On", "MPINPU_REPRODUCIBLE=On is not on, off, 1, 0, yes, no, true or false; using off"},
    {"MPINPU_ENGIN=host", "there is no setting MPINPU_ENGIN; did you mean MPINPU_ENGINE?"},
    {"MPINPU_engine=host", "there is no setting MPINPU_engine; did you mean MPINPU_ENGINE?"},
    {"MPINPU_MINBYTE=1", "there is no setting MPINPU_MINBYTE; did you mean MPINPU_MIN_BYTES?"},
    {"MPINPU_WINDOW=on", "there is no setting MPINPU_WINDOW; did you mean MPINPU_WINDOWS?"},
    {"MPINPU_WINDOWBYTES=2M", "there is no setting MPINPU_WINDOWBYTES; did you mean MPINPU_WINDOW_BYTES?"},
    {"MPINPU_COLOUR=red", "there is no setting MPINPU_COLOUR; `mpinpu settings` lists them"},
    {"MPINPU_=1", "there is no setting MPINPU_; `mpinpu settings` lists them"},
    {"MPINPU_ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG=1",
     "there is no setting MPINPU_ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFG; `mpinpu settings` lists them"},
};

static void expect_default(const parsed_t *parsed, const char *entry)
{
    parsed_t plain = PARSE(NULL);

    for (int s = 0; s < SETTING_COUNT; s++) {
        cr_assert_eq(settings_get(&parsed->settings, (setting_t)s), settings_get(&plain.settings, (setting_t)s), "%s",
                     entry);
        cr_assert_str_empty(settings_path(&parsed->settings, (setting_t)s));
        cr_assert_not(parsed->settings.value[s].from_variable, "%s", entry);
    }
}

Test(settings_complaints, sentences)
{
    for (size_t c = 0; c < sizeof complaint_cases / sizeof complaint_cases[0]; c++) {
        const char *entry = complaint_cases[c].entry;
        parsed_t parsed = PARSE(entry);

        cr_assert_eq(parsed.complaints, 1, "%s", entry);
        cr_assert_str_eq(parsed.complaint[0], complaint_cases[c].sentence);
        expect_default(&parsed, entry);
    }
}

/* An empty value is none, whatever the type. */
Test(settings_complaints, empty)
{
    for (int s = 0; s < SETTING_COUNT; s++) {
        char entry[64];

        snprintf(entry, sizeof entry, "%s=", setting_row((setting_t)s)->name);
        parsed_t parsed = PARSE(entry);
        cr_assert_eq(parsed.complaints, 0, "%s", entry);
        expect_default(&parsed, entry);
    }
}

Test(settings_complaints, numbers)
{
    static const char *const wrong[] = {
        "MPINPU_MIN_BYTES=-1",
        "MPINPU_MIN_BYTES=-",
        "MPINPU_MIN_BYTES=K",
        "MPINPU_MIN_BYTES=1KB",
        "MPINPU_MIN_BYTES=1 K",
        "MPINPU_MIN_BYTES= 1",
        "MPINPU_MIN_BYTES=0x10",
        "MPINPU_MIN_BYTES=1.5M",
        "MPINPU_MIN_BYTES=1P",
        "MPINPU_MIN_BYTES=+1",
        "MPINPU_MIN_BYTES=9223372036854775808",
        "MPINPU_MIN_BYTES=8388608T",
    };

    for (size_t c = 0; c < sizeof wrong / sizeof wrong[0]; c++) {
        parsed_t parsed = PARSE(wrong[c]);
        char sentence[128];

        snprintf(sentence, sizeof sentence,
                 "%s is not a number of bytes from 0 up (K, M, G or T may follow it); using 0", wrong[c]);
        cr_assert_eq(parsed.complaints, 1, "%s", wrong[c]);
        cr_assert_str_eq(parsed.complaint[0], sentence);
        expect_default(&parsed, wrong[c]);
    }
}

Test(settings_complaints, range)
{
    static const char *const wrong[] = {"MPINPU_WINDOW_BYTES=0", "MPINPU_WINDOW_BYTES=1048575",
                                        "MPINPU_WINDOW_BYTES=1099511627777", "MPINPU_WINDOW_BYTES=2T"};

    for (size_t c = 0; c < sizeof wrong / sizeof wrong[0]; c++) {
        parsed_t parsed = PARSE(wrong[c]);
        char sentence[128];

        snprintf(sentence, sizeof sentence,
                 "%s is not a number of bytes from 1M to 1T (K, M, G or T may follow it); using 64M", wrong[c]);
        cr_assert_eq(parsed.complaints, 1, "%s", wrong[c]);
        cr_assert_str_eq(parsed.complaint[0], sentence);
        expect_default(&parsed, wrong[c]);
    }
}

/* A path that there is no room for, and one that just fits. */
Test(settings_complaints, long_path)
{
    static char entry[SETTINGS_TEXT_BYTES + 64] = "MPINPU_REPORT=json:";
    size_t head = strlen(entry);

    memset(entry + head, 'p', SETTINGS_TEXT_BYTES - 2);
    parsed_t parsed = PARSE(entry);
    cr_assert_eq(parsed.complaints, 0, "%s", parsed.complaint[0]);
    cr_assert_str_eq(settings_path(&parsed.settings, SETTING_REPORT), entry + head);

    entry[head + SETTINGS_TEXT_BYTES - 2] = 'p';
    parsed = PARSE(entry);
    cr_assert_eq(parsed.complaints, 1);
    cr_assert_not_null(strstr(parsed.complaint[0], " is not off, summary or json:PATH; using off"));
    expect_default(&parsed, "a long path");
}

Test(settings_complaints, each_is_told)
{
    parsed_t parsed = PARSE("MPINPU_LOG=loud", "PATH=/bin", "MPINPU_LOUD=1", "MPINPU_ENGINE=host");

    cr_assert_eq(parsed.complaints, 2);
    cr_assert_eq(settings_get(&parsed.settings, SETTING_ENGINE), SETTING_ENGINE_HOST);
}
