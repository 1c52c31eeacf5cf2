# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += libtransport.la
libtransport_la_SOURCES = \
	transport/log.c transport/log.h \
	transport/status.c transport/status.h \
	transport/context.c transport/describe.c transport/internal.h \
	transport/keeper.c transport/limits.c transport/message.c transport/pages.c transport/pages.h \
	transport/pages_maps.c transport/pages_maps.h transport/peer.c transport/shared_memory.c \
	transport/transport.h transport/ucx.c transport/ucx.h transport/ucx_functions.def transport/window.c
libtransport_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS)
