# SPDX-License-Identifier: BSD-3-Clause
bin_PROGRAMS += tools/mpinpu
tools_mpinpu_SOURCES = \
	tools/mpinpu.c tools/tools.h \
	tools/info.c tools/library.c tools/run.c tools/run.h tools/run_arguments.c tools/run_master.c tools/settings.c \
	tools/table.c tools/table.h tools/trace.c
tools_mpinpu_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CFLAGS) \
	-DBINDIR='"$(bindir)"' -DLIBDIR='"$(libdir)"' -DMPIRUN='"$(MPIRUN)"'
tools_mpinpu_LDADD = libengine.la $(OMPI_LIBS)
dist_man1_MANS = tools/mpinpu.1
