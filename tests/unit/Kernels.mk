# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CRITERION
kernel_test_sources = \
	tests/unit/kernels_oracle.c tests/unit/kernels_oracle_half.c tests/unit/kernels_oracle.h

check_PROGRAMS += tests/unit/kernels_fold tests/unit/kernels_half tests/unit/kernels_copy
TESTS += tests/unit/kernels_fold tests/unit/kernels_half tests/unit/kernels_copy

tests_unit_kernels_fold_SOURCES = tests/unit/kernels_fold.c $(kernel_test_sources)
tests_unit_kernels_fold_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_kernels_fold_LDADD = libengine.la $(CRITERION_LIBS) -lm

tests_unit_kernels_half_SOURCES = tests/unit/kernels_half.c $(kernel_test_sources)
tests_unit_kernels_half_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_kernels_half_LDADD = libengine.la $(CRITERION_LIBS) -lm

tests_unit_kernels_copy_SOURCES = tests/unit/kernels_copy.c $(kernel_test_sources)
tests_unit_kernels_copy_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_kernels_copy_LDADD = libengine.la $(CRITERION_LIBS) -lm
endif
