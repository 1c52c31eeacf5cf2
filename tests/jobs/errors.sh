#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is not for the engine, and what is wrong, is as bare Open MPI has it.
# Closes traps 11, 18, 19, 29.
. "${srcdir:=.}/tests/jobs/job.sh"

for ranks in 1 2 3; do
    job_run -n "$ranks" bare errors "$job_dir/bare" walk arguments
    job_run -n "$ranks" windows errors "$job_dir/preloaded" walk arguments
    same=1
    for ((rank = 0; rank < ranks; rank++)); do
        if ! cmp -s "$job_dir/bare.$rank" "$job_dir/preloaded.$rank"; then
            same=0
            job_fail "$ranks ranks: rank $rank does not see what bare Open MPI says"
            diff "$job_dir/bare.$rank" "$job_dir/preloaded.$rank" | head -n 20
        fi
    done
    [ $same = 0 ] || job_ok "$ranks ranks: every answer as bare Open MPI has it ($(wc -l <"$job_dir/bare.0") cases)"
done
for ranks in 1 2 3 5 6 7; do
    job_run "$ranks" windows errors "$job_dir/cases" results
done
job_run 3 messages errors "$job_dir/cases" results
job_end
