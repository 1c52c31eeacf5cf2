#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fits a line to points that lie across the ranks: each step sums the gradients of all ranks in place."""
import numpy
from mpi4py import MPI

comm = MPI.COMM_WORLD
random = numpy.random.default_rng(comm.rank)
x = random.uniform(-1, 1, 10000)
y = 3 * x + 1 + random.normal(0, 0.1, x.size)

slope, offset = 0.0, 0.0
for step in range(200):
    error = slope * x + offset - y
    gradient = numpy.array([numpy.mean(error * x), numpy.mean(error)])
    comm.Allreduce(MPI.IN_PLACE, gradient, op=MPI.SUM)
    slope -= gradient[0] / comm.size
    offset -= gradient[1] / comm.size
if comm.rank == 0:
    print(f"{comm.size} ranks: y = {slope:.3f} x + {offset:.3f}")
