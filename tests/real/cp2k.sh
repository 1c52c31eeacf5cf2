#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# CP2K (Fortran): energy and forces of a water molecule. Thousands of allreduces, nearly all in place, many on communicators
# of one rank.
. "${srcdir:=.}/tests/real/real.sh"
real_needs cp2k cp2k.psmp
export CP2K_DATA_DIR=/usr/share/cp2k

cat >"$real_work/h2o.inp" <<'INPUT'
&GLOBAL
  PROJECT h2o
  RUN_TYPE ENERGY_FORCE
  PRINT_LEVEL MEDIUM
&END GLOBAL
&FORCE_EVAL
  METHOD Quickstep
  &DFT
    BASIS_SET_FILE_NAME GTH_BASIS_SETS
    POTENTIAL_FILE_NAME GTH_POTENTIALS
    &MGRID
      CUTOFF 100
    &END MGRID
    &SCF
      EPS_SCF 1.0E-5
      MAX_SCF 12
      &OT
        PRECONDITIONER FULL_ALL
      &END OT
    &END SCF
    &XC
      &XC_FUNCTIONAL PADE
      &END XC_FUNCTIONAL
    &END XC
  &END DFT
  &PRINT
    &FORCES ON
    &END FORCES
  &END PRINT
  &SUBSYS
    &CELL
      ABC 4.0 4.0 4.0
    &END CELL
    &COORD
      O 0.000000 0.000000 -0.065587
      H 0.000000 -0.757136 0.520545
      H 0.000000 0.757136 0.520545
    &END COORD
    &KIND H
      BASIS_SET SZV-GTH
      POTENTIAL GTH-PADE-q1
    &END KIND
    &KIND O
      BASIS_SET SZV-GTH
      POTENTIAL GTH-PADE-q6
    &END KIND
  &END SUBSYS
&END FORCE_EVAL
INPUT
numbers() {
    grep -E '^ *[0-9]+ +OT |ENERGY\||energy:|SUM OF ATOMIC FORCES|^ +[0-9]+ +[0-9]+ +[OH] ' |
        sed -E 's/^( *[0-9]+ +OT +[A-Z]+ +[0-9.E+-]+) +[0-9.]+ /\1 /' # the time of a step
}
real_same 2 1000 cp2k.psmp -i h2o.inp
job_end
