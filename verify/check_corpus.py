#!/usr/bin/env python3
"""Gives every bundle of the corpus to queens_verify.py, which must say of each what its folder says. Where all queens stand
already, the most that a task can count is what it counts."""

import gzip
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from plans import most, prefixes, rows

HERE = Path(__file__).parent
EXPECTED = {"exported": 0, "good": 0, "unfinished": 13, "unknown": 2, "bad": 16}


def judge(case):
    """What the verifier says of a bundle, if that is not what is expected."""
    file, right, seconds = case
    words = [sys.executable, HERE / "queens_verify.py", "--draws", "300", "--seed", "1", "--seconds", seconds, file]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    return [f"{file}: exit code {done.returncode}\n{done.stdout}{done.stderr}"] if done.returncode != right else []


with ThreadPoolExecutor() as pool, tempfile.NamedTemporaryFile() as bomb:
    files = [(file, folder) for folder in EXPECTED for file in sorted((HERE / "corpus" / folder).iterdir())]
    cases = [(file, EXPECTED[folder], "60") for file, folder in files]
    # Without time to count, the verifier cannot tell.
    cases.append((HERE / "corpus" / "exported" / "rows-8.bundle", 2, "0"))
    # A line of 256 MiB is refused without being read: hashing it would take an hour.
    header = (HERE / "corpus" / "exported" / "rows-8.bundle").read_bytes().split(b"\n")[0]
    bomb.write(gzip.compress(header + b"\n" + bytes(1 << 28), 1))
    bomb.flush()
    cases.append((bomb.name, 16, "60"))
    wrong = [text for texts in pool.map(judge, cases) for text in texts]
wrong += [f"{plan.__name__}: {most(plan.__name__, 8, 8)}" for plan in (prefixes, rows) if max(map(sum, plan(8, 8))) != most(plan.__name__, 8, 8)]
for text in wrong:
    print(text, file=sys.stderr)
print(f"{len(cases) - len(wrong)} of {len(cases)} bundles are judged right")
sys.exit(bool(wrong))
