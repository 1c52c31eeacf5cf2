/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE */

#include "shim/core_load.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the file has all the bytes that its headers speak of. The dynamic linker maps what they say, and touching
   what is not there ends in SIGBUS: a disk that was full at the installation, a copy that was cut off. */
static bool file_whole(const char *path, int file, char *why, size_t why_bytes)
{
    ElfW(Ehdr) head;
    struct stat found;

    if (fstat(file, &found) != 0 || pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head ||
        memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) {
        (void)snprintf(why, why_bytes, "%s is no shared library", path);
        return false;
    }
    const uint64_t bytes = (uint64_t)found.st_size;
    bool whole = head.e_shoff <= bytes && (uint64_t)head.e_shnum * head.e_shentsize <= bytes - head.e_shoff;
    for (unsigned p = 0; whole && p < head.e_phnum; p++) {
        ElfW(Phdr) part;
        const off_t at = (off_t)(head.e_phoff + (uint64_t)p * head.e_phentsize);
        whole = pread(file, &part, sizeof part, at) == (ssize_t)sizeof part && part.p_offset <= bytes &&
                part.p_filesz <= bytes - part.p_offset;
    }
    if (!whole) {
        (void)snprintf(why, why_bytes, "%s is cut off at %llu bytes", path, (unsigned long long)bytes);
    }
    return whole;
}

void *core_load(const char *path, char *why, size_t why_bytes)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    void *core = NULL;

    if (file < 0) {
        (void)snprintf(why, why_bytes, "%s: %m", path);
        return NULL;
    }
    if (!file_whole(path, file, why, why_bytes)) {
        (void)close(file);
        return NULL;
    }
    (void)close(file);
    core = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (core == NULL) {
        (void)snprintf(why, why_bytes, "%s", dlerror()); // NOLINT(concurrency-mt-unsafe): under the resolver's once
    }
    return core;
}
