# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CRITERION
plan_test_sources = tests/unit/plan_cases.c tests/unit/plan_cases.h

check_PROGRAMS += tests/unit/plan_sweep tests/unit/plan_mutation tests/unit/plan_make
TESTS += tests/unit/plan_sweep tests/unit/plan_mutation tests/unit/plan_make

tests_unit_plan_sweep_SOURCES = tests/unit/plan_sweep.c $(plan_test_sources)
tests_unit_plan_sweep_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_plan_sweep_LDADD = libplancheck.la $(CRITERION_LIBS)

tests_unit_plan_mutation_SOURCES = tests/unit/plan_mutation.c $(plan_test_sources)
tests_unit_plan_mutation_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_plan_mutation_LDADD = libplancheck.la $(CRITERION_LIBS)

tests_unit_plan_make_SOURCES = tests/unit/plan_make.c $(plan_test_sources)
tests_unit_plan_make_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_plan_make_LDADD = libplancheck.la $(CRITERION_LIBS)
endif
