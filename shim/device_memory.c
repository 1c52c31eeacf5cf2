/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h" /* _GNU_SOURCE: RTLD_NEXT */

#include "shim/device_memory.h"

#include "shim/export.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What a function answers that is called and cannot be found: ACL_ERROR_INTERNAL_ERROR. */
enum { NOT_FOUND = 500000 };

typedef struct range {
    uintptr_t from;
    uintptr_t end;
} range_t;

static _Atomic bool seen;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static range_t *ranges; /* by address */
static size_t count;
static size_t room;

const _Atomic bool *device_memory_seen(void)
{
    return &seen;
}

/* With the lock held: the first range that ends behind the address. */
static size_t range_find(uintptr_t address)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle].end <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool device_memory_owns(const void *address)
{
    const uintptr_t at = (uintptr_t)address;
    bool owns;

    pthread_mutex_lock(&lock);
    const size_t found = range_find(at);
    owns = found < count && ranges[found].from <= at;
    pthread_mutex_unlock(&lock);
    return owns;
}

/* For want of memory a range is not known: its pointers are then taken for the host's, and a copy of them faults. */
static void range_add(void *address, size_t bytes)
{
    const uintptr_t from = (uintptr_t)address;

    pthread_mutex_lock(&lock);
    if (count == room) {
        const size_t more = 2 * room + 64;
        range_t *grown = realloc(ranges, more * sizeof *grown);
        if (grown != NULL) {
            ranges = grown;
            room = more;
        }
    }
    if (count < room) {
        const size_t at = range_find(from);
        memmove(&ranges[at + 1], &ranges[at], (count - at) * sizeof *ranges);
        ranges[at] = (range_t){.from = from, .end = from + bytes};
        count++;
    }
    pthread_mutex_unlock(&lock);
    atomic_store_explicit(&seen, true, memory_order_relaxed);
}

static void range_remove(const void *address)
{
    pthread_mutex_lock(&lock);
    const size_t at = range_find((uintptr_t)address);
    if (at < count && ranges[at].from == (uintptr_t)address) {
        count--;
        memmove(&ranges[at], &ranges[at + 1], (count - at) * sizeof *ranges);
    }
    pthread_mutex_unlock(&lock);
}

/* CANN's own function: behind this object in the search order, or in a library that was loaded RTLD_LOCAL. */
static void *function_find(const char *symbol)
{
    static const char *const libraries[] = {"libacl_rt.so", "libascendcl.so"};
    void *found = dlsym(RTLD_NEXT, symbol);

    for (size_t l = 0; found == NULL && l < sizeof libraries / sizeof libraries[0]; l++) {
        void *handle = dlopen(libraries[l], RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL) {
            found = dlsym(handle, symbol);
            (void)dlclose(handle);
        }
    }
    return found;
}

// NOLINTBEGIN(bugprone-macro-parentheses): declarations, calls and statements
/* Each function of CANN's (aclrtMalloc and the like; acl/acl_rt.h), with what it passes on, and what is noted when it
   succeeds, before it is called where memory is given back. */
#define DEVICE_FUNCTION(NAME, PARAMETERS, ARGUMENTS, BEFORE, AFTER) \
    EXPORT_SOME(NAME) int EXPORTED_AS_SOME(NAME) PARAMETERS;        \
    int EXPORTED_AS_SOME(NAME) PARAMETERS                           \
    {                                                               \
        int(*function) PARAMETERS = NULL;                           \
        void *found = function_find(#NAME);                         \
        if (found == NULL) {                                        \
            return NOT_FOUND;                                       \
        }                                                           \
        memcpy(&function, &found, sizeof function);                 \
        BEFORE;                                                     \
        const int code = function ARGUMENTS;                        \
        if (code == 0) {                                            \
            AFTER;                                                  \
        }                                                           \
        return code;                                                \
    }
DEVICE_FUNCTION(aclrtMalloc, (void **address, size_t bytes, int policy), (address, bytes, policy), (void)0,
                range_add(*address, bytes))
DEVICE_FUNCTION(aclrtMallocAlign32, (void **address, size_t bytes, int policy), (address, bytes, policy), (void)0,
                range_add(*address, bytes))
DEVICE_FUNCTION(aclrtMallocCached, (void **address, size_t bytes, int policy), (address, bytes, policy), (void)0,
                range_add(*address, bytes))
DEVICE_FUNCTION(aclrtMallocWithCfg, (void **address, size_t bytes, int policy, void *config),
                (address, bytes, policy, config), (void)0, range_add(*address, bytes))
DEVICE_FUNCTION(aclrtReserveMemAddress, (void **address, size_t bytes, size_t align, void *wanted, uint64_t flags),
                (address, bytes, align, wanted, flags), (void)0, range_add(*address, bytes))
DEVICE_FUNCTION(aclrtFree, (void *address), (address), range_remove(address), (void)0)
DEVICE_FUNCTION(aclrtReleaseMemAddress, (void *address), (address), range_remove(address), (void)0)
// NOLINTEND(bugprone-macro-parentheses)
