/* SPDX-License-Identifier: BSD-3-Clause */
/* What the kernel has of shared memory, asked before UCX takes it: UCX prints errors of its own where it gets none,
   and memory that is promised but not there ends in SIGBUS. */
#include "transport/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char posix_folder[] = "/dev/shm";

/* System V segments are charged in full when made, and do not count against any file system's size. */
static bool sysv_has(size_t bytes, char *why, size_t why_bytes)
{
    int segment = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
    if (segment < 0) {
        transport_why(why, why_bytes, "shmget of %zu bytes: %m", bytes);
        return false;
    }
    shmctl(segment, IPC_RMID, NULL);
    return true;
}

/* UCX writes every page of a segment in /dev/shm before it hands it out, and fails where that fails; this only keeps it
   from trying in vain. */
static bool posix_has(size_t bytes, char *why, size_t why_bytes)
{
    struct statvfs folder;
    if (statvfs(posix_folder, &folder) != 0 || access(posix_folder, W_OK | X_OK) != 0) {
        transport_why(why, why_bytes, "%s: %m", posix_folder);
        return false;
    }
    unsigned long long room = (unsigned long long)folder.f_bavail * folder.f_frsize;
    if (folder.f_blocks != 0 && room < bytes) { /* 0 blocks: a tmpfs without a limit */
        transport_why(why, why_bytes, "%s has %llu bytes left, %zu are needed", posix_folder, room, bytes);
        return false;
    }
    return true;
}

shared_memory_t shared_memory_probe(size_t bytes, char *why, size_t why_bytes)
{
    char sysv[REASON_BYTES / 2 - 8];
    char posix[REASON_BYTES / 2 - 8];
    size_t available = shared_memory_available();
    if (bytes > available) {
        transport_why(why, why_bytes, "%zu bytes are needed, and this machine or control group has %zu left", bytes,
                      available);
        return SHARED_MEMORY_NONE;
    }
    if (sysv_has(bytes, sysv, sizeof sysv)) {
        return SHARED_MEMORY_SYSV;
    }
    if (posix_has(bytes, posix, sizeof posix)) {
        return SHARED_MEMORY_POSIX;
    }
    transport_why(why, why_bytes, "%s; %s", sysv, posix);
    return SHARED_MEMORY_NONE;
}

/* The first number after `name` at the start of a line of a file of the kernel's; name "": of the file. */
static bool number_read(const char *path, const char *name, unsigned long long *value)
{
    FILE *file = fopen(path, "re");
    char text[256];
    bool found = false;
    if (file == NULL) {
        return false;
    }
    while (!found && fgets(text, sizeof text, file) != NULL) {
        size_t length = strlen(name);
        char *end;
        if (strncmp(text, name, length) == 0) {
            *value = strtoull(text + length, &end, 10);
            found = end != text + length;
        }
    }
    fclose(file);
    return found;
}

/* Limits of memory as a control group states them: version 2, then version 1. The group of a container is its root. */
static const struct {
    const char *limit, *used, *stat, *reclaimable;
} control_groups[] = {
    {"memory.max", "memory.current", "memory.stat", "inactive_file "},
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat", "total_inactive_file "},
};

static size_t group_available(const char *folder)
{
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < sizeof control_groups / sizeof control_groups[0]; i++) {
        char path[512];
        unsigned long long limit;
        unsigned long long used = 0;
        unsigned long long reclaimable = 0;
        snprintf(path, sizeof path, "%s/%s", folder, control_groups[i].limit);
        if (!number_read(path, "", &limit)) { /* "max" is no number */
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, control_groups[i].used);
        number_read(path, "", &used);
        snprintf(path, sizeof path, "%s/%s", folder, control_groups[i].stat);
        number_read(path, control_groups[i].reclaimable, &reclaimable);
        used = used > reclaimable ? used - reclaimable : 0;
        unsigned long long left = limit > used ? limit - used : 0;
        least = left < least ? (size_t)left : least;
    }
    return least;
}

/* The process's own group and all above it. */
static size_t groups_available(void)
{
    size_t least = group_available("/sys/fs/cgroup/memory");
    size_t root = group_available("/sys/fs/cgroup");
    char line[400];
    FILE *file = fopen("/proc/self/cgroup", "re");
    least = root < least ? root : least;
    if (file == NULL) {
        return least;
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char *kinds = strchr(line, ':');
        char *path = kinds == NULL ? NULL : strchr(kinds + 1, ':');
        if (path == NULL) {
            continue;
        }
        *path++ = '\0';
        path[strcspn(path, "\n")] = '\0';
        bool unified = strcmp(kinds, ":") == 0;
        if (!unified && strcmp(kinds, ":memory") != 0) {
            continue;
        }
        for (char *slash = strrchr(path, '/'); slash != NULL && slash[1] != '\0'; slash = strrchr(path, '/')) {
            char folder[512];
            snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s", unified ? "" : "/memory", path);
            size_t left = group_available(folder);
            least = left < least ? left : least;
            *slash = '\0';
        }
    }
    fclose(file);
    return least;
}

size_t shared_memory_available(void)
{
    unsigned long long kilobytes;
    size_t least = groups_available();
    if (number_read("/proc/meminfo", "MemAvailable:", &kilobytes) && kilobytes < least / 1024) {
        least = (size_t)kilobytes * 1024;
    }
    return least;
}
