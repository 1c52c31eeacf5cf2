#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# as_remote.sh HOST COMMAND... : in the place of ssh (mpirun --mca plm_rsh_agent), runs Open MPI's daemon for a host here,
# under that host's name. To mpirun these are several hosts.
set -u
host=$1
shift
# shellcheck disable=SC2016 # the inner shell's words
exec unshare --uts sh -c 'hostname "$0" && exec sh -c "$*"' "$host" "$@"
