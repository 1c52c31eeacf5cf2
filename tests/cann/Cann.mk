# SPDX-License-Identifier: BSD-3-Clause
# CANN without Ascend hardware: its headers compared, its libraries played by a stand-in. `make standin` builds it alone.
standin_sources = \
	tests/cann/acl_copy.c tests/cann/acl_device.c tests/cann/acl_event.c tests/cann/acl_memory.c \
	tests/cann/acl_stream.c tests/cann/collective.h tests/cann/communicator.h tests/cann/exports \
	tests/cann/hccl_collective.c tests/cann/hccl_comm.c tests/cann/hccl_environment.c tests/cann/hccl_meet.c \
	tests/cann/hccl_reduce.c tests/cann/hccl_rules.c tests/cann/hccl_run.c tests/cann/standin.h \
	tests/cann/standin_accounts.c tests/cann/standin_build tests/cann/standin_settings.c
# Each of these has functions that the one before has not; 8.5.0 has the libraries split.
standin_versions = 7.0 8.0.0 8.1.RC1 8.2.RC1 8.5.0
standin_stamps = $(standin_versions:%=tests/cann/cann-%/built)

check_SCRIPTS += tests/cann/cann.env $(standin_stamps)
TESTS += tests/cann/headers.sh
EXTRA_DIST += $(standin_sources) tests/cann/README.md \
	tests/cann/headers.sh tests/cann/header_check tests/cann/header_items.def tests/cann/headers-sample
CLEANFILES += tests/cann/cann.env

.PHONY: standin
standin: $(standin_stamps)

$(standin_stamps): tests/cann/cann-%/built: $(standin_sources)
	$(AM_V_CCLD)CC='$(CC)' CFLAGS='$(CFLAGS) $(WARN_CFLAGS)' SOURCE='$(srcdir)' \
		$(srcdir)/tests/cann/standin_build tests/cann/cann-$* $* && echo $* >$@

clean-local: standin-clean
.PHONY: standin-clean
standin-clean:
	rm -rf $(standin_versions:%=tests/cann/cann-%)

# Jobs on the stand-in.
check_SCRIPTS += tests/cann/faulty
TESTS += tests/cann/engine.sh tests/cann/owners.sh tests/cann/chips.sh tests/cann/programs.sh
EXTRA_DIST += tests/cann/engine.sh tests/cann/owners.sh tests/cann/chips.sh tests/cann/programs.sh \
	tests/cann/as_server.sh tests/cann/faulty.c
CLEANFILES += tests/cann/faulty
tests/cann/faulty: tests/cann/faulty.c
	$(AM_V_CCLD)$(MKDIR_P) tests/cann && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -o $@ $(srcdir)/tests/cann/faulty.c

check_SCRIPTS += tests/cann/own_device
TESTS += tests/cann/setup.sh
EXTRA_DIST += tests/cann/setup.sh tests/cann/own_device.c
CLEANFILES += tests/cann/own_device
tests/cann/own_device: tests/cann/own_device.c
	$(AM_V_CCLD)$(MKDIR_P) tests/cann && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -o $@ \
		$(srcdir)/tests/cann/own_device.c -ldl

check_SCRIPTS += tests/cann/sweep
TESTS += tests/cann/faults.sh
EXTRA_DIST += tests/cann/faults.sh tests/cann/sweep.c
CLEANFILES += tests/cann/sweep
tests/cann/sweep: tests/cann/sweep.c engine/hccl/cann_functions.def
	$(AM_V_CCLD)$(MKDIR_P) tests/cann && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -I$(srcdir) -o $@ \
		$(srcdir)/tests/cann/sweep.c -ldl

check_SCRIPTS += tests/cann/buffers
TESTS += tests/cann/buffers.sh
EXTRA_DIST += tests/cann/buffers.sh tests/cann/buffers.c
CLEANFILES += tests/cann/buffers
tests/cann/buffers: tests/cann/buffers.c $(job_shared)
	$(AM_V_CCLD)$(MKDIR_P) tests/cann && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -I$(srcdir) -pthread -o $@ \
		$(srcdir)/tests/cann/buffers.c $(srcdir)/tests/jobs/job.c $(srcdir)/tests/jobs/device.c -ldl

check_SCRIPTS += tests/cann/places
TESTS += tests/cann/places.sh
EXTRA_DIST += tests/cann/places.sh tests/cann/places.c
CLEANFILES += tests/cann/places
tests/cann/places: tests/cann/places.c
	$(AM_V_CCLD)$(MKDIR_P) tests/cann && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -o $@ \
		$(srcdir)/tests/cann/places.c -ldl

# What the scripts need to know of configure.
tests/cann/cann.env: config.status
	$(AM_V_GEN)$(MKDIR_P) tests/cann && \
		printf '%s\n' "CXX='$(CHECK_CXX)'" "CC='$(CC)'" "CANN_HEADERS='$(CANN_HEADERS)'" >$@

if HAVE_CRITERION
cann_tests = \
	tests/cann/collective_test tests/cann/failure_test tests/cann/loader_test tests/cann/memory_test \
	tests/cann/rules_test
cann_test_sources = tests/cann/job.c tests/cann/job.h tests/unit/processes.c tests/unit/processes.h
cann_test_cppflags = $(AM_CPPFLAGS) $(CRITERION_CFLAGS) -DSTANDIN_FOLDER='"$(abs_builddir)/tests/cann"'
check_PROGRAMS += $(cann_tests)
TESTS += $(cann_tests)

tests_cann_collective_test_SOURCES = tests/cann/collective_test.c $(cann_test_sources)
tests_cann_collective_test_CPPFLAGS = $(cann_test_cppflags)
tests_cann_collective_test_LDADD = libengine.la $(CRITERION_LIBS) -lpthread

tests_cann_failure_test_SOURCES = tests/cann/failure_test.c $(cann_test_sources)
tests_cann_failure_test_CPPFLAGS = $(cann_test_cppflags)
tests_cann_failure_test_LDADD = libengine.la $(CRITERION_LIBS) -lpthread

tests_cann_rules_test_SOURCES = tests/cann/rules_test.c $(cann_test_sources)
tests_cann_rules_test_CPPFLAGS = $(cann_test_cppflags)
tests_cann_rules_test_LDADD = libengine.la $(CRITERION_LIBS) -lpthread

tests_cann_loader_test_SOURCES = tests/cann/loader_test.c $(cann_test_sources)
tests_cann_loader_test_CPPFLAGS = $(cann_test_cppflags)
tests_cann_loader_test_LDADD = libengine.la $(CRITERION_LIBS)

tests_cann_memory_test_SOURCES = tests/cann/memory_test.c $(cann_test_sources)
tests_cann_memory_test_CPPFLAGS = $(cann_test_cppflags)
tests_cann_memory_test_LDADD = libengine.la $(CRITERION_LIBS) -lpthread
endif
