/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/cann/standin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef STANDIN_VERSION
#define STANDIN_VERSION "8.2.RC1"
#endif

double standin_number(const char *name, double otherwise)
{
    const char *text = getenv(name);
    char *end = NULL;
    if (text == NULL || text[0] == '\0') {
        return otherwise;
    }
    double value = strtod(text, &end);
    return *end == '\0' ? value : otherwise;
}

static const char *text_of(const char *name, const char *otherwise)
{
    const char *text = getenv(name);
    return text != NULL && text[0] != '\0' ? text : otherwise;
}

const char *standin_soc(void)
{
    return text_of("CANN_SOC", "Ascend910B1");
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Ascend910B without more is of the old series. */
standin_product_t standin_product(void)
{
    static const char *const old[] = {"Ascend910A", "Ascend910B", "Ascend910ProA", "Ascend910ProB",
                                      "Ascend910PremiumA"};
    const char *soc = standin_soc();
    for (size_t i = 0; i < sizeof old / sizeof old[0]; i++) {
        if (strcmp(soc, old[i]) == 0) {
            return PRODUCT_910A;
        }
    }
    return begins(soc, "Ascend910_93") ? PRODUCT_A3
           : begins(soc, "Ascend910B") ? PRODUCT_A2
           : begins(soc, "Ascend310P") ? PRODUCT_310P
           : begins(soc, "Ascend950")  ? PRODUCT_950
                                       : PRODUCT_NONE;
}

const char *standin_version(void)
{
    return text_of("CANN_VERSION", STANDIN_VERSION);
}

int standin_release(void)
{
    char *end = NULL;
    long major = strtol(standin_version(), &end, 10);
    long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    return (int)(major * 100 + minor);
}

const char *standin_server(void)
{
    static char host[65];
    const char *named = text_of("CANN_SERVER", NULL);
    if (named != NULL) {
        return named;
    }
    if (gethostname(host, sizeof host - 1) != 0) {
        strcpy(host, "unnamed");
    }
    return host;
}

int standin_rank(void)
{
    static const char *const names[] = {"CANN_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        double rank = standin_number(names[i], -1);
        if (rank >= 0) {
            return (int)rank;
        }
    }
    return -1;
}

double standin_slowdown(void)
{
    return standin_number("CANN_TIMING", 0);
}

double standin_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void standin_sleep_until(double when)
{
    double left = when - standin_now();
    while (left > 0) {
        struct timespec pause = {.tv_sec = (time_t)left, .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        nanosleep(&pause, NULL);
        left = when - standin_now();
    }
}
