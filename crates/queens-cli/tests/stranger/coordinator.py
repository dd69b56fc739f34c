#!/usr/bin/env python3
"""A coordinator written from `proto` alone, which shares no code with the program: what a stranger can write. It leases the total of N
by `rows` to one worker at a time, as two counts of which the second must come back as a whole, and prints it.

    python3 crates/queens-cli/tests/stranger/coordinator.py N

It needs grpcio-tools, and blake3.py in `verify`. `stranger.rs` in the tests of the command line starts it.
"""

import secrets
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parents[4]
with tempfile.TemporaryDirectory() as folder:
    files = ["queens/v1/plan.proto", "queens/v1/farm.proto"]
    if protoc.main(["", f"-I{ROOT}/proto", f"--python_out={folder}", f"--grpc_python_out={folder}", *files]):
        sys.exit("the text of the protocol is not understood")
    sys.path[:0] = [folder, str(ROOT / "verify")]
    from queens.v1 import farm_pb2 as farm
    from queens.v1 import plan_pb2 as plan
    from queens.v1.farm_pb2_grpc import FarmServiceServicer, add_FarmServiceServicer_to_server
from blake3 import hashed as blake3

JOB = 1
ROWS = 2
LEASE_TASKS = 7
BLOCK = 3


def states(n, row, left, down, right):
    """What row `ROWS` sees of all ways to fill the rows from `row` on."""
    if row == ROWS:
        yield left, down, right
        return
    for queen in (1 << column for column in range(n)):
        if not queen & (left | down | right):
            yield from states(n, row + 1, (left | queen) << 1 & (1 << n) - 1, down | queen, (right | queen) >> 1)


def tasks_of(n):
    """One of each two mirror images, by the column of the first queen, and the weight."""
    for column in range((n + 1) // 2):
        queen, weight = 1 << column, 1 if 2 * column + 1 == n else 2
        for state in states(n, 1, queen << 1 & (1 << n) - 1, queen, queen >> 1):
            yield (*state, weight)


class Coordinator(FarmServiceServicer):
    def __init__(self, n):
        self.tasks = list(tasks_of(n))
        text = f"queens plan; enumeration 1; problem total; n {n}; method rows; rows {ROWS}; tasks {len(self.tasks)}"
        self.plan = plan.Plan(
            problem={"n": n, "text": "total"}, method={"name": "rows", "parameter": ROWS}, tasks=len(self.tasks),
            fingerprint=blake3(text.encode())[:32],
        )  # fmt: skip
        starts = range(0, len(self.tasks), LEASE_TASKS)
        self.free = [(start, min(start + LEASE_TASKS, len(self.tasks)), None) for start in starts]
        self.leases, self.counts, self.again, self.done = {}, {}, {}, threading.Event()

    def next_lease(self, credit):
        """A Lease and its Tasks, if there is something to count and the worker agrees to hold it."""
        held = sum(end - start for start, end, _, _ in self.leases.values())
        while self.free and held + self.free[0][1] - self.free[0][0] <= credit:
            start, end, recount = self.free.pop(0)
            held += end - start
            number = secrets.randbelow(1 << 62)
            token = secrets.token_bytes(33)
            self.leases[number] = (start, end, recount, token)
            ordinals = {"start": start, "end": end}
            yield farm.WorkResponse(
                lease=farm.Lease(id=number, job=JOB, plan=self.plan, range=ordinals, recount=recount, token=token)
            )
            for first in range(start, end, BLOCK):
                left, down, right, weight = zip(*self.tasks[first : min(first + BLOCK, end)])
                block = farm.Tasks(lease=number, start=first, left=left, down=down, right=right, weight=bytes(weight))
                yield farm.WorkResponse(tasks=block)

    def verdict(self, report, context):
        """What becomes of a report."""
        start, end = report.range.start, report.range.end
        lease = self.leases.get(report.lease)
        if lease is None or lease[3] != report.token or report.job != JOB or report.fingerprint != self.plan.fingerprint:
            context.abort(grpc.StatusCode.ABORTED, "this was not leased")
        if not lease[0] <= start < end <= lease[1] or report.residue != report.count % (2**61 - 1):
            return "invalid"
        if lease[2] is None:
            if any(start < other_end and other < end for other, other_end in self.counts):
                return "superseded"
            self.counts[start, end] = report.count
            if sum(other_end - other for other, other_end in self.counts if lease[0] <= other < lease[1]) == lease[1] - lease[0]:
                del self.leases[report.lease]
                self.free.append((lease[0], lease[1], farm.Recount()))
            return "accepted"
        if (start, end) != lease[:2]:
            return "invalid"
        first = sum(count for (other, _), count in self.counts.items() if start <= other < end)
        self.again[start, end] = report.count
        del self.leases[report.lease]
        return "agreed" if report.count == first else "disputed"

    def Work(self, requests, context):
        """One session. It sends nothing before the Hello."""
        credit = 0
        for request in requests:
            match request.WhichOneof("message"):
                case "hello":
                    if request.hello.protocol != 1:
                        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "this is a coordinator of version 1")
                    credit = request.hello.credit
                    yield farm.WorkResponse(welcome=farm.Welcome())
                    for held in request.hello.holding:
                        yield farm.WorkResponse(revoke=held.lease)
                    # The only worker before this one is gone.
                    self.free += [lease[:3] for lease in self.leases.values()]
                    self.leases.clear()
                case "credit":
                    credit = request.credit
                case "draining":
                    credit = 0
                case "report":
                    report = request.report
                    verdict = self.verdict(report, context)
                    ack = farm.Ack(job=report.job, fingerprint=report.fingerprint, range=report.range, verdict=verdict)
                    yield farm.WorkResponse(ack=ack)
            yield from self.next_lease(credit)
            if not self.free and not self.leases:
                self.done.set()


def main():
    coordinator = Coordinator(int(sys.argv[1]))
    pings = [("grpc.http2.min_ping_interval_without_data_ms", 5_000), ("grpc.keepalive_time_ms", 10_000)]
    server = grpc.server(ThreadPoolExecutor(), options=pings)
    add_FarmServiceServicer_to_server(coordinator, server)
    print("port", server.add_insecure_port("127.0.0.1:0"), flush=True)
    server.start()
    coordinator.done.wait()
    print("total", sum(coordinator.counts.values()), "again", sum(coordinator.again.values()), flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
