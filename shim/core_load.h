/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_CORE_LOAD_H
#define SHIM_CORE_LOAD_H

/* Loads a core as dlopen(path, RTLD_NOW | RTLD_LOCAL) does, with what it brings kept from changing the process: the
   libraries of UCX, when loaded, take over the program's handlers of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGHUP and its
   alternate signal stack, and write jumps into libc's mmap, munmap and others, which then cost several times as much.
   What the user asks of UCX by its own variables stands. Called once. */
void *core_load(const char *path);

#endif
