/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings parsed from an environment that a test writes down, with the complaints kept. */
#ifndef TESTS_UNIT_SETTINGS_ENVIRONMENT_H
#define TESTS_UNIT_SETTINGS_ENVIRONMENT_H

#include "engine/settings.h"

#include <stdio.h>
#include <string.h>

enum { COMPLAINTS_MAX = 8 };

typedef struct parsed {
    settings_t settings;
    int complaints;
    char complaint[COMPLAINTS_MAX][640];
} parsed_t;

static inline void complaint_keep(void *context, const char *sentence)
{
    parsed_t *parsed = context;

    if (parsed->complaints < COMPLAINTS_MAX) {
        snprintf(parsed->complaint[parsed->complaints], sizeof parsed->complaint[0], "%s", sentence);
    }
    parsed->complaints++;
}

/* `environment` is an array of "NAME=value" that ends in NULL. */
static inline parsed_t parse(const char *const *environment)
{
    parsed_t parsed = {.complaints = 0};

    settings_parse(&parsed.settings, (char *const *)environment, complaint_keep, &parsed);
    return parsed;
}

#define PARSE(...) parse((const char *const[]){__VA_ARGS__, NULL})

#endif
