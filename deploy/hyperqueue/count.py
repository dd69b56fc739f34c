#!/usr/bin/env python3
"""Counts the placements of N queens as tasks of HyperQueue: one for each part, and one that merges them.

The ledgers of the parts stay in the current folder. If the run is ended, the same command goes on from there.
"""

import argparse
import os
import shutil

from hyperqueue import Client, Job, LocalCluster
from hyperqueue.cluster import WorkerConfig
from hyperqueue.ffi.protocol import ResourceRequest


def parts_and_merge(queens: str, n: int, parts: int) -> Job:
    """A task for each part, with one processor each, and the merge after all of them. `queens` is the program's path."""
    job = Job(name=f"queens {n}", default_workdir=os.getcwd(), max_fails=0)
    ledgers = [f"part-{part}.db" for part in range(1, parts + 1)]
    tasks = [
        job.program(
            [queens, "count", str(n), "--shard", f"{part}/{parts}", "--ledger", ledger, "--threads", "1"],
            stdout=os.devnull,
            stderr=f"part-{part}.log",
            resources=ResourceRequest(cpus=1),
            name=f"part {part}",
        )
        for part, ledger in enumerate(ledgers, start=1)
    ]
    job.program(
        [queens, "merge", *ledgers, "--into", "q.db"],
        stdout="total.txt",
        stderr="merge.log",
        deps=tasks,
        name="merge",
    )
    return job


def run(client: Client, job: Job) -> None:
    client.wait_for_jobs([client.submit(job)])
    with open("total.txt", encoding="ascii") as total:
        print(total.read(), end="")


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("n", type=int, metavar="N", help="board size")
    words.add_argument("--parts", type=int, default=64, help="number of parts [default: %(default)s]")
    words.add_argument(
        "--server-dir", help="folder of a HyperQueue server that runs [default: one is started here, with a worker]"
    )
    words.add_argument(
        "--cores",
        type=int,
        default=len(os.sched_getaffinity(0)),
        help="processors of the worker that is started here [default: those that this process may use]",
    )
    args = words.parse_args()
    queens = shutil.which("queens")
    if not queens:
        words.error("the program queens is not in the PATH")
    job = parts_and_merge(queens, args.n, args.parts)
    if args.server_dir:
        run(Client(args.server_dir), job)
    else:
        with LocalCluster(worker_config=WorkerConfig(cores=args.cores)) as cluster:
            run(cluster.client(), job)


if __name__ == "__main__":
    main()
