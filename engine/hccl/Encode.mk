# SPDX-License-Identifier: BSD-3-Clause
# The loops of the encodings, compiled once for each instruction set, with the flags of the kernels.
encode_codec_sources = \
	engine/hccl/encode_codecs.c engine/hccl/encode_codecs.h engine/hccl/encode_codecs.def engine/hccl/encode.h \
	engine/hccl/encode_fixed.h engine/hccl/encode_order.h engine/float16.h

encode_libs = libencode_base.la
noinst_LTLIBRARIES += libencode_base.la
libencode_base_la_SOURCES = $(encode_codec_sources)
libencode_base_la_CPPFLAGS = $(AM_CPPFLAGS) -DENCODE_FUNCTIONS=encode_functions_base
libencode_base_la_CFLAGS = $(KERNEL_CFLAGS)

if ISA_AVX2
encode_libs += libencode_avx2.la
noinst_LTLIBRARIES += libencode_avx2.la
libencode_avx2_la_SOURCES = $(encode_codec_sources)
libencode_avx2_la_CPPFLAGS = $(AM_CPPFLAGS) -DENCODE_FUNCTIONS=encode_functions_avx2
libencode_avx2_la_CFLAGS = $(KERNEL_CFLAGS) $(ISA_AVX2_CFLAGS)
endif

if ISA_AVX512
encode_libs += libencode_avx512.la
noinst_LTLIBRARIES += libencode_avx512.la
libencode_avx512_la_SOURCES = $(encode_codec_sources)
libencode_avx512_la_CPPFLAGS = $(AM_CPPFLAGS) -DENCODE_FUNCTIONS=encode_functions_avx512
libencode_avx512_la_CFLAGS = $(KERNEL_CFLAGS) $(ISA_AVX512_CFLAGS)
endif
