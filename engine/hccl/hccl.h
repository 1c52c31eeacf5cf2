/* SPDX-License-Identifier: BSD-3-Clause */
/* The NPU engine's own objects, shared by the files of this folder. A process drives one device or none: then it is a
   member of the group of a rank that does (owners.h), with which it shares its part of each collective. */
#ifndef ENGINE_HCCL_HCCL_H
#define ENGINE_HCCL_HCCL_H

#include "engine/engine.h"
#include "engine/hccl/atlas.h"
#include "engine/hccl/cann.h"
#include "engine/hccl/encode.h"
#include "engine/hccl/environment.h"
#include "engine/hccl/model.h"
#include "engine/hccl/owners.h"

#include <pthread.h>

enum {
    HCCL_WHY_BYTES = 112,                      /* of a rank's reason, as others hear it */
    HCCL_SAID_BYTES = 512,                     /* of a failure, as the log has it */
    HCCL_CAUSE_BYTES = ENGINE_WORD_BYTES - 24, /* and as other ranks hear it */
    HCCL_GROUPS_MAX = 8,        /* HCCL communicators at a time: each takes 2 * HCCL_BUFFSIZE of device memory */
    HCCL_SLOTS_MAX = 64,        /* HCCL_DEPTH's most */
    HCCL_CHUNK_LEAST = 65536,   /* bytes */
    HCCL_STATE_PART = 4,        /* the state between rounds takes at most this part of a chunk */
    HCCL_SHARE_WORD_BYTES = 256 /* of an owner to its group */
};

/* The streams of the device: one for each stage, so that the stages of neighbouring chunks overlap. */
typedef enum hccl_stage { HCCL_STAGE_IN, HCCL_STAGE_REDUCE, HCCL_STAGE_OUT, HCCL_STAGE_COUNT } hccl_stage_t;

/* What time is spent on. */
typedef enum hccl_time {
    HCCL_TIME_ENCODE,
    HCCL_TIME_GROUP, /* with the ranks that share an owner */
    HCCL_TIME_TO_DEVICE,
    HCCL_TIME_COLLECTIVE, /* with what it waits there for others */
    HCCL_TIME_TO_HOST,
    HCCL_TIME_DECODE,
    HCCL_TIME_WAIT, /* of the CPU, for the device */
    HCCL_TIME_COUNT
} hccl_time_t;

/* The memory of a chunk on its way, and how far it is. A member has the host's part of it. */
typedef struct hccl_slot {
    void *host_in;    /* pinned; what goes to the device */
    void *host_out;   /* pinned; what comes back, and room for a word of the owner to its group */
    void *device_in;  /* input of the collective */
    void *device_out; /* its result */
    void *state;      /* between the rounds of an encoding */
    aclrtEvent done[HCCL_STAGE_COUNT];
    aclrtEvent begun[HCCL_STAGE_COUNT]; /* where times are wanted */
} hccl_slot_t;

/* The device while it is in use. Under the engine's lock. */
typedef struct hccl_device {
    bool set;             /* by us, maybe for the second time: to be reset */
    aclrtContext context; /* all calls of the engine are made under it; NULL: none yet */
    bool open;            /* streams, events and memory are there */
    aclrtStream streams[HCCL_STAGE_COUNT];
    /* Where CANN cannot end work (aclrtDestroyStreamForce): whether the stream has such as was given up, and the event
       at its end. */
    bool busy[HCCL_STAGE_COUNT];
    aclrtEvent ends[HCCL_STAGE_COUNT];
    hccl_slot_t slots[HCCL_SLOTS_MAX];
} hccl_device_t;

/* Why a collective failed: on which rank, and how. */
typedef struct hccl_cause {
    mpinpu_status_t status; /* MPINPU_OK: it did not */
    uint32_t rank;
    char text[HCCL_CAUSE_BYTES];
} hccl_cause_t;

/* An HCCL communicator. Shared by the communicators of the same processes in the same order, and kept when none is
 * left.
 */
