/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const struct option long_options[] = {
    {"message-size", required_argument, NULL, 'm'},
    {"iterations", required_argument, NULL, 'i'},
    {"warmup", required_argument, NULL, 'x'},
    {"seconds", required_argument, NULL, 't'},
    {"type", required_argument, NULL, 'T'},
    {"op", required_argument, NULL, 'o'},
    {"validation", no_argument, NULL, 'c'},
    {"full", no_argument, NULL, 'f'},
    {"rewrite", no_argument, NULL, 'w'},
    {"in-place", no_argument, NULL, 'p'},
    {"back-to-back", no_argument, NULL, 'b'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static void print_names(FILE *to, const char *(*name)(size_t))
{
    for (size_t i = 0; name(i) != NULL; i++) {
        fprintf(to, " %s", name(i));
    }
    fputc('\n', to);
}

static void help(const char *program)
{
    printf("Usage: mpirun -np N %s [options]\n"
           "Measures the collective at sizes that double, and prints as the OSU micro-benchmarks do.\n"
           "  -m, --message-size [MIN:]MAX  bytes of the whole vector (default 4:1048576; suffix K, M, G)\n"
           "  -i, --iterations N            timed calls a size (default 1000; 100 above 8192 bytes)\n"
           "  -x, --warmup N                calls before them (default 200; 10 above 8192 bytes)\n"
           "  -t, --seconds S               fewer calls where they would take longer than S seconds a size\n"
           "  -c, --validation              compare every result, bit for bit, with one computed without MPI\n"
           "  -T, --type TYPE               datatype (default float)\n"
           "  -o, --op OP                   reduction (default sum)\n"
           "  -f, --full                    also minimum and maximum over the ranks, and the iterations\n"
           "  -w, --rewrite                 every rank rewrites its input between calls, untimed\n"
           "  -p, --in-place                MPI_IN_PLACE; implies --rewrite\n"
           "  -b, --back-to-back            no barrier between timed calls\n"
           "  -h, --help                    this text\n",
           program);
    printf("Types:");
    print_names(stdout, value_type_name);
    printf("Ops:  ");
    print_names(stdout, value_op_name);
    printf(
        "The latency is that of a call, averaged over calls and ranks; as in OSU, a barrier follows each timed call.\n"
        "Exit status: 0; 1 where a result is wrong; 2 for a wrong command line.\n");
}

/* Reads one size with an optional suffix; false if it is none, or not between 1 and INT_MAX. */
static bool read_size(const char *text, const char **end, size_t *bytes)
{
    char *stop = NULL;
    unsigned long long value;

    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    value = strtoull(text, &stop, 10);
    if (errno != 0 || value > INT_MAX) {
        return false;
    }
    switch (*stop) {
    case 'k':
    case 'K':
        value <<= 10;
        stop++;
        break;
    case 'm':
    case 'M':
        value <<= 20;
        stop++;
        break;
    case 'g':
    case 'G':
        value <<= 30;
        stop++;
        break;
    default:
        break;
    }
    *end = stop;
    *bytes = value;
    return value >= 1 && value <= (1ULL << 40);
}

static bool read_range(const char *text, options_t *options)
{
    const char *end = text;
    size_t first = 0;
    size_t last = 0;

    if (!read_size(text, &end, &first)) {
        return false;
    }
    if (*end == '\0') {
        options->max_bytes = first;
        options->min_bytes = options->min_bytes < first ? options->min_bytes : first;
        return true;
    }
    if (*end != ':' || !read_size(end + 1, &end, &last) || *end != '\0' || last < first) {
        return false;
    }
    options->min_bytes = first;
    options->max_bytes = last;
    return true;
}

static bool read_count(const char *text, int minimum, int *count)
{
    char *end = NULL;
    long value;

    errno = 0;
    value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < minimum || value > INT_MAX) {
        return false;
    }
    *count = (int)value;
    return true;
}

static bool read_seconds(const char *text, double *seconds)
{
    char *end = NULL;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value > 0 && value < 1e6)) {
        return false;
    }
    *seconds = value;
    return true;
}

/* Takes one option; NULL, or what is allowed. */
static const char *take(int letter, const char *value, options_t *options)
{
    switch (letter) {
    case 'm':
        return read_range(value, options) ? NULL : "[MIN:]MAX in bytes, 1 <= MIN <= MAX, suffix K, M or G";
    case 'i':
        return read_count(value, 1, &options->iterations) ? NULL : "a whole number from 1";
    case 'x':
        return read_count(value, 0, &options->warm_up) ? NULL : "a whole number from 0";
    case 't':
        return read_seconds(value, &options->seconds) ? NULL : "a number of seconds above 0";
    case 'T':
        options->type = value_type_find(value);
        return options->type != NULL ? NULL : "";
    case 'o':
        options->op = value_op_find(value);
        return options->op != NULL ? NULL : "";
    case 'c':
        options->check = true;
        return NULL;
    case 'f':
        options->full = true;
        return NULL;
    case 'w':
        options->rewrite = true;
        return NULL;
    case 'p':
        options->in_place = true;
        return NULL;
    default:
        options->back_to_back = true;
        return NULL;
    }
}

static void complain(int letter, const char *value, const char *allowed)
{
    fprintf(stderr, "-%c %s: not understood; allowed:", letter, value);
    if (letter == 'T') {
        print_names(stderr, value_type_name);
    } else if (letter == 'o') {
        print_names(stderr, value_op_name);
    } else {
        fprintf(stderr, " %s\n", allowed);
    }
}

options_answer_t options_read(int argc, char **argv, bool speak, options_t *options)
{
    int letter;

    *options = (options_t){.min_bytes = 4,
                           .max_bytes = 1 << 20,
                           .iterations = -1,
                           .warm_up = -1,
                           .type = value_type_find("float"),
                           .op = value_op_find("sum")};
    opterr = speak;
    while ((letter = getopt_long(argc, argv, "m:i:x:t:T:o:cfwpbh", long_options, NULL)) != -1) {
        const char *allowed;

        if (letter == 'h') {
            if (speak) {
                help(argv[0]);
            }
            return OPTIONS_HELP;
        }
        if (letter == '?') {
            return OPTIONS_WRONG;
        }
        allowed = take(letter, optarg, options);
        if (allowed != NULL) {
            if (speak) {
                complain(letter, optarg, allowed);
            }
            return OPTIONS_WRONG;
        }
    }
    if (optind < argc) {
        if (speak) {
            fprintf(stderr, "%s: not an option; see --help\n", argv[optind]);
        }
        return OPTIONS_WRONG;
    }
    if ((options->op->classes & options->type->class) == 0) {
        if (speak) {
            fprintf(stderr, "-o %s: MPI does not define it on %s\n", options->op->name, options->type->mpi_name);
        }
        return OPTIONS_WRONG;
    }
    options->rewrite |= options->in_place || options->check;
    return OPTIONS_RUN;
}
