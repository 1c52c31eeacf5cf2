#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A rank that waits for long in a collective says so, once, and for whom: on every way that a collective goes. The one
# that is late on the NPUs is in tests/cann/faults.sh.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library

# named LABEL SPEAKERS TEXT RANK : so many ranks, each once, said of the call that TEXT tells that they wait for RANK, and
# nobody named another.
named() {
    local lines right
    lines=$(grep -c " of $3 " "$job_dir/err")
    right=$(grep -cE "^mpinpu\[[0-9]+\]: .* of $3 .*\"the late ones\".* has waited [0-9]+ s, since .*, for rank $4 \([^ ]+\)" \
        "$job_dir/err")
    if [ "$lines" -ne "$2" ] || [ "$right" -ne "$2" ] ||
        [ "$(grep " of $3 " "$job_dir/err" | sed 's/:.*//' | sort -u | wc -l)" -ne "$2" ]; then
        job_fail "$1: of $lines lines $right are right, $2 ranks were to say one each"
        cat "$job_dir/err"
    else
        job_ok "$1: $2 ranks say it"
    fi
}

# Through windows: the straight path, a plan, buffers at their place, a nonblocking one.
job_run -w -x MPINPU_STALL_S=1 3 windows stall late 2.5 1 1 10000 1000000 i5000
for count in 1 10000 1000000 5000; do
    named "windows, $count" 2 "$count float64" 1
done
job_run -x MPINPU_STALL_S=0 3 windows stall late 1.2 1 1
job_run 3 windows stall late 1.2 1 1
# While the communicator is set up nobody knows for whom.
job_run -w -x MPINPU_STALL_S=1 3 windows stall first 2.5 2 100
if [ "$(grep -c 'the set-up of "the late ones" (3 ranks, this is rank .) has waited [0-9]* s' "$job_dir/err")" -ne 2 ]; then
    job_fail "set-up: $(cat "$job_dir/err")"
else
    job_ok "set-up: 2 ranks say it"
fi
job_run -w -x MPINPU_STALL_S=1 3 messages stall late 2.5 1 10000
named "messages, 10000" 2 "10000 float64" 1
if job_hosts_possible; then
    # Ranks 3, 2 are the first host, as the communicator numbers them.
    job_run -w -x MPINPU_STALL_S=1 4 hosts2 stall late 2.5 3 1 100000
    for count in 1 100000; do
        named "hosts2, $count" 3 "$count float64" 3
    done
else
    job_skip "no host name of one's own here: unshare --uts is not permitted"
fi
job_end
