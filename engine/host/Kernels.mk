# SPDX-License-Identifier: BSD-3-Clause
# The kernels, compiled once for each instruction set. Flags that change values have no place here;
# -fno-trapping-math gives up the exception flags only, so that gcc may turn branches into selects.
KERNEL_CFLAGS = $(AM_CFLAGS) -O3 -ftree-vectorize -fopenmp-simd -ffp-contract=off -fno-math-errno \
	-fno-trapping-math
kernel_fold_sources = \
	engine/host/kernels_fold.c engine/host/kernels_isa.h engine/host/kernels.h engine/host/kernels_ops.h \
	engine/host/kernels_shapes.h engine/host/kernels_half.h engine/float16.h

engine_kernel_sources = engine/host/kernels.c engine/host/kernels.h engine/host/kernels_isa.h
kernel_libs = libkernels_base.la libkernels_scalar.la

noinst_LTLIBRARIES += libkernels_base.la
libkernels_base_la_SOURCES = $(kernel_fold_sources)
libkernels_base_la_CPPFLAGS = $(AM_CPPFLAGS) -DKERNEL_TABLE=kernel_table_base
libkernels_base_la_CFLAGS = $(KERNEL_CFLAGS)

# gcc 12 makes fused operations of complex products in its vectoriser of straight code, whatever -ffp-contract says.
noinst_LTLIBRARIES += libkernels_scalar.la
libkernels_scalar_la_SOURCES = \
	engine/host/kernels_scalar.c engine/host/kernels_isa.h engine/host/kernels.h engine/host/kernels_ops.h \
	engine/host/kernels_shapes.h
libkernels_scalar_la_CFLAGS = $(KERNEL_CFLAGS) -fno-tree-slp-vectorize

if ISA_AVX2
noinst_LTLIBRARIES += libkernels_avx2.la
kernel_libs += libkernels_avx2.la
libkernels_avx2_la_SOURCES = $(kernel_fold_sources)
libkernels_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DKERNEL_TABLE=kernel_table_avx2
libkernels_avx2_la_CFLAGS = $(KERNEL_CFLAGS) $(ISA_AVX2_CFLAGS)
endif

if ISA_AVX512
noinst_LTLIBRARIES += libkernels_avx512.la
kernel_libs += libkernels_avx512.la
libkernels_avx512_la_SOURCES = $(kernel_fold_sources)
libkernels_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DKERNEL_TABLE=kernel_table_avx512
libkernels_avx512_la_CFLAGS = $(KERNEL_CFLAGS) $(ISA_AVX512_CFLAGS)
endif

if ISA_SVE
noinst_LTLIBRARIES += libkernels_sve.la
kernel_libs += libkernels_sve.la
libkernels_sve_la_SOURCES = $(kernel_fold_sources)
libkernels_sve_la_CPPFLAGS = $(AM_CPPFLAGS) -DKERNEL_TABLE=kernel_table_sve
libkernels_sve_la_CFLAGS = $(KERNEL_CFLAGS) $(ISA_SVE_CFLAGS)
endif
