#!/usr/bin/env python3
"""Writes the corpus: good bundles as variations of what `queens export` has written (exported/), and bad ones, each with
one thing wrong."""

import copy
import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from plans import Rows, search  # noqa: E402
from queens_verify import blake3, little  # noqa: E402

NUMBERS = {"policies": "policy", "trust": "trust", "authors": "author", "ranges": "range", "audits": "audit", "disputes": "dispute"}


def spelled(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def bundle(head, lines):
    """The bundle's bytes, with the numbers of its lines in the header."""
    lines = [line if isinstance(line, bytes) else spelled(line) for line in lines]
    numbers = {name: sum(line.startswith(b'{"%s"' % kind.encode()) for line in lines) for name, kind in NUMBERS.items()}
    return b"\n".join([spelled(head | numbers), *lines, b""])


def read(name):
    head, *lines = map(json.loads, (HERE / "exported" / f"{name}.bundle").read_bytes().splitlines())
    return head, lines


def row(first, past, by, plan):
    """The count of some tasks of N = 8 by the first two rows."""
    counts = [weight * search(allowed, worth) for weight, allowed, worth in Rows(8, 2).tasks(first, past)]
    texts = (plan + at.to_bytes(8, "little") + count.to_bytes(8, "little") for at, count in enumerate(counts, first))
    digest = sum(little(blake3(text)[:16]) for text in texts) % (1 << 128)
    return {"first": first, "past": past, "count": str(sum(counts)), "digest": f"{digest:032x}", "by": by, "busy_us": 1, "at": 5}


def author(owner, machine, kernel="avx2"):
    return {"author": {"owner": owner, "machine": machine, "worker": machine + "-1", "build": "0.1.0", "kernel": kernel}}


def policy(across="machines", share=1_000_000):
    text = "queens audit commitment; seed 7; salt " + "0f" * 16
    revealed = {"seed": "7", "salt": "0f" * 16}
    return {"policy": {"share_ppm": share, "by_search": False, "across": across, "commitment": blake3(text.encode()).hex(),
                       "revealed": revealed, "asked_at": 3}}  # fmt: skip


def audited(across="machines"):
    """Every range counted twice, by machines of two owners; one count was overruled."""
    head, _ = read("rows-8")
    plan = bytes.fromhex(head["fingerprint"])
    trust = {"trust": {"owner": "b", "machine": None, "trusted": False, "reason": "proven wrong", "at": 4}}
    lines = [policy("machines", 0), policy(across), trust, author("a", "one"), author("b", "two", "neon mirrored")]
    for first, past in ((0, 7), (7, 14), (14, 21)):
        lines.append({"range": {"audit": "agreed", "row": row(first, past, 0, plan), "counts": None}})
        lines.append({"audit": {"row": row(first, past, 1, plan)}})
    wrong = {**row(7, 14, 1, plan), "count": "999"}
    return head, [*lines, {"dispute": {"state": "settled", "row": wrong}}]


def changed(of, change):
    """A copy of a bundle after a change of its header and its lines."""
    head, lines = copy.deepcopy(of)
    change(head, lines)
    return bundle(head, lines)


def part():
    """The second of three parts of the plan: three blocks in a hundred and ninety-two, as far as there are tasks."""
    head, _ = read("rows-8")
    plan, ordinals = bytes.fromhex(head["fingerprint"]), range(1, 21, 3)
    lines = [{"range": {"audit": "not_chosen", "row": row(at, at + 1, 0, plan), "counts": None}} for at in ordinals]
    count = sum(int(line["range"]["row"]["count"]) for line in lines)
    head |= {"shard": 2, "shards": 3, "covered": len(lines), "counted": str(count)}
    return head, [author("a", "one"), *lines]


def unfinished(state):
    """A job that has one of two ranges."""
    head, lines = read("rows-8")
    first = lines[1]["range"]["row"]
    return head | {"state": state, "covered": first["past"], "counted": first["count"]}, lines[:2]


def good():
    plain = {name: bundle(*read(name)) for name in ("rows-8", "ring-8", "fundamental-10", "halves-10-told", "halves-11-told")}
    untold = changed(read("halves-10-told"), lambda head, lines: lines[1]["range"].update(counts=None))
    names = changed(read("rows-8"), lambda head, lines: lines[0]["author"].update(owner='é"\\\n\x1b'))
    return plain | {
        "audited-across-machines": bundle(*audited()),
        "audited-across-owners": bundle(*audited("owners")),
        "part-2-of-3": bundle(*part()),
        "told-in-part": untold,
        "names-with-controls": names,
    }


def bad():
    rows, told, twice = read("rows-8"), read("halves-10-told"), audited()
    first, counts = (lambda lines: lines[1]["range"]["row"]), (lambda lines: lines[1]["range"]["counts"])
    text = bundle(*rows)

    def more(head, lines):
        first(lines)["count"] = str(int(first(lines)["count"]) + 1)
        lines[2]["range"]["row"]["count"] = str(int(lines[2]["range"]["row"]["count"]) - 1)

    def swapped(head, lines):
        counts(lines)[4], counts(lines)[5] = counts(lines)[5], counts(lines)[4]

    def beyond(head, lines):
        lines[2]["range"]["row"]["past"] += 1
        head["covered"] += 1

    def missing(head, lines):
        head.update(covered=16, counted=lines[1]["range"]["row"]["count"])
        lines.pop()

    return {
        "file-empty": b"",
        "file-cut-in-a-line": text[:-5],
        "file-with-a-line-more": text + spelled(author("a", "one")) + b"\n",
        "spelling-blank": text.replace(b'":', b'": ', 1),
        "spelling-upper-case": text.replace(b'"count":"56"', b'"count":"+56"', 1),
        "spelling-extra-field": changed(rows, lambda head, lines: lines[1]["range"].update(more=1)),
        "header-total": changed(rows, lambda head, lines: head.update(counted="93")),
        "header-of-another-plan": changed(rows, lambda head, lines: head.update(n=9)),
        "part-as-a-whole": changed(part(), lambda head, lines: head.update(shard=1, shards=1)),
        "range-more-and-less": changed(rows, more),
        "range-digest": changed(rows, lambda head, lines: first(lines).update(digest="0" * 32)),
        "range-overlap": changed(rows, lambda head, lines: lines[2]["range"]["row"].update(first=15)),
        "range-beyond-the-plan": changed(rows, beyond),
        "range-missing": changed(rows, missing),
        "range-unknown-author": changed(rows, lambda head, lines: first(lines).update(by=1)),
        "range-more-than-can-be": changed(unfinished("running"), lambda head, lines: (first(lines).update(count="99999"), head.update(counted="99999"))),
        "audit-by-the-same-machine": changed(twice, lambda head, lines: lines[6]["audit"]["row"].update(by=0)),
        "audit-by-the-same-owner": changed(audited("owners"), lambda head, lines: lines[4]["author"].update(owner="a")),
        "audit-differs": changed(twice, lambda head, lines: lines[6]["audit"]["row"].update(count="1")),
        "audit-without-range": changed(twice, lambda head, lines: lines.insert(5, lines.pop(6))),
        "audit-not-chosen-but-chosen": changed(twice, lambda head, lines: (lines[5]["range"].update(audit="not_chosen"), lines.pop(6))),
        "audit-seed": changed(twice, lambda head, lines: lines[1]["policy"]["revealed"].update(seed="8")),
        "audit-hidden": changed(twice, lambda head, lines: lines[1]["policy"].update(revealed=None)),
        "audit-dispute-open": changed(twice, lambda head, lines: lines[-1]["dispute"].update(state="open")),
        "audit-policy-behind-trust": changed(twice, lambda head, lines: lines.insert(2, lines.pop(1))),
        "tasks-swapped": changed(told, swapped),
        "tasks-one-too-few": changed(told, lambda head, lines: counts(lines).pop()),
        "tasks-of-another-method": changed(rows, lambda head, lines: lines[1]["range"].update(counts=["0"] * 16)),
        "tasks-as-numbers": changed(told, lambda head, lines: lines[1]["range"].update(counts=list(map(int, counts(lines))))),
    }  # fmt: skip


FOLDERS = {
    "good": good(),
    "bad": bad(),
    "unfinished": {state: bundle(*unfinished(state)) for state in ("running", "cancelled")},
    "unknown": {f"version-{version}": changed(read("rows-8"), lambda head, lines: head.update(queens_bundle=version)) for version in (0, 2)},
}
for folder, bundles in FOLDERS.items():
    shutil.rmtree(HERE / folder, ignore_errors=True)
    (HERE / folder).mkdir()
    for name, content in bundles.items():
        (HERE / folder / f"{name}.bundle").write_bytes(content)
