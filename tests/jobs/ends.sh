#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Whatever way a program ends: no hang, no crash of ours, nothing left in /dev/shm or in `ipcs`. Each run has a /dev/shm
# and an IPC namespace of its own, so that all that is found there afterwards is its own.
# Closes trap 28.
. "${srcdir:=.}/tests/jobs/job.sh"

if ! job_isolate; then
    job_skip "no namespaces here (unshare --mount --ipc --pid is not allowed)"
    job_end
fi

# Runs a command there; lists what is left behind in $1. Segments of the host MPI (vader) are its own matter.
# A killed rank's siblings may live on for a moment after mpirun has gone, hence the wait.
cat >"$job_dir/around" <<'SCRIPT'
#!/bin/bash
left=$1
shift
"$@"
status=$?
for ((i = 0; i < 50; i++)); do
    pgrep -x ends >/dev/null || break
    sleep 0.1
done
{
    find /dev/shm -mindepth 1 ! -name 'vader_segment*'
    awk 'NR > 1 { print "System V segment " $2 " of " $4 " bytes" }' /proc/sysvipc/shm
    pgrep -ax ends
} >"$left"
exit $status
SCRIPT
chmod +x "$job_dir/around"
job_around+=("$job_dir/around" "$job_dir/left")

ends() {
    local options=(-t 30 -n)
    case $3 in
    # who still lives may find out, and say so, before mpirun ends it
    abort | kill* | segv | *exit) options+=(-w) ;;
    esac
    rm -f "$job_dir/left"
    job_run "${options[@]}" -s "$4" "$1" "$2" ends "$3"
    if [ ! -e "$job_dir/left" ]; then
        job_fail "$3, $1 ranks, $2: what is left could not be listed"
    elif [ -s "$job_dir/left" ]; then
        job_fail "$3, $1 ranks, $2: left behind:"
        head -n 10 "$job_dir/left"
    else
        job_ok "$3, $1 ranks, $2: nothing left behind"
    fi
    if grep -E 'mpinpu.*(assert|abort)|libmpinpu.*\+0x' "$job_dir/err"; then
        job_fail "$3, $1 ranks, $2: a crash inside the library"
    fi
}

for mode in windows messages; do
    for ranks in 1 2 4; do
        ends "$ranks" $mode unfreed 0
    done
    # a rank that ends without MPI_Finalize is an error for mpirun
    ends 3 $mode exit any
    ends 3 $mode _exit any
    ends 3 $mode abort 3
    ends 2 $mode kill 137
    ends 4 $mode kill 137
    ends 3 $mode kill-inside any
    ends 3 $mode segv any
done
job_end
