/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/settings.h"

#include "engine/hccl/environment.h"
#include "engine/job.h"
#include "transport/log.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PREFIX       "MPINPU_"
#define PREFIX_BYTES (sizeof PREFIX - 1)

enum { COMPARED_YES = true, COMPARED_NO = false };

static const setting_row_t rows[SETTING_COUNT] = {
#define SETTING(NAME, TYPE, initial, least, most, words, compared, help) \
    {PREFIX #NAME, SETTING_TYPE_##TYPE, initial, least, most, words, COMPARED_##compared, help},
#include "engine/settings.def"
#undef SETTING
};

static const char *const compared_names[] = {
#define COMPARED_NAME_YES(NAME) PREFIX #NAME,
#define COMPARED_NAME_NO(NAME)
#define SETTING(NAME, TYPE, initial, least, most, words, compared, help) COMPARED_NAME_##compared(NAME)
#include "engine/settings.def"
#undef SETTING
};
enum { COMPARED_COUNT = sizeof compared_names / sizeof compared_names[0] };
_Static_assert((int)COMPARED_COUNT <= (int)ENGINE_COMPARED_MAX, "engine_compared_t is too small for the table");

/* What BOOLEAN takes: the first two are how it is written. */
static const char *const booleans[] = {"off", "on", "0", "1", "no", "yes", "false", "true"};

/* The words of a row, one after another. */
typedef struct word {
    const char *text;
    size_t bytes;    /* up to and with its colon, if it has one */
    bool takes_path; /* it has */
    bool takes_list; /* of devices */
} word_t;

/* The word behind *rest, which moves on; false at the end. */
static bool word_next(const char **rest, word_t *word)
{
    size_t bytes = strcspn(*rest, "|");

    if (bytes == 0) {
        return false;
    }
    const char *colon = memchr(*rest, ':', bytes);
    *word = (word_t){.text = *rest,
                     .bytes = colon == NULL ? bytes : (size_t)(colon + 1 - *rest),
                     .takes_path = colon != NULL,
                     .takes_list = colon != NULL && strncmp(colon, ":LIST", 5) == 0};
    *rest += bytes + ((*rest)[bytes] == '|');
    return true;
}

/* Keeps a path behind those that are there (*used bytes; the first byte is the empty text). */
static bool path_keep(settings_t *settings, setting_t setting, const char *path, size_t *used)
{
    size_t bytes = strlen(path) + 1;

    if (bytes == 1 || bytes > sizeof settings->text - *used) {
        return false;
    }
    memcpy(settings->text + *used, path, bytes);
    settings->value[setting].text = (uint16_t)*used;
    *used += bytes;
    return true;
}

static bool choice_parse(settings_t *settings, setting_t setting, const char *text, size_t *used)
{
    const char *rest = rows[setting].words;
    uint8_t devices[ATLAS_DEVICES_MAX];
    word_t word;

    for (int64_t number = 0; word_next(&rest, &word); number++) {
        if (strncmp(text, word.text, word.bytes) != 0) {
            continue;
        }
        if (word.takes_list && hccl_device_list(text + word.bytes, false, devices) == 0) {
            return false;
        }
        if (word.takes_path ? path_keep(settings, setting, text + word.bytes, used) : text[word.bytes] == '\0') {
            settings->value[setting].number = number;
            return true;
        }
    }
    return false;
}

static bool boolean_parse(const char *text, int64_t *number)
{
    for (size_t b = 0; b < sizeof booleans / sizeof booleans[0]; b++) {
        if (strcmp(text, booleans[b]) == 0) {
            *number = (int64_t)(b % 2);
            return true;
        }
    }
    return false;
}

/* Digits, and behind them for BYTES one of K M G T. */
static bool integer_parse(const setting_row_t *row, const char *text, int64_t *number)
{
    static const char suffixes[] = "KMGT";
    bool negative = text[0] == '-';
    const char *digit = text + negative;
    int64_t value = 0;

    if (!isdigit((unsigned char)*digit)) {
        return false;
    }
    for (; isdigit((unsigned char)*digit); digit++) {
        int figure = *digit - '0';
        if (value > (INT64_MAX - figure) / 10) {
            return false;
        }
        value = value * 10 + figure;
    }
    if (*digit != '\0' && row->type == SETTING_TYPE_BYTES) {
        const char *suffix = strchr(suffixes, toupper((unsigned char)*digit));
        int shift = suffix == NULL ? 0 : 10 * (int)(suffix - suffixes + 1);
        if (suffix == NULL || value > INT64_MAX >> shift) {
            return false;
        }
        value <<= shift;
        digit++;
    }
    value = negative ? -value : value;
    if (*digit != '\0' || value < row->least || value > row->most) {
        return false;
    }
    *number = value;
    return true;
}

static bool value_parse(settings_t *settings, setting_t setting, const char *text, size_t *used)
{
    int64_t *number = &settings->value[setting].number;

    switch (rows[setting].type) {
    case SETTING_TYPE_CHOICE:
        return choice_parse(settings, setting, text, used);
    case SETTING_TYPE_BOOLEAN:
        return boolean_parse(text, number);
    case SETTING_TYPE_INTEGER:
    case SETTING_TYPE_BYTES:
        if (rows[setting].words[0] != '\0' && strcmp(text, rows[setting].words) == 0) {
            *number = SETTING_BYTES_AUTO;
            return true;
        }
        return integer_parse(&rows[setting], text, number);
    case SETTING_TYPE_PATH:
        return text[0] == '\0' || path_keep(settings, setting, text, used);
    }
    return false;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How many letters must be inserted, taken out or changed to make one name of the other (Levenshtein); names of more
   than 31 letters count as far apart. */
static size_t name_distance(const char *a, const char *b)
{
    size_t a_bytes = strlen(a);
    size_t b_bytes = strlen(b);
    size_t row[32]; /* row[j]: distance of what was read of a from the first j letters of b */

    if (a_bytes > 31 || b_bytes > 31) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b_bytes; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_bytes; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_bytes; j++) {
            size_t changed = diagonal + (toupper((unsigned char)a[i - 1]) != b[j - 1]);
            diagonal = row[j];
            row[j] = least(changed, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[b_bytes];
}

/* The row nearest to a name without its prefix, or NULL where none is near enough to be meant. */
static const setting_row_t *row_near(const char *name)
{
    const setting_row_t *nearest = NULL;
    size_t distance = 4; /* three slips are a typo, more are another word */

    for (int s = 0; s < SETTING_COUNT; s++) {
        const char *known = rows[s].name + PREFIX_BYTES;
        size_t this_distance = name_distance(name, known);
        if (this_distance < distance && this_distance < strlen(known) / 2 + 1) {
            nearest = &rows[s];
            distance = this_distance;
        }
    }
    return nearest;
}

/* The setting that an entry of the environment ("NAME=value") sets, or SETTING_COUNT. */
static int setting_find(const char *entry, size_t name_bytes)
{
    int s = 0;

    while (s < SETTING_COUNT && (strlen(rows[s].name) != name_bytes || strncmp(entry, rows[s].name, name_bytes) != 0)) {
        s++;
    }
    return s;
}

/* Copies what fits; a letter that would break the line becomes a question mark. */
static void line_copy(char *line, size_t line_bytes, const char *text, size_t text_bytes)
{
    size_t bytes = least(text_bytes, line_bytes - 1);

    for (size_t i = 0; i < bytes; i++) {
        line[i] = '?';
        if (!iscntrl((unsigned char)text[i])) {
            line[i] = text[i];
        }
    }
    line[bytes] = '\0';
}

static void unknown_complain(const char *entry, size_t name_bytes, settings_complaint_t *complain, void *context)
{
    char name[64];
    char sentence[256];

    line_copy(name, sizeof name, entry, name_bytes);
    const setting_row_t *near = row_near(name + PREFIX_BYTES);
    if (near != NULL) {
        snprintf(sentence, sizeof sentence, "there is no setting %s; did you mean %s?", name, near->name);
    } else {
        snprintf(sentence, sizeof sentence, "there is no setting %s; `mpinpu settings` lists them", name);
    }
    complain(context, sentence);
}

static void value_complain(setting_t setting, const char *value, settings_complaint_t *complain, void *context)
{
    char allowed[160];
    char shown[256];
    char sentence[640];

    setting_allowed_text(setting, allowed, sizeof allowed);
    line_copy(shown, sizeof shown, value, strlen(value));
    snprintf(sentence, sizeof sentence, "%s=%s is not %s; using %s", rows[setting].name, shown, allowed,
             rows[setting].initial);
    complain(context, sentence);
}

void settings_parse(settings_t *settings, char *const *environment, settings_complaint_t *complain, void *context)
{
    size_t used = 1;
    bool seen[SETTING_COUNT] = {false};

    memset(settings, 0, sizeof *settings);
    for (int s = 0; s < SETTING_COUNT; s++) {
        value_parse(settings, (setting_t)s, rows[s].initial, &used);
    }
    for (; environment != NULL && *environment != NULL; environment++) {
        const char *entry = *environment;
        size_t name_bytes = strcspn(entry, "=");
        if (strncmp(entry, PREFIX, PREFIX_BYTES) != 0 || entry[name_bytes] != '=') {
            continue;
        }
        int s = setting_find(entry, name_bytes);
        if (s == SETTING_COUNT) {
            unknown_complain(entry, name_bytes, complain, context);
        } else if (!seen[s]) { /* of two entries with one name getenv, too, takes the first */
            seen[s] = true;
            if (entry[name_bytes + 1] == '\0') { /* as if it were not set */
                continue;
            }
            settings->value[s].from_variable = value_parse(settings, (setting_t)s, entry + name_bytes + 1, &used);
            if (!settings->value[s].from_variable) {
                value_complain((setting_t)s, entry + name_bytes + 1, complain, context);
            }
        }
    }
}

static void complaint_log(void *context, const char *sentence)
{
    (void)context;
    log_warn("%s", sentence);
}

static void complaint_drop(void *context, const char *sentence)
{
    (void)context;
    (void)sentence;
}

void settings_load(settings_t *settings)
{
    extern char **environ;

    settings_parse(settings, environ, job_is_speaker() ? complaint_log : complaint_drop, NULL);
}

engine_compared_t settings_compared(const settings_t *settings)
{
    engine_compared_t compared = {.count = 0, .names = compared_names};

    for (int s = 0; s < SETTING_COUNT; s++) {
        if (rows[s].compared) {
            compared.values[compared.count++] = settings->value[s].number;
        }
    }
    return compared;
}

const setting_row_t *setting_row(setting_t setting)
{
    return &rows[setting];
}
