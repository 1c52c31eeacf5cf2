#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck disable=SC2016 # the words of inner shells
# Ways to launch a job: `mpinpu run` and torchrun's variables, app files, scripts, python3 -m mpi4py, MPI_Comm_spawn.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library
tool=$PWD/tools/mpinpu
unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
source=$(realpath "$srcdir/tests/jobs")
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1

# tool_run LABEL EXPECTED WORD... : `mpinpu run` with these words prints just these lines, in any order, and no word of
# the library's.
tool_run() {
    local label=$1 expected=$2 status=0 got start=$SECONDS
    shift 2
    job_limit 60 "$tool" run --mpirun "$MPIRUN" "$@" || status=$?
    got=$(sort "$job_dir/out")
    if [ "$status" -ne 0 ] || [ "$got" != "$(sort <<<"$expected")" ] || grep -q '^mpinpu' "$job_dir/err"; then
        job_fail "$label: status $status, expected: $expected"
        cat "$job_dir/out" "$job_dir/err"
    else
        job_ok "$label ($((SECONDS - start)) s)"
    fi
}

# --- torchrun's variables -----------------------------------------------------------------------------------------
printf '#!/bin/sh\necho "$1 $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR"\n' >"$job_dir/show"
printf '#!/bin/sh\necho "$RANK $MASTER_ADDR $MASTER_PORT"\n' >"$job_dir/master"
chmod +x "$job_dir/show" "$job_dir/master"
show=$job_dir/show
tool_run "variables: 2 ranks" "a 0 0 2 2 127.0.0.1"$'\n'"a 1 1 2 2 127.0.0.1" -np 2 "$show" a
tool_run "variables: two programs, and a shell between" "a 0 0 2 2 127.0.0.1"$'\n'"b 1 1 2 2 127.0.0.1" \
    -np 1 "$show" a : -np 1 bash -c 'echo "$0 $RANK $LOCAL_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $MASTER_ADDR"' b
tool_run "variables: a child of a rank keeps them" "c 0 0 1 1 127.0.0.1" -np 1 env OMPI_COMM_WORLD_RANK=9 "$show" c
tool_run "variables: those of -x stay" "7 there 5" -np 1 -x RANK=7 -x MASTER_ADDR=there -x MASTER_PORT=5 "$job_dir/master"
cat >"$job_dir/app" <<END
# two programs
  # and a comment
-np 1 $show a -x LD_PRELOAD=none --app none # the program's own words

-np 1 -x EXTRA=1 -x LD_PRELOAD=libm.so.6 $job_dir/preload
END
printf '#!/bin/sh\necho "$EXTRA $RANK $WORLD_SIZE $LD_PRELOAD"\n' >"$job_dir/preload"
chmod +x "$job_dir/preload"
tool_run "variables: an app file" \
    "a 0 0 2 2 127.0.0.1"$'\n'"1 1 2 libm.so.6:$job_library:${job_library%/*}/mpinpu/libmpinpu-launch.so" \
    --oversubscribe --app "$job_dir/app"
MASTER_ADDR=here MASTER_PORT=77 tool_run "variables: MASTER_ADDR and MASTER_PORT of the shell" "0 here 77" \
    -np 1 "$job_dir/master"

# What is wrong is said by rank 0, where it is.
if [ -n "$PYTHON" ]; then
    # said LABEL PATTERN MASTER : a rank 0 that is given this MASTER says one line like it
    said() {
        job_limit 60 "$MPIRUN" -np 2 -x "LD_PRELOAD=${job_library%/*}/mpinpu/libmpinpu-launch.so" -x "MPINPU_MASTER=$3" \
            "$show" a || job_fail "$1: status $?"
        if [ "$(grep -c '^mpinpu' "$job_dir/err")" -eq 1 ] && grep -qE "$2" "$job_dir/err"; then
            job_ok "$1"
        else
            job_fail "$1: $(cat "$job_dir/err")"
        fi
    }
    exec 7< <(exec "$PYTHON" -c 'import socket, sys, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(600)')
    listener=$!
    read -r port <&7
    said "a port that is taken" "^mpinpu: MASTER_PORT=$port is in use on the host of rank 0;" "$port:127.0.0.1"
    kill "$listener"
    exec 7<&-
    said "an address that is not here" '^mpinpu: MASTER_ADDR=192.0.2.77 is not an address of the host' "20001:192.0.2.77"

    python=$(command -v "$PYTHON")
    tool_run "rank 0 is reached" "places 0:0/3 1:1/3 2:2/3" --oversubscribe -np 3 "$python" "$source/torchrun.py"
    if ! job_hosts_possible; then
        job_skip "no host name of one's own here: one host only"
    elif ! getent hosts "$(hostname)" >/dev/null; then
        job_skip "this host's name is not known: one host only"
    else
        tool_run "rank 0 is reached, ranks under other host names" "places 0:0/3 1:1/3 2:2/3" --oversubscribe -np 3 \
            "$source/as_hosts.sh" round2 "$python" "$source/torchrun.py"
        here=$(hostname)
        tool_run "rank 0 is reached, two hosts" "places 0:0/2 1:1/2 2:0/2 3:1/2" --mca plm_rsh_agent \
            "$source/as_remote.sh" --host "$here:2,elsewhere:2" -np 4 "$python" "$source/torchrun.py"
        tool_run "rank 0 is reached, round the hosts" "places 0:0/2 1:0/1 2:1/2" --mca plm_rsh_agent \
            "$source/as_remote.sh" --host "$here:2,elsewhere:2" --map-by node -np 3 "$python" "$source/torchrun.py"
        tool_run "rank 0 elsewhere" "0 elsewhere 9" --mca plm_rsh_agent "$source/as_remote.sh" \
            --host elsewhere:2 -np 1 -x MASTER_PORT=9 "$job_dir/master"
    fi
