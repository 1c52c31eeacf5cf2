#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# NWChem (Fortran, over Global Arrays): the energy of water by density functional theory.
. "${srcdir:=.}/tests/real/real.sh"
real_needs nwchem-openmpi nwchem.openmpi

cat >"$real_work/h2o.nw" <<'INPUT'
start h2o
geometry units angstrom
 O 0.0 0.0 0.0
 H 0.0 0.757 0.586
 H 0.0 -0.757 0.586
end
basis
 * library 6-31g
end
dft
 xc b3lyp
end
task dft energy
INPUT
numbers() {
    # to seven decimals: work is dealt out to ranks as they come, and the last digits with it
    sed -nE 's/^ *(Total DFT energy|One electron energy|Coulomb energy|Exchange-Corr. energy|Nuclear repulsion energy) *= */\1 /p' |
        awk '{ printf "%s %.7f\n", $1 " " $2, $NF }'
}
real_same 2 500 nwchem.openmpi h2o.nw
real_same 3 500 nwchem.openmpi h2o.nw
job_end
