# SPDX-License-Identifier: BSD-3-Clause
# The benchmark programs know MPI alone: plain mpicc builds them, with no flag of ours but the warnings.
bench_programs = bench/allreduce bench/reduce_scatter bench/reduce_scatter_block bench/host_calls bench/first_call \
	bench/exec_time bench/npu bench/overlap
bench_sources = bench/benchmark.c bench/options.c bench/values.c
bench_headers = bench/collective.h bench/options.h bench/values.h
bench_mpicc = $(AM_V_CC)$(MKDIR_P) bench && $(MPICC) -std=c11 -O2 $(WARN_CFLAGS)

bench/allreduce bench/reduce_scatter bench/reduce_scatter_block: $(bench_sources) $(bench_headers)
	$(bench_mpicc) -o $@ $(srcdir)/$@.c $(bench_sources:%=$(srcdir)/%)
bench/allreduce: bench/allreduce.c
bench/reduce_scatter: bench/reduce_scatter.c
bench/reduce_scatter_block: bench/reduce_scatter_block.c

bench/host_calls bench/first_call bench/exec_time bench/overlap:
	$(bench_mpicc) -o $@ $(srcdir)/$@.c
bench/host_calls: bench/host_calls.c
bench/first_call: bench/first_call.c
bench/exec_time: bench/exec_time.c
bench/overlap: bench/overlap.c

bench/npu: bench/npu.c
	$(bench_mpicc) -o $@ $(srcdir)/$@.c -ldl

noinst_DATA = $(bench_programs)
CLEANFILES += $(bench_programs)
EXTRA_DIST += $(bench_sources) $(bench_headers) bench/allreduce.c bench/reduce_scatter.c bench/reduce_scatter_block.c \
	bench/host_calls.c bench/first_call.c bench/exec_time.c bench/npu.c bench/overlap.c bench/compare bench/overhead
