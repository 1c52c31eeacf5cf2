# SPDX-License-Identifier: BSD-3-Clause
# The job tests: programs that know nothing of the library, built by plain mpicc, and scripts that run them by mpirun.
job_programs = \
	tests/jobs/bits tests/jobs/comms tests/jobs/ends tests/jobs/errors tests/jobs/progress tests/jobs/remap \
	tests/jobs/steady tests/jobs/threads tests/jobs/values
job_scripts = \
	tests/jobs/bits.sh tests/jobs/comms.sh tests/jobs/ends.sh tests/jobs/errors.sh tests/jobs/progress.sh \
	tests/jobs/threads.sh tests/jobs/values.sh
job_shared = tests/jobs/job.c tests/jobs/job.h tests/jobs/pattern.c tests/jobs/pattern.h

check_SCRIPTS += $(job_programs) tests/jobs/job.env
TESTS += $(job_scripts)
EXTRA_DIST += $(job_scripts) $(job_programs:=.c) $(job_shared) tests/jobs/job.sh
CLEANFILES += $(job_programs) tests/jobs/job.env tests/jobs/job.lock

$(job_programs): tests/jobs/%: tests/jobs/%.c $(job_shared)
	$(AM_V_CCLD)$(MKDIR_P) tests/jobs && $(MPICC) -std=gnu11 -O2 -g $(WARN_CFLAGS) -I$(srcdir) -pthread -o $@ \
	  $(srcdir)/$@.c $(srcdir)/tests/jobs/job.c $(srcdir)/tests/jobs/pattern.c -lm

# What the scripts need to know of configure's findings.
tests/jobs/job.env: Makefile
	$(AM_V_GEN)$(MKDIR_P) tests/jobs && { \
	  echo "MPIRUN='$(MPIRUN)'"; echo "MPICC='$(MPICC)'"; echo "MPIFORT='$(MPIFORT)'"; echo "PYTHON='$(PYTHON)'"; \
	} >$@-new && mv -f $@-new $@