typedef struct hccl_group {
    uint64_t id;         /* the same on all ranks; 0: an unused entry */
    uint32_t size;       /* processes, */
    uint64_t *processes; /* in the order of the HCCL ranks */
    HcclComm comm;
    unsigned users;
    hccl_cause_t failed;         /* a collective on it: no more can be done. `rank` is an HCCL rank */
    uint16_t wraps[DTYPE_COUNT]; /* see encode_device_t */
} hccl_group_t;

/* The engine in this process. */
struct engine {
    engine_config_t config;
    mpinpu_status_t status; /* why it cannot run here, or MPINPU_OK */
    char why[HCCL_SAID_BYTES];
    cann_t cann;
    const atlas_product_t *product;
    unsigned version; /* of CANN, as ATLAS_VERSION */
    hccl_environment_t environment;
    uint64_t host;      /* digest of the host */
    uint64_t process;   /* random */
    int32_t device;     /* as this process numbers devices, */
    uint32_t physical;  /* and as the server does */
    bool device_given;  /* the application has set it */
    uint32_t slots;     /* chunks on their way at once */
    size_t slot_bytes;  /* a multiple of 64 */
    bool drives;        /* it is this process that drives the device */
    bool lists_differ;  /* each rank of this host has a list of devices of its own; under the lock */
    bool deterministic; /* HCCL communicators are to be made so */
    uint32_t warned;   /* bit w: of atlas_warning_t w, and above these of a rank that is set up wrong; under the lock */
    bool refusal_said; /* that NPUs do not serve some communicator */
    pthread_mutex_t lock; /* the device: all its collectives are issued, and all that is below changed, under it */
    char said[HCCL_SAID_BYTES]; /* the last failure, in words */
    hccl_device_t npu;
    hccl_slot_t shares[HCCL_SLOTS_MAX]; /* memory of a member; NULL: not needed yet */
    uint32_t nshares;
    size_t share_bytes;
    hccl_group_t groups[HCCL_GROUPS_MAX];
    uint64_t times[HCCL_TIME_COUNT]; /* ns, where times are wanted */
};

/* What the plan of a call follows from. Elements. */
typedef struct hccl_call {
    collective_kind_t kind;
    dtype_t dtype;
    op_t op;
    bool prepared;   /* it is known what wraps on the devices */
    size_t total;    /* of the whole vector */
    size_t longest;  /* block (allreduce: not used) */
    size_t shortest; /* block */
} hccl_call_t;

/* How a collective is done. The same on all ranks. */
typedef struct hccl_plan {
    collective_kind_t function; /* of HCCL, as atlas_serves has it: the whole vector by HcclAllReduce whatever the kind,
                                   blocks, padded to the longest, by HcclReduceScatter, or blocks as they are by
                                   HcclReduceScatterV */
    const encoding_t *encoding;
    size_t count;    /* elements of the vector, or of the longest block */
    model_cut_t cut; /* of the vector; of the longest block and in the same places of the others; of each block (V) */
} hccl_plan_t;

/* A communicator's state. One caller at a time. */
struct engine_comm {
    engine_t *engine;
    engine_exchange_t exchange;
    uint32_t rank;
    uint32_t size;
    bool placed;        /* some rank's program has a device of its own, and maybe buffers there */
    bool vote;          /* threads of some rank may call at once: the ranks vote before each use of the devices */
    hccl_cause_t cause; /* once a device collective failed, here or, as was heard, elsewhere */
    char failure[HCCL_SAID_BYTES]; /* this in words */
    const collective_t *whole;     /* what is done on the devices now */
    uint64_t uses;                 /* of the devices, begun: the same on all ranks */
    uint64_t *waits;               /* the use in which each rank waits, as far as was heard */
    uint64_t told;                 /* the use in which this rank has told that it waits, */
    uint64_t said;                 /* and in which it has named who is late */
    bool refused;                  /* no HCCL communicator could be made: the host engine does it all */
    unsigned calls;                /* eligible ones before the HCCL communicator is made */
    owners_t owners;               /* owners.order: the rank here of each HCCL rank */
    uint32_t nowners;              /* HCCL ranks */
    uint32_t place;                /* the HCCL rank of this rank or of its owner */
    bool owner;                    /* this rank is one */
    unsigned version;              /* of the owners' CANN */
    bool vector;                   /* which has HcclReduceScatterV */
    uint32_t slots;                /* as the engine's of the owners */
    size_t slot_bytes;
    uint64_t *processes; /* of each HCCL rank */
    bool prepared;       /* the HCCL communicator is there, and known what wraps on the devices, */
    uint16_t wraps[DTYPE_COUNT];
    hccl_group_t *group;     /* owners: with it */
    engine_comm_t *share;    /* of the host engine: the group, its owner first; NULL: this rank alone */
    uint64_t *blocks;        /* counts and places of HcclReduceScatterV, 2 * nowners a slot */
    hccl_call_t recent;      /* the call that was planned last, */
    hccl_plan_t recent_plan; /* and its plan, */
    bool recent_served;      /* if it has one */
    /* By place of the buffers, kind, datatype and op: the power of two of the bytes from which on NPUs pay. */
    uint8_t pays_log2[2][COLLECTIVE_KIND_COUNT][DTYPE_COUNT][OP_COUNT];
};

