# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libmpicompat.la
libmpicompat_la_SOURCES = \
	mpi_compat/exchange.c mpi_compat/exchange.h \
	mpi_compat/reduction.c mpi_compat/reduction.h
libmpicompat_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CFLAGS)
