#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes configure. Needs autoconf, automake and libtool.
set -e
cd "$(dirname "$0")"
for tool in autoreconf automake libtoolize pkg-config; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "autogen.sh: $tool is missing (Debian: autoconf automake libtool pkg-config)" >&2
        exit 1
    }
done
mkdir -p m4 build-aux
exec autoreconf --install --force "$@"
