/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tests/jobs/device.h"

#include "tests/jobs/job.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TO_DEVICE = 1, TO_HOST = 2, SHIFT_MOST = 4, SHIFT_BYTES = 16 };

int aclrtMalloc(void **address, size_t bytes, int policy) __attribute__((weak));
int aclrtFree(void *address) __attribute__((weak));

static struct cann {
    void *handle;
    int (*malloc)(void **, size_t, int);
    int (*free)(void *);
    int (*copy)(void *, size_t, const void *, size_t, int);
    int (*set)(int);
    bool send;
    bool recv;
    bool mixed;
    unsigned calls;
} cann;

static void *symbol(const char *name)
{
    void *found = dlsym(cann.handle, name);

    if (found == NULL) {
        fprintf(stderr, "FAIL no %s in CANN\n", name);
        exit(1);
    }
    return found;
}

static void check(int code, const char *what)
{
    if (code != 0) {
        fprintf(stderr, "FAIL rank %d: %s: %d\n", job.rank, what, code);
        exit(1);
    }
}

static void cann_open(void)
{
    const char *places = getenv("JOB_PLACES");
    const char *file = getenv("JOB_CANN_LIBRARY");
    const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    int (*init)(const char *);
    int (*number)(uint32_t *);
    uint32_t devices = 0;

    if (places == NULL || file == NULL) {
        return;
    }
    cann.handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (cann.handle == NULL) {
        fprintf(stderr, "FAIL %s\n", dlerror());
        exit(1);
    }
    *(void **)&init = symbol("aclInit");
    *(void **)&number = symbol("aclrtGetDeviceCount");
    *(void **)&cann.set = symbol("aclrtSetDevice");
    *(void **)&cann.copy = symbol("aclrtMemcpy");
    const bool found = getenv("JOB_CANN") != NULL;
    if (!found && aclrtMalloc != NULL) {
        cann.malloc = aclrtMalloc;
        cann.free = aclrtFree;
    } else {
        *(void **)&cann.malloc = symbol("aclrtMalloc");
        *(void **)&cann.free = symbol("aclrtFree");
    }
    (void)init(NULL); /* the library may have done so */
    check(number(&devices), "aclrtGetDeviceCount");
    check(cann.set(local != NULL ? (int)(strtoul(local, NULL, 10) % devices) : 0), "aclrtSetDevice");
    cann.mixed = strcmp(places, "mixed") == 0;
    cann.send = cann.mixed || strcmp(places, "recv") != 0;
    cann.recv = cann.mixed || strcmp(places, "send") != 0;
}

/* A buffer, not at the begin of the memory. */
static void *place(void **memory, size_t bytes, const void *contents, unsigned shift)
{
    check(cann.malloc(memory, bytes + (size_t)SHIFT_MOST * SHIFT_BYTES, 0), "aclrtMalloc");
    char *at = (char *)*memory + (size_t)(shift % SHIFT_MOST) * SHIFT_BYTES;
    if (bytes > 0) {
        check(cann.copy(at, bytes, contents, bytes, TO_DEVICE), "aclrtMemcpy");
    }
    return at;
}

void device_begin(device_call_t *call, const void *send, void *recv, size_t sent, size_t received, MPI_Datatype type)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;

    pthread_once(&once, cann_open);
    *call = (device_call_t){.send = send, .recv = recv};
    if (cann.handle == NULL) {
        return;
    }
    const unsigned number = cann.calls++;
    const bool in_place = send == MPI_IN_PLACE;
    MPI_Type_get_extent(type, &lower, &extent);
    if (!in_place && send != NULL && cann.send && (!cann.mixed || (number + (unsigned)job.rank) % 2 == 0)) {
        call->send = place(&call->send_memory, sent * (size_t)extent, send, number);
    }
    if (recv != NULL && cann.recv && (!cann.mixed || (number / 2 + (unsigned)job.rank) % 2 == 0)) {
        call->bytes = (in_place ? sent : received) * (size_t)extent;
        call->result = recv;
        call->recv = place(&call->recv_memory, call->bytes, recv, number + 1);
    }
}

void device_end(device_call_t *call)
{
    if (call->recv_memory != NULL) {
        if (call->bytes > 0) {
            check(cann.copy(call->result, call->bytes, call->recv, call->bytes, TO_HOST), "aclrtMemcpy");
        }
        check(cann.free(call->recv_memory), "aclrtFree");
    }
    if (call->send_memory != NULL) {
        check(cann.free(call->send_memory), "aclrtFree");
    }
}
