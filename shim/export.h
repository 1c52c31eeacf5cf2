/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHIM_EXPORT_H
#define SHIM_EXPORT_H

/* How a symbol is exported. One that only some programs have a library for must not be what a program finds that asks
   dlsym whether it has it; so it carries a version that is not the default one: the dynamic linker binds references to
   it, which have no version, and dlsym goes past it to that library. (glibc, elf/dl-lookup.c: to a reference without a
   version the first version of an object, which has the index 2, is as good as none; dlsym wants the default one.) */
#define EXPORTED_AS_EVERY(SYMBOL) SYMBOL
#define EXPORTED_AS_SOME(SYMBOL)  some_##SYMBOL
#define EXPORT_EVERY(SYMBOL)      __attribute__((visibility("default")))
#if defined(__has_attribute) && __has_attribute(symver)
#define EXPORT_SOME(SYMBOL) __attribute__((visibility("default"), symver(#SYMBOL "@MPINPU")))
#else
#define EXPORT_SOME(SYMBOL)                                 \
    __asm__(".symver some_" #SYMBOL "," #SYMBOL "@MPINPU"); \
    __attribute__((visibility("default")))
#endif

#endif
