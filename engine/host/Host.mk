# SPDX-License-Identifier: BSD-3-Clause
# The host engine: communicators, regions, executor.
engine_host_sources = \
	engine/host/agree.c engine/host/agree.h \
	engine/host/comm.c \
	engine/host/connect.c \
	engine/host/direct.c engine/host/direct.h \
	engine/host/direct_maps.c engine/host/direct_maps.h \
	engine/host/executor.c engine/host/executor.h \
	engine/host/exposure.c engine/host/exposure.h \
	engine/host/host.c engine/host/host.h \
	engine/host/plan_store.c \
	engine/host/region.c engine/host/region.h \
	engine/host/run.c engine/host/run.h \
	engine/host/scratch.c engine/host/words.c \
	engine/host/stall.c engine/host/stall.h \
	engine/host/stream.c engine/host/stream.h \
	engine/host/task.c \
	engine/host/tiny.c engine/host/tiny.h \
	engine/host/wait.c engine/host/wait.h
