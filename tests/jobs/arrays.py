# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py: the collectives on numpy arrays, in place and not; pickled objects; and a training loop that needs the same
bits on all ranks. mpi4py opens libmpi with RTLD_LOCAL.

Usage: arrays.py collectives | requests | training
"""
import sys
import zlib

import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank = world.Get_rank()
size = world.Get_size()
failures = 0
calls = {
    mode + kind + end: 0
    for mode, end in (("", ""), ("i", ""), ("", "_init"))
    for kind in ("allreduce", "reduce_scatter", "reduce_scatter_block")
}


def check(right, what):
    global failures
    if not right:
        failures += 1
        print(f"FAIL rank {rank}: {what}", file=sys.stderr)


def numbers(of, count, dtype):
    return ((numpy.arange(count) * (of + 1)) % 97).astype(dtype)


def collectives():
    for dtype in ("float32", "float64", "int32", "int64", "uint8", "complex128"):
        for count in (1, 10, 1000, 30000):
            # what 8 ranks add up to fits into a byte
            scale = 3 if dtype == "uint8" else 1
            parts = [(numbers(r, count, "int64") // (9 * scale)).astype(dtype) for r in range(size)]
            expected = sum(parts[1:], parts[0])
            mine = parts[rank].copy()
            result = numpy.empty_like(mine)
            world.Allreduce(mine, result, op=MPI.SUM)
            check((result == expected).all(), f"Allreduce of {count} {dtype}")
            world.Allreduce(MPI.IN_PLACE, mine, op=MPI.SUM)
            check((mine == expected).all(), f"Allreduce in place of {count} {dtype}")
            calls["allreduce"] += 2

            mine = parts[rank].copy()
            counts = [count // size + (1 if r < count % size else 0) for r in range(size)]
            first = sum(counts[:rank])
            block = numpy.empty(counts[rank], dtype)
            world.Reduce_scatter(mine, block, recvcounts=counts, op=MPI.SUM)
            check((block == expected[first : first + counts[rank]]).all(), f"Reduce_scatter of {count} {dtype}")
            calls["reduce_scatter"] += 1

            each = count // size
            if each > 0:
                whole = parts[rank][: each * size].copy()
                block = numpy.empty(each, dtype)
                world.Reduce_scatter_block(whole, block, op=MPI.SUM)
                check((block == expected[each * rank : each * (rank + 1)]).all(), f"Reduce_scatter_block of {count} {dtype}")
                calls["reduce_scatter_block"] += 1
    check(world.allreduce([rank]) == list(range(size)), "allreduce of pickled lists")
    check(world.allreduce({"a": 1}, op=lambda a, b: {"a": a["a"] + b["a"]}) == {"a": size}, "allreduce of pickled dicts")


def requests():
    """Nonblocking collectives in one list with messages; persistent ones where mpi4py (4.0 on) has them."""
    counts = [3 * r + 1 for r in range(size)]
    first = sum(counts[:rank])
    left, right = (rank - 1) % size, (rank + 1) % size
    for count in (1, 1000, 50000):
        parts = [numbers(r, count, "float64") for r in range(size)]
        expected = sum(parts[1:], parts[0])
        shares = [numbers(r, sum(counts), "int32") for r in range(size)]
        scattered = sum(shares[1:], shares[0])
        blocks = [numbers(r, 4 * size, "int64") for r in range(size)]
        largest = numpy.max(blocks, axis=0)
        mine, total, again = parts[rank].copy(), numpy.empty(count), parts[rank].copy()
        share, block, got = numpy.empty(counts[rank], "int32"), numpy.empty(4, "int64"), numpy.empty(count)
        listed = [
            world.Iallreduce(mine, total, op=MPI.SUM),
            world.Irecv(got, source=left, tag=7),
            world.Ireduce_scatter(shares[rank], share, recvcounts=counts, op=MPI.SUM),
            world.Isend(mine, dest=right, tag=7),
            world.Ireduce_scatter_block(blocks[rank], block, op=MPI.MAX),
            world.Iallreduce(MPI.IN_PLACE, again, op=MPI.SUM),
        ]
        if count == 1000:
            for _ in listed:
                MPI.Request.Waitany(listed)
        else:
            MPI.Request.Waitall(listed)
        check(all(request == MPI.REQUEST_NULL for request in listed), "a request is not null")
        check((total == expected).all(), f"Iallreduce of {count}")
        check((again == expected).all(), f"Iallreduce in place of {count}")
        check((share == scattered[first : first + counts[rank]]).all(), "Ireduce_scatter")
        check((block == largest[4 * rank : 4 * rank + 4]).all(), "Ireduce_scatter_block")
        check((got == parts[left]).all(), f"the message beside them of {count}")
        calls["iallreduce"] += 2
        calls["ireduce_scatter"] += 1
        calls["ireduce_scatter_block"] += 1

        if not hasattr(world, "Allreduce_init"):
            continue
        try:
            persistent = world.Allreduce_init(mine, total, op=MPI.SUM)
        except NotImplementedError:  # mpi4py was built for an MPI that lacks it
            continue
        calls["allreduce_init"] += 3 if size > 1 else 1  # the starts of those that the engine does
        for step in range(3):
            mine[:] = parts[rank] + step
            persistent.Start()
            persistent.Wait()
            check((total == expected + size * step).all(), f"Allreduce_init of {count}, start {step}")
        persistent.Free()


def training():
    """Linear regression by gradient descent on a share of the data a rank: 4 MB reduced in place at every step, and all
    ranks must keep the same weights, bit for bit."""
    count, steps = 1_000_000, 12
    generator = numpy.random.default_rng(1234 + rank)
    truth = numpy.random.default_rng(99).standard_normal(count).astype("float32")
    weights = numpy.zeros(count, "float32")
    first = None
    for step in range(steps):
        features = generator.standard_normal(count).astype("float32")
        noise = generator.standard_normal(count).astype("float32") * numpy.float32(0.01)
        gradient = features * (weights * features - (truth * features + noise))
        loss = numpy.array([float(numpy.mean((weights - truth) ** 2))])
        world.Allreduce(MPI.IN_PLACE, gradient, op=MPI.SUM)
        world.Allreduce(MPI.IN_PLACE, loss, op=MPI.MAX)
        calls["allreduce"] += 2
        weights -= numpy.float32(0.2) * gradient / numpy.float32(size)
        first = loss[0] if first is None else first
        digests = world.allgather(zlib.crc32(weights.tobytes()))
        check(len(set(digests)) == 1, f"step {step}: ranks have other weights")
    check(loss[0] < first / 3, f"no training: loss from {first} to {loss[0]}")
    if rank == 0:
        print(f"job-digest {digests[0]:08x}")


{"collectives": collectives, "requests": requests, "training": training}[sys.argv[1]]()
if rank == 0:
    print("job-calls", *(f"{name}={count}" for name, count in calls.items()))
    print("job-engine", *(f"{name}={count if size > 1 else 0}" for name, count in calls.items()))
    sys.stdout.flush()
sys.exit(1 if failures else 0)
