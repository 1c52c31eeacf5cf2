# SPDX-License-Identifier: BSD-3-Clause
# The engine on NPUs: HCCL. A file a line.
engine_hccl_sources = \
	engine/hccl/atlas.c \
	engine/hccl/atlas.def \
	engine/hccl/atlas.h \
	engine/hccl/atlas_pick.c \
	engine/hccl/cann.c \
	engine/hccl/cann.h \
	engine/hccl/cann_errors.c \
	engine/hccl/cann_errors.def \
	engine/hccl/cann_functions.def \
	engine/hccl/cann_structs.def \
	engine/hccl/cann_values.def \
	engine/hccl/encode.c \
	engine/hccl/encode.def \
	engine/hccl/encode.h \
	engine/hccl/encode_codecs.def \
	engine/hccl/encode_codecs.h \
	engine/hccl/environment.c \
	engine/hccl/environment.def \
	engine/hccl/environment.h \
	engine/hccl/ports.c \
	engine/hccl/ports.h
