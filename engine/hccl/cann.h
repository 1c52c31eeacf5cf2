/* SPDX-License-Identifier: BSD-3-Clause */
/* The door to CANN, Huawei's software for Ascend NPUs: what the engine uses of its two C interfaces, ACL (devices,
   memory, streams) and HCCL (collectives), declared here in the vendor's names, since the vendor's headers are not C
   and need not be there; and the libraries, opened at run time. Types, numbers and layouts stand in four tables that
   the compiler can compare with the vendor's headers (configure --with-cann-headers). */
#ifndef ENGINE_HCCL_CANN_H
#define ENGINE_HCCL_CANN_H

#include "engine/engine.h"
#include "transport/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opaque handles. */
typedef void *aclrtContext;
typedef void *aclrtStream;
typedef void *aclrtEvent;
typedef void *HcclComm;

/* Codes and enumerations: 4 bytes each, their values in cann_values.def and cann_errors.def. */
typedef int aclError;
typedef int aclCANNPackageName;
typedef int aclrtMemMallocPolicy;
typedef int aclrtMemcpyKind;
typedef int aclrtMemAttr;
typedef int aclrtEventRecordedStatus;
typedef int aclrtStreamStatus;
typedef int aclrtFloatOverflowMode;
typedef int aclrtMemLocationType;
typedef int HcclResult;
typedef int HcclReduceOp;
typedef int HcclDataType;

enum cann_value {
#define CANN_VALUE(TYPE, NAME, NUMBER) NAME = (NUMBER),
#include "engine/hccl/cann_values.def"
#undef CANN_VALUE
#define CANN_ERROR(KIND, NAME, CODE, STATUS, MEANING, ADVICE) NAME = (CODE),
#include "engine/hccl/cann_errors.def"
#undef CANN_ERROR
};

typedef struct aclCANNPackageVersion {
    char version[128];
    char rest[384];
} aclCANNPackageVersion;

typedef struct aclrtMemLocation {
    uint32_t id;
    aclrtMemLocationType type;
} aclrtMemLocation;

typedef struct aclrtPtrAttributes {
    aclrtMemLocation location;
    uint32_t pageSize;
    uint32_t rsv[4];
} aclrtPtrAttributes;

/* What HcclGetRootInfo fills in on one rank, and all ranks of a new communicator pass on. Serves one communicator. */
typedef struct HcclRootInfo {
    char internal[4108];
} HcclRootInfo;

/* How a communicator is made, in the layout of version 6: CANN reads what its own version and this one share. To be
   filled by cann_comm_config_init only, then changed by field. */
typedef struct HcclCommConfig {
    uint64_t size;
    uint32_t magic;
    uint32_t version;
    uint64_t reserved;
    uint32_t hcclBufferSize;    /* MB each of two buffers */
    uint32_t hcclDeterministic; /* 0 or 1 */
    char hcclCommName[128];
    char hcclUdi[128];
    uint32_t hcclOpExpansionMode; /* 0 default, 1 host, 2 AI CPU, 3 AIV */
    uint32_t hcclRdmaTrafficClass;
    uint32_t hcclRdmaServiceLevel;
    uint32_t hcclWorldRankID;
    uint64_t hcclJobID;
} HcclCommConfig;

#define CANN_COMM_CONFIG_MAGIC   0xf0f0f0f0u
#define CANN_COMM_CONFIG_VERSION 6u
#define CANN_COMM_CONFIG_NOT_SET 0xffffffffu

/* The largest count of elements that HCCL takes in one call. */
#define CANN_COUNT_MAX 0x7FFFFFFFFull

typedef enum cann_library_id { CANN_ACL = 0, CANN_HCCL, CANN_HCOMM, CANN_LIBRARY_COUNT } cann_library_id_t;

typedef struct cann_library {
    void *handle;    /* of dlopen; NULL: not there */
    char path[1024]; /* the file that was loaded */
} cann_library_t;

/* CANN as this process has it. The functions are called through the pointers, as cann->aclrtMalloc(...); one that is
   OPTIONAL in cann_functions.def may be NULL. */
typedef struct cann {
#define CANN_FUNCTION(LIBRARY, NEED, SINCE, RESULT, NAME, PARAMETERS) \
    RESULT(*NAME) PARAMETERS; /* NOLINT(bugprone-macro-parentheses): a declaration */
#include "engine/hccl/cann_functions.def"
#undef CANN_FUNCTION
    cann_library_t libraries[CANN_LIBRARY_COUNT]; /* CANN_HCOMM is absent before CANN 8.5 */
    char version[128];                            /* of CANN, or of its ACL interface; "" until cann_start */
    char soc[64];     /* the name of the device's chip, as Ascend910B1; "" until cann_start */
    uint32_t devices; /* that this process may use; 0 until cann_start */
} cann_t;

/* Loads the libraries and looks up the functions; calls none of them. From LD_LIBRARY_PATH and where the loader looks
   anyway, else from lib64 (or the folder itself) of ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME, /usr/local/Ascend/cann and
   /usr/local/Ascend/ascend-toolkit/latest. MPINPU_ERR_UNSUPPORTED where a library or a required function is missing;
   `why` is then one sentence that names it, and *cann (the caller's memory) tells what was found, for cann_describe.
   The libraries stay loaded for the life of the process: they have threads of their own. One thread at a time. */
mpinpu_status_t cann_open(cann_t *cann, char *why, size_t why_bytes);

/* Starts ACL (aclInit; that it was started before is right), and fills in version, soc and devices. Only after
   cann_open, and after any fork. ACL is never finalised: the program may use it. MPINPU_ERR_UNSUPPORTED where there is
   no NPU, stub libraries included; `why` is then one sentence. */
mpinpu_status_t cann_start(cann_t *cann, char *why, size_t why_bytes);

/* Rows for `mpinpu info`: version, chip, devices, libraries and paths, then each function found or missing. After
   cann_open, whatever it returned. */
void cann_describe(const cann_t *cann, engine_row_t *row, void *context);

/* Nothing set but the head: every field is "as the environment says". */
void cann_comm_config_init(HcclCommConfig *config);

/* A code in words; static memory. */
typedef struct cann_error {
    int code;
    mpinpu_status_t status;
    const char *name;    /* as the vendor's headers have it */
    const char *meaning; /* half a sentence */
    const char *advice;  /* what the user can do; "" for nothing */
} cann_error_t;

/* Never NULL: a code that no table has is named so, with MPINPU_ERR_DEVICE. The entry's `code` is then not the code
   asked for. Any thread. */
const cann_error_t *cann_acl_error(aclError code);
const cann_error_t *cann_hccl_error(HcclResult code);

/* One sentence of "`what` failed: <name> (<code>): <meaning>; <what CANN says>; <advice>", in the thread that made
   the call, since CANN keeps its text by thread. Returns the code's status. */
mpinpu_status_t cann_acl_explain(const cann_t *cann, const char *what, aclError code, char *text, size_t text_bytes);
mpinpu_status_t cann_hccl_explain(const cann_t *cann, const char *what, HcclResult code, char *text, size_t text_bytes);

#endif
