# SPDX-License-Identifier: BSD-3-Clause
preload_tests = \
	tests/preload/contract.sh \
	tests/preload/harmless.sh \
	tests/preload/local.sh \
	tests/preload/messages.sh \
	tests/preload/mpich.sh \
	tests/preload/profilers.sh \
	tests/preload/symbols.sh \
	tests/preload/tool.sh
TESTS += $(preload_tests)
EXTRA_DIST += $(preload_tests) tests/preload/preload.sh \
	tests/preload/bystander.c tests/preload/calls.c tests/preload/local.c tests/preload/outside.c \
	tests/preload/profiler.c tests/preload/contract.c tests/preload/fake_core.c tests/preload/fake_mpi.c tests/preload/fake_mpi.h
$(preload_tests:.sh=.log): tests/preload/preload.env tests/preload/preload.sh \
	libmpinpu.la libmpinpu-launch.la libmpinpu-openmpi.la tools/mpinpu .libs/mpinpu

# What configure found, for the scripts.
tests/preload/preload.env: config.status
	$(AM_V_GEN)$(MKDIR_P) tests/preload && { \
	  echo "CC='$(CC)'"; \
	  echo "MPICC='$(MPICC)'"; \
	  echo "MPICC_MPICH='$(MPICC_MPICH)'"; \
	  echo "MPIRUN='$(MPIRUN)'"; \
	  echo "PYTHON='$(PYTHON)'"; \
	  echo "bindir='$(bindir)'"; \
	  echo "libdir='$(libdir)'"; \
	  echo "VERSION='$(PACKAGE_VERSION)'"; \
	} >$@-new && mv -f $@-new $@
CLEANFILES += tests/preload/preload.env
