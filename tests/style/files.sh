#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Every source names its licence, none is too long to read, none holds a note to do something later.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
limit=430
status=0

while read -r file; do
    if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause'; then
        echo "$file: has no line SPDX-License-Identifier: BSD-3-Clause among its first three"
        status=1
    fi
    lines=$(wc -l <"$file")
    if [ "$lines" -gt "$limit" ]; then
        echo "$file: $lines lines; at most $limit"
        status=1
    fi
    if grep -nE '\b(TODO|FIXME|XXX)\b' "$file" /dev/null | grep -v "^tests/style/files.sh:"; then
        status=1
    fi
done < <(
    find shim mpi_compat engine transport tools bench tests examples -type f \
        \( -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.mk' -o -name '*.py' -o -name '*.f90' -o -name '*.f' \)
    for script in quickstart autogen.sh configure.ac Makefile.am bench/compare bench/overhead .ci/run; do
        [ ! -e "$script" ] || echo "$script"
    done
)
exit $status
