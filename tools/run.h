/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of `mpinpu run`. The process ends or becomes mpirun, so nothing that they allocate is freed. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* What the ranks are given. */
typedef struct run_gift {
    const char *libraries; /* for LD_PRELOAD, behind what the user has there: paths with colons between them */
    const char *master;    /* "PORT:ADDRESS" for shim/launch.c, or NULL: none */
} run_gift_t;

/* Words with a NULL behind them, as for execvp. */
typedef struct run_words {
    char **word;
    size_t count;
    size_t room;
    bool no_map; /* among them is an option with which mpirun must not be started merely to ask it */
} run_words_t;

/* Appends a word, which is not copied; false, and said so: no memory. */
bool run_words_add(run_words_t *words, char *word);

/* Appends the user's words for mpirun to `out`. Each application context (a colon separates them, and so do the lines
   of an app file) gets the gift by -x, in the place of the user's own -x LD_PRELOAD if it has one. False, with the
   reason on stderr: the app file cannot be read, or there is no memory. */
bool run_arguments(run_words_t *out, char *const *user, size_t user_count, const run_gift_t *gift);

enum { RUN_MASTER_BYTES = 320 };

/* "PORT:ADDRESS": where rank 0 of the job can be reached from all its hosts. MASTER_ADDR and MASTER_PORT of the
   environment are taken as they are. Otherwise the port is one that is free on this host, and the address that of the
   host where mpirun, started with these words (its name first) and told to launch nothing, puts rank 0; if it does not
   say, or must not be asked, this host's name. False, and said on stderr: no port is free, or a variable is not one. */
bool run_master_find(const run_words_t *map_words, char master[RUN_MASTER_BYTES]);

#endif
