# SPDX-License-Identifier: BSD-3-Clause
include tests/unit/Unit.mk
include tests/jobs/Jobs.mk
include tests/preload/Preload.mk
include tests/bench/Bench.mk
include tests/cann/Cann.mk
