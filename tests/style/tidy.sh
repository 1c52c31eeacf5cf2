#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# clang-tidy has nothing to say; .clang-tidy names the checks. Runs after clang.sh, which leaves the commands.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
top=$PWD
command -v clang-tidy >/dev/null || {
    echo "clang-tidy is not here (Debian: clang-tidy)"
    exit 77
}
commands=$top/build/clang/commands
[ -n "$(ls "$commands" 2>/dev/null)" ] || {
    echo "no build by clang is here: run tests/style/clang.sh first"
    exit 77
}
# The newest command of each file, as one JSON array.
{
    echo '['
    cat "$commands"/*.json | awk '{ line[NR] = $0; file = $0; sub(/.*"file": "/, "", file); sub(/".*/, "", file)
        last[file] = NR } END { for (f in last) print line[last[f]] }' | sed '$ s/,[[:space:]]*$//'
    echo ']'
} >"$top/build/clang/compile_commands.json"

mapfile -t built < <(sed -n 's/.*"file": "\([^"]*\)".*/\1/p' "$top/build/clang/compile_commands.json" | grep '\.c$' | grep -v 'conftest\.c$')
mapfile -t plain < <(find "$top/bench" "$top/tests" "$top/examples" -name '*.c' | while read -r file; do
    printf '%s\n' "${built[@]}" | grep -qxF "$file" || echo "$file"
done)
status=0
printf '%s\0' "${built[@]}" |
    xargs -0 -n 4 -P "$(nproc)" clang-tidy --quiet -p "$top/build/clang" --header-filter="$top/.*" || status=1
# Built by mpicc alone.
read -r -a flags <<<"-std=gnu11 -I$top -I$top/tests/cann/headers-sample -I$top/build/clang $(pkg-config --cflags ompi-c)"
[ ${#plain[@]} -eq 0 ] || clang-tidy --quiet "${plain[@]}" -- "${flags[@]}" || status=1
exit $status
