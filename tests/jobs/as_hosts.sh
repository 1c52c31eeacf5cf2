#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# as_hosts.sh hostsN|roundN PROGRAM ARGUMENT... : runs a rank's program under a host name that it shares with the other
# ranks of its group only: N neighbours (hostsN), or every N-th rank (roundN). The library then takes the groups for hosts.
set -u
case $1 in
hosts*) group=$((OMPI_COMM_WORLD_RANK / ${1#hosts})) ;;
*) group=$((OMPI_COMM_WORLD_RANK % ${1#round})) ;;
esac
shift
# shellcheck disable=SC2016 # the inner shell's words
exec unshare --uts bash -c 'hostname "$1" && shift && exec "$@"' bash "host$group" "$@"
