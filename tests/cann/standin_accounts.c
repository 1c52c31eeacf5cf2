/* SPDX-License-Identifier: BSD-3-Clause */
/* What was called and what is still held; faults on request; the last error's text. */
#define _GNU_SOURCE
#include "tests/cann/standin.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FUNCTIONS_MAX = 160, FAULTS_MAX = 64, TEXT_BYTES = 512 };

typedef struct called {
    const char *function;
    long calls;
    long before; /* standin_faults_set */
} called_t;

/* function:n:code[:rank] : the n-th call (from 1; 0: each) of it in each process, or in that of one rank. */
typedef struct fault {
    char function[64];
    long n;
    int code;
    int rank;
} fault_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static called_t called[FUNCTIONS_MAX];
static int called_count;
static fault_t faults[FAULTS_MAX];
static int fault_count = -1; /* -1: not read yet */
static atomic_long accounts[ACCOUNT_COUNT];
static atomic_long refused;
static _Thread_local char said[TEXT_BYTES];
static _Thread_local char handed[TEXT_BYTES];

static const char *const account_names[ACCOUNT_COUNT] = {
    [ACCOUNT_DEVICE_BYTES] = "device_bytes",
    [ACCOUNT_DEVICE_MEMORY] = "device_memory",
    [ACCOUNT_HOST_MEMORY] = "host_memory",
    [ACCOUNT_STREAMS] = "streams",
    [ACCOUNT_EVENTS] = "events",
    [ACCOUNT_COMMUNICATORS] = "communicators",
    [ACCOUNT_DEVICES] = "devices",
};

static void fault_read(const char *text, size_t length)
{
    fault_t fault = {.rank = -1};
    char copy[128];
    if (length >= sizeof copy || fault_count >= FAULTS_MAX) {
        abort();
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (sscanf(copy, "%63[^:]:%ld:%d:%d", fault.function, &fault.n, &fault.code, &fault.rank) < 3) {
        fprintf(stderr, "CANN_FAULT: '%s' is not function:n:code[:rank]\n", copy);
        abort();
    }
    faults[fault_count++] = fault;
}

static void faults_read(const char *next)
{
    fault_count = 0;
    while (next != NULL && *next != '\0') {
        size_t length = strcspn(next, ",");
        fault_read(next, length);
        next += length + (next[length] == ',');
    }
}

/* Counts a call; how many there are since the faults were set. */
static long call_count(const char *function)
{
    int i = 0;
    while (i < called_count && strcmp(called[i].function, function) != 0) {
        i++;
    }
    if (i == FUNCTIONS_MAX) {
        abort();
    }
    if (i == called_count) {
        called[called_count++].function = function;
    }
    return ++called[i].calls - called[i].before;
}

void standin_faults_set(const char *text)
{
    pthread_mutex_lock(&lock);
    faults_read(text);
    for (int i = 0; i < called_count; i++) {
        called[i].before = called[i].calls;
    }
    pthread_mutex_unlock(&lock);
}

long standin_calls(const char *function)
{
    long calls = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < called_count; i++) {
        calls = strcmp(called[i].function, function) == 0 ? called[i].calls - called[i].before : calls;
    }
    pthread_mutex_unlock(&lock);
    return calls;
}

int standin_enter(const char *function)
{
    int code = 0;
    pthread_mutex_lock(&lock);
    long n = call_count(function);
    if (fault_count < 0) {
        faults_read(getenv("CANN_FAULT"));
    }
    for (int i = 0; i < fault_count; i++) {
        const fault_t *fault = &faults[i];
        if ((fault->n == 0 || fault->n == n) && (fault->rank < 0 || fault->rank == standin_rank()) &&
            strcmp(fault->function, function) == 0) {
            code = fault->code;
        }
    }
    pthread_mutex_unlock(&lock);
    if (code == 0 && strncmp(function, "acl", 3) == 0 && standin_number("CANN_STUB", 0) != 0) {
        code = ACL_ERROR_COMPILING_STUB_MODE;
    }
    return code != 0 ? standin_fail(code, "E19999: %s: a fault on request (call %ld)", function, n) : 0;
}

int standin_fail(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    return code;
}

int standin_refuse(int code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(said, sizeof said, format, arguments);
    va_end(arguments);
    atomic_fetch_add(&refused, 1);
    if (standin_number("CANN_LOUD", 0) != 0) {
        fprintf(stderr, "stand-in, rank %d: refused with %d: %s\n", standin_rank(), code, said);
    }
    return code;
}

const char *standin_said(void)
{
    return said;
}

/* The text is given once, as CANN does. */
const char *aclGetRecentErrMsg(void)
{
    if (said[0] == '\0') {
        return NULL;
    }
    memcpy(handed, said, sizeof handed);
    said[0] = '\0';
    return handed;
}

void standin_account(standin_account_t account, long change)
{
    atomic_fetch_add(&accounts[account], change);
}

/* One line a process, by one write: what it holds, what was refused, what it called. */
__attribute__((destructor)) static void accounts_write(void)
{
    const char *path = getenv("CANN_LEAKS");
    char line[8192];
    size_t length;
    if (path == NULL || path[0] == '\0' || called_count == 0) {
        return;
    }
    length = (size_t)snprintf(line, sizeof line, "rank %d pid %d:", standin_rank(), (int)getpid());
    for (int i = 0; i < ACCOUNT_COUNT; i++) {
        length += (size_t)snprintf(line + length, sizeof line - length, " %s=%ld", account_names[i],
                                   atomic_load(&accounts[i]));
    }
    length += (size_t)snprintf(line + length, sizeof line - length, " refused=%ld;", atomic_load(&refused));
    for (int i = 0; i < called_count && length < sizeof line - 128; i++) {
        length += (size_t)snprintf(line + length, sizeof line - length, " %s=%ld", called[i].function, called[i].calls);
    }
    line[length++] = '\n';
    int fd = strcmp(path, "-") == 0 ? dup(STDERR_FILENO) : open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (fd >= 0) {
        if (write(fd, line, length) < 0) {
            perror("CANN_LEAKS");
        }
        close(fd);
    }
}
