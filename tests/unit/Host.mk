# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of the host engine.
if HAVE_CRITERION
check_PROGRAMS += region_test
TESTS += region_test
region_test_SOURCES = tests/unit/region_test.c
region_test_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
region_test_LDADD = libengine.la $(CRITERION_LIBS)
endif
