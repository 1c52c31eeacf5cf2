/* SPDX-License-Identifier: BSD-3-Clause */
/* Little shared memory: the window is there to the last page, or it is said why not. Each test limits a name space of
   its own, which needs root; elsewhere it is skipped. */
#define _GNU_SOURCE /* unshare */
#include "tests/unit/transport_processes.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char segments_limit[] = "/proc/sys/kernel/shmall"; /* pages, in the IPC name space */

static bool text_write(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool wrote = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
    if (file >= 0) {
        close(file);
    }
    return wrote;
}

/* Limits /dev/shm (as for mount: "1m") and the pages of System V segments (NULL: as it is) for this process and its
   children. */
static void limit_or_skip(const char *shm_size, const char *pages)
{
    char options[64];
    snprintf(options, sizeof options, "size=%s", shm_size);
    if (unshare(CLONE_NEWNS | CLONE_NEWIPC) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, options) != 0 || (pages != NULL && !text_write(segments_limit, pages))) {
        cr_skip_test("cannot limit shared memory here: %s", strerror(errno));
    }
}

struct memory_case {
    size_t window_bytes;
    bool window;           /* whether there is one */
    const char *reason[2]; /* if not, what the reason must name */
};

/* Maps the window, writes all of it and all of the peer's, and passes a message; or hears the reason, and passes a
   message all the same. */
static void memory_body(process_t *self)
{
    const struct memory_case *expected = self->argument;
    party_t party;
    char why[256] = "";
    void *base = NULL;
    size_t bytes = 0;
    if (expected->window) {
        party_meet(&party, self, expected->window_bytes, false);
        memset(party.window, 1, party.window_bytes);
        process_barrier(self);
        memset(party_window(&party, 1 - self->rank), 2, party.window_bytes);
        process_barrier(self);
        process_require(((char *)party.window)[party.window_bytes - 1] == 2, "last byte");
    } else {
        transport_config_t config = {.window_bytes = expected->window_bytes};
        transport_t *transport;
        process_require(transport_open(&config, &transport, why, sizeof why) == MPINPU_OK, "%s", why);
        process_require(transport_window_map(transport, &base, &bytes, why, sizeof why) == MPINPU_ERR_NO_MEMORY,
                        "a window where there is no room");
        for (int i = 0; i < 2 && expected->reason[i] != NULL; i++) {
            process_require(strstr(why, expected->reason[i]) != NULL, "\"%s\" does not name %s", why,
                            expected->reason[i]);
        }
        transport_close(transport);
        party_meet(&party, self, 0, false);
    }
    party_greet(&party, 1 - self->rank);
    process_barrier(self);
    transport_close(party.transport);
}

/* A container's /dev/shm does not matter. */
Test(transport_memory, small_dev_shm, .timeout = 60)
{
    limit_or_skip("1m", NULL);
    struct memory_case expected = {.window_bytes = 8 << 20, .window = true};
    cr_assert_eq(processes_run(2, 50, 0, memory_body, &expected), 0);
}

/* Without System V memory /dev/shm serves. */
Test(transport_memory, no_system_v, .timeout = 60)
{
    limit_or_skip("32m", "0");
    struct memory_case expected = {.window_bytes = 4 << 20, .window = true};
    cr_assert_eq(processes_run(2, 50, 0, memory_body, &expected), 0);
}

/* Room for UCX's queues, but not for the window. */
Test(transport_memory, window_too_large, .timeout = 60)
{
    limit_or_skip("1m", "4000");
    struct memory_case expected = {.window_bytes = 64 << 20, .reason = {"shmget", "/dev/shm"}};
    cr_assert_eq(processes_run(2, 50, 0, memory_body, &expected), 0);
}

/* No shared memory at all: messages go by other ways. */
Test(transport_memory, none_at_all, .timeout = 60)
{
    limit_or_skip("64k", "0");
    struct memory_case expected = {.window_bytes = 1 << 20, .reason = {"shmget", "/dev/shm"}};
    cr_assert_eq(processes_run(2, 50, 0, memory_body, &expected), 0);
}

/* The user insists on /dev/shm, which has no room for UCX's own queues: an error, and no signal. */
static void insist_body(process_t *self)
{
    char why[256] = "";
    transport_config_t config = {.window_bytes = 8 << 20};
    transport_t *transport = NULL;
    (void)self;
    process_require(transport_open(&config, &transport, why, sizeof why) == MPINPU_ERR_TRANSPORT, "opened");
    process_require(transport == NULL && strstr(why, "ucp_worker_create") != NULL, "%s", why);
}

Test(transport_memory, user_insists_on_small_dev_shm, .timeout = 60)
{
    limit_or_skip("1m", NULL);
    setenv("UCX_TLS", "posix,self", 1);
    cr_assert_eq(processes_run(1, 50, 0, insist_body, NULL), 0);
}

/* As above, but the queues fit and the window does not. */
static void window_body(process_t *self)
{
    char why[256] = "";
    transport_config_t config = {.window_bytes = 64 << 20};
    transport_t *transport = NULL;
    void *base = NULL;
    size_t bytes = 0;
    (void)self;
    process_require(transport_open(&config, &transport, why, sizeof why) == MPINPU_OK, "%s", why);
    mpinpu_status_t status = transport_window_map(transport, &base, &bytes, why, sizeof why);
    if (status == MPINPU_OK) {
        memset(base, 1, bytes); /* of other memory than /dev/shm */
    }
    process_require(status == MPINPU_OK || why[0] != '\0', "%s without a reason", status_name(status));
    transport_close(transport);
}

Test(transport_memory, user_insists_on_middling_dev_shm, .timeout = 60)
{
    limit_or_skip("20m", NULL);
    setenv("UCX_TLS", "posix,self", 1);
    cr_assert_eq(processes_run(1, 50, 0, window_body, NULL), 0);
}

/* A control group with less memory than the window. */
Test(transport_memory, control_group, .timeout = 60)
{
    static const struct {
        const char *parent, *limit;
    } versions[] = {{"/sys/fs/cgroup", "memory.max"}, {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}};
    char folder[128];
    char path[192];
    char pid[24];
    bool limited = false;
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    for (int i = 0; i < 2 && !limited; i++) {
        snprintf(folder, sizeof folder, "%s/mpinpu-test-%s", versions[i].parent, pid);
        if (mkdir(folder, 0755) != 0) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, versions[i].limit);
        limited = text_write(path, "100000000");
        snprintf(path, sizeof path, "%s/cgroup.procs", folder);
        limited = limited && text_write(path, pid);
        if (!limited) {
            rmdir(folder);
        }
    }
    if (!limited) {
        cr_skip_test("cannot make a control group here");
    }
    struct memory_case expected = {.window_bytes = 200 << 20, .reason = {"control group"}};
    int failed = processes_run(2, 50, 0, memory_body, &expected);
    snprintf(path, sizeof path, "%.*s/cgroup.procs", (int)(strrchr(folder, '/') - folder), folder);
    text_write(path, pid);
    rmdir(folder);
    cr_assert_eq(failed, 0);
}