fi

# --- ways to launch -----------------------------------------------------------------------------------------------
gift=(-x "LD_PRELOAD=$job_library" -x JOB_PRELOADED=1 -x "MPINPU_REPORT=json:$job_dir/report")
values=("$job_programs/values" zeros)
job_arguments=(--oversubscribe)

job_arguments+=("${gift[@]}")
printf '#!/bin/bash\nfor i in 1 2 3; do echo "$i" >/dev/null; done\n"$@"\n' >"$job_dir/script"
chmod +x "$job_dir/script"
job_mpirun "mpirun of a script" -np 3 "$job_dir/script" "${values[@]}"
mpiexec=$(dirname "$MPIRUN")/$(basename "$MPIRUN" | sed 's/mpirun/mpiexec/')
if [ -x "$mpiexec" ]; then
    MPIRUN=$mpiexec job_mpirun "mpiexec" -n 3 "${values[@]}"
else
    job_skip "no $mpiexec"
fi
# Open MPI reads -x from the lines of an app file only.
for _ in 1 2 3; do
    echo "-np 1 ${gift[*]} ${values[*]}"
done >"$job_dir/app"
job_arguments=(--oversubscribe)
job_mpirun "an app file written by a loop" --app "$job_dir/app"
job_report_right >"$job_dir/wrong" || job_fail "an app file written by a loop: $(cat "$job_dir/wrong")"
rm -f "$job_dir/report"
printf -- '-np 2 %s\n-np 1 %s\n' "${values[*]}" "${values[*]}" >"$job_dir/app"
MPINPU_REPORT=json:$job_dir/report JOB_PRELOADED=1 job_limit 60 "$tool" run --mpirun "$MPIRUN" --oversubscribe \
    --app "$job_dir/app" || job_fail "mpinpu run --app: status $?"
if job_report_right >"$job_dir/wrong"; then
    job_ok "mpinpu run --app"
else
    job_fail "mpinpu run --app: $(cat "$job_dir/wrong" "$job_dir/err")"
fi

if [ -z "$PYTHON" ] || ! "$PYTHON" -c 'import mpi4py, numpy' 2>/dev/null; then
    job_skip "no python3 with mpi4py and numpy (Debian: python3-mpi4py python3-numpy)"
    job_end
fi
job_arguments=(--oversubscribe "${gift[@]}")
job_mpirun "python3 -m mpi4py" -np 2 "$python" -m mpi4py "$source/arrays.py" collectives

# reported FILE SIZE ENGINE HOST : the report is of a job of this size, whose rank 0 called allreduce so often on its own
# MPI_COMM_WORLD, where the engine did it, and so often with ranks of another job, where it cannot
reported() {
    local size calls
    size=$(sed -n 's/.*"job_size": \([0-9]*\).*/\1/p' "$1")
    calls=$(sed -n 's/.*"collective": "allreduce".*"engine": {"calls": \([0-9]*\).*"host_mpi": {"calls": \([0-9]*\).*/\1 \2/p' "$1")
    if [ "$size" = "$2" ] && [ "$calls" = "$3 $4" ]; then
        job_ok "${1##*/}: $2 ranks, $3 calls by the engine"
    else
        job_fail "${1##*/}: $size ranks, calls $calls; expected $2 ranks, $3 calls by the engine and $4 by the host MPI"
        cat "$1"
    fi
}
expected=$(for size in 2 3; do
    for ((r = 0; r < size; r++)); do echo "spawned RANK=$r WORLD_SIZE=$size $r $size"; done
done)
rm -f "$job_dir"/report*
MPINPU_REPORT=json:$job_dir/report tool_run "MPI_Comm_spawn" "$expected" --oversubscribe -np 2 \
    "$python" "$source/spawn.py"
reported "$job_dir/report" 2 5 4
reported "$job_dir/report.job2" 2 14 2
reported "$job_dir/report.job3" 3 21 2
[ "$(find "$job_dir" -name 'report*' | wc -l)" -eq 3 ] || job_fail "MPI_Comm_spawn: reports $(ls "$job_dir")"
job_end
