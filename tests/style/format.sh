#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The C sources are formatted as .clang-format says. The format differs between versions of clang-format; it is 14's.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
for tool in clang-format-14 clang-format; do
    if command -v "$tool" >/dev/null && "$tool" --version | grep -q 'version 14\.'; then
        find shim mpi_compat engine transport tools bench tests examples -name '*.[ch]' -print0 |
            xargs -0 "$tool" --dry-run -Werror
        exit
    fi
done
echo "clang-format 14 is not here (Debian: clang-format-14)"
exit 77
