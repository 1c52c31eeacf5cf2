/* SPDX-License-Identifier: BSD-3-Clause */
/* Between kernels.c, kernels_scalar.c and the builds of kernels_fold.c, one for each instruction set. */
#ifndef ENGINE_HOST_KERNELS_ISA_H
#define ENGINE_HOST_KERNELS_ISA_H

#include "engine/host/kernels.h"

typedef kernel_fold_t kernel_table_t[DTYPE_COUNT][OP_COUNT];

/* The folds of each build; NULL where the op is not defined for the type, or is in kernel_table_scalar. */
extern const kernel_table_t kernel_table_base;
extern const kernel_table_t kernel_table_avx2;
extern const kernel_table_t kernel_table_avx512;
extern const kernel_table_t kernel_table_sve;

/* The folds that are the same on every instruction set. */
extern const kernel_table_t kernel_table_scalar;

/* Bytes of each source that are folded at a time: this and three sources' blocks stay in the first-level cache. */
enum { KERNEL_BLOCK_BYTES = 4096 };

/* Folds more than 4 sources by `fold`, which does 2, 3 or 4, in blocks, so that memory is read and written once. block:
   elements of KERNEL_BLOCK_BYTES. dst may be one of the sources. */
void kernel_fold_blocks(kernel_fold_t fold, size_t block, void *dst, const void *const *src, unsigned nsrc,
                        size_t count);

#endif
