# SPDX-License-Identifier: BSD-3-Clause
# What is preloaded: libc and nothing else.
lib_LTLIBRARIES += libmpinpu.la
libmpinpu_la_SOURCES = \
	shim/preload.c shim/core.h shim/core_load.c shim/core_load.h shim/functions.def \
	shim/device_memory.c shim/device_memory.h shim/export.h \
	shim/memory.c shim/memory.h engine/job.h engine/memory_watch.h
libmpinpu_la_LDFLAGS = $(AM_LDFLAGS) -shared -avoid-version -Wl,--version-script=shim/libmpinpu.map
libmpinpu_la_DEPENDENCIES = shim/libmpinpu.map

# What has no version here and is visible is exported without one.
shim/libmpinpu.map: $(srcdir)/shim/functions.def $(srcdir)/shim/device_memory.c
	$(AM_V_GEN)$(MKDIR_P) shim && { \
	  echo 'MPINPU {'; echo '    global:'; \
	  $(SED) -n 's/^FUNCTION(\([A-Za-z_]*\),.* SOME)$$/        \1; P\1;/p' $(srcdir)/shim/functions.def; \
	  $(SED) -n 's/^DEVICE_FUNCTION(\([A-Za-z0-9]*\),.*/        \1;/p' $(srcdir)/shim/device_memory.c; \
	  echo '    local: some_*;'; echo '};'; \
	} >$@-new && mv -f $@-new $@
CLEANFILES += shim/libmpinpu.map

# What `mpinpu run` preloads beside it; needs libc and nothing else.
pkglib_LTLIBRARIES += libmpinpu-launch.la
libmpinpu_launch_la_SOURCES = shim/launch.c
libmpinpu_launch_la_LDFLAGS = $(AM_LDFLAGS) -shared -module -avoid-version

# The core for Open MPI, which libmpinpu.so opens.
pkglib_LTLIBRARIES += libmpinpu-openmpi.la
libmpinpu_openmpi_la_SOURCES = \
	shim/call.h shim/comm.c \
	shim/core.c shim/core.h \
	shim/host_calls.c shim/host_calls.h \
	shim/coroutine.c shim/coroutine.h \
	shim/device_buffers.c shim/device_buffers.h \
	shim/nonblocking.c shim/nonblocking.h \
	shim/operation.c shim/operation.h \
	shim/outstanding.c shim/outstanding.h \
	shim/process.c shim/process.h \
	shim/persistent.c shim/persistent.h \
	shim/relay.c shim/relay.h \
	shim/setup.c shim/setup.h \
	shim/stall.c shim/stall.h \
	shim/world.c shim/world.h \
	shim/observe.c shim/observe.h \
	shim/trace.c shim/trace.h shim/trace_clock.c shim/trace_text.c \
	shim/report.c shim/report_text.c shim/report_counts.h shim/report.h shim/reasons.def
libmpinpu_openmpi_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CFLAGS)
libmpinpu_openmpi_la_LDFLAGS = $(AM_LDFLAGS) -shared -module -avoid-version -Wl,-z,defs \
	-Wl,--version-script=$(srcdir)/shim/libmpinpu-core.map
libmpinpu_openmpi_la_DEPENDENCIES = $(shim_core_libs) $(srcdir)/shim/libmpinpu-core.map
libmpinpu_openmpi_la_LIBADD = $(shim_core_libs) $(OMPI_LIBS)
# libengine.la holds libtransport.la; a library that stands twice on this line is linked twice.
shim_core_libs = libmpicompat.la libengine.la
EXTRA_DIST += shim/libmpinpu-core.map

# In the build tree, too, the core lies in a folder mpinpu beside libmpinpu.so.
all-local: .libs/mpinpu
.libs/mpinpu: libmpinpu.la
	$(AM_V_at)rm -f $@ && $(LN_S) . $@
