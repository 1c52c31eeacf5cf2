#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The command mpinpu.
. "${srcdir:=.}/tests/preload/preload.sh"
tool=$PWD/tools/mpinpu
: "${bindir:?}" "${libdir:?}" # of preload.env

# refused PATTERN WORD... : exit status 2, nothing on stdout, one line on stderr
refused() {
    local pattern=$1
    shift
    run "$tool" "$@"
    same "mpinpu $*: exit status" 2 "$status"
    same "mpinpu $*: output" "" "$out"
    like "mpinpu $*: one line" "$pattern" "$err"
}
refused '^mpinpu: .*--help'
refused '^mpinpu: unknown word "sing"' sing
refused '^mpinpu: unknown word "--loud"' --loud
refused '^mpinpu: settings: unknown word "x"' settings x
refused '^mpinpu: settings: unknown word "y"' settings --markdown y
refused '^mpinpu: info: unknown word "x"' info x
refused '^mpinpu: run: ' run
refused '^mpinpu: run: ' run --mpirun "$MPIRUN"

run "$tool" --version
same "--version" "mpinpu $VERSION" "$out$err"
run "$tool" --help
same "--help: exit status" 0 "$status"
for word in run info settings trace --version; do
    grep -q -- "mpinpu.* $word" "$dir/out" || fail "--help does not tell of $word"
done

run "$tool" settings --markdown
same "docs/settings.md is what the table gives" "$(<"$srcdir/docs/settings.md")" "$out$err"
run "$tool" settings
sed -n 's/^SETTING(\([A-Z_]*\),.*/MPINPU_\1/p' "$srcdir/engine/settings.def" >"$dir/names"
same "mpinpu settings tells of every setting" "$(<"$dir/names")" "$(sed -n 's/^\(MPINPU_[A-Z_]*\) = .*/\1/p' "$dir/out")"

run env -u ASCEND_HOME_PATH -u ASCEND_TOOLKIT_HOME MPINPU_WINDOWS=off MPINPU_REPORT="json:$dir/report" "$tool" info
same "info: exit status" 0 "$status"
same "info: nothing on stderr" "" "$err"
# field NAME PATTERN : info has a line of this name and text
field() {
    like "info: $1" "^$1 +($2)\$" "$(grep -E "^ *$1 " "$dir/out" | sed 's/^ *//')"
}
field mpinpu "$VERSION"
field library "$library"
field core "${library%/*}/mpinpu/libmpinpu-openmpi.so"
field MPI 'Open MPI v[0-9.]+'
field transport 'UCX [0-9.]+.*'
field windows 'can be made.*|cannot be made: .*'
field kernels '(base|avx2|avx512|sve)'
field NPU 'none can be used: no CANN here: .*'
same "info: one line about NPUs, where there is no CANN" 1 "$(sed '/^Settings$/,$d' "$dir/out" | grep -cE '^NPU|CANN|HCCL|Hccl')"
field MPINPU_ENGINE 'auto +\(default\)'
field MPINPU_WINDOWS 'off +\(environment\)'
field MPINPU_REPORT "json:$dir/report +\(environment\)"
# The columns stand one below the other, however long a value is.
same "info: columns" 1 "$(sed -n 's/^\(  MPINPU_[A-Z0-9_]* *\)[^ ].*/\1/p' "$dir/out" | awk '{ print length($0) }' | sort -u | wc -l)"
same "info has every setting" "$(<"$dir/names")" "$(sed -n 's/^  \(MPINPU_[A-Z_]*\) .*/\1/p' "$dir/out")"

