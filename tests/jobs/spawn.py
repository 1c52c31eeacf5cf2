# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs, one after the other, that this one spawns: each reduces on its own MPI_COMM_WORLD, and on one merged with
the parent's."""
import os
import sys

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
parent = MPI.Comm.Get_parent()


def reduce(comm, calls):
    for _ in range(calls):
        numbers = numpy.arange(1000.0) + comm.rank
        comm.Allreduce(MPI.IN_PLACE, numbers, op=MPI.SUM)
        expected = comm.size * numpy.arange(1000.0) + comm.size * (comm.size - 1) / 2
        if (numbers != expected).any():
            sys.exit(f"rank {comm.rank} of {comm.size}: wrong numbers")


def merged(bridge, high):
    together = bridge.Merge(high)
    reduce(together, 2)
    together.Free()
    bridge.Disconnect()


if parent == MPI.COMM_NULL:
    reduce(world, 5)
    for ranks in (2, 3):
        merged(world.Spawn(sys.executable, [os.path.abspath(__file__)], ranks), False)
else:
    reduce(world, 7 * world.size)
    print(f"spawned RANK={os.environ.get('RANK')} WORLD_SIZE={os.environ.get('WORLD_SIZE')} {world.rank} {world.size}")
    merged(parent, True)