/* --- checks.c --- */

/* Whether this process speaks for the job's ranks on its host, and is not told to be quiet. */
bool hccl_speaks(const engine_t *engine);

/* Warns of what the host lacks for HCCL, with what to do. */
void hccl_host_warn(const engine_t *engine);

/* As engine_vtable_t has it. */
void hccl_describe(engine_t *engine, engine_row_t *row, void *context);

/* --- agree.c --- */

mpinpu_status_t hccl_comm_open(engine_t *engine, const engine_exchange_t *exchange, engine_comm_t **comm, char *why,
                               size_t why_bytes);
void hccl_comm_close(engine_comm_t *comm);

/* The memory for chunks by the settings, else by the model. */
void hccl_memory_choose(const engine_config_t *config, const atlas_product_t *product, size_t *bytes, uint32_t *slots);

/* Ranks of this rank's group. */
static inline uint32_t hccl_group_size(const engine_comm_t *comm)
{
    return comm->owners.first[comm->place + 1] - comm->owners.first[comm->place];
}

/* --- share.c: all under the engine's lock --- */

/* Makes a member's memory ready. engine->said on failure. */
mpinpu_status_t hccl_shares_open(engine_comm_t *comm);
void hccl_shares_close(engine_t *engine);

/* Connects the ranks of each group: collective over all ranks. MPINPU_OK on all, or the same error, with `why`. */
mpinpu_status_t hccl_share_open(engine_comm_t *comm, char *why, size_t why_bytes);

/* Combines the `count` elements on the wire of the ranks of a group: the owner's host_in becomes the result.
   engine->said on failure. Nothing where a rank is alone. */
mpinpu_status_t hccl_share_reduce(engine_comm_t *comm, const hccl_slot_t *slot, dtype_t dtype, op_t op, size_t count);

/* Bytes from..to of the owner's host_out come to its members, and with them the owner's status: if it is not MPINPU_OK,
   all get it, and comm->cause. */
mpinpu_status_t hccl_share_broadcast(engine_comm_t *comm, const hccl_slot_t *slot, size_t from, size_t to,
                                     mpinpu_status_t status);

/* --- device.c: all under the engine's lock --- */

/* MPINPU_OK for ACL_SUCCESS; else a status that is neither that nor MPINPU_ERR_UNSUPPORTED, and engine->said says what
   failed. */
mpinpu_status_t hccl_acl_check(engine_t *engine, const char *what, aclError code);
mpinpu_status_t hccl_check(engine_t *engine, const char *what, HcclResult code);

/* Makes the device ready but for its memory, unless it is: context, streams, events, staging memory of the host.
   engine->said on failure. */
mpinpu_status_t hccl_device_open(engine_t *engine);
/* And the slots' memory of the device. */
mpinpu_status_t hccl_device_memory(engine_t *engine);
/* Gives that back; nothing uses it. On the Atlas 300I Duo a communicator must be made before any device memory is
   allocated. */
