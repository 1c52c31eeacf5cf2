# SPDX-License-Identifier: BSD-3-Clause
# Plans: algorithms, their selection, the symbolic checker.
engine_plan_sources = \
	engine/host/plan.h \
	engine/host/plan_algorithms.def \
	engine/host/plan_algorithms.h \
	engine/host/plan_blocks.c \
	engine/host/plan_build.c \
	engine/host/plan_build.h \
	engine/host/plan_message.c \
	engine/host/plan_select.c \
	engine/host/plan_window.c
