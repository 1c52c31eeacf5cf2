# SPDX-License-Identifier: BSD-3-Clause
# Plans: algorithms, their selection, the symbolic checker.
engine_plan_sources = engine/host/plan.h
