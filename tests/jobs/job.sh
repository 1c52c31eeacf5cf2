#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sourced by the job tests: runs programs under mpirun, bare and preloaded, with a time limit; where a run does not end,
# prints the stacks of its ranks and kills them; and compares what the report says with what the program says it called.
#
# A test is run by `make check` in the build folder, with srcdir set. By hand:
#   cd BUILD && srcdir=SOURCE SOURCE/tests/jobs/values.sh
# JOB_BARE=1 runs everything without the library: the first check of a test itself. JOB_LONG=1 adds what takes minutes or
# tens of gigabytes. JOB_TIME=3 makes the time limits three times as long.
set -u
: "${srcdir:=.}"
# shellcheck source=/dev/null
. tests/jobs/job.env # MPIRUN, PYTHON, ... as configure found them

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export LC_ALL=C
unset LD_PRELOAD "${!MPINPU_@}"
ulimit -c 0

job_library=${JOB_LIBRARY:-$PWD/.libs/libmpinpu.so}
job_dir=$(mktemp -d "${TMPDIR:-/tmp}/mpinpu-job.XXXXXX")
job_programs=$PWD/tests/jobs
job_failed=0
job_passed=0
job_skipped=0
# shellcheck disable=SC2034 # for the tests
job_ranks="1 2 3 4 5 7 8"
trap 'rm -rf "$job_dir"' EXIT

if [ -z "${JOB_BARE:-}" ] && [ ! -e "$job_library" ]; then
    echo "FAIL: there is no $job_library"
    exit 1
fi

# job_note TEXT... : one result, said at once.
job_ok() {
    job_passed=$((job_passed + 1))
    echo "ok: $*"
}
job_fail() {
    job_failed=$((job_failed + 1))
    echo "FAIL: $*"
}
job_skip() {
    job_skipped=$((job_skipped + 1))
    echo "skip: $*"
}

# The end of every test. 77 (skipped) only when nothing at all ran.
job_end() {
    echo "$job_passed passed, $job_failed failed, $job_skipped skipped"
    if [ "$job_failed" -gt 0 ]; then
        exit 1
    fi
    if [ "$job_passed" -eq 0 ]; then
        exit 77
    fi
    exit 0
}

# Processes below one, the children of children too.
job_descendants() {
    local child
    awk -v parent="$1" '{ pid = $1; sub(/.*\) /, ""); if ($2 == parent) print pid }' /proc/[0-9]*/stat 2>/dev/null |
        while read -r child; do
            echo "$child"
            job_descendants "$child"
        done
}

job_stacks() {
    local pid
    for pid in "$@"; do
        echo "--- process $pid: $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | cut -c1-200)"
        if command -v gdb >/dev/null; then
            timeout 20 gdb -nx -batch -p "$pid" -ex 'thread apply all bt 30' 2>/dev/null |
                grep -E '^(Thread|#)' | cut -c1-200
        else
            echo "(no stack: gdb is not installed)"
        fi
    done
}

# job_limit SECONDS COMMAND... : runs it with stdout and stderr in $job_dir/out and $job_dir/err; its status, or 124
# after the time limit, with the stacks printed and every process below it killed. One job at a time in a build
# folder, so that time limits mean the same under `make -j`.
job_limit() {
    local seconds=$(($1 * ${JOB_TIME:-1})) pid status=0 tick=0 below
    shift
    exec 8>tests/jobs/job.lock
    flock 8
    "$@" >"$job_dir/out" 2>"$job_dir/err" </dev/null 8>&- &
    pid=$!
    while kill -0 "$pid" 2>/dev/null; do
        if [ "$tick" -ge $((seconds * 10)) ]; then
            below=$(job_descendants "$pid")
            echo "no end after $seconds s; the stacks:"
            # shellcheck disable=SC2086
            job_stacks $below
            kill "$pid" 2>/dev/null
            sleep 1
            # shellcheck disable=SC2086
            kill -KILL $pid $below 2>/dev/null
            wait "$pid" 2>/dev/null
            exec 8>&-
            return 124
        fi
        sleep 0.1
        tick=$((tick + 1))
    done
    wait "$pid" || status=$?
    exec 8>&-
    return "$status"
}

