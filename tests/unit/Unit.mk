# SPDX-License-Identifier: BSD-3-Clause
include tests/unit/Host.mk
include tests/unit/Transport.mk
include tests/unit/Plans.mk
include tests/unit/Settings.mk
include tests/unit/Kernels.mk
include tests/unit/Hccl.mk
