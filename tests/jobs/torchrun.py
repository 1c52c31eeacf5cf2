# SPDX-License-Identifier: BSD-3-Clause
"""A program that knows its place by torchrun's variables alone, and no MPI: rank 0 listens at MASTER_PORT, the others
come to MASTER_ADDR and tell theirs. Rank 0 prints what it has heard: "rank:local_rank/local_size" for each rank."""
import os
import socket
import sys
import time

rank, local_rank, size, local_size = (
    int(os.environ[name]) for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")
)
address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
mine = f"{rank}:{local_rank}/{local_size}"
if "MPINPU_MASTER" in os.environ:
    sys.exit("MPINPU_MASTER is still there")
if rank == 0:
    with socket.create_server(("", port)) as listener:
        listener.settimeout(20)
        heard = [mine]
        while len(heard) < size:
            with listener.accept()[0] as other:
                heard.append(other.makefile().readline().strip())
    print("places", *sorted(heard))
else:
    end = time.monotonic() + 20
    while True:
        try:
            with socket.create_connection((address, port), timeout=20) as master:
                master.sendall(mine.encode() + b"\n")
            break
        except ConnectionRefusedError:  # rank 0 is not that far
            if time.monotonic() > end:
                sys.exit(f"rank {rank}: no one listens at {address}:{port}")
            time.sleep(0.05)
