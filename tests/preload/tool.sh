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
for word in run info settings --version; do
    grep -q -- "mpinpu.* $word" "$dir/out" || fail "--help does not tell of $word"
done

run "$tool" settings --markdown
same "docs/settings.md is what the table gives" "$(<"$srcdir/docs/settings.md")" "$out$err"
run "$tool" settings
sed -n 's/^SETTING(\([A-Z_]*\),.*/MPINPU_\1/p' "$srcdir/engine/settings.def" >"$dir/names"
same "mpinpu settings tells of every setting" "$(<"$dir/names")" "$(sed -n 's/^\(MPINPU_[A-Z_]*\) = .*/\1/p' "$dir/out")"

run env MPINPU_WINDOWS=off MPINPU_REPORT="json:$dir/report" "$tool" info
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
field MPINPU_ENGINE 'auto +\(default\)'
field MPINPU_WINDOWS 'off +\(environment\)'
field MPINPU_REPORT "json:$dir/report +\(environment\)"
same "info has every setting" "$(<"$dir/names")" "$(sed -n 's/^  \(MPINPU_[A-Z_]*\) .*/\1/p' "$dir/out")"

# What the ranks have in LD_PRELOAD, and mpirun has not.
cat >"$dir/mpirun" <<END
#!/bin/bash
echo "mpirun: \${LD_PRELOAD:-nothing}"
exec "$MPIRUN" "\$@"
END
chmod +x "$dir/mpirun"
# shellcheck disable=SC2016
show='echo "rank: $LD_PRELOAD"'
run "$tool" run --mpirun "$dir/mpirun" -np 1 sh -c "$show"
same "run: for the ranks, not for mpirun" "mpirun: nothing"$'\n'"rank: $library" "$out$err"
run env LD_PRELOAD=libm.so.6 "$tool" run --mpirun "$dir/mpirun" -np 1 sh -c "$show"
same "run: behind the user's own" "mpirun: libm.so.6"$'\n'"rank: libm.so.6:$library" "$out$err"
run "$tool" run --mpirun "$MPIRUN" -np 1 -x LD_PRELOAD=libm.so.6 sh -c "$show" : -np 1 sh -c "$show"
same "run: behind that of -x, and in each part of the job" \
    "rank: $library"$'\n'"rank: libm.so.6:$library" "$(sort <<<"$out$err")"
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
run env PATH="$dir/path:$PATH" "$tool" run -np 3 program
same "run: Open MPI's mpirun in PATH" "mpirun (Open MPI) 9.9.9"$'\n'"<-x><LD_PRELOAD=$library><-np><3><program>" "$out$err"
printf '#!/bin/bash\necho "HYDRA build details:"\n' >"$dir/path/mpirun"
run env PATH="$dir/path:$PATH" "$tool" run -np 1 sh -c "$show"
same "run: another MPI's mpirun in PATH" "rank: $library" "$out$err"

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
same "run: a moved installation" "rank: $(realpath "$dir/moved$libdir/libmpinpu.so")" "$out$err"
finish
