#!/usr/bin/env python3
"""Gives every bundle of the corpus to queens_verify.py, which must say of each what its folder says."""

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from blake3 import hashed

HERE = Path(__file__).parent
EXPECTED = {"good": 0, "unfinished": 13, "unknown": 2, "bad": 16}


def code(file, seconds="60"):
    words = [sys.executable, HERE / "queens_verify.py", "--draws", "300", "--seed", "1", "--seconds", seconds, file]
    done = subprocess.run(words, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


corpus = HERE / "corpus"
cases = [(file, right) for folder, right in EXPECTED.items() for file in sorted((corpus / folder).iterdir())]
with ThreadPoolExecutor() as pool:
    said = list(pool.map(lambda case: code(case[0]), cases))
# Without time to count, the verifier cannot tell.
cases.append((corpus / "good" / "rows-8.bundle", 2))
said.append(code(corpus / "good" / "rows-8.bundle", seconds="0"))
# It does not read what is compressed, and says so, although that is no text and has no lines.
compressed = b"\x28\xb5\x2f\xfd" + bytes(100_000)
# So many tasks are not numbered one by one.
line, rest = (corpus / "good" / "rows-8.bundle").read_bytes().split(b"\n", 1)
plan = f"queens plan; enumeration 1; problem total; n 8; method rows; rows 2; tasks {10**12}"
head = json.loads(line) | {"tasks": 10**12, "fingerprint": hashed(plan.encode()).hex()}
huge = json.dumps(head, separators=(",", ":")).encode() + b"\n" + rest
for content in compressed, huge:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        cases.append((Path(file.name), 2))
        said.append(code(file.name))
# What decides nothing and has to be told: how many tasks are told.
TOLD = {"halves-10-told": "one by one: 71 of these tasks", "told-in-part": "one by one: 7 of these tasks"}
is_right = lambda file, right, answer: answer[0] == right and TOLD.get(file.stem, "") in answer[1]
wrong = [(file, *answer) for (file, right), answer in zip(cases, said) if not is_right(file, right, answer)]
for file, exit_code, text in wrong:
    print(f"{file}: exit code {exit_code}\n{text}", file=sys.stderr)
print(f"{len(cases) - len(wrong)} of {len(cases)} bundles are judged right")
sys.exit(bool(wrong))
