# SPDX-License-Identifier: BSD-3-Clause
# The kernels, compiled once for each instruction set.
engine_kernel_sources = engine/host/kernels.h
kernel_libs =
