/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

/* Relaxed suffices: a level or rank seen late costs a line its heading, nothing else. */
static atomic_int log_level = LOG_WARN;
static atomic_int log_rank = -1;

void log_level_set(log_level_t level)
{
    atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

void log_rank_set(int rank)
{
    atomic_store_explicit(&log_rank, rank, memory_order_relaxed);
}

bool log_enabled(log_level_t level)
{
    return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

void log_line(log_level_t level, const char *format, ...)
{
    if (!log_enabled(level)) {
        return;
    }
    int saved_errno = errno;
    char text[1024];
    int rank = atomic_load_explicit(&log_rank, memory_order_relaxed);
    int head = rank < 0 ? snprintf(text, sizeof text, "mpinpu: ") : snprintf(text, sizeof text, "mpinpu[%d]: ", rank);
    size_t room = sizeof text - (size_t)head - 1; /* one byte is kept for the newline */
    va_list arguments;

    va_start(arguments, format);
    int body = vsnprintf(text + head, room, format, arguments);
    va_end(arguments);
    size_t length = (size_t)head + (body < 0 ? 0 : (size_t)body < room ? (size_t)body : room - 1);
    text[length++] = '\n';
    /* One write, so that lines of several ranks do not mix; a lost line is no reason to fail. */
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written;
    errno = saved_errno;
}
