/* SPDX-License-Identifier: BSD-3-Clause */
/* A library to be preloaded: on rank STARVE_RANK, of the calls for memory that the core of libmpinpu.so makes itself,
   number STARVE_CALL and the STARVE_MANY - 1 after it get none. Says at the end how many there were. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);

static atomic_long calls;
static long first = -1;
static long many = 1;
static _Thread_local bool inside;

__attribute__((constructor)) static void starve_begin(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    const char *who = getenv("STARVE_RANK");
    const char *call = getenv("STARVE_CALL");
    const char *count = getenv("STARVE_MANY");

    if (rank != NULL && who != NULL && call != NULL && strcmp(rank, who) == 0) {
        many = count != NULL ? atol(count) : 1;
        first = atol(call);
    }
}

/* Only once all is there: a line for the script. */
__attribute__((destructor)) static void starve_end(void)
{
    if (first >= 0) {
        fprintf(stderr, "starve: %ld calls\n", atomic_load(&calls));
    }
}

static bool starves(const void *caller)
{
    Dl_info info;
    bool own;

    if (first < 0 || inside) {
        return false;
    }
    inside = true;
    own = dladdr(caller, &info) != 0 && info.dli_fname != NULL && strstr(info.dli_fname, "libmpinpu-openmpi") != NULL;
    inside = false;
    if (!own) {
        return false;
    }
    const long number = atomic_fetch_add(&calls, 1);
    return number >= first && number < first + many;
}

void *malloc(size_t bytes)
{
    return starves(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return starves(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}
