#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The same bits: on all ranks, in every run, and where it is asked for, on every path. Special floats as bare Open MPI has
# them; integers that wrap.
# Closes traps 10, 17.
. "${srcdir:=.}/tests/jobs/job.sh"

# digest_of RANKS MODE WHAT : runs, and leaves the digest in $digest.
digest_of() {
    digest=none
    job_run "$1" "$2" bits "$3" && digest=$(sed -n 's/^job-digest //p' "$job_dir/out")
}

# digests_equal RANKS MODE MODE WHAT
digests_equal() {
    local first
    digest_of "$1" "$2" "$4"
    first=$digest
    digest_of "$1" "$3" "$4"
    if [ "$first" = none ] || [ "$first" != "$digest" ]; then
        job_fail "$1 ranks: $2 gives the digest $first, $3 gives $digest"
    else
        job_ok "$1 ranks: $2 and $3 give the same bits"
    fi
}

for ranks in 2 3 4 5 8; do
    digests_equal "$ranks" windows windows digest
    digests_equal "$ranks" messages messages digest
    [ -n "${JOB_BARE:-}" ] || digests_equal "$ranks" reproducible messages+reproducible reproducible
done

for mode in windows messages; do
    job_run 2 bare bits special
    sort "$job_dir/out" | grep '^special' >"$job_dir/bare"
    job_run 2 "$mode" bits special
    sort "$job_dir/out" | grep '^special' >"$job_dir/special"
    if cmp -s "$job_dir/bare" "$job_dir/special"; then
        job_ok "special floats, $mode: as bare Open MPI has them"
    else
        job_fail "special floats, $mode: not as bare Open MPI has them (operations are MIN, MAX, SUM)"
        diff "$job_dir/bare" "$job_dir/special" | head -n 20
    fi
    job_run 2 "$mode" bits wrap
    job_run 5 "$mode" bits wrap
done
job_end
