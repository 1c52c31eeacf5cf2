# SPDX-License-Identifier: BSD-3-Clause
# The table of datatypes and ops against the host MPI, and the 16-bit floats.
check_PROGRAMS += tests/jobs/walk_reductions
tests_jobs_walk_reductions_SOURCES = \
	tests/jobs/walk_reductions.c tests/unit/kernels_oracle.c tests/unit/kernels_oracle_half.c \
	tests/unit/kernels_oracle.h
tests_jobs_walk_reductions_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CFLAGS)
tests_jobs_walk_reductions_LDADD = libmpicompat.la libengine.la libmpinpu16.a $(OMPI_LIBS) -lm -lpthread

check_SCRIPTS += tests/jobs/float16_handles
TESTS += tests/jobs/walk_reductions.sh tests/jobs/float16_handles.sh
EXTRA_DIST += tests/jobs/walk_reductions.sh tests/jobs/float16_handles.sh tests/jobs/float16_handles.c
CLEANFILES += tests/jobs/float16_handles tests/jobs/float16_handles_cxx

# As a user's program is: by mpicc, with the header and the static part alone. The same source as C++, where that compiles.
tests/jobs/float16_handles: tests/jobs/float16_handles.c libmpinpu16.a mpi_compat/mpinpu.h
	$(AM_V_CCLD)$(MKDIR_P) tests/jobs && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -I$(srcdir) -pthread -o $@ \
	  $(srcdir)/tests/jobs/float16_handles.c libmpinpu16.a
	@rm -f $@_cxx; $(MPICC) -x c++ -O2 -DOMPI_SKIP_MPICXX -I$(srcdir) -pthread -o $@_cxx $(srcdir)/tests/jobs/float16_handles.c -x none \
	  libmpinpu16.a -lstdc++ 2>/dev/null || :
