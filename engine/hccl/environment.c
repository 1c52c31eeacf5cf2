/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/hccl/environment.h"

#include "engine/hccl/ports.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ON(ID) (1U << ATLAS_##ID)
#define ON_ALL ((1U << ATLAS_SERIES_COUNT) - 1)

static const hccl_variable_row_t rows[HCCL_VARIABLE_COUNT] = {
#define HCCL_VARIABLE(PREFIX, NAME, ...) [HCCL_VARIABLE_##NAME] = {.name = #PREFIX "_" #NAME, __VA_ARGS__},
#include "engine/hccl/environment.def"
#undef HCCL_VARIABLE
};

static const struct narrower {
    hccl_variable_t variable;
    uint32_t products;
    int64_t least;
    int64_t most;
    const char *words;
} narrowers[] = {
#define HCCL_NARROWER(NAME, products, least, most, words) {HCCL_VARIABLE_##NAME, products, least, most, words},
#include "engine/hccl/environment.def"
#undef HCCL_NARROWER
};

const hccl_variable_row_t *hccl_variable_row(hccl_variable_t variable)
{
    return &rows[variable];
}

/* The row with what the product allows in place of what any product does. */
static hccl_variable_row_t row_narrow(hccl_variable_t variable, const atlas_product_t *product)
{
    hccl_variable_row_t row = rows[variable];

    for (size_t n = 0; product != NULL && n < sizeof narrowers / sizeof narrowers[0]; n++) {
        if (narrowers[n].variable == variable && (narrowers[n].products >> product->series & 1) != 0) {
            row.least = narrowers[n].least;
            row.most = narrowers[n].most;
            row.words = narrowers[n].words;
        }
    }
    return row;
}

/* The place of a word of `bytes` letters among `words`, or -1. */
static int64_t word_place(const char *words, const char *word, size_t bytes)
{
    for (int64_t place = 0; *words != '\0'; place++) {
        size_t these = strcspn(words, "|");
        if (these == bytes && strncasecmp(words, word, bytes) == 0) {
            return place;
        }
        words += these + (words[these] == '|');
    }
    return -1;
}

static bool integer_read(const char *text, int64_t *number)
{
    int64_t value = 0;

    if (*text == '\0') {
        return false;
    }
    for (; *text != '\0'; text++) {
        if (!isdigit((unsigned char)*text) || value > INT32_MAX) {
            return false;
        }
        value = value * 10 + (*text - '0');
    }
    *number = value;
    return true;
}

static bool integer_right(const hccl_variable_row_t *row, const char *text)
{
    int64_t number;

    return integer_read(text, &number) && number >= row->least && number <= row->most &&
           (row->step == 0 || number % row->step == 0);
}

static bool ports_right(const char *text)
{
    port_set_t set;

    return strcmp(text, "auto") == 0 || (port_set_parse(text, &set) && !port_set_empty(&set));
}

static bool address_right(const char *text)
{
    unsigned char address[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, text, address) == 1 || inet_pton(AF_INET6, text, address) == 1;
}

/* Names of 1 to 15 letters, separated by commas, behind ^, = or ^= at the front of all. */
static bool interfaces_right(const char *text)
{
    text += *text == '^';
    text += *text == '=';
    for (;;) {
        size_t bytes = strcspn(text, ",");
        if (bytes < 1 || bytes > 15 || memchr(text, ' ', bytes) != NULL) {
            return false;
        }
        if (text[bytes] == '\0') {
            return true;
        }
        text += bytes + 1;
    }
}

/* level0:NA;level1:ring: from level0 up, separated by semicolons; `bytes` letters. */
static bool levels_right(const char *words, const char *text, size_t bytes)
{
    const char *end = text + bytes;

    for (int level = '0'; level <= '2'; level++) {
        if (end - text < 7 || strncmp(text, "level", 5) != 0 || text[5] != level || text[6] != ':') {
            return false;
        }
        text += 7;
        const char *semicolon = memchr(text, ';', (size_t)(end - text));
        const char *stop = semicolon != NULL ? semicolon : end;
        if (word_place(words, text, (size_t)(stop - text)) < 0) {
            return false;
        }
        if (semicolon == NULL) {
            return true;
        }
        text = semicolon + 1;
    }
    return false;
}

/* Levels for all functions, or function=levels, separated by slashes. */
static bool algorithm_right(const char *words, const char *text)
{
    if (strchr(text, '=') == NULL) {
        return levels_right(words, text, strlen(text));
    }
    for (;;) {
        size_t bytes = strcspn(text, "/");
        const char *equals = memchr(text, '=', bytes);
        if (equals == NULL || equals == text || !levels_right(words, equals + 1, bytes - (size_t)(equals + 1 - text))) {
            return false;
        }
        if (text[bytes] == '\0') {
            return true;
        }
        text += bytes + 1;
    }
}

