# SPDX-License-Identifier: BSD-3-Clause
# Unit tests of the host engine.

# The executor and the straight paths without kernels, transport and MPI, once as it is and once under ThreadSanitizer.
executor_alone_sources = \
	tests/unit/executor_test.c tests/unit/executor_alone.c \
	engine/collective.c \
	engine/host/direct.c engine/host/executor.c engine/host/stall.c engine/host/plan_store.c engine/host/region.c \
	engine/host/run.c engine/host/scratch.c engine/host/stream.c engine/host/tiny.c engine/host/wait.c \
	$(engine_plan_sources) \
	transport/status.c transport/log.c
check_PROGRAMS += executor_test
TESTS += executor_test
executor_test_SOURCES = $(executor_alone_sources)
executor_test_CFLAGS = $(AM_CFLAGS) -pthread
if HAVE_TSAN
check_PROGRAMS += executor_tsan
TESTS += tests/unit/executor_tsan.sh
executor_tsan_SOURCES = $(executor_alone_sources)
# -Wno-tsan, which clang does not know: the fences that ThreadSanitizer does not follow stand beside messages, of which there are none here.
executor_tsan_CFLAGS = $(AM_CFLAGS) -pthread -fsanitize=thread -O1 -g -DSERIES=30 -Wno-unknown-warning-option -Wno-tsan
executor_tsan_LDFLAGS = $(AM_LDFLAGS) -fsanitize=thread
endif
EXTRA_DIST += tests/unit/executor_tsan.sh

if HAVE_CRITERION
check_PROGRAMS += region_test
TESTS += region_test
region_test_SOURCES = tests/unit/region_test.c
region_test_CPPFLAGS = $(AM_CPPFLAGS) $(CRITERION_CFLAGS)
region_test_LDADD = libengine.la $(CRITERION_LIBS)
endif
