#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The scripts pass shellcheck.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
command -v shellcheck >/dev/null || {
    echo "shellcheck is not here (Debian: shellcheck)"
    exit 77
}
{
    find . -path ./.git -prune -o -path './build*' -prune -o -type f -name '*.sh' -print0
    find . -path ./.git -prune -o -path './build*' -prune -o -type f ! -name '*.sh' -size -100k \
        -exec sh -c 'head -n 1 "$1" | grep -qE "^#!.*/(env )?(ba)?sh"' sh {} \; -print0
} | grep -zvE '^\./(configure|config\.status|config\.guess|libtool)' | xargs -0 shellcheck -x
