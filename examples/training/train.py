#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Data-parallel training: every rank has the whole model and a share of the images; after each step the gradients of
all ranks are averaged by MPI_Allreduce, so that all models stay equal, bit for bit.

The model is a small perceptron that reads handwritten digits, the data set that scikit-learn ships.
"""
import argparse
import ctypes
import os
import zlib

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core a rank; and the same bits in each run
import numpy
from mpi4py import MPI

TRAINING_IMAGES = 1500
BASE_BATCH = 64  # the batch, of all ranks together, that --rate is for
SHAPES = ((64, 48), (48,), (48, 10), (10,))  # weights and offsets of two layers


class Sampler:
    """Which images a rank takes: all of them are shuffled anew in each epoch, by a generator that every rank seeds
    alike, and dealt out in turn. Where they do not come out even, the first are dealt once more, so that every rank
    makes the same number of steps: one step more on one rank would leave it waiting in MPI_Allreduce for ever."""

    def __init__(self, count, rank, size, seed):
        self.count, self.rank, self.size, self.seed = count, rank, size, seed
        self.mine = -(-count // size)

    def epoch(self, number):
        order = numpy.random.default_rng([self.seed, number]).permutation(self.count)
        return numpy.resize(order, self.mine * self.size)[self.rank :: self.size]


class Float32:
    """Gradients travel as they are."""

    def sum(self, comm, gradient):
        comm.Allreduce(MPI.IN_PLACE, gradient, op=MPI.SUM)


class Bfloat16:
    """Gradients travel in half the bytes: the upper 16 bits of each float, rounded to nearest, ties to even. MPI has no
    such datatype; it and its sum come from libmpinpu16, and work without the preload, too."""

    def __init__(self, library):
        handles = ctypes.CDLL(library)
        self.datatype = self.handle(MPI.Datatype, handles.mpinpu_bfloat16)
        self.op = self.handle(MPI.Op, handles.mpinpu_sum)

    @staticmethod
    def handle(kind, make):
        """The handle that a C function returns, as an object of mpi4py's: its memory holds just the handle."""
        made = kind()
        raw = ctypes.c_int if MPI._sizeof(kind) == 4 else ctypes.c_void_p
        make.restype = raw
        raw.from_address(MPI._addressof(made)).value = make()
        return made

    def sum(self, comm, gradient):
        bits = gradient.view(numpy.uint32)
        half = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(numpy.uint16)
        comm.Allreduce(MPI.IN_PLACE, [half, half.size, self.datatype], op=self.op)
        bits[:] = half.astype(numpy.uint32) << 16


class Model:
    """Two layers; all weights in one vector, and all gradients in another, so that one call averages them."""

    def __init__(self, seed):
        generator = numpy.random.default_rng(seed)
        sizes = [int(numpy.prod(shape)) for shape in SHAPES]
        self.weights = numpy.zeros(sum(sizes), numpy.float32)
        self.gradient = numpy.empty_like(self.weights)
        ends = numpy.cumsum(sizes)
        cut = [slice(end - size, end) for end, size in zip(ends, sizes)]
        self.layers = [self.weights[c].reshape(shape) for c, shape in zip(cut, SHAPES)]
        self.slopes = [self.gradient[c].reshape(shape) for c, shape in zip(cut, SHAPES)]
        for layer in self.layers[0::2]:
            layer[:] = generator.standard_normal(layer.shape) * numpy.sqrt(2 / layer.shape[0])

    def forward(self, images):
        first, first_offset, second, second_offset = self.layers
        hidden = numpy.maximum(images @ first + first_offset, 0)
        scores = hidden @ second + second_offset
        scores -= scores.max(axis=1, keepdims=True)
        return hidden, scores

    def backward(self, images, labels):
        """Leaves the mean gradient of these images in self.gradient; returns the sum of their losses."""
        second = self.layers[2]
        hidden, scores = self.forward(images)
        likely = numpy.exp(scores)
        likely /= likely.sum(axis=1, keepdims=True)
        rows = numpy.arange(len(labels))
        loss = -numpy.log(likely[rows, labels]).sum(dtype=numpy.float64)
        likely[rows, labels] -= 1
        likely /= len(labels)
        back = likely @ second.T
        back[hidden == 0] = 0
        for slope, value in zip(self.slopes, (images.T @ back, back.sum(0), hidden.T @ likely, likely.sum(0))):
            slope[:] = value
        return loss


