#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Unfriendly places: a small or absent /dev/shm, no System V memory, few descriptors, little address space, no
# process_vm_readv, AddressSanitizer, another
# allocator, another preloaded library.
# Closes traps 31, 36.
. "${srcdir:=.}/tests/jobs/job.sh"

# --- little shared memory -----------------------------------------------------------------------------------------
if unshare --mount --ipc --propagation private sh -c 'mount -t tmpfs none /dev/shm' 2>/dev/null; then
    cat >"$job_dir/place" <<'SCRIPT'
#!/bin/sh
# place SIZE SHMMAX COMMAND...
mount -t tmpfs -o "size=$1" none /dev/shm || exit 90
if [ "$2" != - ]; then
    echo "$2" >/proc/sys/kernel/shmmax || exit 91
fi
shift 2
exec "$@"
SCRIPT
    chmod +x "$job_dir/place"
    # Open MPI's own shared memory is given a folder on disk, or it would take what there is.
    mkdir -p "$job_dir/vader"
    for place in "64k -" "64k 4096" "1m -" "1m 4096" "20m 4096" "64m -"; do
        for ranks in 2 4; do
            # shellcheck disable=SC2206 # two words
            job_around=(unshare --mount --ipc --propagation private "$job_dir/place" $place)
            job_mode_arguments windows
            job_arguments+=(--mca btl_vader_backing_directory "$job_dir/vader")
            # the library may say that it does without windows
            job_mpirun -w "/dev/shm and shmmax: $place, $ranks ranks" -np "$ranks" "$job_programs/steady" 3
            if grep -iE 'bus error|segmentation' "$job_dir/err"; then
                job_fail "/dev/shm and shmmax: $place: a crash"
            fi
        done
    done
    job_around=()
else
    job_skip "no mount and IPC namespaces here: small /dev/shm not tried"
fi

# --- little left of what a process may have -----------------------------------------------------------------------
cat >"$job_dir/limited" <<'SCRIPT'
#!/bin/sh
# limited RANK|all OPTION LIMIT COMMAND...
if [ "$1" = all ] || [ "$1" = "$OMPI_COMM_WORLD_RANK" ]; then
    ulimit "$2" "$3" || exit 92
fi
shift 3
exec "$@"
SCRIPT
chmod +x "$job_dir/limited"
for limit in "-n 20" "-n 22" "-n 25" "-n 28" "-n 40" "-v 300000" "-v 350000" "-v 450000"; do
    for who in all 1; do
        # shellcheck disable=SC2206 # two words
        limited=("$job_dir/limited" $who $limit "$job_programs/steady" 3)
        job_arguments=(--oversubscribe --mca op ^avx)
        if ! job_limit 60 "$MPIRUN" "${job_arguments[@]}" -np 3 "${limited[@]}"; then
            job_skip "ulimit $limit on rank $who: too little for bare Open MPI"
            continue
        fi
        for mode in windows messages; do
            job_mode_arguments $mode
            job_mpirun -n -w "ulimit $limit on rank $who, 3 ranks, $mode" -np 3 "${limited[@]}"
        done
    done
done

# --- no process_vm_readv ------------------------------------------------------------------------------------------
if "$job_programs/forbid" true 2>/dev/null; then
    for mode in windows messages; do
        for ranks in 2 3; do
            job_mode_arguments $mode
            # bare Open MPI does not bear it without this
            job_arguments+=(--mca btl_vader_single_copy_mechanism none)
            job_mpirun "process_vm_readv forbidden, $ranks ranks, $mode" -np "$ranks" \
                "$job_programs/forbid" "$job_programs/steady" 5
        done
    done
else
    job_skip "no seccomp filter here: process_vm_readv not forbidden"
fi

# --- sanitizer and allocators -------------------------------------------------------------------------------------
asan=$(gcc -print-file-name=libasan.so 2>/dev/null)
if [ -e "$asan" ] && OMPI_CC=gcc "$MPICC" -std=gnu11 -g -fsanitize=address -I"$srcdir" -o "$job_dir/steady-asan" \
    "$srcdir/tests/jobs/steady.c" "$srcdir/tests/jobs/pattern.c" "$srcdir/tests/jobs/pattern_types.c" \
    "$srcdir/tests/jobs/job.c" 2>/dev/null; then
    job_beside=$asan
    for mode in windows messages ucx; do
        # what MPI itself never frees is not the matter here
        job_run -x ASAN_OPTIONS=detect_leaks=0 3 $mode "$job_dir/steady-asan" 3
    done
    job_run -x ASAN_OPTIONS=detect_leaks=0 2 windows "$job_dir/steady-asan" 21 fork
    job_beside=
else
    job_skip "no gcc with AddressSanitizer here"
fi

for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libtbbmalloc_proxy.so.2; do
    path=$(ldconfig -p | awk -v name="$library" '$1 == name { print $NF; exit }')
    if [ -z "$path" ]; then
        job_skip "no $library here"
        continue
    fi
    job_beside=$path
    for mode in windows messages ucx; do
        job_run 3 $mode steady 3
    done
    job_run 2 windows remap
    job_beside=
done
job_end
