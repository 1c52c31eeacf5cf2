/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory. A device address lies in a range that no access is allowed to, so the host that touches it faults; the bytes
   are elsewhere. An address is never given twice, so that one that was freed stays wrong. */
#define _GNU_SOURCE
#include "tests/cann/standin.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Of addresses, not of memory; less where the process may not have so many. */
#define ARENA_MOST  ((size_t)1 << 42)
#define ARENA_LEAST ((size_t)1 << 32)

/* Addresses are as little aligned as the real ones: 64 bytes. */
enum { PAGE = 4096, SKEW = 64, FRESH = 0xC5 };

typedef struct block {
    struct block *next;
    char *address; /* what the program sees */
    char *bytes;   /* where they are; host memory: the same */
    size_t size;   /* as asked for */
    size_t mapped;
    int device; /* -1: host memory */
} block_t;

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static block_t *blocks;
static char *arena;
static size_t arena_bytes;
static size_t arena_used;
static size_t taken[STANDIN_DEVICES_MAX]; /* by allocations and communicators, bytes */
static size_t allocated[STANDIN_DEVICES_MAX];

void standin_memory_lock(void)
{
    pthread_rwlock_rdlock(&lock);
}

void standin_memory_unlock(void)
{
    pthread_rwlock_unlock(&lock);
}

static size_t device_bytes_all(void)
{
    return (size_t)(standin_number("CANN_MEMORY", 32768) * 1048576.0);
}

static bool device_take(int device, size_t bytes)
{
    if (bytes > device_bytes_all() - taken[device]) {
        return false;
    }
    taken[device] += bytes;
    return true;
}

bool standin_device_take(int device, size_t bytes)
{
    pthread_rwlock_wrlock(&lock);
    bool took = device_take(device, bytes);
    pthread_rwlock_unlock(&lock);
    return took;
}

void standin_device_give(int device, size_t bytes)
{
    pthread_rwlock_wrlock(&lock);
    taken[device] -= bytes;
    pthread_rwlock_unlock(&lock);
}

bool standin_device_used(int device)
{
    standin_memory_lock();
    bool used = allocated[device] > 0;
    standin_memory_unlock();
    return used;
}

bool standin_is_device(const void *address)
{
    return arena != NULL && (const char *)address >= arena && (const char *)address < arena + arena_bytes;
}

/* The block that holds the address, or NULL. */
static block_t *block_find(const char *address)
{
    for (block_t *block = blocks; block != NULL; block = block->next) {
        if (address >= block->address && address < block->address + block->size) {
            return block;
        }
    }
    return NULL;
}

char *standin_device_bytes(const void *address, size_t count, int *device, const char **why)
{
    const block_t *block = block_find(address);
    if (!standin_is_device(address)) {
        *why = "is not device memory";
    } else if (block == NULL) {
        *why = "is device memory that was freed, or never allocated";
    } else if (count > block->size - (size_t)((const char *)address - block->address)) {
        *why = "runs past the end of its allocation";
    } else {
        *device = block->device;
        return block->bytes + ((const char *)address - block->address);
    }
    return NULL;
}

bool standin_is_pinned(const void *address, size_t count)
{
    const block_t *block = block_find(address);
    return block != NULL && block->device < 0 &&
           count <= block->size - (size_t)((const char *)address - block->address);
}

static void arena_reserve(void)
{
    for (size_t bytes = ARENA_MOST; arena == NULL && bytes >= ARENA_LEAST; bytes /= 2) {
        char *range = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (range != MAP_FAILED) {
            arena = range;
            arena_bytes = bytes;
        }
    }
}

/* Called with the lock held. */
static bool block_map(block_t *block, int device)
{
    block->mapped = (block->size + SKEW + PAGE - 1) / PAGE * PAGE;
    char *bytes = mmap(NULL, block->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        return false;
    }
    memset(bytes, FRESH, block->mapped);
    block->bytes = bytes + SKEW;
    block->address = block->bytes;
    block->device = device;
    if (device < 0) {
        return true;
    }
    arena_reserve();
    if (arena == NULL || block->mapped + PAGE > arena_bytes - arena_used || !device_take(device, block->size)) {
        munmap(bytes, block->mapped);
        return false;
    }
    block->address = arena + arena_used + SKEW;
    arena_used += block->mapped + PAGE;
    allocated[device] += block->size;
    return true;
}

