# SPDX-License-Identifier: BSD-3-Clause
# The host engine: communicators, regions, executor.
engine_host_sources =