# mpirun's arguments for a mode: words joined by '+', of bare, windows, copying (no zero copy), messages, ucx, reproducible, hostsN (the library
# sees a host of its own in every N ranks, roundN: in every N-th rank).
job_mode_arguments() {
    local word
    job_arguments=(--oversubscribe)
    job_wrapper=()
    if [ -n "${JOB_BARE:-}" ] || [ "$1" = bare ]; then
        # op/avx saturates 8- and 16-bit sums
        job_arguments+=(--mca op ^avx)
    else
        job_arguments+=(-x "LD_PRELOAD=${job_beside:+$job_beside:}$job_library" -x JOB_PRELOADED=1
            -x "MPINPU_REPORT=json:$job_dir/report")
    fi
    for word in ${1//+/ }; do
        case $word in
        bare | windows) ;;
        copying) job_arguments+=(-x MPINPU_ZEROCOPY=off) ;;
        messages) job_arguments+=(-x MPINPU_WINDOWS=off) ;;
        reproducible) job_arguments+=(-x MPINPU_REPRODUCIBLE=1) ;;
        hosts[1-9] | round[1-9])
            job_wrapper=("$srcdir/tests/jobs/as_hosts.sh" "$word")
            ;;
        ucx) job_arguments+=(--mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any) ;;
        *) job_fail "no mode is named $word" ;;
        esac
    done
}

# Calls of one collective in the report of the last run: job_report engine|host_mpi NAME
job_report() {
    awk -v side="\"$1\": {\"calls\": " -v name="\"collective\": \"$2\"," '
        index($0, name) { at = index($0, side); sum += substr($0, at + length(side)) + 0 }
        END { print sum + 0 }' "$job_dir/report" 2>/dev/null || echo 0
}

# Calls with one reason in the report of the last run: job_report_reason TEXT ("engine": the engine did it).
job_report_reason() {
    awk -v text="\"reason\": \"$1\"" '
        index($0, text) { at = index($0, "\"calls\": "); sum += substr($0, at + 9) + 0 }
        END { print sum + 0 }' "$job_dir/report" 2>/dev/null || echo 0
}

# A number of the line "WORD name=N ..." in the output of the last run.
job_count() {
    sed -n "s/^$1 .*\b$2=\([0-9]*\).*/\1/p" "$job_dir/out" | tail -n 1
}

# Whether the report has each call that rank 0 made, and the engine did what it must have done.
job_report_right() {
    local name calls engine seen total=0 right=0
    if [ ! -s "$job_dir/report" ]; then
        echo "no report was written"
        return 1
    fi
    for name in {,i}{allreduce,reduce_scatter,reduce_scatter_block} \
        {allreduce,reduce_scatter,reduce_scatter_block}_init; do
        calls=$(job_count job-calls "$name")
        engine=$(job_count job-engine "$name")
        : "${calls:=0}" "${engine:=0}" # a program that does not call it need not say so
        seen=$(($(job_report engine "$name") + $(job_report host_mpi "$name")))
        total=$((total + engine))
        if [ "$seen" -ne "$calls" ]; then
            echo "the report has $seen calls of $name, rank 0 made $calls"
            right=1
        fi
        if [ "$(job_report engine "$name")" -lt "$engine" ]; then
            echo "the engine did $(job_report engine "$name") calls of $name, and must have done $engine"
            right=1
        fi
    done
    seen=$(($(job_report_reason engine) + $(job_report_reason "engine on NPUs: hccl")))
    if [ "$seen" -ne "$total" ]; then
        echo "the engine did $seen calls, and must have done $total"
        right=1
    fi
    return $right
}

