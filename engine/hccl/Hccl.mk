# SPDX-License-Identifier: BSD-3-Clause
# The engine on NPUs: HCCL. A file a line.
engine_hccl_sources = \
	engine/hccl/agree.c engine/hccl/alarm.c \
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
	engine/hccl/checks.c \
	engine/hccl/choose.c \
	engine/hccl/device.c engine/hccl/direct.c \
	engine/hccl/encode.c \
	engine/hccl/encode.def \
	engine/hccl/encode.h \
	engine/hccl/encode_codecs.def \
	engine/hccl/encode_codecs.h \
	engine/hccl/environment.c \
	engine/hccl/environment.def \
	engine/hccl/environment.h \
	engine/hccl/group.c \
	engine/hccl/hccl.c \
	engine/hccl/hccl.h \
	engine/hccl/model.c \
	engine/hccl/model.def \
	engine/hccl/model.h \
	engine/hccl/model_choose.c \
	engine/hccl/model_cost.h \
	engine/hccl/model_cut.c \
	engine/hccl/owners.c \
	engine/hccl/owners.h \
	engine/hccl/pieces.c \
	engine/hccl/pieces.h \
	engine/hccl/plan.c \
	engine/hccl/ports.c \
	engine/hccl/ports.h \
	engine/hccl/share.c \
	engine/hccl/staging.c \
	engine/hccl/times.c \
	engine/hccl/trial.c \
	engine/hccl/wait.c \
	engine/hccl/wire.c
