#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the tests of the preload. They run in the build folder, with srcdir set, and compile the programs that they
# need into a folder of their own, as a user would.
set -u
: "${srcdir:=.}"
# shellcheck source=/dev/null
. tests/preload/preload.env # CC, MPICC, MPIRUN, ... as configure found them

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LC_ALL=C
unset LD_PRELOAD "${!MPINPU_@}"
ulimit -c 0

sources=$srcdir/tests/preload
library=$PWD/.libs/libmpinpu.so
core=$PWD/.libs/libmpinpu-openmpi.so
dir=$(mktemp -d "${TMPDIR:-/tmp}/mpinpu-preload.XXXXXX")
failed=0
trap 'rm -rf "$dir"' EXIT

if [ ! -e "$library" ] || [ ! -e "$core" ]; then
    echo "FAIL: $library or $core is not there"
    exit 1
fi

fail() {
    failed=$((failed + 1))
    echo "FAIL: $*"
}

# same LABEL EXPECTED ACTUAL : the two texts are equal
same() {
    if [ "$2" = "$3" ]; then
        echo "ok: $1"
    else
        fail "$1"
        diff <(printf '%s\n' "$2") <(printf '%s\n' "$3") | sed 's/^</expected:/; s/^>/got:     /'
    fi
}

# like LABEL PATTERN ACTUAL : the text is one line that matches the extended regular expression
like() {
    if [ "$(printf '%s\n' "$3" | wc -l)" -eq 1 ] && [[ $3 =~ $2 ]]; then
        echo "ok: $1"
    else
        fail "$1: expected one line like: $2"
        printf '%s\n' "$3" | sed 's/^/got:      /'
    fi
}

# The end of every test.
finish() {
    [ "$failed" -eq 0 ]
    exit
}

skip() {
    echo "skip: $*"
    exit 77
}

# build COMPILER OUTPUT SOURCE [FLAG]... : a test that cannot be built has failed
build() {
    local compiler=$1 output=$2 source=$3
    shift 3
    # shellcheck disable=SC2086
    $compiler -O1 -g -Wall -Wextra -o "$output" "$sources/$source" "$@" || {
        echo "FAIL: $source does not compile"
        exit 1
    }
}

# run COMMAND... : its standard output, standard error and exit status in the variables out, err and status; it is
# killed after a minute
# shellcheck disable=SC2034 # the three are read by the tests
run() {
    status=0
    timeout 60 "$@" >"$dir/out" 2>"$dir/err" </dev/null || status=$?
    out=$(<"$dir/out")
    err=$(<"$dir/err")
}

# job RANKS [OPTION OF MPIRUN]... : as run
job() {
    run "$MPIRUN" --oversubscribe -np "$@"
}
