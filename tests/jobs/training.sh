#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The training example: the same losses and weights with the library and without it, on the host CPUs and on the stand-in
# for CANN.
#
# What may be demanded:
# - 2 ranks: the same bits. Each sum has two terms, a + b is b + a, and both sides round it once: float32 to float32, and
#   bfloat16, whose sum of two terms the host MPI's op makes in float32, too.
# - more ranks: float32 sums have the bits of a left fold in the order of the ranks if MPINPU_REPRODUCIBLE=1, and so have
#   those of bfloat16 always, rounded once: the same bits as the fold made by numpy from gathered gradients.
# - otherwise the order of the additions is open. Two orders of n terms differ by at most 2 (n-1) 2^-24 of the sum of the
#   absolute terms (4 ranks: 3.6e-7), and the differences of the 144 steps add up to some 5e-5: that is the tolerance for
#   a loss. Half a percent of the learning rate goes far beyond it. Bfloat16 has 2^-9 for each rounding, which is as
#   often up as down: 4 roundings in 144 steps make sqrt(576) 2^-9, 5 % of a step's change in all, and less of a loss;
#   tolerance 2 %.
. "${srcdir:=.}/tests/jobs/job.sh"
job_needs_library
if [ -z "$PYTHON" ] || ! "$PYTHON" -c 'import mpi4py, numpy' 2>/dev/null || ! "$PYTHON" -c 'import importlib.util as u, sys
sys.exit(u.find_spec("sklearn") is None)'; then
    job_skip "no python3 with mpi4py, numpy and sklearn (Debian: python3-mpi4py python3-numpy python3-sklearn)"
    job_end
fi
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
unset ASCEND_RT_VISIBLE_DEVICES "${!HCCL_@}" RANK WORLD_SIZE
export HCCL_IF_BASE_PORT=61000 # ports that the kernel gives to nobody, of which nothing is said
export CANN_SERVER="server$$" CANN_DELAY=20
python=$(command -v "$PYTHON")
folder=$(realpath "$srcdir/examples/training")
program=("$python" "$(realpath "$srcdir/tests/jobs/training.py")" "$folder" "${job_library%/*}/mpinpu/libmpinpu16-shared.so")
npu=(-x "ASCEND_HOME_PATH=$PWD/tests/cann/cann-8.2.RC1" -x CANN_SERVER -x CANN_DELAY -x MPINPU_ENGINE=hccl)

# trained NAME RANKS MODE "OPTIONS OF MPIRUN" CASE... : the output stays in the file NAME
trained() {
    local name=$1 ranks=$2 mode=$3 added=$4
    shift 4
    job_mode_arguments "$mode"
    # shellcheck disable=SC2206 # words
    job_arguments+=($added)
    job_mpirun -n "$name: $*, $ranks ranks" -np "$ranks" ${job_wrapper[@]+"${job_wrapper[@]}"} \
        "${program[@]}" "$@"
    cp "$job_dir/out" "$job_dir/$name"
}

# by_engine NAME | by_npu NAME CALLS : who did the allreduces of the last run
by_engine() {
    if [ "$(job_report engine allreduce)" -gt 100 ] && [ "$(job_report host_mpi allreduce)" -eq 0 ]; then
        job_ok "$1: the engine did it"
    else
        job_fail "$1: the host MPI did $(job_report host_mpi allreduce) allreduces, the engine $(job_report engine allreduce)"
    fi
}
by_npu() {
    local calls
    calls=$(job_report_reason "engine on NPUs: hccl")
    by_engine "$1"
    if [ "$calls" -ge "$2" ]; then
        job_ok "$1: the NPUs did $calls calls"
    else
        job_fail "$1: the NPUs did $calls calls, expected $2"
    fi
}

