# SPDX-License-Identifier: BSD-3-Clause
# CANN without Ascend hardware.
check_SCRIPTS += tests/cann/cann.env
TESTS += tests/cann/headers.sh
EXTRA_DIST += tests/cann/headers.sh tests/cann/header_check tests/cann/header_items.h tests/cann/headers-sample
CLEANFILES += tests/cann/cann.env

# What the scripts need to know of configure.
tests/cann/cann.env: config.status
	$(AM_V_GEN)$(MKDIR_P) tests/cann && \
		printf '%s\n' "CXX='$(CHECK_CXX)'" "CC='$(CC)'" "CANN_HEADERS='$(CANN_HEADERS)'" >$@
