#!/usr/bin/env python3
"""Writes the corpus from the bundles in exported/, which `queens export` has written: good ones, and bad ones, each with one
thing wrong."""

import copy
import gzip
import json
import shutil
import sys
from itertools import islice
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from plans import rows  # noqa: E402
from queens_verify import blake3, digest  # noqa: E402

NUMBERS = {"policies": "policy", "trust": "trust", "authors": "author", "ranges": "range", "audits": "audit", "disputes": "dispute"}


def bundle(head, lines):
    """The bundle's bytes, with the numbers of its lines in the header."""
    numbers = {name: sum(kind in line for line in lines) for name, kind in NUMBERS.items()}
    spelled = [json.dumps(line, separators=(",", ":"), ensure_ascii=False).encode() for line in [head | numbers, *lines]]
    return b"\n".join([*spelled, b""])


def read(name):
    head, *lines = map(json.loads, (HERE / "exported" / f"{name}.bundle").read_bytes().splitlines())
    return head, lines


def row(first, past, by):
    """The count of some tasks of the plan of rows-8."""
    plan = bytes.fromhex(read("rows-8")[0]["fingerprint"])
    counts = [sum(task) for task in islice(rows(8, 2), first, past)]
    sum_of_digests = sum(digest(plan, ordinal, count) for ordinal, count in enumerate(counts, first)) % 2**128
    return {"first": first, "past": past, "count": str(sum(counts)), "digest": f"{sum_of_digests:032x}", "by": by, "busy_us": 1, "at": 5}


def author(owner, machine, kernel):
    return {"author": {"owner": owner, "machine": machine, "worker": machine + "-1", "build": "0.1.0", "kernel": kernel}}


def policy(across, share):
    return {"policy": {"share_ppm": share, "by_reference": False, "across": across, "asked_at": 3}}


def audited(across, owner):
    """Every range of rows-8 counted twice, by machines of `b` and of this owner; one count was overruled."""
    trust = {"trust": {"owner": "c", "machine": None, "trusted": False, "reason": "proven wrong", "at": 4}}
    lines = [policy("machines", 0), policy(across, 1_000_000), trust, author(owner, "one", "avx2"), author("b", "two", "neon mirrored")]
    for first, past in ((0, 7), (7, 14), (14, 21)):
        lines.append({"range": {"audit": "agreed", "row": row(first, past, 0), "counts": None}})
        lines.append({"audit": {"row": row(first, past, 1)}})
    return read("rows-8")[0], [*lines, {"dispute": {"state": "settled", "row": row(7, 14, 1) | {"count": "999"}}}]


def part():
    """The second of three parts of rows-8: three blocks in a hundred and ninety-two, as far as there are tasks."""
    head, (by, *_) = read("rows-8")
    ranges = [{"range": {"audit": "not_chosen", "row": row(at, at + 1, 0), "counts": None}} for at in range(1, 21, 3)]
    count = sum(int(line["range"]["row"]["count"]) for line in ranges)
    return head | {"shard": 2, "shards": 3, "covered": len(ranges), "counted": str(count)}, [by, *ranges]


def unfinished(state):
    """A job that has the first of two ranges of rows-8."""
    head, lines = read("rows-8")
    first = lines[1]["range"]["row"]
    return head | {"state": state, "covered": first["past"], "counted": first["count"]}, lines[:2]


def changed(of, change):
    """A bundle after a change of its header and its lines."""
    head, lines = copy.deepcopy(of)
    change(head, lines)
    return bundle(head, lines)


