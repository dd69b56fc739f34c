#!/usr/bin/env python3
"""Gives every bundle of the corpus to queens_verify.py, which must say of each what its folder says. Where all queens stand
already, the most that a task can count is what it counts."""

import gzip
import io
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import queens_verify
from blake3 import hashed
from plans import most, prefixes, rows
from queens_verify import Bundle, Unknown, Wrong

HERE = Path(__file__).parent
# What is refused before anything is counted again.
BOUNDS = {"range-more-than-can-be", "tasks-more-than-can-be"}
EXPECTED = {"exported": 0, "good": 0, "unfinished": 13, "unknown": 2, "bad": 16}


def judge(case):
    """What the verifier says of a bundle, if that is not what is expected."""
    file, right, seconds, said = case
    words = [sys.executable, HERE / "queens_verify.py", "--draws", "300", "--seed", "1", "--seconds", seconds, file]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    is_right = done.returncode == right and said in done.stderr
    return [] if is_right else [f"{file}: exit code {done.returncode}\n{done.stdout}{done.stderr}"]


class Changing(io.BytesIO):
    """A file whose content is another one from the reading with this number on, counted from 0."""

    def __init__(self, before, after, reading):
        super().__init__(before)
        self.after, self.left = after, reading

    def seek(self, *place):
        if self.left == 0:
            super().seek(0)
            self.truncate()
            self.write(self.after)
        self.left -= 1
        return super().seek(*place)

    def peek(self, length):
        return self.getvalue()[:length]


def changes_before(reading, before, after):
    """What the verifier says of a bundle that is changed before it is read once more."""
    try:
        Bundle(Changing(before, after, reading), 10, 1, None)
    except (Unknown, Wrong) as said:
        return str(said)
    return "it holds"


def written_meanwhile(before, after):
    """The exit code of the verifier for a bundle that is written in place after it was opened."""
    with tempfile.NamedTemporaryFile() as bundle:
        path = Path(bundle.name)
        path.write_bytes(before)

        def changed(*words):
            path.write_bytes(after)
            return Bundle(*words)

        sys.argv[1:], queens_verify.Bundle = [bundle.name], changed
        return queens_verify.main()[1]


with ThreadPoolExecutor() as pool, tempfile.TemporaryDirectory() as bombs:
    files = [(file, folder) for folder in EXPECTED for file in sorted((HERE / "corpus" / folder).iterdir())]
    cases = [(file, EXPECTED[folder], "60", "tasks cannot count so much" if file.stem in BOUNDS else "") for file, folder in files]
    exported = HERE / "corpus" / "exported" / "rows-8.bundle"
    # Without time to count, the verifier cannot tell.
    cases.append((exported, 2, "0", ""))
    # A long line, lines of no kind and more lines than the header says are refused where they
    # begin: hashing a GiB of them would take hours. A verifier that reads on to the end says that
    # the compressed text is cut off.
    header, author, *_ = exported.read_bytes().splitlines(keepends=True)
    for name, lines, said in (
        ("long-line", bytes(2 << 20), "line 2: it is cut off or too long"),
        ("short-lines", b"0\n" * (1 << 19), "line 2: it is no line of a bundle"),
        ("authors", author * 10_000, "line 3: the header says fewer"),
    ):
        bomb = Path(bombs, f"{name}.bundle")
        bomb.write_bytes(gzip.compress(header + lines) + b"\x1f")
        cases.append((bomb, 16, "60", said))
    # Of gzip, a few bytes may say nothing, and not as many as somebody likes.
    plain = gzip.compress(exported.read_bytes())
    name_of = lambda length: plain[:3] + b"\x08" + plain[4:10] + b"n" * length + b"\0" + plain[10:]
    blocks = lambda many: plain[:10] + b"\0\0\0\xff\xff" * many + plain[10:]
    members = lambda many: gzip.compress(b"") * many + plain
    for name, silent in ("name", name_of), ("blocks", blocks), ("members", members):
        for many, right, said in (100, 0, ""), (1 << 18, 16, "say nothing"):
            file = Path(bombs, f"{name}-{many}.bundle")
            file.write_bytes(silent(many))
            cases.append((file, right, "60", said))
    # As many authors as may be, of whom one counted.
    header, author, *ranges = exported.read_bytes().splitlines(keepends=True)
    authors = [author.replace(b'"worker":"', b'"worker":"%d' % number) for number in range(100_000)]
    many = Path(bombs, "many-authors.bundle")
    many.write_bytes(b"".join((header.replace(b'"authors":1,', b'"authors":100000,'), *authors, *ranges)))
    cases.append((many, 0, "60", ""))
    # A shard without tasks leaves nothing to count again.
    head = json.loads(exported.read_bytes().splitlines()[0])
    head |= {"shard": 30, "shards": 40, "covered": 0, "counted": "0", "authors": 0, "ranges": 0}
    empty = Path(bombs, "empty.bundle")
    empty.write_text(json.dumps(head, separators=(",", ":")) + "\n")
    cases.append((empty, 2, "60", "nothing was checked"))
    # A version that is no short number is no version; a kernel that no program has does not count.
    plain, author = exported.read_bytes(), b'"kernel":"'
    for name, before, after, said in (
        ("long-version", b'"queens_bundle":1,', b'"queens_bundle":4294967296,', "line 1 is no header"),
        ("kernel", plain.split(author)[1].split(b'"')[0].join((author, b'"')), author + b'search"', "line 2"),
    ):
        file = Path(bombs, f"{name}.bundle")
        file.write_bytes(plain.replace(before, after))
        cases.append((file, 16, "60", said))
    wrong = [text for texts in pool.map(judge, cases) for text in texts]
# A bundle that changes between two of its readings is neither sound nor wrong.
for changed in (exported.read_bytes().replace(b'"count":"', b'"count":"1', 1), (HERE / "corpus/good/part-2-of-3.bundle").read_bytes()):
    for reading in (2, 3):
        if not (said := changes_before(reading, exported.read_bytes(), changed)).startswith("the bundle changed"):
            wrong.append(f"a bundle that changes before reading {reading}: {said}")
# Nor is one of which a half was read while somebody wrote it.
for whole in exported.read_bytes(), gzip.compress(exported.read_bytes()):
    for half in whole[:1], whole[:-9]:
        if (code := written_meanwhile(whole, half)) != 2:
            wrong.append(f"a bundle of which {len(half)} bytes are left meanwhile: exit code {code}")
# A test vector of the specification, which is longer than what is hashed at a time.
if hashed(bytes(i % 251 for i in range(102_400))).hex() != "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085":
    wrong.append("BLAKE3 is computed wrongly")
wrong += [f"{plan.__name__}: {most(plan.__name__, 8, 8)}" for plan in (prefixes, rows) if max(map(sum, plan(8, 8))) != most(plan.__name__, 8, 8)]
for text in wrong:
    print(text, file=sys.stderr)
print(f"{len(cases) - len(wrong)} of {len(cases)} bundles are judged right")
sys.exit(bool(wrong))
