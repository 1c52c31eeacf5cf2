/* SPDX-License-Identifier: BSD-3-Clause */
/* `mpinpu run`: mpirun, with libmpinpu.so preloaded in the ranks of the program and nowhere else. */
#include "config.h"

#include "tools/tools.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD"

/* Whether the mpirun that the shell would take is Open MPI's. */
static bool mpirun_is_openmpi(void)
{
    char line[256] = "";
    FILE *version = popen("mpirun --version 2>/dev/null", "re");

    if (version == NULL) {
        return false;
    }
    bool read = fgets(line, sizeof line, version) != NULL;
    pclose(version);
    return read && (strstr(line, "Open MPI") != NULL || strstr(line, "OpenRTE") != NULL);
}

/* "LD_PRELOAD=theirs:ours", in memory of the caller's; NULL for want of memory. */
static char *preload_text(const char *theirs, const char *library)
{
    bool alone = theirs == NULL || theirs[0] == '\0';
    size_t bytes = sizeof PRELOAD "=:" + (alone ? 0 : strlen(theirs)) + strlen(library);
    char *text = malloc(bytes);

    if (text != NULL) {
        snprintf(text, bytes, PRELOAD "=%s%s%s", alone ? "" : theirs, alone ? "" : ":", library);
    }
    return text;
}

/* What the user already preloads by `-x LD_PRELOAD` or `-x LD_PRELOAD=...`: true, and the value. */
static bool preload_option(char *const *argument, const char **theirs)
{
    size_t name_bytes = strlen(PRELOAD);

    if (argument[0] == NULL || argument[1] == NULL || strcmp(argument[0], "-x") != 0 ||
        strncmp(argument[1], PRELOAD, name_bytes) != 0) {
        return false;
    }
    if (argument[1][name_bytes] == '=') {
        *theirs = argument[1] + name_bytes + 1;
        return true;
    }
    *theirs = getenv(PRELOAD);
    return argument[1][name_bytes] == '\0';
}

/* Builds mpirun's argv: each application context (a colon separates them) gets one -x LD_PRELOAD=..., in the place of
   the user's own if there is one. NULL for want of memory. The process ends or becomes mpirun: nothing is freed. */
static char **mpirun_arguments(char *mpirun, char *const *user, size_t user_count, const char *library)
{
    static char x_option[] = "-x";
    char **arguments = calloc(3 * user_count + 4, sizeof *arguments);
    size_t count = 0;

    if (arguments == NULL) {
        return NULL;
    }
    arguments[count++] = mpirun;
    for (size_t first = 0; first < user_count;) {
        const char *theirs = getenv(PRELOAD);
        size_t end = first;
        size_t replaced = user_count; /* where the user's own option stands */
        while (end < user_count && strcmp(user[end], ":") != 0) {
            if (replaced == user_count && preload_option(&user[end], &theirs)) {
                replaced = end;
            }
            end++;
        }
        arguments[count++] = x_option;
        arguments[count] = preload_text(theirs, library);
        if (arguments[count++] == NULL) {
            return NULL;
        }
        for (size_t u = first; u < end; u++) {
            if (u != replaced && u != replaced + 1) {
                arguments[count++] = user[u];
            }
        }
        if (end < user_count) {
            arguments[count++] = user[end++];
        }
        first = end;
    }
    arguments[count] = NULL;
    return arguments;
}

int tool_run(int argc, char **argv)
{
    static char path_mpirun[] = "mpirun";
    static char built_mpirun[] = MPIRUN;
    char library[PATH_MAX];
    char *mpirun = NULL;
    int used = 1;

    if (argc > 2 && strcmp(argv[1], "--mpirun") == 0) {
        mpirun = argv[2];
        used = 3;
    }
    if (used == argc) {
        fprintf(stderr,
                "mpinpu: run: what? mpinpu run [--mpirun PROGRAM] -np N [mpirun's options] program [arguments]\n");
        return TOOL_USAGE;
    }
    if (!tool_library_find(library)) {
        return TOOL_FAILED;
    }
    if (strpbrk(library, ": ") != NULL) {
        fprintf(stderr, "mpinpu: %s cannot be preloaded: LD_PRELOAD takes no path with a colon or a space\n", library);
        return TOOL_FAILED;
    }
    if (mpirun == NULL) {
        mpirun = mpirun_is_openmpi() ? path_mpirun : built_mpirun;
    }
    char **arguments = mpirun_arguments(mpirun, argv + used, (size_t)(argc - used), library);
    if (arguments == NULL) {
        fprintf(stderr, "mpinpu: no memory\n");
        return TOOL_FAILED;
    }
    execvp(mpirun, arguments);
    fprintf(stderr, "mpinpu: %s does not start: %s\n", mpirun, strerror(errno));
    return errno == ENOENT ? 127 : 126; /* as a shell */
}
