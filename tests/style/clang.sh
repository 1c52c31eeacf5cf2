#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clang builds everything, the tests too, without a warning. The build stays in build/clang, for tidy.sh.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
top=$PWD
command -v clang >/dev/null || {
    echo "clang is not here (Debian: clang)"
    exit 77
}
mkdir -p build/clang/commands && cd build/clang || exit 1
# mpicc, too, is to take clang. Each compilation leaves its command, which tidy.sh reads.
export OMPI_CC=clang
if [ ! -e Makefile ]; then
    "$top/configure" --enable-werror CC=clang CPPFLAGS="-gen-cdb-fragment-path $PWD/commands" \
        CFLAGS="-O1 -g" || exit 1
fi
# Under make it would inherit the tests that were asked for, this one among them.
unset MAKEFLAGS MAKELEVEL
make -j"$(nproc)" && make -j"$(nproc)" check TESTS=
