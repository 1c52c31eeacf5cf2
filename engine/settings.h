/* SPDX-License-Identifier: BSD-3-Clause */
/* The settings: environment variables MPINPU_*, defined in one table (settings.def) from which the parser, the
   comparison among ranks, the help texts and docs/settings.md are made. */
#ifndef ENGINE_SETTINGS_H
#define ENGINE_SETTINGS_H

#include "engine/engine.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* SETTING_ENGINE, SETTING_REPORT, ... */
typedef enum setting {
#define SETTING(NAME, TYPE, initial, least, most, words, compared, help) SETTING_##NAME,
#include "engine/settings.def"
#undef SETTING
    SETTING_COUNT
} setting_t;

/* What settings_get returns for the settings of type CHOICE: the place of the word in the row. */
enum { SETTING_ENGINE_AUTO, SETTING_ENGINE_HOST, SETTING_ENGINE_HCCL, SETTING_ENGINE_OFF };
enum { SETTING_REPORT_OFF, SETTING_REPORT_SUMMARY, SETTING_REPORT_JSON };
enum { SETTING_PROGRESS_AUTO, SETTING_PROGRESS_ON, SETTING_PROGRESS_OFF };
enum { SETTING_PROGRESS_CPUS_AUTO, SETTING_PROGRESS_CPUS_RANGES };
enum { SETTING_DEVICE_MAP_AUTO, SETTING_DEVICE_MAP_DEVICES };
/* BYTES whose row has a word: that was given. */
enum { SETTING_BYTES_AUTO = -1 };
enum { SETTING_ZEROCOPY_AUTO, SETTING_ZEROCOPY_ON, SETTING_ZEROCOPY_OFF };
enum { SETTING_FP64_AUTO, SETTING_FP64_EXACT, SETTING_FP64_HOST };
enum { SETTING_LOG_WARN, SETTING_LOG_INFO, SETTING_LOG_DEBUG }; /* as log_level_t */

typedef enum setting_type {
    SETTING_TYPE_CHOICE,
    SETTING_TYPE_BOOLEAN,
    SETTING_TYPE_INTEGER,
    SETTING_TYPE_BYTES,
    SETTING_TYPE_PATH
} setting_type_t;

/* A row of the table. All texts are static. */
typedef struct setting_row {
    const char *name; /* of the environment variable */
    setting_type_t type;
    const char *initial; /* the default, as a user would write it */
    int64_t least;       /* INTEGER, BYTES */
    int64_t most;
    const char *words; /* CHOICE: separated by |; a text follows the colon of one such as json:PATH, a list of device
                          numbers that of one such as devices:LIST. BYTES: "", or a
                          word that may stand for the number */
    bool compared;     /* ranks must agree on it */
    const char *help;  /* full sentences */
} setting_row_t;

enum { SETTINGS_TEXT_BYTES = 4096 };

/* The values of this process. A plain value: copy it at will. */
typedef struct settings {
    struct setting_value {
        int64_t number;     /* place of the word, 0 or 1, the integer, the bytes */
        uint16_t text;      /* where in `text` what follows the word of a CHOICE begins; 0: none */
        bool from_variable; /* set by the environment variable, not the default */
    } value[SETTING_COUNT];
    char text[SETTINGS_TEXT_BYTES];
} settings_t;

/* Receives one sentence, without a newline, about a value or a name that is wrong. */
typedef void settings_complaint_t(void *context, const char *sentence);

/* Reads the settings from `environment`, an array as environ. An empty value counts as none. A wrong value leaves the
   default; it, and each variable MPINPU_* that no row defines, is told to `complain` with what is allowed or meant.
   Pure; any thread. */
void settings_parse(settings_t *settings, char *const *environment, settings_complaint_t *complain, void *context);

/* Reads the settings of this process; complaints go to the log if this process speaks for its job (engine/job.h). */
void settings_load(settings_t *settings);

/* A value: the place of the word (SETTING_ENGINE_AUTO, ...), 0 or 1, the integer, or the bytes. */
static inline int64_t settings_get(const settings_t *settings, setting_t setting)
{
    return settings->value[setting].number;
}

/* The text that followed a word such as json:, or of a PATH; "" without one. Lives as long as `settings`. */
static inline const char *settings_path(const settings_t *settings, setting_t setting)
{
    return settings->text + settings->value[setting].text;
}

/* What the ranks of a communicator must have alike, in the form that an engine compares. */
engine_compared_t settings_compared(const settings_t *settings);

/* The row of a setting. */
const setting_row_t *setting_row(setting_t setting);

/* The value as a user would write it ("64M", "json:/tmp/x"), and what is allowed ("auto, host or off", "1M to 1T").
   Cut off at `bytes`. */
void settings_value_text(const settings_t *settings, setting_t setting, char *text, size_t bytes);
void setting_allowed_text(setting_t setting, char *text, size_t bytes);

#endif
