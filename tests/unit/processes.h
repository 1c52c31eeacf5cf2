/* SPDX-License-Identifier: BSD-3-Clause */
/* Plays several processes in one test: forked, joined by sockets, each running the same body. A process passes when
   its body returns. */
#ifndef TESTS_UNIT_PROCESSES_H
#define TESTS_UNIT_PROCESSES_H

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

enum { PROCESSES_MAX = 8 };

typedef struct process {
    int rank;
    int size;
    int sockets[PROCESSES_MAX]; /* to each other process; -1 for itself */
    void *argument;
} process_t;

typedef void (*process_body_t)(process_t *self);

/* Runs `body` in `size` processes and waits for all. Returns how many did not pass; each is named on stderr, and those
   that have not ended after `seconds` are killed after their stacks have been printed (if gdb is there). A process
   whose bit is set in `may_die` passes however it ends. */
int processes_run(int size, double seconds, unsigned may_die, process_body_t body, void *argument);

/* Sends and receives bytes of any length to and from all: `all` gets size * bytes, in rank order. */
void process_allgather(process_t *self, const void *mine, void *all, size_t bytes);
void process_barrier(process_t *self);

/* Whole blocks between two processes. */
void process_write(process_t *self, int peer, const void *bytes, size_t count);
void process_read(process_t *self, int peer, void *bytes, size_t count);

/* Ends this process as failed, unless `condition`. */
#define process_require(condition, ...)                                             \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                           \
            fputc('\n', stderr);                                                    \
            _exit(1);                                                               \
        }                                                                           \
    } while (0)

#endif