unsigned hccl_device_list(const char *text, bool ascending, uint8_t *list)
{
    uint64_t seen = 0;
    unsigned count = 0;

    for (;;) {
        size_t digits = strspn(text, "0123456789");
        if (digits < 1 || digits > 2) {
            return 0;
        }
        unsigned device = digits == 1 ? (unsigned)(text[0] - '0') : (unsigned)((text[0] - '0') * 10 + text[1] - '0');
        if (device >= ATLAS_DEVICES_MAX || (seen >> device & 1) != 0 || (ascending && seen >> device != 0)) {
            return 0;
        }
        seen |= UINT64_C(1) << device;
        list[count++] = (uint8_t)device;
        if (text[digits] == '\0') {
            return count;
        }
        if (text[digits] != ',') {
            return 0;
        }
        text += digits + 1;
    }
}

static bool value_right(const hccl_variable_row_t *row, const char *text)
{
    uint8_t list[ATLAS_DEVICES_MAX];

    switch (row->kind) {
    case HCCL_KIND_INTEGER:
        return integer_right(row, text);
    case HCCL_KIND_WORD:
        return word_place(row->words, text, strlen(text)) >= 0;
    case HCCL_KIND_PORTS:
        return ports_right(text);
    case HCCL_KIND_ADDRESS:
        return address_right(text);
    case HCCL_KIND_INTERFACES:
        return interfaces_right(text);
    case HCCL_KIND_DEVICES:
        return hccl_device_list(text, true, list) != 0;
    case HCCL_KIND_ALGORITHM:
        return algorithm_right(row->words, text);
    case HCCL_KIND_TEXT:
        return *text != '\0';
    }
    return false;
}

/* What is compared of a text: the number, the word's place among those of any product, else a hash (FNV-1a). */
static int64_t value_compared(const hccl_variable_row_t *row, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    int64_t number;

    if (row->kind == HCCL_KIND_INTEGER && integer_read(text, &number)) {
        return number;
    }
    number = row->kind == HCCL_KIND_WORD ? word_place(row->words, text, strlen(text)) : -1;
    if (number >= 0) {
        return number;
    }
    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return (int64_t)(hash | UINT64_C(1) << 63); /* below zero: never a number or a place */
}

/* "a|b|c" as "a, b or c". */
static void words_text(const char *words, char *text, size_t bytes)
{
    size_t length = 0;

    while (*words != '\0' && length < bytes) {
        size_t these = strcspn(words, "|");
        const char *rest = words + these + (words[these] == '|');
        const char *join = *rest == '\0' ? "" : strchr(rest, '|') != NULL ? ", " : " or ";
        length += (size_t)snprintf(text + length, bytes - length, "%.*s%s", (int)these, words, join);
        words = rest;
    }
}

void hccl_allowed_text(hccl_variable_t variable, const atlas_product_t *product, char *text, size_t bytes)
{
    hccl_variable_row_t row = row_narrow(variable, product);
    char words[256];

    switch (row.kind) {
    case HCCL_KIND_INTEGER:
        if (row.most == INT32_MAX) {
            snprintf(text, bytes, "a number from %" PRId64 " up", row.least);
        } else if (row.step > 1) {
            snprintf(text, bytes, "a multiple of %" PRId64 " from %" PRId64 " to %" PRId64, row.step, row.least,
                     row.most);
        } else {
            snprintf(text, bytes, "a number from %" PRId64 " to %" PRId64, row.least, row.most);
        }
        break;
    case HCCL_KIND_WORD:
        words_text(row.words, text, bytes);
        break;
    case HCCL_KIND_PORTS:
        snprintf(text, bytes, "auto, or ports and ranges such as 61000-61050,62000");
        break;
    case HCCL_KIND_ADDRESS:
        snprintf(text, bytes, "an IPv4 or IPv6 address");
        break;
    case HCCL_KIND_INTERFACES:
        snprintf(text, bytes, "names of network interfaces such as eth0,eth1, =eth0 or ^docker");
        break;
    case HCCL_KIND_DEVICES:
        snprintf(text, bytes, "device numbers in ascending order such as 0,1,2,3");
        break;
    case HCCL_KIND_ALGORITHM:
        words_text(row.words, words, sizeof words);
        snprintf(text, bytes,
                 "level0:NA;level1:ALGORITHM or function=level0:NA;level1:ALGORITHM/..., ALGORITHM being "
                 "%s",
                 words);
        break;
    case HCCL_KIND_TEXT:
        snprintf(text, bytes, "a text");
        break;
    }
}

/* Where complaints go, and whose variables are read. */
typedef struct reader {
    hccl_environment_t *hccl;
    const atlas_product_t *product;
    settings_complaint_t *complain;
    void *context;
    size_t used; /* of hccl->text; the first byte is the empty text */
} reader_t;

