#!/usr/bin/env python3
"""Writes the certificates of the corpus by plain searches: good ones, the beginnings of some, and bad ones, each with one thing
wrong. Whatever is wrong in a line is sealed again, unless the seal itself is what is wrong. The bad ones of which only the
counts are wrong are found by the draws of the value `corpus`."""

import json
import shutil
import sys
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from plans import Halves, search  # noqa: E402
from queens_certificate import CLASSES, class_of  # noqa: E402
from queens_verify import blake3, little, root  # noqa: E402


def spelled(value):
    return json.dumps(value, separators=(",", ":")).encode()


def head(n, part=1, parts=1):
    tasks = Halves(n, None).length
    plan = f"queens plan; enumeration 3; problem total; n {n}; method halves; tasks {tasks}"
    fingerprint = blake3(plan.encode()).hex()
    return {"queens_certificate": 1, "n": n, "tasks": tasks, "fingerprint": fingerprint, "shard": part, "shards": parts}


@cache
def counted(n, part=1, parts=1):
    """The subtotals of the tasks of a part."""
    plan = Halves(n, None)
    blocks = 1 if parts == 1 else min(64 * parts, plan.length)
    of_part = lambda ordinal: next(b for b in range(blocks) if ordinal < plan.length * (b + 1) // blocks) % parts == part - 1
    return [subtotals(plan, ordinal) for ordinal in range(plan.length) if of_part(ordinal)]


def subtotals(plan, ordinal):
    counts = [0] * CLASSES
    [(weight, allowed, worth)] = plan.tasks(ordinal, ordinal + 1)

    def see(queens):
        counts[class_of(queens)] += weight * worth(queens)
        return 0

    search(allowed, see)
    return counts


def begun(head, tasks):
    return [spelled(head)] + [b" ".join(b"%d" % count for count in task) for task in tasks]


def sealed(lines, tasks, **wrong):
    """All lines with the last one, whose total and root are those of its lines, if nothing else is wanted."""
    name = root([blake3(b"\0" + line) for line in lines])
    last = {"total": str(sum(map(sum, tasks))), "merkle_root": name} | wrong
    return lines + [spelled(last)]


def drawn(lines, ordinal):
    """The class of a task that the value `corpus` draws."""
    name = root([blake3(b"\0" + line) for line in lines])
    hash = blake3(f"queens certificate; name {name}; value corpus; task {ordinal}".encode())
    return little(hash[:16]) % CLASSES


def good():
    yield from ((f"whole-{n}", sealed(begun(head(n), counted(n)), counted(n))) for n in range(4, 11))
    for part in (1, 2, 3):
        tasks = counted(9, part, 3)
        yield f"part-{part}-of-3", sealed(begun(head(9, part, 3), tasks), tasks)
    # More parts than tasks: some have none.
    for part in (3, 4):
        tasks = counted(4, part, 4)
        yield f"part-{part}-of-4", sealed(begun(head(4, part, 4), tasks), tasks)


def unfinished():
    lines = begun(head(9), counted(9))
    yield "first-line", lines[:1]
    yield "half", lines[: len(lines) // 2]
    yield "without-last-line", lines


def bad():
    tasks = list(counted(9))
    first, *rest = lines = begun(head(9), tasks)
    whole = sealed(lines, tasks)
    some = next(at for at, task in enumerate(tasks) if sum(task) > 0)
    line = rest[some]

    def instead(other):
        return [first, *rest[:some], other, *rest[some + 1 :]]

    def respelled(*words):
        return sealed(instead(line.replace(*words, 1)), tasks)

    # The seal.
    yield "total", sealed(lines, tasks, total=str(sum(map(sum, tasks)) + 1))
    yield "total-spelled", sealed(lines, tasks, total="0352")
    yield "total-as-number", sealed(lines, tasks, total=352)
    yield "root", sealed(lines, tasks, merkle_root=blake3(b"").hex())
    yield "root-of-other-lines", [*instead(rest[some - 1]), whole[-1]]
    yield "lines-exchanged", [first, *reversed(rest), whole[-1]]
    yield "last-line-with-more", sealed(lines, tasks, more=1)
    yield "last-line-twice", [*whole, whole[-1]]
    yield "line-behind-the-last", [*whole, line]
    yield "empty-line-at-the-end", [*whole, b""]
    # The spelling.
    yield "space-before", respelled(line, b" " + line)
    yield "space-behind", respelled(line, line + b" ")
    yield "two-spaces", respelled(b" ", b"  ")
    yield "tab", respelled(b" ", b"\t")
    yield "carriage-return", respelled(line, line + b"\r")
    yield "plus", respelled(b" 0", b" +0")
    yield "minus", respelled(b" 0", b" -0")
    yield "leading-zero", respelled(b" 0", b" 00")
    yield "fraction", respelled(b" 0", b" 0.0")
    yield "letter", respelled(b" 0", b" x")
    yield "digits-of-another-script", respelled(b" 0", " \u0660".encode())
    yield "26-numbers", respelled(b" 0", b"")
    yield "28-numbers", respelled(b" 0", b" 0 0")
    yield "beyond-64-bits", respelled(b" 0", b" 18446744073709551616")
    yield "empty-line", respelled(line, b"")
    # The tasks.
    yield "task-missing", sealed(lines[:-1], tasks[:-1])
    yield "task-too-many", sealed([*lines, rest[0]], [*tasks, tasks[0]])
    too_much = [[10**9] + task[1:] if at == some else task for at, task in enumerate(tasks)]
    yield "more-than-a-task-can-count", sealed(begun(head(9), too_much), too_much)
    more = [[task[0] + 8] + task[1:] if at == some else task for at, task in enumerate(tasks)]
    yield "not-the-published-total", sealed(begun(head(9), more), more)
    # The first line.
    for name, changes in {
        "version-2": {"queens_certificate": 2},
        "version-true": {"queens_certificate": True},
        "another-board": {"n": 10},
        "no-board": {"n": 3},
        "other-tasks": {"tasks": len(tasks) + 1},
        "another-fingerprint": {"fingerprint": blake3(b"").hex()},
        "another-part": {"shards": 2},
        "no-part": {"shard": 0},
        "part-beyond": {"shard": 2},
        "field-too-many": {"more": 1},
    }.items():
        yield name, sealed(begun(head(9) | changes, tasks), tasks)
    yield "other-order-of-fields", sealed(begun(dict(reversed(head(9).items())), tasks), tasks)
    yield "no-first-line", sealed(rest, tasks)
    yield "no-certificate", [b"one", b"two"]
    yield "empty", []
    # The counts. The draws hit them.
    for name, change in {
        "a-subtotal-moved": lambda task, number: moved(task, number, (number + 1) % CLASSES),
        "an-honest-task-in-one-class": lambda task, number: [0 if at != number else sum(task) for at in range(CLASSES)],
    }.items():
        yield name, hit(tasks, some, change)
    yield "two-tasks-exchanged", exchanged(tasks)


def moved(task, number, other):
    """Four placements are taken from the other class and given to the one with this number."""
    task = list(task)
    task[number] += 4
    task[other] = max(task[other] - 4, 0)
    return task


def hit(tasks, at, change):
    """Tasks of which the one at this place, or a later one, is changed where its class is drawn, and whose total stays."""
    total = sum(map(sum, tasks))
    for place in range(at, len(tasks)):
        for number in range(CLASSES):
            others = [change(task, number) if here == place else task for here, task in enumerate(tasks)]
            lines = begun(head(9), others)
            is_hit = others[place][drawn(lines, place)] != tasks[place][drawn(lines, place)]
            if sum(map(sum, others)) == total and is_hit:
                return sealed(lines, others)
    raise AssertionError("no change is hit")


def exchanged(tasks):
    """Two tasks whose lines are exchanged, which the draws hit."""
    for one in range(len(tasks)):
        for other in range(one):
            others = list(tasks)
            others[one], others[other] = tasks[other], tasks[one]
            lines = begun(head(9), others)
            if any(others[at][drawn(lines, at)] != tasks[at][drawn(lines, at)] for at in (one, other)):
                return sealed(lines, others)
    raise AssertionError("no change is hit")


for folder, certificates in {"good": good, "unfinished": unfinished, "bad": bad}.items():
    place = HERE / "certificates" / folder
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name, lines in certificates():
        (place / f"{name}.certificate").write_bytes(b"".join(line + b"\n" for line in lines))
