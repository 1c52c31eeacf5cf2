/* SPDX-License-Identifier: BSD-3-Clause */
/* Who drives a device, and whom it serves. A device serves one process, and jobs have more ranks than devices: so some
   ranks own a device, and each of the others is a member of the group of an owner. Everything here is pure. Any thread.
 */
#ifndef ENGINE_HCCL_OWNERS_H
#define ENGINE_HCCL_OWNERS_H

#include "engine/hccl/atlas.h"

enum { OWNERS_NO_DEVICE = UINT32_MAX };

/* What a process knows of itself when it chooses a device. */
typedef struct owners_process {
    int local_rank;
    int local_ranks;    /* of the job on this host */
    unsigned devices;   /* that it sees, at least 1 */
    bool listed;        /* by a list (ASCEND_RT_VISIBLE_DEVICES) that it may have for itself alone */
    bool lists_differ;  /* and other ranks of the host are known to have other lists */
    const uint8_t *map; /* the devices to use, as the process numbers them; NULL: all that it sees, in order */
    unsigned mapped;    /* how many */
} owners_process_t;

/* The device of a process, as the process numbers it, and whether the process is the one that may drive it. Follows
   from the launcher's numbers alone, so no two processes of a job drive a device: where there are more ranks than
   devices, neighbours share one, and the first of them drives it. With lists that may differ it cannot be known who
   shares: each takes its number modulo the devices, and only the first of them drive one, until it is known. */
void owners_device_find(const owners_process_t *process, uint32_t *device, bool *drives);

/* What a rank says of itself. */
typedef struct owners_claim {
    uint64_t host;   /* digest of its host */
    uint32_t device; /* its own or that of its neighbours, as the server numbers it; OWNERS_NO_DEVICE: none */
    uint32_t list;   /* digest of its list; 0: it has none */
    uint32_t superpod;
    atlas_series_t series; /* where it has a device */
    bool drives;           /* it may drive the device, */
    bool given;            /* since the application has set it */
} owners_claim_t;

/* The ranks of a communicator by owners. */
typedef struct owners {
    atlas_devices_t devices;
    uint32_t nhosts;
    uint32_t *order;   /* nowners: the rank of each owner, in the order of HCCL's ranks */
    uint32_t *device;  /* nowners: its device */
    uint32_t *of_rank; /* per rank: which owner it belongs to, a place in `order` */
    uint32_t *grouped; /* all ranks: group by group, in each the owner first, then in rank order */
    uint32_t *first;   /* nowners + 1: where each group begins in `grouped` */
    bool even;         /* all groups have as many ranks */
} owners_t;

/* Whether ranks of a host see devices by lists that differ: then each drives one of its own. */
bool owners_lists_differ(const owners_claim_t *claims, uint32_t size, uint64_t host);

/* Picks the owners by the product rules (atlas_devices_pick) among the ranks that may drive a device; of two that claim
   the same one the application's choice counts, else the lower rank. The other ranks go to the owner of their device;
   where that is none, to an owner on their host, the one with fewest ranks; the ranks of a host without owners all to
   one owner of another host, with whose ranks they share the way there. MPINPU_ERR_UNSUPPORTED: there is no owner, and
   `why` says why. On success the caller frees by owners_close. */
mpinpu_status_t owners_pick(const owners_claim_t *claims, uint32_t size, owners_t *owners, char *why, size_t why_bytes);
void owners_close(owners_t *owners);

#endif