/* Keeps what fits of a value. */
static void text_keep(reader_t *reader, hccl_variable_t variable, const char *text)
{
    hccl_environment_t *hccl = reader->hccl;
    size_t room = sizeof hccl->text - reader->used;

    if (room < 2) {
        return;
    }
    size_t bytes = strnlen(text, room - 1);
    memcpy(hccl->text + reader->used, text, bytes);
    hccl->text[reader->used + bytes] = '\0';
    hccl->value[variable].text = (uint16_t)reader->used;
    reader->used += bytes + 1;
}

static void value_take(reader_t *reader, hccl_variable_t variable, const char *text)
{
    struct hccl_value *value = &reader->hccl->value[variable];
    hccl_variable_row_t row = row_narrow(variable, reader->product);
    char sentence[640];
    char allowed[320];

    value->set = true;
    value->compared = value_compared(&rows[variable], text);
    text_keep(reader, variable, text);
    if (reader->product != NULL && (row.products >> reader->product->series & 1) == 0) {
        snprintf(sentence, sizeof sentence, "%s has no effect on %s", row.name, reader->product->name);
        reader->complain(reader->context, sentence);
        return;
    }
    value->wrong = !value_right(&row, text);
    if (value->wrong) {
        reader->hccl->wrong++;
        hccl_allowed_text(variable, reader->product, allowed, sizeof allowed);
        snprintf(sentence, sizeof sentence, "%s=%.128s is not %s: HCCL does not start with it", row.name, text,
                 allowed);
        reader->complain(reader->context, sentence);
    }
}

/* The variable that an entry of the environment ("NAME=value") sets, or HCCL_VARIABLE_COUNT. */
static int variable_find(const char *entry, size_t name_bytes)
{
    int v = 0;

    while (v < HCCL_VARIABLE_COUNT &&
           (strlen(rows[v].name) != name_bytes || strncmp(entry, rows[v].name, name_bytes) != 0)) {
        v++;
    }
    return v;
}

void hccl_environment_parse(hccl_environment_t *hccl, char *const *environment, const atlas_product_t *product,
                            settings_complaint_t *complain, void *context)
{
    reader_t reader = {.hccl = hccl, .product = product, .complain = complain, .context = context, .used = 1};

    memset(hccl, 0, sizeof *hccl);
    for (int v = 0; v < HCCL_VARIABLE_COUNT; v++) {
        hccl->value[v].compared = value_compared(&rows[v], rows[v].initial);
    }
    for (; environment != NULL && *environment != NULL; environment++) {
        size_t name_bytes = strcspn(*environment, "=");
        int v = variable_find(*environment, name_bytes);
        if (v != HCCL_VARIABLE_COUNT && (*environment)[name_bytes] == '=' && !hccl->value[v].set) {
            value_take(&reader, (hccl_variable_t)v, *environment + name_bytes + 1);
        }
    }
    const struct hccl_value *pcie = &hccl->value[HCCL_VARIABLE_INTRA_PCIE_ENABLE];
    const struct hccl_value *roce = &hccl->value[HCCL_VARIABLE_INTRA_ROCE_ENABLE];
    if (pcie->set && roce->set && pcie->compared == 1 && roce->compared == 1) {
        hccl->wrong++;
        complain(context, "HCCL_INTRA_PCIE_ENABLE and HCCL_INTRA_ROCE_ENABLE must not both be 1");
    }
}

const char *hccl_environment_text(const hccl_environment_t *hccl, hccl_variable_t variable)
{
    return hccl->value[variable].set ? hccl->text + hccl->value[variable].text : rows[variable].initial;
}

unsigned hccl_environment_compared(const hccl_environment_t *hccl, int64_t *values)
{
    unsigned count = 0;

    for (int v = 0; v < HCCL_VARIABLE_COUNT; v++) {
        if (rows[v].compared) {
            values[count++] = hccl->value[v].compared;
        }
    }
    return count;
}

const char *hccl_compared_name(unsigned place)
{
    for (int v = 0; v < HCCL_VARIABLE_COUNT; v++) {
        if (rows[v].compared && place-- == 0) {
            return rows[v].name;
        }
    }
    return NULL;
}

void hccl_environment_reproducible(const hccl_environment_t *hccl, const atlas_product_t *product,
                                   void (*set)(void *context, const char *name, const char *value), void *context)
{
    for (int v = 0; v < HCCL_VARIABLE_COUNT; v++) {
        const hccl_variable_row_t *row = &rows[v];
        if ((row->reproducible_on >> product->series & 1) != 0 &&
            hccl->value[v].compared < value_compared(row, row->reproducible)) { /* words stand from lax to strict */
            set(context, row->name, row->reproducible);
        }
    }
}
