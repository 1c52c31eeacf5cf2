/* SPDX-License-Identifier: BSD-3-Clause */
#include "shim/core_load.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* UCX reads these once, when it is loaded; where the host MPI has loaded it before, they are without effect.
   UCX_MEM_EVENTS: the hooks serve UCX's cache of registered memory; without them UCX registers a buffer each time. */
static char handle_errors[] = "UCX_HANDLE_ERRORS=none";
static char debug_signal[] = "UCX_DEBUG_SIGNO=0";
static char memory_events[] = "UCX_MEM_EVENTS=n";
static char *const quiet[] = {handle_errors, debug_signal, memory_events};
enum { QUIET_COUNT = sizeof quiet / sizeof quiet[0] };

static size_t name_length(const char *assignment)
{
    return strcspn(assignment, "=");
}

static int is_set(char *const *variables, const char *assignment)
{
    size_t length = name_length(assignment) + 1; /* with the = */
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

void *core_load(const char *path)
{
    static char **during; /* kept: another thread may still be reading it */
    char **before = environ;
    during = before == NULL ? NULL : quiet_environment(before);
    if (during != NULL) {
        environ = during;
    }
    void *core = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    /* Where the environment has been changed meanwhile, it is another's now, and the additions stay in it. */
    if (during != NULL && environ == during) {
        environ = before;
    }
    return core;
}
