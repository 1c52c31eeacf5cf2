/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings as texts for people. */
#include "engine/settings.h"

#include "engine/hccl/atlas.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Bytes with the largest suffix that leaves no remainder: 64M, 1500. */
static void bytes_text(int64_t bytes, char *text, size_t text_bytes)
{
    static const char suffixes[] = "KMGT";
    int suffix = -1;

    while (bytes != 0 && bytes % 1024 == 0 && suffix < 3) {
        bytes /= 1024;
        suffix++;
    }
    snprintf(text, text_bytes, "%" PRId64 "%.*s", bytes, suffix < 0 ? 0 : 1, suffix < 0 ? "" : suffixes + suffix);
}

/* The number-th word of a row without what follows its colon; its bytes. */
static const char *word_at(const char *words, int64_t number, size_t *bytes)
{
    for (; number > 0; number--) {
        words += strcspn(words, "|") + 1;
    }
    *bytes = strcspn(words, "|");
    const char *colon = memchr(words, ':', *bytes);
    if (colon != NULL) {
        *bytes = (size_t)(colon - words) + 1;
    }
    return words;
}

void settings_value_text(const settings_t *settings, setting_t setting, char *text, size_t bytes)
{
    const setting_row_t *row = setting_row(setting);
    int64_t number = settings_get(settings, setting);
    size_t word_bytes;

    switch (row->type) {
    case SETTING_TYPE_CHOICE: {
        const char *word = word_at(row->words, number, &word_bytes);
        snprintf(text, bytes, "%.*s%s", (int)word_bytes, word, settings_path(settings, setting));
        break;
    }
    case SETTING_TYPE_PATH:
        snprintf(text, bytes, "%s", settings_path(settings, setting));
        break;
    case SETTING_TYPE_BOOLEAN:
        snprintf(text, bytes, "%s", number != 0 ? "on" : "off");
        break;
    case SETTING_TYPE_INTEGER:
        snprintf(text, bytes, "%" PRId64, number);
        break;
    case SETTING_TYPE_BYTES:
        if (number == SETTING_BYTES_AUTO) {
            snprintf(text, bytes, "%s", row->words);
        } else {
            bytes_text(number, text, bytes);
        }
        break;
    }
}

/* "auto|host|off" as "auto, host or off". */
static void words_text(const char *words, char *text, size_t bytes)
{
    size_t length = 0;

    while (*words != '\0' && length < bytes) {
        size_t word_bytes = strcspn(words, "|");
        const char *rest = words + word_bytes + (words[word_bytes] == '|');
        const char *join = *rest == '\0' ? "" : strchr(rest, '|') != NULL ? ", " : " or ";
        length += (size_t)snprintf(text + length, bytes - length, "%.*s%s", (int)word_bytes, words, join);
        words = rest;
    }
}

void setting_allowed_text(setting_t setting, char *text, size_t bytes)
{
    const setting_row_t *row = setting_row(setting);
    char least[32];
    char most[32];

    switch (row->type) {
    case SETTING_TYPE_CHOICE:
        words_text(row->words, text, bytes);
        if (strstr(row->words, ":LIST") != NULL) {
            const size_t length = strlen(text);
            snprintf(text + length, bytes - length, ", LIST being numbers from 0 to %d, each once, such as 4,5,6,7",
                     ATLAS_DEVICES_MAX - 1);
        }
        break;
    case SETTING_TYPE_PATH:
        snprintf(text, bytes, "a path");
        break;
    case SETTING_TYPE_BOOLEAN:
        snprintf(text, bytes, "on, off, 1, 0, yes, no, true or false");
        break;
    case SETTING_TYPE_INTEGER:
        snprintf(text, bytes, "a number from %" PRId64 " to %" PRId64, row->least, row->most);
        break;
    case SETTING_TYPE_BYTES:
        bytes_text(row->least, least, sizeof least);
        bytes_text(row->most, most, sizeof most);
        snprintf(text, bytes, "%s%sa number of bytes from %s %s%s (K, M, G or T may follow it)", row->words,
                 row->words[0] != '\0' ? " or " : "", least, row->most == INT64_MAX ? "up" : "to ",
                 row->most == INT64_MAX ? "" : most);
        break;
    }
}
