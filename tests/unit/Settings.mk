# SPDX-License-Identifier: BSD-3-Clause
# Settings and report: what is parsed and what is printed.
if HAVE_CRITERION
check_PROGRAMS += tests/unit/settings_values tests/unit/settings_complaints tests/unit/report_text
TESTS += tests/unit/settings_values tests/unit/settings_complaints tests/unit/report_text

tests_unit_settings_values_SOURCES = tests/unit/settings_values.c tests/unit/settings_environment.h
tests_unit_settings_values_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_settings_values_LDADD = libengine.la $(CRITERION_LIBS)

tests_unit_settings_complaints_SOURCES = tests/unit/settings_complaints.c tests/unit/settings_environment.h
tests_unit_settings_complaints_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_settings_complaints_LDADD = libengine.la $(CRITERION_LIBS)

tests_unit_report_text_SOURCES = tests/unit/report_text.c \
	shim/report.c shim/report_text.c shim/report.h shim/report_counts.h
tests_unit_report_text_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
tests_unit_report_text_LDADD = libengine.la $(CRITERION_LIBS) -lpthread
endif

# The clocks of a trace.
check_PROGRAMS += tests/unit/trace_clock
TESTS += tests/unit/trace_clock
tests_unit_trace_clock_SOURCES = tests/unit/trace_clock.c shim/trace_clock.c shim/trace.h
