#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# as_server.sh DEVICES PROGRAM ARGUMENT... : runs a rank's program with the devices of its host, the stand-in's. DEVICES
# has a number for each host of as_hosts.sh, the last for all further ones: "2,0,3"; "-": a host without CANN.
set -u
IFS=, read -ra devices <<<"$1"
shift
host=$(hostname)
number=${host#host}
[[ $number =~ ^[0-9]+$ ]] || number=0
[ "$number" -lt ${#devices[@]} ] || number=$((${#devices[@]} - 1))
export CANN_SERVER="${CANN_SERVER:-}$host" CANN_DEVICES=${devices[number]}
[ "$CANN_DEVICES" != - ] || export CANN_DEVICES=0 ASCEND_HOME_PATH=/nowhere
# As a launcher would say it.
export OMPI_COMM_WORLD_LOCAL_RANK=${JOB_HOST_RANK:-$OMPI_COMM_WORLD_LOCAL_RANK}
export OMPI_COMM_WORLD_LOCAL_SIZE=${JOB_HOST_RANKS:-$OMPI_COMM_WORLD_LOCAL_SIZE}
exec "$@"
