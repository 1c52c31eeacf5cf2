# SPDX-License-Identifier: BSD-3-Clause
# The engine on NPUs: HCCL. A file a line.
engine_hccl_sources =
