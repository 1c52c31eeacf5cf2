# SPDX-License-Identifier: BSD-3-Clause
# The settings table.
engine_settings_sources = engine/settings.h engine/settings.def
