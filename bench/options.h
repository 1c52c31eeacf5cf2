/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of the benchmark programs: the options of the OSU micro-benchmarks that matter here, and a few. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "values.h"

typedef struct options {
    size_t min_bytes; /* of the whole vector */
    size_t max_bytes;
    int iterations; /* -1: by size, as OSU does */
    int warm_up;    /* -1: by size */
    double seconds; /* time to spend on each size; 0: no bound */
    bool check;
    bool full;
    bool rewrite;
    bool in_place;
    bool back_to_back;
    const value_type_t *type;
    const value_op_t *op;
} options_t;

typedef enum options_answer { OPTIONS_RUN, OPTIONS_HELP, OPTIONS_WRONG } options_answer_t;

/* Reads the command line. With `speak` (one rank) help goes to stdout and what is wrong to stderr. */
options_answer_t options_read(int argc, char **argv, bool speak, options_t *options);

#endif