# job_mpirun [-t SECONDS] [-s STATUS] [-w] [-n] LABEL ARGUMENT... : mpirun with job_arguments and these. Fails when the
# status is not STATUS (0; "any" allows all but a time-out), when the library says something on stderr (-w allows it),
# or when the report is not as the program counted (-n: no such check).
job_mpirun() {
    local seconds=60 expected=0 warnings='' counts=1 status=0 option OPTIND=1 wrong='' start=$SECONDS
    while getopts 't:s:wn' option; do
        case $option in
        t) seconds=$OPTARG ;;
        s) expected=$OPTARG ;;
        w) warnings=1 ;;
        n) counts='' ;;
        *) return 1 ;;
        esac
    done
    shift $((OPTIND - 1))
    local label=$1
    shift
    rm -f "$job_dir/report"
    job_limit "$seconds" ${job_around[@]+"${job_around[@]}"} "$MPIRUN" "${job_arguments[@]}" "$@" || status=$?
    if [ "$status" -eq 124 ]; then
        wrong="no end in $seconds s"
    elif [ "$expected" != any ] && [ "$status" -ne "$expected" ]; then
        wrong="status $status, expected $expected"
    elif [ -z "$warnings" ] && grep -qE '^mpinpu(\[[0-9]+\])?: ' "$job_dir/err"; then
        wrong="the library complained"
    elif [ -n "$counts" ] && printf '%s\n' "${job_arguments[@]}" | grep -q '^LD_PRELOAD='; then
        job_report_right || wrong="the report is not as the program counted"
    fi
    if [ -n "$wrong" ]; then
        job_fail "$label: $wrong"
        echo "--- mpirun ${job_arguments[*]} $*"
        head -n 40 "$job_dir/out" "$job_dir/err"
        return 1
    fi
    job_ok "$label ($((SECONDS - start)) s)"
}

# job_run [options of job_mpirun] [-x VARIABLE=VALUE]... RANKS MODE PROGRAM [ARGUMENT]...
job_run() {
    local options=() extra=()
    while [ "${1#-}" != "$1" ]; do
        case $1 in
        -x)
            extra+=(-x "$2")
            shift 2
            ;;
        -t | -s)
            options+=("$1" "$2")
            shift 2
            ;;
        *)
            options+=("$1")
            shift
            ;;
        esac
    done
    local ranks=$1 mode=$2 program=$3
    shift 3
    job_mode_arguments "$mode"
    [ "${program#/}" != "$program" ] || program=$job_programs/$program
    job_mpirun ${options[@]+"${options[@]}"} "$(basename "$program") $*, $ranks ranks, $mode${extra[*]:+ ${extra[*]}}" \
        ${extra[@]+"${extra[@]}"} -np "$ranks" ${job_wrapper[@]+"${job_wrapper[@]}"} "$program" "$@"
}

# Where JOB_BARE is set nothing can be said about the library.
job_needs_library() {
    if [ -n "${JOB_BARE:-}" ]; then
        job_skip "says nothing without the library"
        job_end
    fi
}

# Whether hostsN can be had: a host name of one's own takes a namespace.
job_hosts_possible() {
    unshare --uts true 2>/dev/null
}

job_around=()
job_wrapper=()
job_beside=''

# From here on each run has a /dev/shm and an IPC namespace of its own, and JOB_ALONE set: what is found there is its
# own. Fails where that is not allowed.
job_isolate() {
    local own=(unshare --mount --ipc --pid --fork --mount-proc --propagation private)
    if ! "${own[@]}" sh -c 'mount -t tmpfs none /dev/shm' 2>/dev/null; then
        own=(unshare --user --map-root-user --mount --ipc --pid --fork --mount-proc --propagation private)
        if ! "${own[@]}" sh -c 'mount -t tmpfs none /dev/shm' 2>/dev/null; then
            return 1
        fi
    fi
    # shellcheck disable=SC2016 # for the inner shell
    job_around=("${own[@]}" sh -c 'mount -t tmpfs none /dev/shm && JOB_ALONE=1 exec "$@"' sh)
}
