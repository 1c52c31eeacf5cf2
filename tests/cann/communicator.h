/* SPDX-License-Identifier: BSD-3-Clause */
/* The stand-in's communicators, between its files. */
#ifndef TESTS_CANN_COMMUNICATOR_H
#define TESTS_CANN_COMMUNICATOR_H

#include "hccl/hccl.h"
#include "tests/cann/standin.h"

#include <stdatomic.h>

enum { RANKS_MAX = 64, SLOT_BYTES = 1 << 20, SERVER_BYTES = 64, TEXT_BYTES = 256 };

/* What a rank tells of itself when it joins. */
typedef struct member {
    uint32_t ranks; /* of the communicator */
    uint32_t rank;
    int device; /* as the machine numbers them */
    int release;
    int process;
    char server[SERVER_BYTES];
    char soc[SERVER_BYTES];
    char environment[TEXT_BYTES]; /* the settings that must be the same on all ranks */
} member_t;

typedef enum operation_kind {
    OPERATION_ALLREDUCE,
    OPERATION_REDUCE_SCATTER,
    OPERATION_REDUCE_SCATTER_V,
    OPERATION_ALLGATHER,
    OPERATION_BROADCAST,
    OPERATION_BARRIER,
    OPERATION_KINDS
} operation_kind_t;

/* What must be the same on all ranks of one collective; counts and places of the blocks of REDUCE_SCATTER_V as a sum.
 */
typedef struct operation {
    operation_kind_t kind;
    HcclDataType type;
    HcclReduceOp op;
    uint32_t root;
    uint64_t count;
    uint64_t blocks;
} operation_t;

/* A rank's part of the memory that the processes of a communicator share. */
typedef struct shared_rank {
    _Atomic uint64_t arrived; /* steps that it has reached */
    atomic_int linked[OPERATION_KINDS];
    operation_t operation;
    double started; /* when its last collective began */
    uint32_t order; /* which rank's input is taken first; rank 0's counts */
} shared_rank_t;

typedef struct shared {
    shared_rank_t ranks[RANKS_MAX];
    /* then two slots a rank, taken in turn */
} shared_t;

typedef struct communicator {
    struct communicator *next;
    int holders; /* the handle, and each collective in a stream; under the lock of the list */
    atomic_bool destroyed;
    atomic_bool broken; /* a collective failed: no more can be done */
    uint32_t ranks;
    uint32_t rank;
    int device;
    int servers;
    bool even; /* the same number of devices on each server */
    bool deterministic;
    const standin_context_t *context;
    size_t buffer_bytes; /* of device memory */
    bool buffer_taken;
    bool linked[OPERATION_KINDS];
    uint64_t issued; /* collectives */
    _Atomic uint64_t done;
    uint64_t steps; /* that this rank has reached; its collectives run one after the other */
    char name[128];
    shared_t *shared;
    size_t shared_bytes;
} communicator_t;

/* --- the rules of the products (hccl_rules.c) --- */

/* Whether these devices can form a communicator: 0, or a HcclResult, having refused. *servers and *even are set. */
int rules_topology(const member_t *members, uint32_t ranks, int *servers, bool *even);
/* Whether the product does this; the communicator may matter. */
int rules_operation(const communicator_t *communicator, const operation_t *operation);
/* Whether another process may use a device beside one that does; how many at most. */
int rules_processes(void);
/* The settings (HCCL_*): 0 or E_PARA, having refused. */
int rules_environment(void);
/* As long as HCCL would wait, in seconds, shortened by CANN_HASTE. */
double rules_connect_timeout(void);
double rules_exec_timeout(void);
double rules_buffer_mb(void);
bool rules_deterministic(void);
bool rules_deterministic_matters(void); /* else the chip is so anyway */
size_t rules_type_bytes(HcclDataType type);
/* How long a collective takes by the published figures, without CANN_TIMING. */
double rules_seconds(const communicator_t *communicator, const operation_t *operation, size_t bytes);

/* --- coming together (hccl_meet.c) --- */

/* Opens the door of a new communicator in this process, for `CONNECT_TIMEOUT` from the first that comes. */
int meet_open(HcclRootInfo *root_info);
/* Waits until all ranks are there; maps the memory that they share. `members` receives all of them. */
int meet_join(const HcclRootInfo *root_info, const member_t *mine, member_t *members, shared_t **shared,
              size_t *shared_bytes);
/* Takes the device for this process, once; E_UNAVAIL if another process has it. */
int meet_device_claim(int device);

/* --- arithmetic (hccl_reduce.c) --- */

/* into[i] = into[i] op from[i] */
void reduce_into(HcclDataType type, HcclReduceOp op, void *into, const void *from, size_t count);

/* --- communicators (hccl_comm.c) --- */

/* Enters a call on the device's HCCL: no two threads at once. 0 or E_INTERNAL, having refused. */
int communicator_enter(int device);
void communicator_leave(int device);
/* A live one, with a hold that communicator_let_go ends; NULL, having refused. */
communicator_t *communicator_find(HcclComm handle, int *code);
void communicator_hold(communicator_t *communicator);
void communicator_let_go(communicator_t *communicator);
/* Device memory for the buffers, at the first use. */
int communicator_buffers(communicator_t *communicator);

#endif