# What the ranks have in LD_PRELOAD, and mpirun has not. It is asked for a map first.
unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT
launch=${library%/*}/mpinpu/libmpinpu-launch.so
cat >"$dir/mpirun" <<END
#!/bin/bash
echo "mpirun: \${LD_PRELOAD:-nothing}"
exec "$MPIRUN" "\$@"
END
chmod +x "$dir/mpirun"
# shellcheck disable=SC2016
show='echo "rank: $LD_PRELOAD"'
run "$tool" run --mpirun "$dir/mpirun" -np 1 sh -c "$show"
same "run: for the ranks, not for mpirun" "mpirun: nothing"$'\n'"rank: $library:$launch" "$out$err"
run env LD_PRELOAD=libm.so.6 "$tool" run --mpirun "$dir/mpirun" -np 1 sh -c "$show"
same "run: behind the user's own" "mpirun: libm.so.6"$'\n'"rank: libm.so.6:$library:$launch" "$out$err"
run "$tool" run --mpirun "$MPIRUN" -np 1 -x LD_PRELOAD=libm.so.6 sh -c "$show" : -np 1 sh -c "$show"
same "run: behind that of -x, and in each part of the job" \
    "rank: $library:$launch"$'\n'"rank: libm.so.6:$library:$launch" "$(sort <<<"$out$err")"
run "$tool" run -np 1 sh -c 'printf "<%s>" "$@"; exit 7' - a 'b c' ''
same "run: the program's arguments" "<a><b c><>" "$out"
same "run: the program's exit status" 7 "$status"
run "$tool" run --mpirun "$dir/absent" -np 1 true
same "run: an absent mpirun: exit status" 127 "$status"
like "run: an absent mpirun: one line" "^mpinpu: $dir/absent does not start: No such file" "$err"

# The mpirun in PATH is taken if it is Open MPI's.
mkdir "$dir/path"
printf '#!/bin/bash\necho "mpirun (Open MPI) 9.9.9"\nprintf "<%%s>" "$@"\n' >"$dir/path/mpirun"
chmod +x "$dir/path/mpirun"
# words FIRST... : the words behind those of `mpinpu run`
words() {
    printf 'mpirun (Open MPI) 9.9.9\n'
    printf '<%s>' "$@"
}
gift=(-x "LD_PRELOAD=$library:$launch" -x MPINPU_MASTER=5:here)
here=(env PATH="$dir/path:$PATH" MASTER_ADDR=here MASTER_PORT=5)
run "${here[@]}" "$tool" run -np 3 program
same "run: Open MPI's mpirun in PATH" "$(words "${gift[@]}" -np 3 program)" "$out$err"
run "${here[@]}" "$tool" run --mca a b -np 1 program -x LD_PRELOAD=c --app d : program : -- -x LD_PRELOAD=e
same "run: what stands behind a program or -- is not mpirun's" "$(words "${gift[@]}" --mca a b -np 1 program -x \
    LD_PRELOAD=c --app d : "${gift[@]}" program : "${gift[@]}" -- -x LD_PRELOAD=e)" "$out$err"
for port in 0 65536 x 1x; do
    run env MASTER_PORT=$port "$tool" run -np 1 true
    same "run: MASTER_PORT=$port: exit status" 1 "$status"
    like "run: MASTER_PORT=$port: one line" "^mpinpu: run: MASTER_PORT=$port is not a port, a number from 1 to 65535\$" "$err"
done
run "${here[@]}" RANK=3 "$tool" run -np 1 program
like "run: RANK is set" '^mpinpu: run: RANK=3 is set here, so every rank of this host keeps it; unset it first$' "$err"
run "$tool" run --app "$dir/absent"
same "run: an absent app file: exit status" 1 "$status"
like "run: an absent app file: one line" "^mpinpu: run: the app file $dir/absent cannot be read: No such file" "$err"

# MASTER_ADDR from the map: where rank 0 is, in digits. The other lines of a map are of no interest.
cat >"$dir/path/mpirun" <<END
#!/bin/bash
echo "mpirun (Open MPI) 9.9.9"
case "\$*" in *"--do-not-launch --display-map -x"*) cat "$dir/map" ;; *) printf '%s\n' "\$@" ;; esac
END
# address LABEL PATTERN HOST:RANK... : MASTER_ADDR, where these hosts have these ranks
address() {
    local label=$1 pattern=$2 host
    shift 2
    for host in "$@"; do
        printf ' Data for node: %s\tNum slots: 1\n \tProcess OMPI jobid: [1,1] App: 0 Process rank: %s Bound: N/A\n' \
            "${host%:*}" "${host##*:}"
    done >"$dir/map"
    run env PATH="$dir/path:$PATH" "$tool" run -np 1 program
    like "run: MASTER_ADDR, $label" "^$pattern\$" "$(sed -n 's/^MPINPU_MASTER=2[0-9]*://p' "$dir/out")$err"
}
name=$(hostname)
address "one host" 127.0.0.1 "$name:0"
address "one host, with its domain" 127.0.0.1 "${name%%.*}.example.org:0"
address "rank 0 elsewhere" 192.0.2.7 192.0.2.7:0 "$name:1"
address "rank 0 elsewhere, not listed first" 192.0.2.7 "$name:1" 192.0.2.7:0
address "rank 10 listed first" 192.0.2.7 "$name:10" 192.0.2.7:0
address "a host whose name is not known here" nobody.invalid nobody.invalid:0 "$name:1"
address "a host whose name is a loopback address here" localhost localhost:0 "$name:1"
if command -v ip >/dev/null; then
    towards=$(ip route get 192.0.2.7 2>/dev/null | sed -n 's/.* src \([^ ]*\).*/\1/p')
    address "rank 0 here and one elsewhere" "${towards:-$name}" "$name:0" 192.0.2.7:1
fi
address "no map" "$name"
printf ' Data for node: 192.0.2.7\tNum slots: 1\n \tProcess OMPI jobid: [1,1] App: 0 Process rank: 0 Bound: N/A\n' >"$dir/map"
for option in --debug -tv "--xterm 1"; do
    # shellcheck disable=SC2086 # two words
    run env PATH="$dir/path:$PATH" "$tool" run $option -np 1 program
    like "run $option: mpirun is started once" "^$name\$" "$(sed -n 's/^MPINPU_MASTER=2[0-9]*://p' "$dir/out")$err"
done
run env PATH="$dir/path:$PATH" "$tool" run -np 1 program --debug
like "run: --debug of the program" '^192.0.2.7$' "$(sed -n 's/^MPINPU_MASTER=2[0-9]*://p' "$dir/out")$err"
printf '#!/bin/bash\necho "HYDRA build details:"\n' >"$dir/path/mpirun"
run env PATH="$dir/path:$PATH" "$tool" run -np 1 sh -c "$show"
same "run: another MPI's mpirun in PATH" "rank: $library:$launch" "$out$err"

build "$MPICC" "$dir/calls" calls.c
run "$tool" run -np 2 -x MPINPU_REPORT="json:$dir/report" "$dir/calls"
same "run: an MPI program" "right" "$out$err"
[ -s "$dir/report" ] || fail "run: no report, so the library was not in the program"

# An installation, moved as a whole.
mkdir -p "$dir/moved$bindir" "$dir/moved$libdir"
cp "$tool" "$dir/moved$bindir/"
run "$dir/moved$bindir/mpinpu" run -np 1 sh -c "$show"
same "run without the library: exit status" 1 "$status"
like "run without the library: one line" '^mpinpu: libmpinpu.so is not found: ' "$err"
cp "$library" "$dir/moved$libdir/"
run "$dir/moved$bindir/mpinpu" run -np 1 sh -c "$show"
same "run, half an installation: exit status" 1 "$status"
moved=$(realpath "$dir/moved$libdir")
like "run, half an installation: one line" "^mpinpu: $moved/mpinpu/libmpinpu-launch.so is not there" "$err"
mkdir "$moved/mpinpu"
cp "$launch" "$moved/mpinpu/"
run "$dir/moved$bindir/mpinpu" run -np 1 sh -c "$show"
same "run: a moved installation" "rank: $moved/libmpinpu.so:$moved/mpinpu/libmpinpu-launch.so" "$out$err"
finish
