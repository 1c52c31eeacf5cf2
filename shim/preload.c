/* SPDX-License-Identifier: BSD-3-Clause */
/* libmpinpu.so: what is preloaded. It exports MPI_X and PMPI_X for each row X of functions.def and needs libc alone. A
   call loads a pointer and jumps. The pointers start at a resolver, which finds the MPI library that this process has
   loaded, opens the core that is written for it, and sets them for good.

   PMPI_X leads to the core. MPI_X leads there too, unless a profiler stands below: an object behind this one in the
   search order that defines MPI_X and is not the MPI library. Then MPI_X leads to the profiler, whose own call of
   PMPI_X comes back here. A profiler above defines MPI_X itself and reaches us by PMPI_X only. */
#include "config.h" /* _GNU_SOURCE: dladdr1, dlinfo, RTLD_NEXT */

#include "engine/job.h"
#include "shim/core.h"
#include "shim/core_load.h"
#include "shim/device_memory.h"
#include "shim/export.h"
#include "shim/memory.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A parameter as it travels in a register or a stack slot. Handles are pointers in Open MPI and ints in MPICH; on
   x86-64 and aarch64 (System V, AAPCS64) each of them, an int too, takes one whole register or one eight-byte slot,
   whose upper half the callee ignores where the parameter is an int. So words passed on unchanged serve every MPI. */
typedef uintptr_t word_t;

#define WORDS_BLOCKING    word_t a, word_t b, word_t c, word_t d, word_t e, word_t f
#define PASS_BLOCKING     a, b, c, d, e, f
#define WORDS_NONBLOCKING WORDS_BLOCKING, word_t g
#define PASS_NONBLOCKING  PASS_BLOCKING, g
#define WORDS_PERSISTENT  WORDS_NONBLOCKING, word_t h
#define PASS_PERSISTENT   PASS_NONBLOCKING, h
#define WORDS_START       word_t a
#define PASS_START        a
#define WORDS_STARTALL    word_t a, word_t b
#define PASS_STARTALL     a, b
#define WORDS_RELEASE     word_t a
#define PASS_RELEASE      a
#define WORDS_INIT        word_t a, word_t b
#define PASS_INIT         a, b
#define WORDS_INIT_THREAD word_t a, word_t b, word_t c, word_t d
#define PASS_INIT_THREAD  a, b, c, d
typedef int (*function_BLOCKING_t)(WORDS_BLOCKING);
typedef int (*function_NONBLOCKING_t)(WORDS_NONBLOCKING);
typedef int (*function_PERSISTENT_t)(WORDS_PERSISTENT);
typedef int (*function_START_t)(WORDS_START);
typedef int (*function_STARTALL_t)(WORDS_STARTALL);
typedef int (*function_RELEASE_t)(WORDS_RELEASE);
typedef int (*function_INIT_t)(WORDS_INIT);
typedef int (*function_INIT_THREAD_t)(WORDS_INIT_THREAD);

/* Where MPI_X and PMPI_X lead. Written once, by the resolver, with release: who reads a pointer with acquire also sees
   everything that the core set up before. Who still reads the start value goes through the resolver, and waits. */
static _Atomic(core_entry_t) mpi_entry[CORE_FUNCTION_COUNT];
static _Atomic(core_entry_t) pmpi_entry[CORE_FUNCTION_COUNT];

static void resolve(void);
static void missing(const char *symbol);

/* For each symbol: its first destination, which resolves and goes on; the destination where this process has no such
   function; and the function that is exported. */
