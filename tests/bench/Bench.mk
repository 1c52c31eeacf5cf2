# SPDX-License-Identifier: BSD-3-Clause
TESTS += tests/bench/compare.sh tests/bench/validation.sh
EXTRA_DIST += tests/bench/compare.sh tests/bench/validation.sh tests/bench/wrong_result.c
check_SCRIPTS += tests/bench/wrong_result.so
CLEANFILES += tests/bench/wrong_result.so

tests/bench/wrong_result.so: tests/bench/wrong_result.c
	$(AM_V_CCLD)$(MKDIR_P) tests/bench && $(MPICC) -std=c11 -O2 $(WARN_CFLAGS) -fPIC -shared -o $@ $(srcdir)/tests/bench/wrong_result.c
