# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of the host engine.
if HAVE_CRITERION
check_PROGRAMS += executor_test region_test
TESTS += executor_test region_test
executor_test_SOURCES = tests/unit/executor_test.c
executor_test_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
executor_test_LDADD = libengine.la $(CRITERION_LIBS)
region_test_SOURCES = tests/unit/region_test.c
region_test_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
region_test_LDADD = libengine.la $(CRITERION_LIBS)
endif
