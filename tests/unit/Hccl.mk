# SPDX-License-Identifier: BSD-3-Clause
# The engine on NPUs: what needs no NPU.
if HAVE_CRITERION
check_PROGRAMS += tests/unit/hccl_environment
TESTS += tests/unit/hccl_environment

tests_unit_hccl_environment_SOURCES = tests/unit/hccl_environment.c
tests_unit_hccl_environment_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_hccl_environment_LDADD = libengine.la $(CRITERION_LIBS)

check_PROGRAMS += tests/unit/hccl_ports
TESTS += tests/unit/hccl_ports

tests_unit_hccl_ports_SOURCES = tests/unit/hccl_ports.c
tests_unit_hccl_ports_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_hccl_ports_LDADD = libengine.la $(CRITERION_LIBS)

check_PROGRAMS += tests/unit/atlas_types tests/unit/atlas_910 tests/unit/atlas_devices \
	tests/unit/atlas_search
TESTS += tests/unit/atlas_types tests/unit/atlas_910 tests/unit/atlas_devices \
	tests/unit/atlas_search

tests_unit_atlas_types_SOURCES = tests/unit/atlas_types.c
tests_unit_atlas_types_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_atlas_types_LDADD = libengine.la $(CRITERION_LIBS)

tests_unit_atlas_910_SOURCES = tests/unit/atlas_910.c tests/unit/atlas_hosts.h
tests_unit_atlas_910_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_atlas_910_LDADD = libengine.la $(CRITERION_LIBS)

tests_unit_atlas_search_SOURCES = tests/unit/atlas_search.c tests/unit/atlas_hosts.h
tests_unit_atlas_search_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_atlas_search_LDADD = libengine.la $(CRITERION_LIBS)

tests_unit_atlas_devices_SOURCES = tests/unit/atlas_devices.c tests/unit/atlas_hosts.h
tests_unit_atlas_devices_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_atlas_devices_LDADD = libengine.la $(CRITERION_LIBS)

check_PROGRAMS += tests/unit/owners_test
TESTS += tests/unit/owners_test

tests_unit_owners_test_SOURCES = tests/unit/owners_test.c
tests_unit_owners_test_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_owners_test_LDADD = libengine.la $(CRITERION_LIBS)

encode_tests = tests/unit/encode_find tests/unit/encode_float64 tests/unit/encode_integers tests/unit/encode_order
encode_test_sources = tests/unit/encode_wire.c tests/unit/encode_wire.h
check_PROGRAMS += $(encode_tests)
TESTS += $(encode_tests)

tests_unit_encode_find_SOURCES = tests/unit/encode_find.c $(encode_test_sources)
tests_unit_encode_find_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_encode_find_LDADD = libengine.la $(CRITERION_LIBS)

tests_unit_encode_float64_SOURCES = \
	tests/unit/encode_float64.c tests/unit/exact_sum.c tests/unit/exact_sum.h $(encode_test_sources)
tests_unit_encode_float64_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_encode_float64_LDADD = libengine.la $(CRITERION_LIBS) -lm

tests_unit_encode_integers_SOURCES = tests/unit/encode_integers.c $(encode_test_sources)
tests_unit_encode_integers_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_encode_integers_LDADD = libengine.la $(CRITERION_LIBS)

tests_unit_encode_order_SOURCES = tests/unit/encode_order.c $(encode_test_sources)
tests_unit_encode_order_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_encode_order_LDADD = libengine.la $(CRITERION_LIBS) -lm

check_PROGRAMS += tests/unit/model_costs tests/unit/model_choices
TESTS += tests/unit/model_costs tests/unit/model_choices

tests_unit_model_costs_SOURCES = tests/unit/model_costs.c tests/unit/model_samples.h
tests_unit_model_costs_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_model_costs_LDADD = libengine.la $(CRITERION_LIBS) -lm

tests_unit_model_choices_SOURCES = tests/unit/model_choices.c tests/unit/model_samples.h
tests_unit_model_choices_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_model_choices_LDADD = libengine.la $(CRITERION_LIBS)
endif
