/* SPDX-License-Identifier: BSD-3-Clause */
/* What collectives cost: a model of links, collectives, encodings and of the host CPUs, one table (model.def) for each
 * product series. From it follow the size of the chunks in which host buffers are staged, the function of HCCL that
 * does a reduce_scatter cheapest, and whether NPUs are expected to be faster than the host CPUs at all.
 *
 * Everything here is pure and in integers, so that every rank computes the same from the same input, whatever its
 * processor; what is passed must be equal on all ranks. Times are in nanoseconds. More bytes never cost less. Any
 * thread.
 *
 * Figures measured on the machine itself will be a second source of the same numbers: they would replace a
 * model_product_t and the host's figures (model_host_ns) before anything is derived from them, and must then be agreed
 * on by the ranks like a setting. */
#ifndef ENGINE_HCCL_MODEL_H
#define ENGINE_HCCL_MODEL_H

#include "engine/hccl/atlas.h"
#include "engine/hccl/encode.h"

/* A row of the table. Speeds in MB/s (10^6 bytes a second), times in nanoseconds. */
typedef struct model_product {
    atlas_series_t series;
    uint32_t to_device;    /* from pinned host memory */
    uint32_t to_host;      /* and back */
    uint32_t on_device;    /* a copy inside the memory of a device */
    uint32_t inside;       /* between devices of a server */
    uint32_t across;       /* the same where their set spans the product's groups (atlas_product_t) */
    uint32_t between;      /* of a device's network, to other servers */
    bool mesh;             /* each device of a server has a link to each other; else they form a ring */
    uint32_t copy_launch;  /* from the end of a copy to the start of the next in its stream, */
    uint32_t launch;       /* and of a collective */
    uint32_t inside_step;  /* of each step of a collective inside a server, */
    uint32_t between_step; /* and between servers */
} model_product_t;

/* The row of a series. */
const model_product_t *model_product(atlas_series_t series);

/* Who takes part. */
typedef struct model_places {
    uint32_t ranks;
    uint32_t hosts;   /* that the ranks are on */
    uint32_t owners;  /* ranks that drive a device, at least 1 */
    uint32_t servers; /* hosts that bring devices, at least 1 */
} model_places_t;

typedef enum model_link { MODEL_TO_DEVICE, MODEL_TO_HOST, MODEL_ON_DEVICE, MODEL_LINK_COUNT } model_link_t;

/* A copy, from its issue to its end. */
uint64_t model_copy_ns(const model_product_t *product, model_link_t link, uint64_t bytes);

/* The function of HCCL that serves the kind (as in atlas_serves) among the owners, from its issue to its end; `bytes`
   of the vector that each puts in, for HcclReduceScatterV those that equal blocks of the longest one's size would have.
   The vendor's formulas (HCCL user guide, collective algorithms): inside a server mesh or ring, between servers NHR; an
   allreduce reduces inside first, a reduce-scatter between servers first. */
uint64_t model_collective_ns(const model_product_t *product, const model_places_t *places, collective_kind_t function,
                             uint64_t bytes);

/* What one CPU takes to encode, or decode, the round of `count` elements. */
uint64_t model_encode_ns(const encoding_t *encoding, unsigned round, uint64_t count);
uint64_t model_decode_ns(const encoding_t *encoding, unsigned round, uint64_t count);

/* The host engine's time, `bytes` of the whole vector. */
uint64_t model_host_ns(const model_places_t *places, collective_kind_t kind, uint64_t bytes);

/* What takes turns in a chunk's way; the stages on the CPU share one thread. */
typedef enum model_stage {
    MODEL_STAGE_CPU, /* encoding, the group's work, decoding */
    MODEL_STAGE_TO_DEVICE,
    MODEL_STAGE_COLLECTIVE,
    MODEL_STAGE_TO_HOST,
    MODEL_STAGE_COUNT
} model_stage_t;

/* A collective as it would go to the devices. */
typedef struct model_call {
    const model_product_t *product;
    model_places_t places;
    const encoding_t *encoding;
    collective_kind_t function; /* of HCCL, as in atlas_serves */
    uint64_t total;             /* elements that are encoded */
    uint64_t count;             /* elements that go in: these, and the padding of blocks */
    uint64_t result;            /* elements that come back to an owner, at most count */
    uint64_t longest;           /* reduce_scatter: elements of the longest block; else not read */
    bool on_device; /* all buffers are memory of the owners' devices and the encoding is an identity: no staging */
} model_call_t;

/* How it is cut, and what it costs. */
typedef struct model_pipeline {
    uint64_t chunks;
    uint64_t chunk;                    /* elements, rounded up */
    uint32_t depth;                    /* chunks on their way at once, from which on more bring nothing */
    uint64_t ns;                       /* expected, in all */
    uint64_t uncut[MODEL_STAGE_COUNT]; /* what each stage would take for the whole in one piece */
} model_pipeline_t;

/* Cuts the call into the chunks that take least time, each of at most `most` elements (at least 1). */
void model_pipeline(const model_call_t *call, uint64_t most, model_pipeline_t *pipeline);

/* How a vector is cut into chunks whose sizes rise at the start, fall at the end and are equal between: a small first
   chunk starts the later stages early, a small last one leaves little behind the slowest stage. */
typedef struct model_cut {
    uint64_t chunks;
    uint32_t up;   /* the first `up` chunks have 1/2^up, ..., 1/4, 1/2 of the size of those in the middle, */
    uint32_t down; /* the last `down` have 1/2, 1/4, ..., 1/2^down; there is at least one in the middle */
} model_cut_t;

/* Where the chunk begins in a run of `count` elements, of the vector or of a block; count for chunk == cut->chunks. */
uint64_t model_cut_start(const model_cut_t *cut, uint64_t count, uint64_t chunk);

/* The cut with which the call takes least time, no chunk having more than `most` elements of the vector (at least 1).
   Links alone and links with the CPU count alike: how fast a CPU copies is what the model knows least. Takes some 0.1
   ms itself. */
void model_cut(const model_call_t *call, uint64_t most, model_cut_t *cut);

/* The memory for chunks: bytes of each, and how many, that serve every call of the product well. */
void model_memory(const model_product_t *product, size_t *chunk_bytes, uint32_t *depth);

/* Blocks of a reduce_scatter. */
typedef struct model_blocks {
    uint64_t total;   /* elements of all, at least 1 */
    uint64_t longest; /* of the longest */
    bool equal;       /* all have `longest` */
} model_blocks_t;

/* The call by which a reduce_scatter is expected to be fastest: HcclReduceScatterV, HcclReduceScatter (of blocks that
   are padded to the longest where they differ) or HcclAllReduce. `encodings` holds the encoding for each kind of
   function, NULL for what cannot be used; false if that is all of them. Of equals the one that moves least. */
bool model_scatter_pick(const model_product_t *product, const model_places_t *places, const model_blocks_t *blocks,
                        const encoding_t *const encodings[COLLECTIVE_KIND_COUNT], model_call_t *call);

/* Bytes of a vector from which on the collective is expected to be faster on the NPUs than on the host CPUs, all blocks
   being equal; UINT64_MAX: never. `encodings` as above. */
uint64_t model_pays_from(const model_product_t *product, const model_places_t *places, collective_kind_t kind,
                         const encoding_t *const encodings[COLLECTIVE_KIND_COUNT], bool on_device);

#endif
