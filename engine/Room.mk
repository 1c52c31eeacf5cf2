# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libengine.la
libengine_la_SOURCES = \
	engine/collective.c engine/collective.h \
	engine/engine.h \
	$(engine_plan_sources) $(engine_kernel_sources) $(engine_host_sources) $(engine_settings_sources) \
	$(engine_hccl_sources)
libengine_la_LIBADD = $(kernel_libs) $(encode_libs) libtransport.la

include engine/host/Plans.mk
include engine/host/Kernels.mk
include engine/host/Host.mk
include engine/Settings.mk
include engine/hccl/Hccl.mk
include engine/hccl/Encode.mk
