# SPDX-License-Identifier: BSD-3-Clause
# The job tests: programs that know nothing of the library, built by plain mpicc, and scripts that run them by mpirun.
job_programs = \
	tests/jobs/bits tests/jobs/blocked tests/jobs/comms tests/jobs/computing tests/jobs/ends tests/jobs/errors tests/jobs/forbid \
	tests/jobs/large tests/jobs/mixture tests/jobs/names tests/jobs/nonblocking tests/jobs/progress tests/jobs/remap tests/jobs/requests \
	tests/jobs/signals tests/jobs/stall tests/jobs/steady tests/jobs/threads tests/jobs/threads_nonblocking tests/jobs/values tests/jobs/zero_copy \
	tests/jobs/zero_copy_threads
job_scripts = \
	tests/jobs/bits.sh \
	tests/jobs/blocked.sh \
	tests/jobs/comms.sh \
	tests/jobs/computing.sh \
	tests/jobs/differ.sh \
	tests/jobs/ends.sh \
	tests/jobs/errors.sh \
	tests/jobs/float16.sh \
	tests/jobs/fortran.sh \
	tests/jobs/hosts.sh \
	tests/jobs/large.sh \
	tests/jobs/launch.sh \
	tests/jobs/names.sh \
	tests/jobs/nonblocking.sh \
	tests/jobs/places.sh \
	tests/jobs/progress.sh \
	tests/jobs/python.sh \
	tests/jobs/relay.sh \
	tests/jobs/signals.sh \
	tests/jobs/stall.sh \
	tests/jobs/starve.sh \
	tests/jobs/threads.sh \
	tests/jobs/trace.sh \
	tests/jobs/training.sh \
	tests/jobs/values.sh \
	tests/jobs/zero_copy.sh
job_shared = tests/jobs/job.c tests/jobs/job.h tests/jobs/pattern.c tests/jobs/pattern.h tests/jobs/pattern_types.c \
	tests/jobs/pending.c tests/jobs/pending.h tests/jobs/device.c tests/jobs/device.h

check_SCRIPTS += $(job_programs) tests/jobs/job.env
TESTS += $(job_scripts)
EXTRA_DIST += $(job_scripts) $(job_programs:=.c) $(job_shared) tests/jobs/as_hosts.sh tests/jobs/as_remote.sh tests/jobs/job.sh \
	tests/jobs/arrays.py tests/jobs/spawn.py tests/jobs/torchrun.py tests/jobs/trace.py tests/jobs/training.py \
	tests/jobs/float16.c tests/jobs/fortran.F90 tests/jobs/fortran_requests.F90
CLEANFILES += $(job_programs) tests/jobs/job.env tests/jobs/job.lock

$(job_programs): tests/jobs/%: tests/jobs/%.c $(job_shared)
	$(AM_V_CCLD)$(MKDIR_P) tests/jobs && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -I$(srcdir) -pthread -o $@ \
	  $(srcdir)/$@.c $(srcdir)/tests/jobs/job.c $(srcdir)/tests/jobs/pattern.c $(srcdir)/tests/jobs/pattern_types.c \
	  $(srcdir)/tests/jobs/pending.c $(srcdir)/tests/jobs/device.c -ldl -lm

check_SCRIPTS += tests/jobs/float16
CLEANFILES += tests/jobs/float16
tests/jobs/float16: tests/jobs/float16.c mpi_compat/mpinpu.h tests/jobs/job.c tests/jobs/job.h tests/jobs/device.h libmpinpu16.a
	$(AM_V_CCLD)$(MKDIR_P) tests/jobs && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -I$(srcdir) -o $@ \
	  $(srcdir)/tests/jobs/float16.c $(srcdir)/tests/jobs/job.c libmpinpu16.a -lm

check_SCRIPTS += tests/jobs/starve.so
EXTRA_DIST += tests/jobs/starve.c
CLEANFILES += tests/jobs/starve.so
tests/jobs/starve.so: tests/jobs/starve.c
	$(AM_V_CCLD)$(MKDIR_P) tests/jobs && $(CC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -shared -fPIC -o $@ $(srcdir)/tests/jobs/starve.c

job_fortran = tests/jobs/fortran_mpif_h tests/jobs/fortran_use_mpi tests/jobs/fortran_use_mpi_f08
job_fortran_requests = \
	tests/jobs/fortran_requests_mpif_h tests/jobs/fortran_requests_use_mpi tests/jobs/fortran_requests_use_mpi_f08
if HAVE_FORTRAN
check_SCRIPTS += $(job_fortran) $(job_fortran_requests)
endif
CLEANFILES += $(job_fortran) $(job_fortran_requests)

# Old bindings have one implicit interface for all types: -w and -fallow-argument-mismatch are for them.
job_fortran_flags = case $@ in \
	  *mpif_h) flags='-DMPIF_H -w -fallow-argument-mismatch' ;; \
	  *f08) flags=-DUSE_MPI_F08 ;; \
	  *) flags=-DUSE_MPI ;; \
	esac
$(job_fortran): tests/jobs/fortran.F90
	$(AM_V_CCLD)$(MKDIR_P) $@.modules && $(job_fortran_flags) && \
	$(MPIFORT) -O2 -g $$flags -J $@.modules -o $@ $(srcdir)/tests/jobs/fortran.F90 && rm -rf $@.modules

# Open MPI's MPIX_ functions are an extension that may have been left out.
$(job_fortran_requests): tests/jobs/fortran_requests.F90
	$(AM_V_CCLD)$(MKDIR_P) tests/jobs && $(job_fortran_flags) && { \
	  $(MPIFORT) -O2 -g $$flags -DEXTENSIONS -o $@ $(srcdir)/tests/jobs/fortran_requests.F90 2>/dev/null || \
	  $(MPIFORT) -O2 -g $$flags -o $@ $(srcdir)/tests/jobs/fortran_requests.F90; }

# What the scripts need to know of configure's findings.
tests/jobs/job.env: Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/jobs && { \
	  echo "MPIRUN='$(MPIRUN)'"; echo "MPICC='$(MPICC)'"; echo "MPIFORT='$(MPIFORT)'"; echo "PYTHON='$(PYTHON)'"; \
	} >$@-new && mv -f $@-new $@

# Programs from Debian packages.
real_scripts = tests/real/cp2k.sh tests/real/lammps.sh tests/real/mumps.sh tests/real/nwchem.sh
TESTS += $(real_scripts)
EXTRA_DIST += $(real_scripts) tests/real/real.sh

include tests/jobs/Walk.mk
