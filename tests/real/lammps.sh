#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# LAMMPS (C++): a Lennard-Jones liquid with a thermostat; temperature, energies and pressure every five steps.
. "${srcdir:=.}/tests/real/real.sh"
real_needs lammps lmp

cat >"$real_work/in.melt" <<'INPUT'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nvt temp 1.44 1.44 0.5
compute msd all msd
thermo_style custom step temp pe ke etotal press c_msd[4]
thermo 5
run 150
INPUT
numbers() {
    awk '/^ *Step / { table = 1; next } /^Loop time/ { table = 0 } table'
}
real_same 2 300 lmp -in in.melt -log none
real_same 4 300 lmp -in in.melt -log none
job_end
