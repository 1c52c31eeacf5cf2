/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE */

#include "transport/pages_maps.h"

#include "transport/pages.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* glibc makes the heaps of threads other than the first in areas of this size and alignment (malloc/arena.c,
   HEAP_MAX_SIZE on 64-bit machines), and clears their pages by madvise. */
static const uintptr_t thread_heap = (uintptr_t)64 << 20;

/* A line of /proc/self/maps. */
typedef struct maps_line {
    uintptr_t from;
    uintptr_t to;
    char access[5];
    uint64_t inode;
    char name[128]; /* cut */
} maps_line_t;

/* A file of /proc line by line, without memory from the allocator: an allocator's own call may have led here. */
typedef struct reader {
    int fd;
    size_t at;
    size_t filled;
    char buffer[4096];
} reader_t;

static bool reader_open(reader_t *reader, const char *path)
{
    reader->fd = open(path, O_RDONLY | O_CLOEXEC);
    reader->at = reader->filled = 0;
    return reader->fd >= 0;
}

static void reader_close(reader_t *reader)
{
    if (reader->fd >= 0) {
        (void)close(reader->fd);
    }
}

/* The next line without its newline, cut to what `text` holds; false at the end. */
static bool reader_line(reader_t *reader, char *text, size_t bytes)
{
    size_t length = 0;

    for (;;) {
        if (reader->at == reader->filled) {
            const ssize_t got = reader->fd < 0 ? 0 : read(reader->fd, reader->buffer, sizeof reader->buffer);
            reader->at = 0;
            reader->filled = got > 0 ? (size_t)got : 0;
            if (got <= 0) {
                text[length] = '\0';
                return length > 0;
            }
        }
        const char c = reader->buffer[reader->at++];
        if (c == '\n') {
            text[length] = '\0';
            return true;
        }
        if (length + 1 < bytes) {
            text[length++] = c;
        }
    }
}

static bool maps_next(reader_t *maps, maps_line_t *line)
{
    char text[256];
    int name = 0;

    if (!reader_line(maps, text, sizeof text) ||
        sscanf(text, "%" SCNxPTR "-%" SCNxPTR " %4s %*x %*x:%*x %" SCNu64 " %n", &line->from, &line->to, line->access,
               &line->inode, &name) < 4) {
        return false;
    }
    (void)snprintf(line->name, sizeof line->name, "%.127s", text + name);
    return true;
}

static bool line_movable(const char *prefix, const maps_line_t *line, char *why, size_t why_bytes)
{
    char name[96];
    const int length = snprintf(name, sizeof name, "/memfd:%s", prefix);

    if (prefix[0] != '\0' && strcmp(line->access, "rw-s") == 0 && strncmp(line->name, name, (size_t)length) == 0) {
        return true;
    }
    if (strcmp(line->access, "rw-p") != 0 || line->inode != 0 ||
        (line->name[0] != '\0' && strncmp(line->name, "[anon:", 6) != 0)) {
        (void)snprintf(why, why_bytes, "the memory is not private and anonymous: %s %s", line->access, line->name);
        return false;
    }
    return true;
}

/* Whether the line, with the one behind it, is a thread's heap: it begins where such heaps do, and what is not used yet
   follows. */
static bool line_thread_heap(const maps_line_t *line, const maps_line_t *behind)
{
    return line->from % thread_heap == 0 && line->to - line->from <= thread_heap && behind->from == line->to &&
           strcmp(behind->access, "---p") == 0;
}

bool maps_movable(const char *prefix, const void *address, size_t bytes, char *why, size_t why_bytes)
{
    const uintptr_t from = (uintptr_t)address;
    const uintptr_t end = from + bytes;
    uintptr_t covered = from;
    maps_line_t last = {0};
    maps_line_t line;
    bool movable = true;
    reader_t maps;

    if (!reader_open(&maps, "/proc/self/maps")) {
        (void)snprintf(why, why_bytes, "/proc/self/maps cannot be read");
        return false;
    }
    while (movable && maps_next(&maps, &line)) {
        if (line.to > from && line.from < end) {
            movable = line.from <= covered && line_movable(prefix, &line, why, why_bytes);
            covered = line.to;
        }
        if (last.to > from && last.from < end && line_thread_heap(&last, &line)) {
            (void)snprintf(why, why_bytes, "the memory is of a thread's heap");
            movable = false;
        }
        last = line;
        if (last.from >= end) {
            break;
        }
    }
    reader_close(&maps);
    if (movable && covered < end) {
        (void)snprintf(why, why_bytes, "the memory is not all mapped");
        movable = false;
    }
    return movable;
}

bool maps_find(const char *prefix, unsigned char *from, unsigned char *end, maps_range_t *range)
{
    char name[96];
    maps_line_t line;
    bool found = false;
    reader_t maps;

    if (!reader_open(&maps, "/proc/self/maps")) {
        return false;
    }
    const int length = snprintf(name, sizeof name, "/memfd:%s", prefix);
    while (!found && maps_next(&maps, &line)) {
        if (line.to > (uintptr_t)from && line.from < (uintptr_t)end && strncmp(line.name, name, (size_t)length) == 0) {
            range->from = line.from > (uintptr_t)from ? (unsigned char *)line.from : from; // NOLINT
            range->to = line.to < (uintptr_t)end ? (unsigned char *)line.to : end;         // NOLINT
            range->writable = line.access[1] == 'w';
            found = true;
        }
    }
    reader_close(&maps);
    return found;
}

