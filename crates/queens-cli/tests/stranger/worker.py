#!/usr/bin/env python3
"""A worker written from `proto` alone, which shares no code with the program: what a stranger can write. It counts `colours` by a
search of whole boards, as farm.proto defines their count, and leaves when it has nothing to do for a while.

    python3 crates/queens-cli/tests/stranger/worker.py HOST:PORT

It needs grpcio-tools, and blake3.py in `verify`. `stranger.rs` in the tests of the command line starts it.
"""

import queue
import random
import sys
import tempfile
from pathlib import Path

import grpc
import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[4]
with tempfile.TemporaryDirectory() as folder:
    files = ["queens/v1/plan.proto", "queens/v1/farm.proto"]
    if protoc.main(["", f"-I{ROOT}/proto", f"--python_out={folder}", f"--grpc_python_out={folder}", *files]):
        sys.exit("the text of the protocol is not understood")
    sys.path[:0] = [folder, str(ROOT / "verify")]
    from queens.v1 import farm_pb2 as farm
    from queens.v1.farm_pb2_grpc import FarmServiceStub
from blake3 import hashed as blake3


def placements(n, split, queens=()):
    """All ways to place a queen in each row, in even columns exactly in the rows of the split, so that no two attack each other."""
    row = len(queens)
    if row == n:
        yield queens
        return
    for column in range(1 - (split >> row & 1), n, 2):
        if all(column != other and abs(column - other) != row - above for above, other in enumerate(queens)):
            yield from placements(n, split, (*queens, column))


def images(n, split):
    reverse = sum(1 << n - 1 - bit for bit in range(n) if split >> bit & 1)
    full = (1 << n) - 1
    return {split, reverse} if n % 2 else {split, reverse, full ^ split, full ^ reverse}


def place(n, split):
    """What splits are compared by."""
    even = sum(1 << bit for bit in range(0, n, 2))
    odd = sum(1 << bit for bit in range(1, n, 2))
    return (split & even).bit_count(), odd & ~split, split & even


def share(n, down, queens):
    transposed = sum(1 << column for row, column in enumerate(queens) if row % 2 == 0)
    all_images = images(n, transposed)
    u = min(place(n, image) for image in all_images)
    times = 0 if u < place(n, down) else 1 if u == place(n, down) else 2
    if n % 2 == 1:
        times *= len(all_images) if place(n, transposed) == u else 0
    return times


def report(lease, tasks):
    """The report of these tasks of a lease."""
    n, fingerprint = lease.plan.problem.n, lease.plan.fingerprint
    counts = [
        weight * sum(share(n, down, queens) for queens in placements(n, down)) for down, weight in zip(tasks.down, tasks.weight)
    ]
    digests = (
        blake3(fingerprint + ordinal.to_bytes(8, "little") + count.to_bytes(8, "little"))[:16]
        for ordinal, count in enumerate(counts, tasks.start)
    )
    digest = sum(int.from_bytes(of_task, "little") for of_task in digests) % 2**128
    return farm.Report(
        lease=lease.id, job=lease.job, fingerprint=fingerprint, token=lease.token, kernel="reference", busy_us=1,
        range={"start": tasks.start, "end": tasks.start + len(counts)}, count=sum(counts), residue=sum(counts) % (2**61 - 1),
        digest=digest.to_bytes(16, "little"), task_counts=counts,
    )  # fmt: skip


def main():
    requests, leases, waiting = queue.Queue(), {}, 0
    hello = farm.Hello(
        protocol=1, worker="stranger", machine="stranger", instance=random.getrandbits(64), threads=1, credit=4096,
        methods=["colours"],
    )  # fmt: skip
    requests.put(farm.WorkRequest(hello=hello))
    with grpc.insecure_channel(sys.argv[1]) as channel:
        for response in FarmServiceStub(channel).Work(iter(requests.get, None)):
            match response.WhichOneof("message"):
                case "lease":
                    leases[response.lease.id] = response.lease
                    is_by_colours = response.lease.plan.method.name == "colours"
                    assert is_by_colours and response.lease.plan.problem.text in ("total", "fundamental"), response.lease.plan
                case "tasks" if response.tasks.lease in leases:
                    assert not any(response.tasks.left) and not any(response.tasks.right)
                    requests.put(farm.WorkRequest(report=report(leases[response.tasks.lease], response.tasks)))
                    waiting += 1
                case "ack":
                    print(response.ack.verdict, response.ack.range.start, response.ack.range.end, flush=True)
                    waiting -= 1
                case "revoke":
                    leases.pop(response.revoke, None)


if __name__ == "__main__":
    main()