static int block_make(void **address, size_t size, int device)
{
    if (address == NULL || size == 0) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0001: the size is 0 or the pointer NULL");
    }
    block_t *block = calloc(1, sizeof *block);
    if (block == NULL) {
        return standin_fail(ACL_ERROR_BAD_ALLOC, "EL0004: no memory");
    }
    block->size = size;
    pthread_rwlock_wrlock(&lock);
    bool mapped = block_map(block, device);
    if (mapped) {
        block->next = blocks;
        blocks = block;
    }
    pthread_rwlock_unlock(&lock);
    if (!mapped) {
        free(block);
        return standin_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "EL0004: no memory for %zu bytes", size);
    }
    *address = block->address;
    return ACL_SUCCESS;
}

static int block_free(void *address, bool device)
{
    block_t **place = &blocks;
    pthread_rwlock_wrlock(&lock);
    while (*place != NULL && (*place)->address != (char *)address) {
        place = &(*place)->next;
    }
    block_t *block = *place;
    if (address == NULL || block == NULL || (block->device >= 0) != device) {
        pthread_rwlock_unlock(&lock);
        return standin_refuse(ACL_ERROR_RT_PARAM_INVALID, "EE1001: %p is not the start of a live allocation", address);
    }
    *place = block->next;
    if (device) {
        taken[block->device] -= block->size;
        allocated[block->device] -= block->size;
        standin_account(ACCOUNT_DEVICE_BYTES, -(long)block->size);
    }
    munmap(block->bytes - SKEW, block->mapped);
    pthread_rwlock_unlock(&lock);
    standin_account(device ? ACCOUNT_DEVICE_MEMORY : ACCOUNT_HOST_MEMORY, -1);
    free(block);
    return ACL_SUCCESS;
}

aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    STANDIN_ENTER(aclrtMalloc);
    int code;
    const standin_context_t *context = standin_context(&code);
    if (context == NULL) {
        return code;
    }
    if ((unsigned)policy > (unsigned)ACL_MEM_MALLOC_NORMAL_ONLY_P2P) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0001: no such policy: %d", (int)policy);
    }
    code = block_make(devPtr, size, context->device);
    if (code == ACL_SUCCESS) {
        standin_account(ACCOUNT_DEVICE_BYTES, (long)size);
        standin_account(ACCOUNT_DEVICE_MEMORY, 1);
    }
    return code;
}

aclError aclrtFree(void *devPtr)
{
    STANDIN_ENTER(aclrtFree);
    int code;
    return standin_context(&code) == NULL ? code : block_free(devPtr, true);
}

aclError aclrtMallocHost(void **hostPtr, size_t size)
{
    STANDIN_ENTER(aclrtMallocHost);
    int code;
    if (standin_context(&code) == NULL) {
        return code;
    }
    code = block_make(hostPtr, size, -1);
    if (code == ACL_SUCCESS) {
        standin_account(ACCOUNT_HOST_MEMORY, 1);
    }
    return code;
}

aclError aclrtFreeHost(void *hostPtr)
{
    STANDIN_ENTER(aclrtFreeHost);
    int code;
    return standin_context(&code) == NULL ? code : block_free(hostPtr, false);
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free_bytes, size_t *total)
{
    STANDIN_ENTER(aclrtGetMemInfo);
    int code;
    const standin_context_t *context = standin_context(&code);
    if (context == NULL) {
        return code;
    }
    if (free_bytes == NULL || total == NULL || (unsigned)attr > (unsigned)ACL_HBM_MEM_NORMAL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: a pointer or the kind of memory is not right");
    }
    standin_memory_lock();
    *total = device_bytes_all();
    *free_bytes = *total - taken[context->device];
    standin_memory_unlock();
    return ACL_SUCCESS;
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes)
{
    STANDIN_ENTER(aclrtPointerGetAttributes);
    const int code = standin_asked();
    if (code != ACL_SUCCESS) {
        return code;
    }
    if (ptr == NULL || attributes == NULL) {
        return standin_refuse(ACL_ERROR_INVALID_PARAM, "EH0002: a pointer is NULL");
    }
    memset(attributes, 0, sizeof *attributes);
    standin_memory_lock();
    const block_t *block = block_find(ptr);
    attributes->pageSize = PAGE;
    attributes->location.id = block != NULL && block->device >= 0 ? (uint32_t)block->device : 0;
    attributes->location.type = block == NULL       ? ACL_MEM_LOCATION_TYPE_UNREGISTERED
                                : block->device < 0 ? ACL_MEM_LOCATION_TYPE_HOST
                                                    : ACL_MEM_LOCATION_TYPE_DEVICE;
    standin_memory_unlock();
    return ACL_SUCCESS;
}