/* The number behind a word of a file of "word number" lines, or -1. */
static int64_t file_number(const char *path, const char *word)
{
    char text[256];
    int64_t number = -1;
    reader_t file;

    (void)reader_open(&file, path);
    while (number < 0 && reader_line(&file, text, sizeof text)) {
        if (strncmp(text, word, strlen(word)) == 0) {
            const char *digits = text + strlen(word);
            digits += strspn(digits, " \t");
            number = digits[0] >= '0' && digits[0] <= '9' ? (int64_t)strtoll(digits, NULL, 10) : -1;
        }
    }
    reader_close(&file);
    return number;
}

/* What the control group may still take, from the group upwards; INT64_MAX: no limit. */
static int64_t group_room(void)
{
    static const char *const roots[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/memory"};
    static const char *const limits[] = {"memory.max", "memory.limit_in_bytes"};
    static const char *const uses[] = {"memory.current", "memory.usage_in_bytes"};
    int64_t room = INT64_MAX;
    char text[512];
    char path[640];
    reader_t groups;

    (void)reader_open(&groups, "/proc/self/cgroup");
    while (reader_line(&groups, text, sizeof text)) {
        const bool second = strncmp(text, "0::", 3) == 0;
        char *group = strchr(text, '/');
        if (group == NULL || (!second && strstr(text, ":memory:") == NULL)) {
            continue;
        }
        const int version = second ? 0 : 1;
        for (;;) {
            (void)snprintf(path, sizeof path, "%s%s/%s", roots[version], group, limits[version]);
            const int64_t limit = file_number(path, "");
            (void)snprintf(path, sizeof path, "%s%s/%s", roots[version], group, uses[version]);
            const int64_t used = file_number(path, "");
            if (limit >= 0 && used >= 0 && limit - used < room) {
                room = limit - used;
            }
            char *slash = strrchr(group, '/');
            if (slash == NULL) {
                break;
            }
            *slash = '\0';
        }
    }
    reader_close(&groups);
    return room;
}

bool maps_memory_suffices(size_t bytes, char *why, size_t why_bytes)
{
    const int64_t wanted = 2 * (int64_t)bytes;
    const int64_t machine = file_number("/proc/meminfo", "MemAvailable:");

    if (machine >= 0 && machine * 1024 < wanted) {
        (void)snprintf(why, why_bytes, "the machine has %" PRId64 " kB of memory left", machine);
        return false;
    }
    const int64_t group = group_room();
    if (group < wanted) {
        (void)snprintf(why, why_bytes, "the control group has %" PRId64 " bytes of memory left", group);
        return false;
    }
    return true;
}

/* --- the process --- */

/* Devices that hold on to no pages. */
static bool device_harmless(const char *path)
{
    static const char *const names[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
                                        "/dev/tty",  "/dev/pts/", "/dev/shm/", "/dev/stdin",  "/dev/console"};

    for (size_t n = 0; n < sizeof names / sizeof names[0]; n++) {
        if (strncmp(path, names[n], strlen(names[n])) == 0) {
            return true;
        }
    }
    return false;
}

/* What getdents64 fills in (getdents(2)). */
typedef struct folder_entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[];
} folder_entry_t;

static bool file_allows(int folder, const char *name, char *why, size_t why_bytes)
{
    char target[128];
    const ssize_t length = readlinkat(folder, name, target, sizeof target - 1);

    if (length <= 0) {
        return true;
    }
    target[length] = '\0';
    if ((strncmp(target, "/dev/", 5) == 0 && !device_harmless(target)) || strstr(target, "[io_uring]") != NULL ||
        strstr(target, "[userfaultfd]") != NULL) {
        (void)snprintf(why, why_bytes, "%s is open, which may hold on to pages", target);
        return false;
    }
    return true;
}

static bool files_allow(char *why, size_t why_bytes)
{
    const int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    _Alignas(8) char entries[4096];
    bool allow = folder >= 0;
    long filled = 0;

    if (!allow) {
        (void)snprintf(why, why_bytes, "/proc/self/fd cannot be read");
        return false;
    }
    while (allow && (filled = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        for (long at = 0; allow && at < filled;) {
            const folder_entry_t *entry = (const folder_entry_t *)(const void *)(entries + at);
            allow = file_allows(folder, entry->name, why, why_bytes);
            at += entry->bytes;
        }
    }
    (void)close(folder);
    return allow;
}

/* A sanitizer's allocator gives memory back by system calls of its own, and takes it for cleared afterwards. */
static bool sanitizer_runs(void)
{
    return dlsym(RTLD_DEFAULT, "__sanitizer_set_death_callback") != NULL;
}

bool pages_process_allows(bool huge, char *why, size_t why_bytes)
{
    if (file_number("/proc/self/status", "VmLck:") > 0) {
        (void)snprintf(why, why_bytes, "the program has locked memory");
        return false;
    }
    if (!huge && file_number("/proc/self/smaps_rollup", "AnonHugePages:") > 0) {
        (void)snprintf(why, why_bytes, "the program has huge pages");
        return false;
    }
    if (sanitizer_runs()) {
        (void)snprintf(why, why_bytes, "a sanitizer watches the program");
        return false;
    }
    return files_allow(why, why_bytes);
}
