/* SPDX-License-Identifier: BSD-3-Clause */
/* A stand-in for CANN's libraries on machines without an Ascend NPU, for tests: what its parts share. It has the real
   names, numbers and layouts, and refuses whatever the real libraries refuse or leave undefined. README.md beside this
   file tells what it does and which variables steer it. */
#ifndef TESTS_CANN_STANDIN_H
#define TESTS_CANN_STANDIN_H

#include "acl/acl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STANDIN_DEVICES_MAX = 64 };

typedef enum standin_product {
    PRODUCT_910A,
    PRODUCT_A2,
    PRODUCT_A3,
    PRODUCT_310P,
    PRODUCT_950,
    PRODUCT_NONE
} standin_product_t;

/* --- settings and accounts (standin_settings.c, standin_accounts.c) --- */

/* A number from the environment, or `otherwise`. */
double standin_number(const char *name, double otherwise);
const char *standin_soc(void);
standin_product_t standin_product(void);
int standin_release(void); /* of CANN: 802 for 8.2.RC1 */
const char *standin_version(void);
const char *standin_server(void); /* the name of the machine that it plays */
int standin_rank(void);           /* in the job, or -1: which faults and lines of the account are meant */
double standin_slowdown(void);    /* published times times this; 0: no timing */
double standin_now(void);         /* seconds, one clock for all processes of this machine */
void standin_sleep_until(double when);

/* Counts a call of `function` and returns the code that CANN_FAULT asks for, or 0. */
int standin_enter(const char *function);
#define STANDIN_ENTER(NAME)               \
    do {                                  \
        int fault = standin_enter(#NAME); \
        if (fault != 0) {                 \
            return fault;                 \
        }                                 \
    } while (0)

/* For programs that steer the stand-in while they run, which find these by dlsym: other faults than CANN_FAULT's, their
   calls counted from now on; and the calls of a function in this process since then. */
void standin_faults_set(const char *faults);
long standin_calls(const char *function);

/* Keeps the text for aclGetRecentErrMsg in this thread, counts a refusal, and returns `code`. */
int standin_refuse(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same text and no count: for what is not the caller's mistake. */
int standin_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *standin_said(void);

/* What must be zero at the end of a process that cleans up. */
typedef enum standin_account {
    ACCOUNT_DEVICE_BYTES,
    ACCOUNT_DEVICE_MEMORY, /* allocations */
    ACCOUNT_HOST_MEMORY,   /* allocations */
    ACCOUNT_STREAMS,
    ACCOUNT_EVENTS,
    ACCOUNT_COMMUNICATORS,
    ACCOUNT_DEVICES, /* set and not reset */
    ACCOUNT_COUNT
} standin_account_t;
void standin_account(standin_account_t account, long change);

/* --- devices and contexts (acl_device.c) --- */

typedef struct standin_context {
    int device;        /* as this process numbers them */
    bool primary;      /* the one that aclrtSetDevice uses */
    atomic_long users; /* of aclrtSetDevice; 0: not in use */
} standin_context_t;

/* The calling thread's context; NULL, having refused, if it has none or ACL is not initialised: *code is then set. */
standin_context_t *standin_context(int *code);
/* Whether there is one; for a question that is no mistake without it. */
int standin_asked(void);
int standin_physical(int device);
/* 0, or the code for a call before aclInit or in a child of the process that made it. */
int standin_initialised(void);

/* --- memory (acl_memory.c) --- */

/* Device memory as the device sees it. The lock is taken shared round every use of the bytes, exclusive to free. */
void standin_memory_lock(void);
void standin_memory_unlock(void);
/* With the lock held: the bytes behind a device address, NULL if [address, address + count) is not all of one live
   allocation; *why then says in words. *device is the device that it lies on. */
char *standin_device_bytes(const void *address, size_t count, int *device, const char **why);
/* Whether the address lies where device memory is or has been. */
bool standin_is_device(const void *address);
/* With the lock held: whether the range is all of one block of aclrtMallocHost. */
bool standin_is_pinned(const void *address, size_t count);
/* Device memory that is taken but never touched: a communicator's buffers. False: there is not enough. */
bool standin_device_take(int device, size_t bytes);
void standin_device_give(int device, size_t bytes);
/* Whether the application has device memory. */
bool standin_device_used(int device);

/* --- streams (acl_stream.c) --- */

typedef struct standin_stream standin_stream_t;

/* Work of a stream, done later by its thread. */
typedef struct standin_task {
    struct standin_task *next;
    /* Called some time before run, or NULL: spoils what run will write. */
    void (*spoil)(struct standin_task *task);
    /* 0, or an aclError, having called standin_fail. */
    int (*run)(struct standin_task *task, standin_stream_t *stream);
    /* Called once in any case, after run or instead of it. */
    void (*release)(struct standin_task *task);
} standin_task_t;

/* The stream behind a handle; NULL, having refused, if it is none, or of another context than the thread's. */
standin_stream_t *standin_stream_find(aclrtStream handle, const standin_context_t *context, int *code);
void standin_stream_add(standin_stream_t *stream, standin_task_t *task);
/* Whether the task that runs must end: the stream is aborted or its device reset. */
bool standin_stream_stopping(standin_stream_t *stream);
int standin_stream_device(const standin_stream_t *stream);
/* Waits until all that was added is done. */
void standin_stream_wait(standin_stream_t *stream);
void standin_streams_stop(const standin_context_t *context);
int standin_streams_wait(const standin_context_t *context);

/* Timing mode: the moment at which a copy of so many bytes is over, its link being shared with the copies before it. */
typedef enum standin_link { LINK_TO_DEVICE, LINK_TO_HOST, LINK_ON_DEVICE, LINK_COUNT } standin_link_t;
double standin_link_end(int device, standin_link_t link, size_t bytes);

#endif
