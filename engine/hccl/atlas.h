/* SPDX-License-Identifier: BSD-3-Clause */
/* The product rules of Ascend machines, from one table (atlas.def): which datatypes and ops HCCL reduces, and which
   devices may work together. Everything here is pure: every rank computes the same from the same input. Any thread. */
#ifndef ENGINE_HCCL_ATLAS_H
#define ENGINE_HCCL_ATLAS_H

#include "engine/collective.h"
#include "transport/status.h"

#include <stdint.h>

/* A version of CANN or of the driver, as far as the rules look at it: 801 is 8.1, 2500 is 25.0; 0 is not known, and
   then only what every version has is served. */
#define ATLAS_VERSION(major, minor) ((major)*100U + (minor))

enum {
    ATLAS_DEVICES_MAX = 64,              /* device numbers of a server are below this: a uint64_t is a set of them */
    ATLAS_SERVERS_UNLIMITED = INT32_MAX, /* the vendor states no limit */
    ATLAS_COPY_ALIGNMENT = 64            /* bytes: what aclrtMemcpyAsync wants of both addresses in older CANN */
};

/* The most elements of one HCCL call (the library refuses more with HCCL_E_PARA). */
#define ATLAS_COUNT_MAX UINT64_C(0x7FFFFFFFF)

typedef enum atlas_series {
#define ATLAS_PRODUCT(ID, ...) ATLAS_##ID,
#include "engine/hccl/atlas.def"
#undef ATLAS_PRODUCT
    ATLAS_SERIES_COUNT
} atlas_series_t;

/* A product series. All texts are static. */
typedef struct atlas_product {
    atlas_series_t series;
    const char *name;
    const char *rule;        /* which devices may work together, behind "takes" */
    uint64_t sizes;          /* bit n: n devices of one server may work together; 0: the product has no HCCL */
    uint32_t devices;        /* device numbers of a server are below this */
    uint32_t group;          /* devices 0 to group-1, group to 2*group-1, ... are groups, and a set of at most `group`
                                devices must lie in one; 0: no such rule */
    uint32_t servers;        /* at most so many in one communicator */
    bool unequal;            /* servers may bring unequal numbers of devices; that is slow */
    bool power_of_two;       /* a power-of-two number of servers is fastest */
    uint32_t processes;      /* that may share a device (advised), */
    uint32_t driver;         /* from this version of the driver on; below it, one */
    uint32_t scatter_since;  /* CANN version from which HcclReduceScatter serves this product */
    uint32_t vector_since;   /* the same of HcclReduceScatterV */
    uint32_t vector_servers; /* HcclReduceScatterV: at most so many servers */
    uint32_t vector_devices; /* and devices a server */
    const char *file;        /* a file that HCCL needs on the servers, or NULL */
} atlas_product_t;

/* The product of a SoC name (what aclrtGetSocName returned; NULL is allowed), or NULL and in `why` one sentence: no
   such name is known, or the product has no HCCL. */
const atlas_product_t *atlas_product_find(const char *soc, char *why, size_t why_bytes);

/* The row of a series. */
const atlas_product_t *atlas_product(atlas_series_t series);

/* The number of a version's text ("8.1.RC1", "8.5.0-beta.1", "25.0.rc1": as ATLAS_VERSION); 0 if it is none. */
unsigned atlas_version(const char *text);

/* Whether HCCL of this CANN version reduces dtype by op on this product, in the function that serves the kind
   (HcclAllReduce, HcclReduceScatterV for reduce_scatter, HcclReduceScatter for reduce_scatter_block), on one server. */
bool atlas_serves(const atlas_product_t *product, unsigned cann, collective_kind_t kind, dtype_t dtype, op_t op);

/* Whether the vendor calls the datatype slow on this product (it is right all the same). */
bool atlas_slow(const atlas_product_t *product, dtype_t dtype);

/* How many processes may share a device of the product with this driver version: 1 or more. */
unsigned atlas_processes(const atlas_product_t *product, unsigned driver);

/* Bytes to which buffers of HCCL must be aligned. */
size_t atlas_buffer_alignment(dtype_t dtype);

/* Bytes to which both addresses of an aclrtMemcpyAsync must be aligned. */
size_t atlas_copy_alignment(unsigned cann);

/* A host of a communicator. */
typedef struct atlas_host {
    const atlas_product_t *product; /* NULL: without devices, or without CANN */
    uint32_t superpod;              /* Atlas A3: HCCL_LOGIC_SUPERPOD_ID; 0 where there is none */
} atlas_host_t;

/* The ranks of a communicator, and what each can drive. */
typedef struct atlas_ranks {
    uint32_t nranks;
    uint32_t nhosts;
    const uint32_t *host_of;    /* per rank, from 0 */
    const uint64_t *devices_of; /* per rank: bit d says that it can drive the device with the server's (physical) number
                                   d: the one that the application has set, else all that it sees and no process outside
                                   the communicator holds */
    const atlas_host_t *hosts;
} atlas_ranks_t;

/* A rank that drives a device. */
typedef struct atlas_owner {
    uint32_t rank;
    uint32_t host;
    uint32_t device;
} atlas_owner_t;

/* What is legal but worth a word, one bit each. */
typedef enum atlas_warning {
    ATLAS_WARNING_UNEQUAL,   /* servers bring unequal numbers of devices */
    ATLAS_WARNING_SERVERS,   /* their number is no power of two, and the product likes that */
    ATLAS_WARNING_SUPERPODS, /* superpods have unequal numbers of servers */
    ATLAS_WARNING_UNUSED,    /* the rules leave out devices that ranks could drive */
    ATLAS_WARNING_COUNT
} atlas_warning_t;

/* The devices picked for a communicator. */
typedef struct atlas_devices {
    const atlas_product_t *product;
    uint32_t nowners;
    uint32_t servers; /* that bring devices */
    uint32_t least;   /* devices a server */
    uint32_t most;
    uint32_t drivable; /* devices that ranks could drive, one each, were there no rules */
    uint32_t warnings; /* bit w: atlas_warning_t w */
} atlas_devices_t;

/* Picks the largest legal set of devices, at most one a rank and one rank a device; of equal sets that of most servers,
   and there the lowest devices. `owners`, an array of nranks, gets them in the order of their HCCL ranks: servers of
   one superpod together, then by host, then by device. MPINPU_ERR_UNSUPPORTED: there is no such set, and `why` says in
   one sentence why. Else MPINPU_ERR_NO_MEMORY, or MPINPU_ERR_INVALID for a host number out of range. */
mpinpu_status_t atlas_devices_pick(const atlas_ranks_t *ranks, atlas_devices_t *devices, atlas_owner_t *owners,
                                   char *why, size_t why_bytes);

/* As atlas_serves, on the devices picked. */
bool atlas_devices_serve(const atlas_devices_t *devices, unsigned cann, collective_kind_t kind, dtype_t dtype, op_t op);

/* One sentence about a warning that is set. */
void atlas_warning_text(const atlas_devices_t *devices, atlas_warning_t warning, char *text, size_t bytes);

#endif
