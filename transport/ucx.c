/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: environ */

#include "transport/ucx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The ABI that ucp.h declares (UCP_API_MAJOR 1). */
static const char library[] = "libucp.so.0";

static const struct function_row {
    const char *name;
    size_t offset; /* of the pointer in ucx_t */
} function_rows[] = {
#define UCX_FUNCTION(name) {#name, offsetof(ucx_t, name)},
#include "transport/ucx_functions.def"
#undef UCX_FUNCTION
};
enum { FUNCTION_COUNT = sizeof function_rows / sizeof function_rows[0] };

ucx_t ucx;

/* --- the environment --- */

/* The libraries of UCX, when loaded, take over the program's handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGHUP and
   its alternate signal stack, and write jumps into libc's mmap, munmap and others, which then cost several times as
   much. These keep them from it, unless the user has set them. UCX reads them once, when it is loaded; where the host
   MPI has loaded it before, they are without effect.
   UCX_MEM_EVENTS: the hooks serve UCX's cache of registered memory; without them UCX registers a buffer each time. */
static char handle_errors[] = "UCX_HANDLE_ERRORS=none";
static char debug_signal[] = "UCX_DEBUG_SIGNO=0";
static char memory_events[] = "UCX_MEM_EVENTS=n";
static char *const quiet[] = {handle_errors, debug_signal, memory_events};
enum { QUIET_COUNT = sizeof quiet / sizeof quiet[0] };

static bool is_set(char *const *variables, const char *assignment)
{
    const size_t length = strcspn(assignment, "=") + 1; /* with the = */

    while (*variables != NULL && strncmp(*variables, assignment, length) != 0) {
        variables++;
    }
    return *variables != NULL;
}

/* An environment with the defaults added. setenv could free the one that another thread is reading. */
static char **quiet_environment(char **from)
{
    size_t count = 0;

    while (from[count] != NULL) {
        count++;
    }
    char **made = malloc((count + QUIET_COUNT + 1) * sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    memcpy(made, from, (count + 1) * sizeof *made);
    for (size_t i = 0; i < QUIET_COUNT; i++) {
        if (!is_set(from, quiet[i])) {
            made[count++] = quiet[i];
            made[count] = NULL;
        }
    }
    return made;
}

static void *library_open(void)
{
    static char **during; /* kept: another thread may still be reading it */
    char **before = environ;

    during = before == NULL ? NULL : quiet_environment(before);
    if (during != NULL) {
        environ = during;
    }
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    /* Where the environment has been changed meanwhile, it is another's now, and the additions stay in it. */
    if (during != NULL && environ == during) {
        environ = before;
    }
    return handle;
}

/* --- the functions --- */

/* Of the one attempt. */
static mpinpu_status_t opened;
static char opened_why[256];

static void open_once(void)
{
    void *handle = library_open();

    if (handle == NULL) {
        (void)snprintf(opened_why, sizeof opened_why, "no UCX: %s", dlerror());
        opened = MPINPU_ERR_UNSUPPORTED;
        return;
    }
    for (size_t f = 0; f < FUNCTION_COUNT; f++) {
        void *address = dlsym(handle, function_rows[f].name);
        if (address == NULL) {
            (void)snprintf(opened_why, sizeof opened_why, "%s lacks %s", library, function_rows[f].name);
            opened = MPINPU_ERR_UNSUPPORTED;
            return;
        }
        memcpy((char *)&ucx + function_rows[f].offset, &address, sizeof address);
    }
}

mpinpu_status_t ucx_open(char *why, size_t why_bytes)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, open_once);
    if (opened != MPINPU_OK && why != NULL && why_bytes > 0) {
        (void)snprintf(why, why_bytes, "%s", opened_why);
    }
    return opened;
}
