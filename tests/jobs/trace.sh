#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The trace: what each rank did when, for a viewer of traces; clocks of several hosts made one; a job that is cut off.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library
tool=$PWD/tools/mpinpu

# traced LABEL WORD... : trace.py has nothing against it
traced() {
    local label=$1 said
    shift
    if said=$("${PYTHON:-python3}" "$srcdir/tests/jobs/trace.py" "$@" 2>&1); then
        job_ok "$label${said:+: $said}"
    else
        job_fail "$label: $said"
    fi
}

# merged LABEL STDERR : mpinpu trace does it, and says this.
merged() {
    local said
    if ! said=$("$tool" trace "$folder" 2>&1 >/dev/null); then
        job_fail "$1: mpinpu trace: $said"
    elif [ "$said" != "$2" ]; then
        job_fail "$1: mpinpu trace says: $said"
    else
        job_ok "$1: mpinpu trace"
    fi
}

folder=$job_dir/trace
job_run -x "MPINPU_TRACE=$folder" 3 windows stall late 0.3 1 1 10000 1000000 i5000
for rank in 0 1 2; do
    traced "rank $rank's file" rank "$folder/rank-$rank.json"
done
merged "3 ranks" ""
traced "3 ranks" whole "$folder/trace.json" 3 16 1

# Another job into the same folder: only its files count.
job_run -x "MPINPU_TRACE=$folder" 2 messages stall late 0.1 1 10
merged "2 ranks" "mpinpu: trace: 1 files are of another job, and left out"
traced "2 ranks, messages" whole "$folder/trace.json" 2 4 1

# The first call is a nonblocking one.
job_run -x "MPINPU_TRACE=$folder" 2 windows stall late 0.1 1 i10
merged "2 ranks, nonblocking" "mpinpu: trace: 1 files are of another job, and left out"
traced "2 ranks, nonblocking" whole "$folder/trace.json" 2 4

# Hosts whose clocks are a thousand seconds apart.
cat >"$job_dir/elsewhere" <<'SCRIPT'
#!/bin/bash
# shellcheck disable=SC2016
exec unshare --uts --time --monotonic $((OMPI_COMM_WORLD_RANK % 2 * 1000)) --fork --kill-child \
    sh -c 'hostname "host$1" && shift && exec "$@"' sh $((OMPI_COMM_WORLD_RANK % 2)) "$@"
SCRIPT
chmod +x "$job_dir/elsewhere"
folder=$job_dir/hosts
if unshare --uts --time --monotonic 5 --fork true 2>/dev/null; then
    job_mode_arguments windows
    job_mpirun "clocks that differ" -x "MPINPU_TRACE=$folder" -np 3 "$job_dir/elsewhere" \
        "$job_programs/stall" late 0.1 0 1 100000
    merged "clocks that differ" ""
    traced "clocks that differ" whole "$folder/trace.json" 3 8
    if [ "$(grep -hc '"measured against' "$folder"/rank-*.json | paste -sd+ | bc)" -eq 0 ]; then
        job_fail "clocks that differ: none was measured"
    fi
else
    job_skip "no clock of one's own here: unshare --time is not permitted"
fi

# Cut off: by MPI_Abort, by a signal inside of a collective, by exit.
for how in abort kill-inside exit; do
    folder=$job_dir/$how
    job_run -w -n -s any -x "MPINPU_TRACE=$folder" 3 windows ends $how
    for rank in 0 1 2; do
        traced "$how: rank $rank's file" rank "$folder/rank-$rank.json"
    done
    "$tool" trace "$folder" >"$job_dir/said" 2>&1 || job_fail "$how: mpinpu trace: $(cat "$job_dir/said")"
    grep -q '3 ranks did not come to MPI_Finalize' "$job_dir/said" || job_fail "$how: mpinpu trace: $(cat "$job_dir/said")"
    traced "$how" torn "$folder/trace.json" 3
done
# Handlers of exit run, so nothing is lost.
if [ "$(grep -c '"name":"MPI_Allreduce"' "$folder/rank-1.json")" -ne 40 ]; then
    job_fail "exit: rank 1 has $(grep -c '"name":"MPI_Allreduce"' "$folder/rank-1.json") calls, and made 40"
fi

# A line that is cut is left out.
folder=$job_dir/cut
mkdir "$folder"
head -c -40 "$job_dir/trace/rank-0.json" >"$folder/rank-0.json"
"$tool" trace "$folder" >/dev/null 2>&1
traced "a line that is cut" torn "$folder/trace.json" 1

# One rank alone cannot write its file.
folder=$job_dir/one
mkdir -p "$folder/rank-1.json"
job_run -w -x "MPINPU_TRACE=$folder" 3 windows stall late 0 1 1
rmdir "$folder/rank-1.json"
merged "one file that cannot be" "mpinpu: trace: 1 of 3 ranks have no file there"
traced "one file that cannot be" torn "$folder/trace.json" 2

# A folder that cannot be: said once, and the job goes on.
job_run -w -x "MPINPU_TRACE=/dev/null/x" 3 windows stall late 0 1 1
if [ "$(grep -c '^mpinpu.*: MPINPU_TRACE=/dev/null/x: no trace is written: .*Not a directory' "$job_dir/err")" -ne 1 ] ||
    [ "$(grep -c ^mpinpu "$job_dir/err")" -ne 1 ]; then
    job_fail "a folder that cannot be: $(cat "$job_dir/err")"
else
    job_ok "a folder that cannot be: said once"
fi
job_end
