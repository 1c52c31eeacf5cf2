/* SPDX-License-Identifier: BSD-3-Clause */
/* The reduction kernels: one family, compiled once for each instruction set, chosen at run time. */
#ifndef ENGINE_HOST_KERNELS_H
#define ENGINE_HOST_KERNELS_H

#include "engine/collective.h"

/* dst[i] = src[0][i] op src[1][i] op ... op src[nsrc-1][i], folded from the left, for i < count (elements, not bytes);
   nsrc >= 1 (1 copies). dst may be the very address of one of the sources, and may not overlap one otherwise. Sources
   are not written. 16-bit floats are accumulated in 32 bits and rounded once to nearest even. Any alignment, also
   none; padding is not written. Of two NaNs the payload of either may stay. No state; any thread. */
typedef void (*kernel_fold_t)(void *dst, const void *const *src, unsigned nsrc, size_t count);

/* The kernel for this CPU, or NULL where the op is not defined for the type. */
kernel_fold_t kernel_fold_find(dtype_t dtype, op_t op);

/* Copies count elements, leaving the padding of dst as it is. The ranges may not overlap; dst == src does nothing. */
void kernel_copy(dtype_t dtype, void *dst, const void *src, size_t count);

/* Name of the instruction set in use ("avx512", "avx2", "base", "sve", ...). */
const char *kernel_isa_name(void);

/* For tests: use the kernels of this instruction set from now on; false where this CPU or build lacks it. */
bool kernel_isa_select(const char *name);

#endif
