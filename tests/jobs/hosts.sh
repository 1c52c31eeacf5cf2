#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Ranks on several hosts, as the library sees it (as_hosts.sh): windows within a host, messages between hosts. Even and
# uneven hosts, ranks numbered by host and around the hosts.
# Closes for that layout traps 1, 8, 9, 10, 12, 13, 14, 16, 26.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library
if ! job_hosts_possible; then
    job_skip "no host name of one's own here: unshare --uts is not permitted"
    job_end
fi

for layout in "4 hosts2" "5 hosts2" "5 round2" "7 hosts3" "3 hosts1"; do
    # shellcheck disable=SC2086 # two words
    job_run ${layout% *} ${layout#* } values table sizes zeros
done
job_run 4 hosts2+reproducible values table sizes zeros
job_run 3 hosts2 values big
# UCX is not to use what reaches the other hosts.
for layout in "4 hosts2" "5 round2"; do
    # shellcheck disable=SC2086 # two words
    set -- $layout
    job_mode_arguments "$2"
    job_arguments+=(-x UCX_TLS=sm)
    job_mpirun -n -w "UCX_TLS=sm, $1 ranks, $2" -np "$1" "${job_wrapper[@]}" "$job_programs/steady" 3
    if [ "$(job_report_reason "engine not available on this communicator")" -eq 0 ]; then
        job_fail "UCX_TLS=sm, $1 ranks, $2: no communicator was left to the host MPI"
    fi
done

# digest_of RANKS MODE WHAT : runs, and leaves the digest in $digest.
digest_of() {
    digest=none
    job_run "$1" "$2" bits "$3" && digest=$(sed -n 's/^job-digest //p' "$job_dir/out")
}

digest_of 5 reproducible reproducible
first=$digest
for mode in hosts2 round2 hosts1 messages; do
    digest_of 5 "$mode+reproducible" reproducible
    if [ "$first" = none ] || [ "$first" != "$digest" ]; then
        job_fail "reproducible, 5 ranks: one host gives the digest $first, $mode gives $digest"
    else
        job_ok "reproducible, 5 ranks: one host and $mode give the same bits"
    fi
done
digest_of 5 hosts2 digest
first=$digest
digest_of 5 hosts2 digest
if [ "$first" = "$digest" ]; then
    job_ok "5 ranks, hosts2: the same bits in two runs"
else
    job_fail "5 ranks, hosts2: $first, then $digest"
fi
job_end
