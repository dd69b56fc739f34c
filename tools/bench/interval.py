#!/usr/bin/env python3
"""How often the 95% interval of `queens plan` holds the processor time that a count takes.

    cargo build --release && python3 tools/bench/interval.py target/release/queens

Each size is planned twice beside 0, 2 and 8 other programs, of which every second copies memory. The count that a plan
is held against, `queens count N` less what `queens count 1` takes, runs beside another number of them; beyond N = 20,
it is one count beside none. On two cores N = 16 to 20 take a quarter of an hour, N = 22 half an hour. Each line has the
ratio of the two times, so that the lines show how far processor times drift. QUEENS_THREADS=1 leaves processors to
others; then a plan has a smaller sample.
"""

import json
import os
import subprocess
import sys
import time

LOADS = (0, 2, 8)
LOOPS = ("while True: pass", "a = bytearray(1 << 26)\nwhile True: a[:] = a[::-1]")


def beside(load, action):
    """The result of `action` while so many other programs run."""
    loops = [subprocess.Popen([sys.executable, "-c", LOOPS[at % 2]]) for at in range(load)]
    try:
        time.sleep(0.3)
        return action()
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def plan(program, n, seed):
    """The processor seconds that a plan predicts and their error, or None."""
    words = [program, "plan", str(n), "--json", "--backend", BACKEND, "--seed", str(seed)]
    said = json.loads(subprocess.check_output(words, stderr=subprocess.DEVNULL))
    return (said["core_seconds"], said["core_seconds_error"]) if "core_seconds" in said else None


def counted(program, n):
    """The processor seconds of a count."""
    words = [program, "count", str(n), "--quiet", "--backend", BACKEND]
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    assert status == 0, words
    return used.ru_utime + used.ru_stime


def truths(program, n):
    """What a count takes beside each number of other programs."""
    def truth(load):
        return beside(load, lambda: counted(program, n) - counted(program, 1))
    return {load: truth(load) for load in LOADS} if n <= 20 else dict.fromkeys(LOADS, truth(0))


if __name__ == "__main__":
    PROGRAM, SIZES = sys.argv[1], [int(n) for n in sys.argv[2:]] or range(16, 23)
    listed = subprocess.check_output([PROGRAM, "bench", "--list"], text=True).splitlines()
    BACKEND = [line for line in listed if " " not in line][-1]
    held, plans = 0, 0
    print("   N  load  planned s        +-   counted s  beside   ratio  holds")
    for n in SIZES:
        counts = truths(PROGRAM, n)
        for turn in range(2):
            for at, load in enumerate(LOADS):
                other = LOADS[(at + 1 + turn) % len(LOADS)]
                found = beside(load, lambda: plan(PROGRAM, n, 10 * turn + at))
                plans += 1
                if found is None:
                    print(f"{n:4} {load:5}  no estimate", flush=True)
                    continue
                holds = abs(found[0] - counts[other]) <= found[1]
                held += holds
                row = f"{found[0]:10.3f}{found[1]:10.3f}  {counts[other]:10.3f}{other:8}"
                print(f"{n:4} {load:5} {row}  {found[0] / counts[other]:6.3f}  {holds}", flush=True)
    print(f"{held} of {plans} intervals hold")
