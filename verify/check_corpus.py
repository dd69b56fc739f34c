#!/usr/bin/env python3
"""Gives every bundle of the corpus to queens_verify.py, which must say of each what its folder says."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
EXPECTED = {"good": 0, "unfinished": 13, "bad": 16}


def code(bundle, seconds="60"):
    words = [sys.executable, HERE / "queens_verify.py", "--draws", "300", "--seed", "1", "--seconds", seconds, bundle]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


bundles = [(folder, bundle) for folder in EXPECTED for bundle in sorted((HERE / "corpus" / folder).iterdir())]
with ThreadPoolExecutor() as pool:
    codes = pool.map(code, [bundle for _, bundle in bundles])
wrong = [(bundle, said) for (folder, bundle), said in zip(bundles, codes) if said[0] != EXPECTED[folder]]
for bundle, (exit_code, said) in wrong:
    print(f"{bundle}: exit code {exit_code}\n{said}", file=sys.stderr)
exit_code, said = code(HERE / "corpus" / "good" / "rows-8.bundle", seconds="0")
if exit_code != 2:
    wrong.append(("no time", said))
    print(f"without time to count, the exit code is {exit_code}\n{said}", file=sys.stderr)
print(f"{len(bundles) - len(wrong)} of {len(bundles)} bundles are judged right")
sys.exit(bool(wrong))
