# SPDX-License-Identifier: BSD-3-Clause
"""examples/training/train.py, several times in one job. Each line of it is printed behind the name of its case.

Usage: training.py FOLDER LIBRARY CASE...   (the folder of train.py, libmpinpu16-shared.so)
float32, bfloat16   as the example does it
ordered-...         the sums made from what all ranks gathered: a left fold in the order of the ranks, in float32
double              float32, with twice as many images a rank and step
rate                float32, with a learning rate that is half a percent higher
checkpoint          float32, stopped after half the epochs and gone on with
sampler             no training: the shares of the images
"""
import builtins
import os
import sys
import tempfile

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
sys.path.insert(0, sys.argv[1])
sys.argv[1:], (library, *cases) = [], sys.argv[2:]
import train  # noqa: E402


def fold(comm, numbers):
    total = None
    for part in comm.allgather(numbers):
        total = part.copy() if total is None else (total + part).astype(numpy.float32)
    return total


class OrderedFloat32:
    def sum(self, comm, gradient):
        gradient[:] = fold(comm, gradient)


def bfloat16_nearest(number):
    """The bfloat16 nearest to each float32, as a float32, ties to even: found by comparing the two neighbours, not by
    the example's arithmetic on the bits."""
    below = (number.view(numpy.uint32) & 0xFFFF0000).view(numpy.float32)
    above = ((number.view(numpy.uint32) & 0xFFFF0000) + 0x10000).view(numpy.float32)
    exact = number.astype(numpy.float64)
    less, more = abs(exact - below), abs(above - exact)
    odd = (below.view(numpy.uint32) & 0x10000) != 0
    return numpy.where((more < less) | ((more == less) & odd), above, below)


class OrderedBfloat16:
    def __init__(self, library):
        pass

    def sum(self, comm, gradient):
        gradient[:] = bfloat16_nearest(fold(comm, bfloat16_nearest(gradient)))


def run(case, *words):
    given = vars(train.options())
    for name, value in zip(words[0::2], words[1::2]):
        given[name] = value
    builtins_print = builtins.print
    train.print = lambda *text, **how: builtins_print(f"{case}:", *text, **how)
    train.train(world, train.argparse.Namespace(**given))


def sampler():
    for count, size in ((1500, 1), (1500, 7), (10, 4), (3, 8), (1, 5), (1500, 16)):
        for epoch in (0, 1, 5):
            shares = [train.Sampler(count, rank, size, 3).epoch(epoch) for rank in range(size)]
            length = -(-count // size)
            dealt = numpy.bincount(numpy.concatenate(shares), minlength=count)
            if any(len(share) != length for share in shares):
                sys.exit(f"{count} images, {size} ranks: shares of different length")
            if dealt.sum() != length * size or dealt.min() < 1 or dealt.max() - dealt.min() > 1:
                sys.exit(f"{count} images, {size} ranks: an image is left out, or taken too often")
        one, other = (train.Sampler(1500, 0, 2, 3).epoch(epoch) for epoch in (0, 1))
        if (one == other).all():
            sys.exit("two epochs have the same order")


def checkpoint():
    folder = tempfile.mkdtemp() if world.rank == 0 else "/nowhere"
    path = os.path.join(folder, "saved")
    run("first half", "checkpoint", path, "epochs", 6)
    run("checkpoint", "checkpoint", path)
    if world.rank == 0:
        if os.listdir(folder) != ["saved"]:
            sys.exit(f"beside the checkpoint: {os.listdir(folder)}")
        os.remove(path)
        os.rmdir(folder)


for case in cases:
    if case == "sampler":
        sampler()
    elif case == "checkpoint":
        checkpoint()
    elif case == "double":
        run(case, "batch", 64)
    elif case == "rate":
        run(case, "rate", 0.201)
    else:
        kind = case.split("-")[-1]
        kept = train.Float32, train.Bfloat16
        if case.startswith("ordered"):
            train.Float32, train.Bfloat16 = OrderedFloat32, OrderedBfloat16
        run(case, "bfloat16", library if kind == "bfloat16" else None)
        train.Float32, train.Bfloat16 = kept
