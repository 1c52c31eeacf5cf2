/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process may still take of what UCX needs. UCX 1.13 aborts the process where its worker gets no descriptor or
   no thread, and follows a null pointer where a segment cannot be attached; so these are asked for before. */
#include "transport/internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* A worker takes up to 15 descriptors, and each connection by TCP another. */
enum { DESCRIPTORS_NEEDED = 32 };

static bool descriptors_left(char *why, size_t why_bytes)
{
    int taken[DESCRIPTORS_NEEDED];
    int count = 0;

    while (count < DESCRIPTORS_NEEDED && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        count++;
    }
    if (count < DESCRIPTORS_NEEDED) {
        transport_why(why, why_bytes, "%d file descriptors are left (%m), %d are needed", count, DESCRIPTORS_NEEDED);
    }
    for (int i = 0; i < count; i++) {
        close(taken[i]);
    }
    return count == DESCRIPTORS_NEEDED;
}

static void *thread_run(void *argument)
{
    return argument;
}

static bool thread_left(char *why, size_t why_bytes)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, thread_run, NULL) != 0) {
        transport_why(why, why_bytes, "the process may not start a thread");
        return false;
    }
    pthread_join(thread, NULL);
    return true;
}

bool limits_address_space(size_t bytes, char *why, size_t why_bytes)
{
    void *place = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (place == MAP_FAILED) {
        transport_why(why, why_bytes, "no %zu MiB of address space are left: %m", bytes >> 20);
        return false;
    }
    munmap(place, bytes);
    return true;
}

bool limits_worker(size_t bytes, char *why, size_t why_bytes)
{
    return descriptors_left(why, why_bytes) && thread_left(why, why_bytes) &&
           limits_address_space(bytes, why, why_bytes);
}