void hccl_device_memory_free(engine_t *engine);
/* Gives streams, events and memory back and ends what still runs, unless CANN cannot; the device stays this process's.
 */
void hccl_device_close(engine_t *engine);
/* And gives up the device. No HCCL communicator may be left. */
void hccl_device_reset(engine_t *engine);

/* Ends what still runs on the device and may never be done; hccl_device_open makes it ready again. */
void hccl_device_abandon(engine_t *engine);

/* Whether, where CANN cannot end it (before 8.0), such work still runs: it uses the memory and its communicator, and
   the device serves nobody till its end. */
bool hccl_device_busy(engine_t *engine);

/* Between these the calling thread has the device's context; *saved is its own if that is another, and put back. A
   thread that had none keeps the device's. */
mpinpu_status_t hccl_device_enter(engine_t *engine, aclrtContext *saved);
void hccl_device_leave(engine_t *engine, aclrtContext saved);

/* --- wait.c: under the lock too --- */

/* Nanoseconds from some moment on. Needs no lock. */
int64_t hccl_clock_ns(void);

/* Waits until the slot's chunk has passed the stage; the host MPI is driven meanwhile. Ends with an error, too, where
   something broke on this device, in `hccl` (may be NULL), or on another rank, as heard. */
mpinpu_status_t hccl_device_wait(engine_comm_t *comm, HcclComm hccl, const hccl_slot_t *slot, hccl_stage_t stage);

/* Calls `function`, which may block in CANN until other ranks come, in a thread of its own with the device's context;
   the host MPI is driven meanwhile. Returns what it returned. */
mpinpu_status_t hccl_device_call(engine_comm_t *comm, mpinpu_status_t (*function)(engine_comm_t *comm, void *argument),
                                 void *argument);

/* After a call that failed with `status` and engine->said: these, or what failed on the device before and made it fail.
 */
mpinpu_status_t hccl_device_cause(engine_t *engine, mpinpu_status_t status);

/* To be called when all work is done: MPINPU_OK if none of it failed. */
mpinpu_status_t hccl_device_finish(engine_t *engine);

/* --- times.c: all under the engine's lock; nothing happens unless the configuration asks for times --- */

/* A span of the CPU's time: what begin returned, taken to end, is added. */
uint64_t hccl_time_begin(const engine_t *engine);
void hccl_time_end(engine_t *engine, hccl_time_t time, uint64_t begin);

/* Whether slots need the events `begun`. */
bool hccl_times_events(const engine_t *engine);
/* To be called before the work of a stage is issued; `done` is recorded behind it. */
mpinpu_status_t hccl_stage_begin(engine_t *engine, const hccl_slot_t *slot, hccl_stage_t stage);
/* Adds what the stages of the slot's chunk took, when it has passed them all. */
void hccl_stages_add(engine_t *engine, const hccl_slot_t *slot);

/* As engine_vtable_t has it. */
void hccl_times(const engine_t *engine, void (*stage)(void *context, const char *name, uint64_t nanoseconds),
                void *context);

/* --- alarm.c: by the thread that uses the communicator, from any wait for other ranks --- */

/* Tells all other ranks of the communicator that a collective failed on `rank`, with engine->said or the like, and
   keeps it as comm->cause; unless a failure was heard of before, which then is the cause. */
void hccl_alarm_raise(engine_comm_t *comm, uint32_t rank, mpinpu_status_t status, const char *text);

/* Whether some rank has told that it failed, now or before: its status, and comm->cause. */
mpinpu_status_t hccl_alarm_hear(engine_comm_t *comm);

/* To be called while waiting, with the nanoseconds so far: after some seconds the ranks that wait tell so, and the
   first of them names those that have not come. */
void hccl_alarm_wait(engine_comm_t *comm, int64_t waited);

/* Puts into the exchange of the group that its ranks' waits for each other are told as those of the communicator. */
void hccl_alarm_watch(engine_comm_t *comm, engine_watch_t *watch, engine_exchange_t *part);

/* --- wire.c --- */

