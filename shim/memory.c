/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of libmpinpu.so: the functions of libc by which a program changes what memory it has in a way that differs
   between private pages and pages shared in place. Where the core has set a watch it hears of them first, and makes the
   pages private again. Else a call is passed on, for the price of two loads. */
#include "config.h" /* _GNU_SOURCE: RTLD_NEXT, mremap */

#include "shim/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int madvise_function_t(void *, size_t, int);
typedef void *mremap_function_t(void *, size_t, size_t, int, ...);

static memory_watch_place_t memory_watch;

/* The next object's function: libc's, or one that stands in between; NULL: none. Looked up once. Relaxed: every thread
   finds the same. */
static void *function_next(_Atomic(void *) *kept, const char *symbol)
{
    void *function = atomic_load_explicit(kept, memory_order_relaxed);

    if (function == NULL) {
        const int saved = errno;
        function = dlsym(RTLD_NEXT, symbol);
        atomic_store_explicit(kept, function, memory_order_relaxed);
        errno = saved;
    }
    return function;
}

static void memory_tell(void *address, size_t bytes, bool discards)
{
    /* Acquire: who sees the watch sees what it works on. */
    memory_watch_t *watch = atomic_load_explicit(&memory_watch, memory_order_acquire);

    if (watch != NULL) {
        const int saved = errno;
        watch(address, bytes, discards);
        errno = saved;
    }
}

__attribute__((visibility("default"))) int madvise(void *address, size_t bytes, int advice)
{
    static _Atomic(void *) kept;
    void *next = function_next(&kept, "madvise");
    madvise_function_t *function;

    /* The others do to shared pages what they do to private ones, or nothing. */
    if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE) {
        memory_tell(address, bytes, true);
    }
    if (next == NULL) {
        return (int)syscall(SYS_madvise, address, bytes, advice);
    }
    memcpy(&function, &next, sizeof function);
    return function(address, bytes, advice);
}

__attribute__((visibility("default"))) void *mremap(void *address, size_t bytes, size_t new_bytes, int flags, ...)
{
    static _Atomic(void *) kept;
    void *next = function_next(&kept, "mremap");
    mremap_function_t *function;
    void *place = NULL;
    va_list arguments;

    va_start(arguments, flags);
    if ((flags & MREMAP_FIXED) != 0) {
        place = va_arg(arguments, void *);
    }
    va_end(arguments);
    memory_tell(address, bytes, false);
    if (next == NULL) {
        return (void *)syscall(SYS_mremap, address, bytes, new_bytes, flags,
                               place); // NOLINT(performance-no-int-to-ptr)
    }
    memcpy(&function, &next, sizeof function);
    return function(address, bytes, new_bytes, flags, place);
}

/* Whether the program's calls come here: the library may have been loaded behind libc. */
static int memory_stands_first(void)
{
    void *found = dlsym(RTLD_DEFAULT, "madvise");
    madvise_function_t *own = madvise;

    return memcmp(&found, &own, sizeof found) == 0;
}

memory_watch_place_t *memory_watch_place(void)
{
    return memory_stands_first() ? &memory_watch : NULL;
}
