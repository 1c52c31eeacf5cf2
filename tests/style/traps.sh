#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# docs/traps.md and the tests say the same: a script that closes a trap stands in the trap's row.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
status=0
claims=0
while IFS=: read -r file _ text; do
    while read -r number; do
        claims=$((claims + 1))
        grep -qE "^\| $number \|.*\`$file\`" docs/traps.md || {
            echo "$file says that it closes trap $number; row $number of docs/traps.md does not name it"
            status=1
        }
    done < <(grep -oE 'Closes traps? [0-9, ]+' <<<"$text" | grep -oE '[0-9]+')
done < <(grep -nE 'Closes traps? [0-9]' tests/*/*.sh)
[ "$claims" -gt 20 ] || {
    echo "only $claims claims were found"
    status=1
}
exit $status