# losses NAME CASE : what the run says of the case, without the case
losses() {
    sed -n "s/^$2: //p" "$job_dir/$1"
}
# equal NAME CASE NAME CASE : both trained alike, to the last bit of the weights
equal() {
    local one other
    one=$(losses "$1" "$2") other=$(losses "$3" "$4")
    if [ "$(wc -l <<<"$one")" -eq "${5:-14}" ] && [ "$one" = "$(tail -n "${5:-14}" <<<"$other")" ]; then
        job_ok "$1 and $3: $2, the same bits"
    else
        job_fail "$1 and $3: $2 and $4 differ"
        diff <(echo "$one") <(echo "$other")
    fi
}
# difference NAME CASE NAME CASE : the largest of the relative differences of the losses, 1 where there are none
difference() {
    paste <(losses "$1" "$2") <(losses "$3" "$4") | awk '
        /^epoch/ && $1 == $5 && $2 == $6 { n++; d = ($4 - $8) / $4; d = d < 0 ? -d : d; most = d > most ? d : most }
        END { print n == 12 ? most + 0 : 1 }'
}
# near TOLERANCE NAME CASE NAME CASE
near() {
    local found
    found=$(difference "$2" "$3" "$4" "$5")
    if awk -v found="$found" -v most="$1" 'BEGIN { exit !(found <= most) }'; then
        job_ok "$2 and $4: $3 and $5 differ by $found, at most $1"
    else
        job_fail "$2 and $4: $3 and $5 differ by $found, more than $1"
    fi
}

trained bare2 2 bare '' sampler float32 bfloat16 double
[ "$(losses bare2 float32)" != "$(losses bare2 bfloat16)" ] || job_fail "bfloat16 is as float32"
right=$(losses bare2 float32 | sed -n 's/^test: .* \([0-9]*\)\.[0-9] %/\1/p')
[ "${right:-0}" -ge 93 ] || job_fail "only ${right:-0} % of the digits are read"
trained windows2 2 windows '' float32 bfloat16 checkpoint
by_engine windows2
trained messages2 2 messages '' float32 bfloat16
by_engine messages2
trained npu2 2 windows "${npu[*]}" float32 bfloat16
by_npu npu2 570 # 288 steps of each
trained old-npu2 2 windows "${npu[*]} -x CANN_SOC=Ascend910A" float32
by_npu old-npu2 285
for name in windows2 messages2 npu2 old-npu2; do
    equal "$name" float32 bare2 float32
    [ "$name" = old-npu2 ] || equal "$name" bfloat16 bare2 bfloat16
done
equal windows2 checkpoint bare2 float32 8

trained bare4 4 bare '' float32 ordered-float32 ordered-bfloat16 rate
trained windows4 4 windows '' float32 bfloat16
by_engine windows4
trained reproducible4 4 reproducible '' float32
by_engine reproducible4
trained npu4 4 windows "${npu[*]}" float32 bfloat16
by_npu npu4 280
equal reproducible4 float32 bare4 ordered-float32
equal windows4 bfloat16 bare4 ordered-bfloat16
near 5e-5 windows4 float32 bare4 float32
if job_hosts_possible; then
    trained hosts4 4 hosts2 '' float32 bfloat16
    by_engine hosts4
    equal hosts4 bfloat16 bare4 ordered-bfloat16
    near 5e-5 hosts4 float32 bare4 float32
else
    job_skip "no host name of one's own here: one host only"
fi
near 5e-5 bare2 double bare4 float32 # the same batches, dealt to half as many ranks
near 5e-5 npu4 float32 bare4 float32
near 2e-2 npu4 bfloat16 bare4 ordered-bfloat16
if [ "$(difference bare4 rate bare4 float32)" != 1 ] &&
    awk -v found="$(difference bare4 rate bare4 float32)" 'BEGIN { exit !(found > 10 * 5e-5) }'; then
    job_ok "half a percent of the learning rate is beyond the tolerance"
else
    job_fail "half a percent of the learning rate makes $(difference bare4 rate bare4 float32): the tolerance sees nothing"
fi

# The example itself, with its place from torchrun's variables.
job_limit 60 "$PWD/tools/mpinpu" run --mpirun "$MPIRUN" -np 2 -x "MPINPU_REPORT=json:$job_dir/report" \
    "$python" "$folder/train.py" --environment || job_fail "mpinpu run: status $?"
sed 's/^/environment: /' "$job_dir/out" >"$job_dir/run2"
[ ! -s "$job_dir/err" ] || job_fail "mpinpu run: $(cat "$job_dir/err")"
by_engine "mpinpu run"
equal run2 environment bare2 float32
if job_limit 60 "$MPIRUN" -np 1 "$python" "$folder/train.py" --environment --epochs 1; then
    job_fail "--environment without RANK ends well"
fi
job_end
