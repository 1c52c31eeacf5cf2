# SPDX-License-Identifier: BSD-3-Clause
if HAVE_CRITERION
transport_test_sources = \
	tests/unit/processes.c tests/unit/processes.h \
	tests/unit/transport_processes.c tests/unit/transport_processes.h

check_PROGRAMS += tests/unit/transport_window tests/unit/transport_message
TESTS += tests/unit/transport_window tests/unit/transport_message

tests_unit_transport_window_SOURCES = tests/unit/transport_window.c $(transport_test_sources)
tests_unit_transport_window_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_transport_window_LDADD = libtransport.la $(CRITERION_LIBS)

tests_unit_transport_message_SOURCES = tests/unit/transport_message.c $(transport_test_sources)
tests_unit_transport_message_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_transport_message_LDADD = libtransport.la $(CRITERION_LIBS)
endif
