#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# as_hosts.sh hostsN|roundN PROGRAM ARGUMENT... : runs a rank's program under a host name that it shares with the other
# ranks of its group only: N neighbours (hostsN), or every N-th rank (roundN). The library then takes the groups for hosts.
# JOB_HOST_RANK and JOB_HOST_RANKS say which rank of its host it is, and of how many.
set -u
rank=$OMPI_COMM_WORLD_RANK ranks=$OMPI_COMM_WORLD_SIZE
case $1 in
hosts*)
    n=${1#hosts}
    group=$((rank / n))
    left=$((ranks - group * n))
    export JOB_HOST_RANK=$((rank % n)) JOB_HOST_RANKS=$((left < n ? left : n))
    ;;
*)
    n=${1#round}
    group=$((rank % n))
    export JOB_HOST_RANK=$((rank / n)) JOB_HOST_RANKS=$(((ranks - group + n - 1) / n))
    ;;
esac
shift
# shellcheck disable=SC2016 # the inner shell's words
exec unshare --uts bash -c 'hostname "$1" && shift && exec "$@"' bash "host$group" "$@"
