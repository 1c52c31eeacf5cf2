# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CRITERION
transport_tests = \
	tests/unit/transport_end \
	tests/unit/transport_memory \
	tests/unit/transport_message \
	tests/unit/transport_threads \
	tests/unit/transport_window
transport_test_sources = \
	tests/unit/processes.c tests/unit/processes.h \
	tests/unit/transport_processes.c tests/unit/transport_processes.h
check_PROGRAMS += $(transport_tests)
TESTS += $(transport_tests)

tests_unit_transport_end_SOURCES = tests/unit/transport_end.c $(transport_test_sources)
tests_unit_transport_end_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_transport_end_LDADD = libtransport.la $(CRITERION_LIBS)

tests_unit_transport_memory_SOURCES = tests/unit/transport_memory.c $(transport_test_sources)
tests_unit_transport_memory_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_transport_memory_LDADD = libtransport.la $(CRITERION_LIBS)

tests_unit_transport_message_SOURCES = tests/unit/transport_message.c $(transport_test_sources)
tests_unit_transport_message_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_transport_message_LDADD = libtransport.la $(CRITERION_LIBS)

tests_unit_transport_threads_SOURCES = tests/unit/transport_threads.c $(transport_test_sources)
tests_unit_transport_threads_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_transport_threads_LDADD = libtransport.la $(CRITERION_LIBS)

tests_unit_transport_window_SOURCES = tests/unit/transport_window.c $(transport_test_sources)
tests_unit_transport_window_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_transport_window_LDADD = libtransport.la $(CRITERION_LIBS)
endif