def place(comm, environment):
    """Rank and size: from MPI, or as scripts for torchrun have them, from the environment (`mpinpu run` sets it)."""
    if not environment:
        return comm.rank, comm.size
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if (rank, size) != (comm.rank, comm.size):
        raise SystemExit(f"RANK={rank} and WORLD_SIZE={size}, but MPI has rank {comm.rank} of {comm.size}")
    return rank, size


def images_and_labels(comm, seed):
    """One rank reads them, the others get them from it: a file system is easily the slowest part of a large job."""
    if comm.rank != 0:
        return comm.bcast(None)
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = numpy.random.default_rng(seed).permutation(len(digits.target))
    return comm.bcast(((digits.data[order] / 16).astype(numpy.float32), digits.target[order]))


def checkpoint_write(path, model, epoch):
    """On one rank, as all have the same. A job that is killed meanwhile leaves the old file or the new one, whole."""
    with open(path + ".new", "wb") as file:
        numpy.savez(file, weights=model.weights, epoch=epoch)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def checkpoint_read(comm, path, model):
    """On rank 0, and from it to the others, who may not see its file. Returns the first epoch to do."""
    epoch = 0
    if comm.rank == 0 and os.path.exists(path):
        with numpy.load(path) as saved:
            model.weights[:] = saved["weights"]
            epoch = int(saved["epoch"])
    comm.Bcast(model.weights)
    return comm.bcast(epoch)


def options():
    parser = argparse.ArgumentParser(description="data-parallel training on handwritten digits")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32, help="images a rank and step")
    parser.add_argument("--rate", type=float, default=0.2, help=f"learning rate for {BASE_BATCH} images of all ranks")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bfloat16", metavar="LIBRARY", help="libmpinpu16.so: gradients travel as bfloat16")
    parser.add_argument("--environment", action="store_true", help="place in the job from RANK and WORLD_SIZE")
    parser.add_argument("--checkpoint", metavar="FILE", help="go on from there, and write it after each epoch")
    return parser.parse_args()


def train(comm, given):
    rank, size = place(comm, given.environment)
    images, labels = images_and_labels(comm, given.seed)
    sampler = Sampler(TRAINING_IMAGES, rank, size, given.seed)
    model = Model(given.seed)
    transport = Bfloat16(given.bfloat16) if given.bfloat16 else Float32()
    # The linear scaling rule: a batch k times as large takes a learning rate k times as large.
    rate = numpy.float32(given.rate * given.batch * size / BASE_BATCH)
    start = checkpoint_read(comm, given.checkpoint, model) if given.checkpoint else 0

    for epoch in range(start, given.epochs):
        mine = sampler.epoch(epoch)
        loss = numpy.zeros(1)
        for first in range(0, len(mine), given.batch):
            batch = mine[first : first + given.batch]
            loss += model.backward(images[batch], labels[batch])
            transport.sum(comm, model.gradient)
            model.weights -= rate / numpy.float32(size) * model.gradient
        comm.Allreduce(MPI.IN_PLACE, loss, op=MPI.SUM)
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {loss[0] / (sampler.mine * size):.9f}", flush=True)
            if given.checkpoint:
                checkpoint_write(given.checkpoint, model, epoch + 1)

    mine = slice(TRAINING_IMAGES + rank, None, size)
    right = numpy.array([(model.forward(images[mine])[1].argmax(1) == labels[mine]).sum()])
    comm.Allreduce(MPI.IN_PLACE, right, op=MPI.SUM)
    digests = comm.gather(zlib.crc32(model.weights.tobytes()))
    if rank == 0:
        if len(set(digests)) != 1:
            raise SystemExit("the ranks have different weights")
        tests = len(labels) - TRAINING_IMAGES
        print(f"{size} ranks, {len(range(0, sampler.mine, given.batch))} steps an epoch, rate {rate:g}, weights {digests[0]:08x}")
        print(f"test: {right[0]} of {tests} right, {100 * right[0] / tests:.1f} %")


if __name__ == "__main__":
    train(MPI.COMM_WORLD, options())
