# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libmpicompat.la
libmpicompat_la_SOURCES = \
	mpi_compat/errors.c mpi_compat/errors.h \
	mpi_compat/exchange.c mpi_compat/exchange.h \
	mpi_compat/float16_handles.c mpi_compat/float16_handles.h \
	mpi_compat/messages.c mpi_compat/messages.h \
	mpi_compat/progress.c mpi_compat/progress.h \
	mpi_compat/reduction.c mpi_compat/reduction.h \
	mpi_compat/datatypes.def mpi_compat/ops.def
libmpicompat_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CFLAGS)

# Linked into programs that use 16-bit floats, and into their shared objects.
include_HEADERS += mpi_compat/mpinpu.h
lib_LIBRARIES += libmpinpu16.a
libmpinpu16_a_SOURCES = mpi_compat/float16_user.c mpi_compat/mpinpu.h mpi_compat/float16_handles.h engine/float16.h
libmpinpu16_a_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CFLAGS)
libmpinpu16_a_CFLAGS = $(AM_CFLAGS) -fPIC

# The same for languages that open shared objects, such as Python; not where -lmpinpu16 would find it.
pkglib_LTLIBRARIES += libmpinpu16-shared.la
libmpinpu16_shared_la_SOURCES = $(libmpinpu16_a_SOURCES)
libmpinpu16_shared_la_CPPFLAGS = $(libmpinpu16_a_CPPFLAGS)
libmpinpu16_shared_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
libmpinpu16_shared_la_LDFLAGS = $(AM_LDFLAGS) -shared -module -avoid-version -Wl,-z,defs
libmpinpu16_shared_la_LIBADD = $(OMPI_LIBS)
