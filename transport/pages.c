/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: memfd_create, mremap, fallocate */

#include "transport/pages.h"

#include "transport/pages_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Pages are moved so many bytes at a time: that much memory is needed beside them. */
static const size_t piece_bytes = (size_t)2 << 20;

size_t pages_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* The names of this process's files, and of no other process's, begin so. A forked child is another process. */
static char prefix[PAGES_NAME_BYTES];

static void prefix_set(void)
{
    (void)snprintf(prefix, sizeof prefix, "mpinpu-%ld-", (long)getpid());
}

static mpinpu_status_t file_open(pages_t *pages, char *why, size_t why_bytes)
{
    /* Relaxed: only the number itself matters. */
    static _Atomic unsigned long opened;
    struct stat found;
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, prefix_set);
    (void)snprintf(pages->name, sizeof pages->name, "%.30s%lu", prefix,
                   atomic_fetch_add_explicit(&opened, 1, memory_order_relaxed));
    pages->fd = memfd_create(pages->name, MFD_CLOEXEC);
    if (pages->fd < 0 || ftruncate(pages->fd, (off_t)pages->bytes) != 0 || fstat(pages->fd, &found) != 0) {
        (void)snprintf(why, why_bytes, "no memory file: %m");
        if (pages->fd >= 0) {
            (void)close(pages->fd);
        }
        return MPINPU_ERR_UNSUPPORTED;
    }
    pages->inode = (uint64_t)found.st_ino;
    return MPINPU_OK;
}

/* The piece's memory is had before it is touched: where there is none this fails, and no access ends in SIGBUS. mmap
   puts the new mapping in the place of the old in one step, so other threads read the same contents all the time. */
static mpinpu_status_t piece_move(const pages_t *pages, size_t at, size_t bytes, char *why, size_t why_bytes)
{
    unsigned char *place = pages->address + at;
    mpinpu_status_t status = MPINPU_OK;
    void *copy;

    if (fallocate(pages->fd, 0, (off_t)at, (off_t)bytes) != 0) {
        (void)snprintf(why, why_bytes, "no memory: %m");
        return MPINPU_ERR_NO_MEMORY;
    }
    copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, pages->fd, (off_t)at);
    if (copy == MAP_FAILED) {
        (void)snprintf(why, why_bytes, "no address space: %m");
        return MPINPU_ERR_NO_MEMORY;
    }
    memcpy(copy, place, bytes);
    if (mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_POPULATE, pages->fd, (off_t)at) ==
        MAP_FAILED) {
        (void)snprintf(why, why_bytes, "no mapping: %m");
        status = MPINPU_ERR_NO_MEMORY;
    }
    (void)munmap(copy, bytes);
    return status;
}

mpinpu_status_t pages_share(void *address, size_t bytes, pages_t *pages, char *why, size_t why_bytes)
{
    pages_t made = {.address = address, .bytes = bytes};
    mpinpu_status_t status = MPINPU_ERR_UNSUPPORTED;

    if (!maps_movable(prefix, address, bytes, why, why_bytes)) {
        return status;
    }
    if (!maps_memory_suffices(bytes, why, why_bytes)) {
        return MPINPU_ERR_NO_MEMORY;
    }
    status = file_open(&made, why, why_bytes);
    if (status != MPINPU_OK) {
        return status;
    }
    for (size_t at = 0; at < bytes && status == MPINPU_OK; at += piece_bytes) {
        status = piece_move(&made, at, bytes - at < piece_bytes ? bytes - at : piece_bytes, why, why_bytes);
    }
    if (status == MPINPU_OK && !pages_held(&made)) {
        (void)snprintf(why, why_bytes, "/proc/self/map_files does not tell what is mapped");
        status = MPINPU_ERR_UNSUPPORTED;
    }
    if (status != MPINPU_OK) {
        (void)pages_return(address, bytes);
        pages_forget(&made);
        return status;
    }
    *pages = made;
    return MPINPU_OK;
}

bool pages_held(const pages_t *pages)
{
    char path[80];
    char expected[PAGES_NAME_BYTES + 32];
    char found[sizeof expected + 1];

    (void)snprintf(path, sizeof path, "/proc/self/map_files/%" PRIxPTR "-%" PRIxPTR, (uintptr_t)pages->address,
                   (uintptr_t)(pages->address + pages->bytes));
    const int length = snprintf(expected, sizeof expected, "/memfd:%s (deleted)", pages->name);
    return readlink(path, found, sizeof found) == length && memcmp(found, expected, (size_t)length) == 0;
}

pages_card_t pages_card(const pages_t *pages)
{
    return (pages_card_t){
        .inode = pages->inode, .bytes = pages->bytes, .pid = (int64_t)getpid(), .fd = (int32_t)pages->fd};
}

void pages_forget(pages_t *pages)
{
    (void)close(pages->fd);
    pages->fd = -1;
}

/* One mapping, or a part of it, becomes private: a copy takes its place in one step. */
static bool part_return(unsigned char *place, size_t bytes)
{
    void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (copy == MAP_FAILED) {
        return false;
    }
    memcpy(copy, place, bytes);
    /* Not by the function mremap, which the library itself stands before. */
    if (syscall(SYS_mremap, copy, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == -1) {
        (void)munmap(copy, bytes);
        return false;
    }
    return true;
}

size_t pages_return(void *address, size_t bytes)
{
    unsigned char *from = address;
    unsigned char *const end = from + bytes;
    size_t left = 0;
    maps_range_t range;

    if (prefix[0] == '\0') {
        return 0;
    }
    /* The mappings change while they are gone through, so each is looked for anew behind the last. */
    while (from < end && maps_find(prefix, from, end, &range)) {
        for (unsigned char *at = range.from; at < range.to; at += piece_bytes) {
            const size_t part = (size_t)(range.to - at) < piece_bytes ? (size_t)(range.to - at) : piece_bytes;
            left += range.writable && part_return(at, part) ? 0 : part;
        }
        from = range.to;
    }
    return left;
}

void pages_discard(void *address, size_t bytes)
{
    unsigned char *from = address;
    unsigned char *const end = from + bytes;
    maps_range_t range;

    while (prefix[0] != '\0' && from < end && maps_find(prefix, from, end, &range)) {
        (void)mmap(range.from, (size_t)(range.to - range.from), PROT_READ | (range.writable ? PROT_WRITE : 0),
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        from = range.to;
    }
}

mpinpu_status_t pages_peer_map(const pages_card_t *card, unsigned char **base, char *why, size_t why_bytes)
{
    char path[64];
    struct stat found;
    void *mapped = MAP_FAILED;

    (void)snprintf(path, sizeof path, "/proc/%" PRId64 "/fd/%" PRId32, card->pid, card->fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &found) != 0) {
        (void)snprintf(why, why_bytes, "%s: %m", path);
    } else if ((uint64_t)found.st_ino != card->inode || (uint64_t)found.st_size != card->bytes) {
        /* Another process has this number where the peer's cannot be seen. */
        (void)snprintf(why, why_bytes, "%s is another file", path);
    } else {
        mapped = mmap(NULL, card->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
        if (mapped == MAP_FAILED) {
            (void)snprintf(why, why_bytes, "no address space: %m");
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (mapped == MAP_FAILED) {
        return MPINPU_ERR_UNSUPPORTED;
    }
    *base = mapped;
    return MPINPU_OK;
}

void pages_peer_unmap(unsigned char *base, size_t bytes)
{
    (void)munmap(base, bytes);
}