/* The vendor's numbers of what goes over the wire: int8, int16, int32, int64, float16, bfloat16, float32, float64 and
   their unsigned; SUM, PROD, MIN, MAX. */
HcclDataType hccl_wire_type(dtype_t dtype);
HcclReduceOp hccl_wire_op(op_t op);

/* What the devices of the communicator reduce in the function of a kind; before there is a group all integers are taken
   to wrap. */
encode_device_t hccl_wire_device(const engine_comm_t *comm, collective_kind_t kind);

/* --- choose.c --- */

/* The encoding of dtype and op for the function of HCCL that serves the kind; NULL where it cannot be used. */
const encoding_t *hccl_encoding(const engine_comm_t *comm, collective_kind_t function, dtype_t dtype, op_t op);

/* The same for each function. */
void hccl_encodings(const engine_comm_t *comm, dtype_t dtype, op_t op,
                    const encoding_t *encodings[COLLECTIVE_KIND_COUNT]);

/* The communicator as the model sees it. */
model_places_t hccl_places(const engine_comm_t *comm);

/* Whether the call is to go to the NPUs: always, unless MPINPU_HCCL_MIN_BYTES leaves it to the model. The same on all
   ranks, if all ask in the same order and say the same of their buffers. */
bool hccl_pays(engine_comm_t *comm, const collective_t *collective, bool on_device);

/* --- group.c, trial.c --- */

/* Finds or makes the HCCL communicator: collective, under the lock. All ranks get MPINPU_OK, or all the same error,
   with `why` naming the first rank that had it; then no group is left behind. `ready`: MPINPU_OK, or what keeps this
   rank from it, in engine->said. */
mpinpu_status_t hccl_group_make(engine_comm_t *comm, mpinpu_status_t ready, char *why, size_t why_bytes);
/* The communicator no longer uses its group. */
void hccl_group_leave(engine_comm_t *comm);
/* Destroys all, at the end. */
void hccl_groups_close(engine_t *engine);

/* Tries a new group by small collectives of each kind: issues them, then waits and judges. Local; all ranks call both,
   the second only if the first went well on all. Fills in group->wraps. */
mpinpu_status_t hccl_trial_issue(engine_comm_t *comm, hccl_group_t *group);
mpinpu_status_t hccl_trial_judge(engine_comm_t *comm, hccl_group_t *group);

/* All ranks' words and the first that is not well: MPINPU_OK, or that rank's status and `why` with its reason, `said`
   there, or the cause that it has heard of. */
mpinpu_status_t hccl_agree(const engine_comm_t *comm, mpinpu_status_t status, const char *said, char *why,
                           size_t why_bytes);

/* --- plan.c --- */

/* False where the devices cannot do it. The same on all ranks. */
bool hccl_plan_make(engine_comm_t *comm, const collective_t *collective, hccl_plan_t *plan);

/* --- direct.c --- */

/* Whether HCCL can do it on the program's own buffers, where all ranks have theirs on their devices: the same on all
   ranks. */
bool hccl_direct_serves(const engine_comm_t *comm, const collective_t *collective, const hccl_plan_t *plan);

/* Finds out where the ranks have their buffers, where `direct` says that they could be used as they are; takes this
   rank's to the host unless all are on devices, as *direct then says. The same status on all ranks, but where none of
   them was asked; MPINPU_ERR_UNSUPPORTED: with buffers on the host it does not pay. */
mpinpu_status_t hccl_direct_place(engine_comm_t *comm, collective_t *collective, bool *direct);

/* Runs it, under the lock; engine->said on failure. `ready` as for hccl_staging_run. */
mpinpu_status_t hccl_direct_run(engine_comm_t *comm, const collective_t *collective, const hccl_plan_t *plan,
                                mpinpu_status_t ready);

/* --- staging.c --- */

/* Runs it, under the lock; engine->said on failure. `ready`: MPINPU_OK, or what keeps this owner from it, in
   engine->said: its group hears of it. */
mpinpu_status_t hccl_staging_run(engine_comm_t *comm, const collective_t *collective, const hccl_plan_t *plan,
                                 mpinpu_status_t ready);

#endif