#define WRAPPER(SYMBOL, entry, NAME, mode, presence)                                         \
    static int first_##SYMBOL(WORDS_##mode)                                                  \
    {                                                                                        \
        resolve();                                                                           \
        core_entry_t go = atomic_load_explicit(&(entry)[CORE_##NAME], memory_order_acquire); \
        return ((function_##mode##_t)go)(PASS_##mode);                                       \
    }                                                                                        \
    static void missing_##SYMBOL(void)                                                       \
    {                                                                                        \
        missing(#SYMBOL);                                                                    \
    }                                                                                        \
    EXPORT_##presence(SYMBOL) int EXPORTED_AS_##presence(SYMBOL)(WORDS_##mode);              \
    int EXPORTED_AS_##presence(SYMBOL)(WORDS_##mode)                                         \
    {                                                                                        \
        core_entry_t go = atomic_load_explicit(&(entry)[CORE_##NAME], memory_order_acquire); \
        return ((function_##mode##_t)go)(PASS_##mode);                                       \
    }
#define FUNCTION(NAME, kind, mode, width, presence) \
    WRAPPER(NAME, mpi_entry, NAME, mode, presence)  \
    WRAPPER(P##NAME, pmpi_entry, NAME, mode, presence)
#include "shim/functions.def"
#undef FUNCTION

static _Atomic(core_entry_t) mpi_entry[CORE_FUNCTION_COUNT] = {
#define FUNCTION(NAME, kind, mode, width, presence) (core_entry_t) first_##NAME,
#include "shim/functions.def"
#undef FUNCTION
};
static _Atomic(core_entry_t) pmpi_entry[CORE_FUNCTION_COUNT] = {
#define FUNCTION(NAME, kind, mode, width, presence) (core_entry_t) first_P##NAME,
#include "shim/functions.def"
#undef FUNCTION
};

static const struct function {
    const char *mpi_name;
    const char *pmpi_name; /* the same text behind the P */
    core_entry_t mpi_missing;
    core_entry_t pmpi_missing;
} functions[CORE_FUNCTION_COUNT] = {
#define FUNCTION(NAME, kind, mode, width, presence) {#NAME, "P" #NAME, missing_##NAME, missing_P##NAME},
#include "shim/functions.def"
#undef FUNCTION
};

/* An MPI and the symbols that only its library defines. */
typedef struct brand {
    const char *name;
    const char *core; /* in the folder mpinpu beside this object */
    bool shipped;     /* every installation has it */
    const char *markers[2];
} brand_t;

static const brand_t brands[] = {
    {"Open MPI", "libmpinpu-openmpi.so", true, {"ompi_mpi_comm_world", NULL}},
    {"MPICH", "libmpinpu-mpich.so", false, {"MPII_Version_string", "MPIR_Version_string"}},
};
static const brand_t brand_unknown = {"an MPI library that is not known", NULL, false, {NULL, NULL}};

/* The MPI library of this process. */
typedef struct library {
    void *handle;
    struct link_map *object;
    const brand_t *brand;
    const char *marker; /* what it was known by */
} library_t;

/* PMPI_X of the library; handed to the core, which keeps it. */
static core_table_t real = {.abi = MPINPU_CORE_ABI, .functions = CORE_FUNCTION_COUNT};

/* Who says it: what is so on all ranks is said by the one that speaks for its job; what is wrong with an installation
   may be so on one rank alone, where the others then wait for it. */
typedef enum note_by { NOTE_BY_SPEAKER, NOTE_BY_EACH } note_by_t;

/* One line on stderr by one write. */
__attribute__((format(printf, 2, 3))) static void note(note_by_t by, const char *format, ...)
{
    char text[1024] = "mpinpu: ";
    size_t head = strlen(text);
    va_list arguments;

    if (by == NOTE_BY_SPEAKER && !job_is_speaker()) {
        return;
    }
    va_start(arguments, format);
    int body = vsnprintf(text + head, sizeof text - head - 1, format, arguments);
    va_end(arguments);
    size_t length = strnlen(text, sizeof text - 2);
    (void)body;
    text[length++] = '\n';
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written;
}

/* Ends the process as the dynamic linker does when a symbol is missing: a line, and exit status 127. */
static void missing(const char *symbol)
{
    char text[256];
    int length =
        snprintf(text, sizeof text, "mpinpu: symbol lookup error: this process has no MPI library with %s\n", symbol);
    ssize_t written = write(STDERR_FILENO, text, (size_t)length);
    (void)written;
    _exit(127);
}

/* dlsym returns functions as void *; POSIX has the conversion. */
static core_entry_t entry_of(void *address)
{
    core_entry_t entry;

    memcpy(&entry, &address, sizeof entry);
    return entry;
}

/* The loaded object that holds an address, or NULL. */
static struct link_map *object_holding(const void *address)
{
    Dl_info info;
    struct link_map *object = NULL;

    return dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP) != 0 ? object : NULL;
}

/* Whether the object itself defines the symbol; dlsym also searches what the object depends on. */
static bool object_defines(void *handle, const struct link_map *object, const char *symbol)
{
    void *address = dlsym(handle, symbol);

    return address != NULL && object_holding(address) == object;
}

static const brand_t *brand_of(void *handle, const struct link_map *object, const char **marker)
{
    for (size_t b = 0; b < sizeof brands / sizeof brands[0]; b++) {
        for (size_t m = 0; m < sizeof brands[b].markers / sizeof brands[b].markers[0]; m++) {
            *marker = brands[b].markers[m];
            if (*marker != NULL && object_defines(handle, object, *marker)) {
                return &brands[b];
            }
        }
    }
    *marker = functions[0].pmpi_name;
    return object_defines(handle, object, *marker) ? &brand_unknown : NULL;
}

/* Paths of the loaded objects, in the order in which they are searched. */
typedef struct paths {
    size_t count;
    size_t room;
    char **path;
} paths_t;

/* Copies, since the names are safe only under the lock that dl_iterate_phdr holds, and nothing may be opened under it.
   For want of memory it ends the walk: an MPI library not seen is treated as one not known. */
static int paths_add(struct dl_phdr_info *info, size_t bytes, void *context)
{
    paths_t *paths = context;

    (void)bytes;
    if (strchr(info->dlpi_name, '/') == NULL) { /* the program itself, the kernel's own object */
        return 0;
    }
    if (paths->count == paths->room) {
        size_t room = 2 * paths->room + 64;
        char **path = realloc(paths->path, room * sizeof *path);
        if (path == NULL) {
            return 1;
        }
        paths->room = room;
        paths->path = path;
    }
    paths->path[paths->count] = strdup(info->dlpi_name);
    if (paths->path[paths->count] == NULL) {
        return 1;
    }
    paths->count++;
    return 0;
}

/* Finds the MPI library among the loaded objects, however it was loaded: mpi4py has it RTLD_LOCAL, where RTLD_NEXT
   finds nothing. A library of a known brand goes before one that merely defines PMPI_X, as other layers like this one
   may. The handle is kept, so that the library stays. */
static bool library_find(library_t *library)
{
    const struct link_map *self = object_holding(&real);
    paths_t paths = {0};

    *library = (library_t){0};
    dl_iterate_phdr(paths_add, &paths);
    for (size_t p = 0; p < paths.count; p++) {
        bool searching = library->brand == NULL || library->brand == &brand_unknown;
        void *handle = searching ? dlopen(paths.path[p], RTLD_LAZY | RTLD_NOLOAD) : NULL;
        struct link_map *object = NULL;
        const char *marker = NULL;
        const brand_t *brand = NULL;

        free(paths.path[p]);
        if (handle == NULL) {
            continue;
        }
        if (dlinfo(handle, RTLD_DI_LINKMAP, &object) == 0 && object != self) {
            brand = brand_of(handle, object, &marker);
        }
        if (brand == NULL || (brand == &brand_unknown && library->brand != NULL)) {
            dlclose(handle);
            continue;
        }
        if (library->handle != NULL) {
            dlclose(library->handle);
        }
        *library = (library_t){.handle = handle, .object = object, .brand = brand, .marker = marker};
    }
    free(paths.path);
    return library->handle != NULL;
}

/* The path of this object. A relative one (LD_PRELOAD=./libmpinpu.so) may have been left behind by chdir; the kernel
   knows it absolute. */
static bool self_path(char path[PATH_MAX])
{
    Dl_info info;

    if (dladdr(&real, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    if (info.dli_fname[0] == '/') {
        return snprintf(path, PATH_MAX, "%s", info.dli_fname) < PATH_MAX;
    }
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[PATH_MAX + 128];
    bool found = false;

    while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
        char *end;
        uintptr_t first = strtoul(line, &end, 16);
        uintptr_t last = *end == '-' ? strtoul(end + 1, &end, 16) : 0;
        const char *name = strchr(line, '/');
        line[strcspn(line, "\n")] = '\0';
        found = (uintptr_t)functions >= first && (uintptr_t)functions < last && name != NULL;
        if (found) {
            snprintf(path, PATH_MAX, "%s", name);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

/* Opens the core for the library and lets it fill in `served`. False, and said why: there is none that will do. */
static bool core_open(const library_t *library, core_table_t *served)
{
    char folder[PATH_MAX];
    char path[PATH_MAX + 64];
    char why[512] = "";

    if (library->brand->core == NULL || !self_path(folder)) {
        note(NOTE_BY_SPEAKER, "no core for %s (%s): its calls go straight through", library->brand->name,
             library->object->l_name);
        return false;
    }
    *strrchr(folder, '/') = '\0';
    snprintf(path, sizeof path, "%s/mpinpu/%s", folder, library->brand->core);
    if (access(path, F_OK) != 0) {
        note(library->brand->shipped ? NOTE_BY_EACH : NOTE_BY_SPEAKER,
             "no core for %s (%s is not there): its calls go straight through", library->brand->name, path);
        return false;
    }
    void *core = core_load(path, why, sizeof why);
    if (core == NULL) {
        note(NOTE_BY_EACH, "the core for %s does not load (%s): all calls go straight through", library->brand->name,
             why);
        return false;
    }
    /* The core must have bound to the very library that the program uses, not have brought another of its kind. */
    const void *marker = dlsym(core, library->marker);
    core_open_t *open = (core_open_t *)entry_of(dlsym(core, CORE_OPEN_SYMBOL));
    if (marker == NULL || object_holding(marker) != library->object || open == NULL) {
        note(NOTE_BY_EACH, "%s is not made for %s: all calls go straight through", path, library->object->l_name);
        dlclose(core);
        return false;
    }
    return open(&real, served) == 0;
}

/* Where MPI_X leads: the profiler below, if there is one, else `served`. */
static core_entry_t mpi_destination(const char *symbol, const library_t *library, core_entry_t served)
{
    void *next = dlsym(RTLD_NEXT, symbol);

    return next != NULL && object_holding(next) != library->object ? entry_of(next) : served;
}

static void resolve_once(void)
{
    int saved_errno = errno;
    core_table_t served = {.abi = MPINPU_CORE_ABI, .functions = CORE_FUNCTION_COUNT};
    library_t library;
    bool found = library_find(&library);

    real.memory_watch = memory_watch_place();
    real.device_seen = device_memory_seen();
    real.device_owns = device_memory_owns;
    for (int f = 0; f < CORE_FUNCTION_COUNT; f++) {
        void *address = dlsym(found ? library.handle : RTLD_NEXT, functions[f].pmpi_name);
        if (address == NULL) { /* a library without the profiling names */
            address = dlsym(found ? library.handle : RTLD_NEXT, functions[f].mpi_name);
        }
        real.entry[f] = entry_of(address);
    }
    if (!found || !core_open(&library, &served)) {
        served = real;
    }
    for (int f = 0; f < CORE_FUNCTION_COUNT; f++) {
        core_entry_t pmpi = served.entry[f] != NULL ? served.entry[f] : real.entry[f];
        core_entry_t mpi = mpi_destination(functions[f].mpi_name, &library, pmpi);
        atomic_store_explicit(&mpi_entry[f], mpi != NULL ? mpi : functions[f].mpi_missing, memory_order_release);
        atomic_store_explicit(&pmpi_entry[f], pmpi != NULL ? pmpi : functions[f].pmpi_missing, memory_order_release);
    }
    errno = saved_errno;
}

static void resolve(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, resolve_once);
}
