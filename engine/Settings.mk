# SPDX-License-Identifier: BSD-3-Clause
# The settings table.
engine_settings_sources = \
	engine/settings.c engine/settings.h engine/settings.def engine/settings_text.c \
	engine/job.h
