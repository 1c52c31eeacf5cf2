/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: lines on stderr, each written by one write(2), headed "mpinpu: " and, once known, the rank. */
#ifndef TRANSPORT_LOG_H
#define TRANSPORT_LOG_H

#include <stdbool.h>

typedef enum log_level { LOG_WARN = 0, LOG_INFO = 1, LOG_DEBUG = 2 } log_level_t;

/* Sets what is printed: lines of this level and those below it. Called once, before other threads log. */
void log_level_set(log_level_t level);

/* The rank in MPI_COMM_WORLD that heads each line; -1 (the start value) for none. */
void log_rank_set(int rank);

/* Whether a line of this level would be printed. Any thread. */
bool log_enabled(log_level_t level);

/* Prints one line (no newline in the format). Keeps errno. Any thread. */
void log_line(log_level_t level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_warn(...) log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)                        \
    do {                                     \
        if (log_enabled(LOG_INFO)) {         \
            log_line(LOG_INFO, __VA_ARGS__); \
        }                                    \
    } while (0)
#define log_debug(...)                        \
    do {                                      \
        if (log_enabled(LOG_DEBUG)) {         \
            log_line(LOG_DEBUG, __VA_ARGS__); \
        }                                     \
    } while (0)

#endif
