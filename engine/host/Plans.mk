# SPDX-License-Identifier: BSD-3-Clause
# Plans: algorithms, their selection, the symbolic checker.
engine_plan_sources = \
	engine/host/plan.h \
	engine/host/plan_algorithms.def \
	engine/host/plan_algorithms.h \
	engine/host/plan_blocks.c \
	engine/host/plan_build.c \
	engine/host/plan_build.h \
	engine/host/plan_doubling.c \
	engine/host/plan_fan.c \
	engine/host/plan_fan.h \
	engine/host/plan_fan_in.c \
	engine/host/plan_fan_out.c \
	engine/host/plan_group.c \
	engine/host/plan_group.h \
	engine/host/plan_levels.c \
	engine/host/plan_message.c \
	engine/host/plan_ring.c \
	engine/host/plan_select.c \
	engine/host/plan_window.c

# The checker, for tests and tools; not part of the library.
noinst_LTLIBRARIES += libplancheck.la
libplancheck_la_SOURCES = \
	engine/host/plan_check.c \
	engine/host/plan_check.h \
	engine/host/plan_check_access.c \
	engine/host/plan_check_messages.c \
	engine/host/plan_check_state.h \
	engine/host/plan_check_steps.c \
	engine/host/plan_check_symbols.c \
	engine/host/plan_check_symbols.h
libplancheck_la_LIBADD = libengine.la