def bad():
    plain, told = read("rows-8"), read("colours-12-told")
    machines, owners = audited("machines", "b"), audited("owners", "a")
    text, more_line = bundle(*plain), bundle({}, [author("a", "one", "avx2")]).split(b"\n")[1] + b"\n"
    row_of = lambda line: next(iter(line.values()))["row"]

    def more_and_less(head, lines):
        for line, by in (lines[1], 1), (lines[2], -1):
            row_of(line)["count"] = str(int(row_of(line)["count"]) + by)

    def one_too_few(head, lines):
        # The digest fits the tasks that are left, and the last one counts nothing.
        of, counts = row_of(lines[1]), lines[1]["range"]["counts"]
        last = digest(bytes.fromhex(head["fingerprint"]), of["past"] - 1, int(counts.pop()))
        of["digest"] = f"{(int(of['digest'], 16) - last) % 2**128:032x}"

    def tell(head, line, change):
        """Changes the counts of a range's tasks, and its digest with them."""
        of, counts = row_of(line), list(map(int, line["range"]["counts"]))
        change(counts)
        digests = (digest(bytes.fromhex(head["fingerprint"]), ordinal, count) for ordinal, count in enumerate(counts, of["first"]))
        of.update(count=str(sum(counts)), digest=f"{sum(digests) % 2**128:032x}")
        line["range"]["counts"] = list(map(str, counts))

    def move(counts):
        # Of each two tasks one counts less by one, the other one more.
        for at in range(0, len(counts) - 1, 2):
            if counts[at]:
                counts[at : at + 2] = counts[at] - 1, counts[at + 1] + 1

    def more_than_can_be(head, lines):
        # No task of N = 12 counts more than 8 x 6! x 6!. While a job runs, its total is not
        # compared.
        tell(head, lines[1], lambda counts: counts.__setitem__(0, 8 * 720**2 + 1))
        head.update(state="running", counted=str(sum(int(row_of(line)["count"]) for line in lines[1:])))

    return {
        "file-without-its-last-byte": text[:-1],
        "file-with-a-line-more": text + more_line,
        "file-compressed-and-cut-off": gzip.compress(text, mtime=0)[:-20],
        "file-compressed-and-changed": gzip.compress(text, mtime=0)[:-8] + bytes(8),
        "file-compressed-and-more": gzip.compress(text, mtime=0) + b"more",
        "file-compressed-and-zeros": gzip.compress(text, mtime=0) + bytes(512),
        "spelling-blank": text.replace(b'":', b'": ', 1),
        "spelling-sign": text.replace(b'"count":"56"', b'"count":"+56"', 1),
        "spelling-extra-field": changed(plain, lambda head, lines: lines[1]["range"].update(more=1)),
        "header-total": changed(plain, lambda head, lines: head.update(counted="93")),
        "header-of-another-plan": changed(plain, lambda head, lines: head.update(n=9)),
        "range-more-and-less": changed(plain, more_and_less),
        "range-digest": changed(plain, lambda head, lines: row_of(lines[1]).update(digest="0" * 32)),
        "range-out-of-order": changed(plain, lambda head, lines: lines.append(lines.pop(1))),
        "range-missing": bundle(*unfinished("done")),
        "range-of-another-part": changed(part(), lambda head, lines: head.update(shard=3)),
        "range-unknown-author": changed(plain, lambda head, lines: row_of(lines[1]).update(by=1)),
        "range-more-than-can-be": changed(unfinished("running"), lambda head, lines: (row_of(lines[1]).update(count="99999"), head.update(counted="99999"))),
        "audit-by-the-same-machine": changed(machines, lambda head, lines: row_of(lines[6]).update(by=0)),
        "audit-by-the-same-owner": changed(owners, lambda head, lines: lines[4]["author"].update(owner="a")),
        "audit-differs": changed(machines, lambda head, lines: row_of(lines[6]).update(count="1")),
        "audit-without-range": changed(machines, lambda head, lines: lines.insert(5, lines.pop(6))),
        "audit-dispute-open": changed(machines, lambda head, lines: lines[-1]["dispute"].update(state="open")),
        "audit-policy-behind-trust": changed(machines, lambda head, lines: lines.insert(2, lines.pop(1))),
        "tasks-do-not-add-up": changed(told, lambda head, lines: row_of(lines[1]).update(digest="0" * 32)),
        "tasks-one-too-few": changed(told, one_too_few),
        "tasks-moved": changed(told, lambda head, lines: [tell(head, line, move) for line in lines[1:]]),
        "tasks-more-than-can-be": changed(told, more_than_can_be),
        "tasks-of-another-method": changed(plain, lambda head, lines: lines[1]["range"].update(counts=[str(sum(task)) for task in islice(rows(8, 2), 16)])),
    }  # fmt: skip


FOLDERS = {
    "good": {
        "audited-across-machines": bundle(*audited("machines", "b")),
        # An owner's name needs every kind of escape.
        "audited-across-owners": bundle(*audited("owners", 'é"\\\n\x1b')),
        "audit-not-finished": changed(read("rows-8"), lambda head, lines: lines[1]["range"].update(audit="wanted")),
        "part-2-of-3": bundle(*part()),
        "compressed": gzip.compress(bundle(*part()), mtime=0),
    },
    "bad": bad(),
    "unfinished": {"running": bundle(*unfinished("running"))},
    "unknown": {"version-2": changed(read("rows-8"), lambda head, lines: head.update(queens_bundle=2))},
}
for folder, bundles in FOLDERS.items():
    shutil.rmtree(HERE / folder, ignore_errors=True)
    (HERE / folder).mkdir()
    for name, content in bundles.items():
        (HERE / folder / f"{name}.bundle").write_bytes(content)
