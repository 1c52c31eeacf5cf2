/* SPDX-License-Identifier: BSD-3-Clause */
/* Where libmpinpu.so is. */
#include "config.h"

#include "tools/tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libmpinpu.so"

/* The folder of this program, without symbolic links. */
static bool program_folder(char folder[PATH_MAX])
{
    ssize_t bytes = readlink("/proc/self/exe", folder, PATH_MAX - 1);

    if (bytes <= 0) {
        return false;
    }
    folder[bytes] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    return true;
}

/* The way from BINDIR to LIBDIR, both absolute: /usr/bin to /usr/lib64 is ../lib64. */
static void way_to_libdir(char way[PATH_MAX])
{
    const char *bin = BINDIR;
    const char *lib = LIBDIR;
    size_t same = 0; /* bytes of the folders that both have, with the last slash */
    size_t length = 0;

    for (size_t i = 0; bin[i] == lib[i] && bin[i] != '\0'; i++) {
        same = bin[i] == '/' ? i + 1 : same;
    }
    way[0] = '\0';
    for (const char *rest = bin + same; rest != NULL && length < PATH_MAX; rest = strchr(rest + 1, '/')) {
        length += (size_t)snprintf(way + length, PATH_MAX - length, "../");
    }
    if (length < PATH_MAX) {
        snprintf(way + length, PATH_MAX - length, "%s", lib + same);
    }
}

bool tool_library_find(char path[PATH_MAX])
{
    char folder[PATH_MAX];
    char way[PATH_MAX];
    char tried[2][3 * PATH_MAX];

    if (!program_folder(folder)) {
        fprintf(stderr, "mpinpu: /proc/self/exe does not tell where this program is\n");
        return false;
    }
    way_to_libdir(way);
    snprintf(tried[0], sizeof tried[0], "%s/%s/" LIBRARY, folder, way);
    snprintf(tried[1], sizeof tried[1], "%s/../.libs/" LIBRARY, folder); /* the build tree */
    for (int t = 0; t < 2; t++) {
        if (realpath(tried[t], path) != NULL) {
            return true;
        }
    }
    fprintf(stderr, "mpinpu: %s is not found: neither %s nor %s is there\n", LIBRARY, tried[0], tried[1]);
    return false;
}
