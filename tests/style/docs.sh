#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The pages name files that are there: links, and paths in backticks. All pages are installed.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
status=0
while read -r page; do
    folder=$(dirname "$page")
    while read -r link; do
        [ -e "$folder/${link%%#*}" ] || {
            echo "$page: links to $link, which is not there"
            status=1
        }
    done < <(grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\(//; s/\)$//' | grep -vE '^(https?:|#)')
    while read -r path; do
        [ -e "$path" ] || {
            echo "$page: names $path, which is not there"
            status=1
        }
    done < <(grep -oE "\`(tests|bench|docs|engine|shim|transport|mpi_compat|tools|examples)/[A-Za-z0-9_./-]+\`" "$page" |
        tr -d "\`")
done < <(find . -name .git -prune -o -path './build*' -prune -o -name '*.md' -print)
for page in docs/*.md docs/*.svg; do
    grep -qw -- "$page" Makefile.am || {
        echo "Makefile.am does not install $page"
        status=1
    }
done
exit $status
