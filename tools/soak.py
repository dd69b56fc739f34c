"""Lets a farm count for a long time, and fails if it grows.

    cargo build --release && python3 tools/soak.py target/release/queens 28800

Small jobs follow each other, the oldest of them are removed, and their totals are checked. After the first tenth of the
time, memory and open files of the coordinator and of a worker, and the growth of the ledger for each million tasks, are
measured. The medians of the second half, and its growth, may exceed those of the first half by 2%. A ledger grows by a
row for each removed job. What it keeps free is not counted, and its growth is the slope of a line through its sizes,
because the jobs that it still holds differ in size. Nothing is measured before SQLite's cache of 2 MB is full, which
takes some 40,000 jobs. It needs Linux.
"""

import json
import os
import pathlib
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

SIZES, TOTALS = range(8, 14), [92, 352, 724, 2680, 14200, 73712]
ROWS, KEPT, SAMPLE_SECONDS = 4, 20, 1.0
CACHE = 2_000 << 10


def main(program, seconds):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QUEENS_")}

    def queens(*arguments):
        command = [program, *arguments, "--coordinator", address]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        ledger = pathlib.Path(folder, "farm.db")
        farm = [["coordinator", "--listen", address, "--ledger", str(ledger)]]
        farm += [["worker", "--coordinator", address, "--threads", "1"]] * 2
        processes = []
        try:
            for arguments in farm:
                command = [program, *arguments, "--log", "error"]
                processes.append(subprocess.Popen(command, env=environment, start_new_session=True))
                time.sleep(1)
            samples, jobs, tasks, removed = [], 0, 0, 0
            tasks_of_all = sum(plan_tasks(program, n, environment) for n in SIZES)
            begun = sampled = time.monotonic()
            while (now := time.monotonic()) < begun + seconds:
                said = queens("submit", f"{SIZES[0]}..{SIZES[-1]}", "--method", "rows", "--rows", str(ROWS), "--wait")
                totals = [int(line.split()[-1]) for line in said.splitlines()]
                assert totals == TOTALS, said
                jobs, tasks = jobs + len(TOTALS), tasks + tasks_of_all
                if jobs > removed + KEPT:
                    queens("jobs", "rm", *(str(job) for job in range(removed + 1, jobs - KEPT + 1)))
                    removed = jobs - KEPT
                if now > begun + seconds / 10 and now > sampled + SAMPLE_SECONDS:
                    sampled = now
                    found = sample(processes[:2], ledger, tasks)
                    if found["ledger"][0] > CACHE:
                        samples.append(found)
        finally:
            for process in reversed(processes):
                process.send_signal(signal.SIGTERM)
            for process in processes:
                process.wait(timeout=60)
    return report(samples, jobs, tasks)


def plan_tasks(program, n, environment):
    command = [program, "plan", str(n), "--method", "rows", "--rows", str(ROWS), "--json"]
    said = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    return json.loads(said)["tasks"]


def sample(processes, ledger, tasks):
    figures = {"ledger": (used(ledger), tasks)}
    for name, process in zip(("coordinator", "worker"), processes):
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
        resident = next(line for line in status if line.startswith("VmRSS:"))
        figures[f"{name} KiB"] = int(resident.split()[1])
        figures[f"{name} open files"] = len(os.listdir(f"/proc/{process.pid}/fd"))
    return figures


def used(ledger):
    opened = sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)
    try:
        pages, free, size = (
            opened.execute(f"PRAGMA {figure}").fetchone()[0] for figure in ("page_count", "freelist_count", "page_size")
        )
    finally:
        opened.close()
    return (pages - free) * size


def report(samples, jobs, tasks):
    half = len(samples) // 2
    assert half >= 5, f"{jobs} jobs are too few to fill SQLite's cache and to compare two halves: let it run longer"
    print(f"{jobs} jobs, {tasks / 1e6:.1f} million tasks, {len(samples)} samples")
    halves = samples[:half], samples[half:]
    rows = [("ledger bytes for a million tasks", *(1e6 * growth(part) for part in halves))]
    for figure in samples[0].keys() - {"ledger"}:
        rows.append((figure, *(statistics.median(it[figure] for it in part) for part in halves)))
    for figure, first, second in sorted(rows):
        print(f"{figure:33} {first:12.0f} {second:12.0f} {second / first - 1:+8.1%}")
    return any(second > first * 1.02 for _, first, second in rows)


def growth(samples):
    sizes, tasks = zip(*(it["ledger"] for it in samples))
    return statistics.linear_regression(tasks, sizes).slope


if __name__ == "__main__":
    sys.exit(main(str(pathlib.Path(sys.argv[1]).resolve()), float(sys.argv[2])))
