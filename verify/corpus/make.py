#!/usr/bin/env python3
"""Writes the corpus: good bundles as variations of what `queens export` has written (exported/), and bad ones, each with
one thing wrong. Whatever is wrong in a line is sealed again, unless the seal itself is what is wrong."""

import copy
import json
import shutil
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from ed25519 import BASE, encoded, signed  # noqa: E402
from plans import Halves, Rows, search  # noqa: E402
from queens_verify import blake3, little, root  # noqa: E402

NUMBERS = {"policies": "policy", "trust": "trust", "authors": "author", "ranges": "range", "audits": "audit", "disputes": "dispute",
           "signers": "signer", "statements": "statement", "commitments": "commitment", "task_lines": "tasks"}


def spelled(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def sealed(head, lines, seed=None):
    """The bundle's bytes, with the numbers of lines and the Merkle root that belong to its lines, signed with the key of a
    seed."""
    lines = [line if isinstance(line, bytes) else spelled(line) for line in lines]
    for name, kind in NUMBERS.items():
        if name in head:
            head[name] = sum(line.startswith(b'{"%s"' % kind.encode()) for line in lines)
    head["merkle_root"] = root([blake3(b"\0" + line) for line in lines])
    first = spelled(head)
    if seed:
        lines.append(spelled(signature(blake3(first).hex(), seed)))
    return b"\n".join([first, *lines, b""])


def signature(name, seed):
    """The last line of a bundle of this name."""
    key, signature = signed(seed, f"queens bundle; name {name}".encode())
    return {"signature": {"key": key.hex(), "signature": signature.hex()}}


def read(name):
    head, *lines = map(json.loads, (HERE / "exported" / name).read_bytes().splitlines())
    return head, lines


def row(first, past, by, fingerprint, n=8, m=2):
    """The count of some tasks of N = 8 by rows."""
    tasks = list(enumerate(Rows(n, m).tasks(first, past), first))
    counts = [(at, weight * search(allowed, worth)) for at, (weight, allowed, worth) in tasks]
    hashes = (blake3(fingerprint + at.to_bytes(8, "little") + count.to_bytes(8, "little")) for at, count in counts)
    digest = sum(little(hash[:16]) for hash in hashes) % (1 << 128)
    total = str(sum(count for _, count in counts))
    return {"first": first, "past": past, "count": total, "digest": f"{digest:032x}", "by": [by], "busy_us": 1, "at": 5}


def author(owner, machine, kernel="avx2"):
    return {"author": {"owner": owner, "machine": machine, "worker": machine + "-1", "build": "0.1.0", "kernel": kernel}}


def policy(across="machines", share=1_000_000):
    text = "queens audit commitment; seed 7; salt " + "0f" * 16
    return {"policy": {"share_ppm": share, "by_search": False, "across": across, "commitment": blake3(text.encode()).hex(),
                       "revealed": {"seed": "7", "salt": "0f" * 16}, "asked_at": 3}}  # fmt: skip


def audited(across="machines"):
    """Every range counted twice, by machines of two owners; one count was overruled."""
    head, _ = read("rows-8.bundle")
    plan = bytes.fromhex(head["fingerprint"])
    trust = {"trust": {"owner": "b", "machine": None, "trusted": False, "reason": "proven wrong", "at": 4}}
    lines = [policy("machines", 0), policy(across), trust, author("a", "one"), author("b", "two", "neon mirrored")]
    for first, past in ((0, 7), (7, 14), (14, 21)):
        lines.append({"range": {"audit": "agreed", "row": row(first, past, 0, plan)}})
        lines.append({"audit": {"row": row(first, past, 1, plan)}})
    wrong = {**row(7, 14, 1, plan), "count": "999"}
    return head, [*lines, {"dispute": {"state": "settled", "row": wrong}}]


ONE, TWO, EXPORTER = (bytes([seed]) * 32 for seed in (1, 2, 3))


def signer(seed, purpose="count", job=3):
    key, _ = signed(seed, b"")
    return {"signer": {"key": key.hex(), "ledger": "5a" * 16, "job": job, "purpose": purpose}}


def statement(by, seed, said, head, context, author):
    """What an author has signed: a row, in the context of a signer."""
    context, author = context["signer"], author["author"]
    text = (
        f"queens statement; ledger {context['ledger']}; job {context['job']}; plan {head['fingerprint']}; "
        f"range [{said['first']}, {said['past']}); count {said['count']}; digest {said['digest']}; "
        f"kernel {author['kernel']}; purpose {context['purpose']}; machine {author['machine']}"
    )
    fields = {name: said[name] for name in ("first", "past", "count", "digest")}
    return {"statement": {"by": by, **fields, "signature": signed(seed, text.encode())[1].hex()}}


def vouched():
    """Every range counted twice, and signed by two keys. The first count of [7, 14) was joined from two, of
    which each was signed; a count that was overruled is signed, too; a range is signed by nobody."""
    head, lines = audited()
    plan, one, two = bytes.fromhex(head["fingerprint"]), lines[3], lines[4]
    first, second = signer(ONE), signer(TWO, "recount")
    of_one = lambda begin, end: statement(0, ONE, row(begin, end, 0, plan), head, first, one)
    of_two = lambda begin, end: statement(1, TWO, row(begin, end, 1, plan), head, second, two)
    overruled = statement(1, TWO, lines[-1]["dispute"]["row"], head, second, two)
    order = [*lines[:6], first, of_one(0, 7), lines[6], second, of_two(0, 7), lines[7], of_one(7, 9), of_one(9, 14)]
    return head, [*order, lines[8], of_two(7, 14), *lines[9:], overruled]


def signed_without_a_secret(key, bundle):
    """A bundle whose last line says that it was signed by a key whose point is the neutral one: then S = 1, with the base point
    before it, is a signature of everything."""
    line = {"signature": {"key": key.hex(), "signature": (encoded(BASE) + (1).to_bytes(32, "little")).hex()}}
    return bundle + spelled(line) + b"\n"


VALUE = "4f2c9a71"


def rows_root(head, lines):
    """The root of the rows, as somebody commits to it."""
    said = (line["range"]["row"] for line in lines if "range" in line)
    text = "queens row; plan {plan}; range [{first}, {past}); count {count}; digest {digest}"
    texts = (text.format(plan=head["fingerprint"], **row) for row in said)
    return root([blake3(b"\0" + text.encode()) for text in texts])


def drawn_policy(of, value=VALUE, share=1_000_000):
    """An audit that a beacon drew among the counts with a root."""
    seed = little(blake3(f"queens beacon; rows {of}; value {value}".encode())[:8]) % (1 << 63)
    text = f"queens audit commitment; seed {seed}; salt " + "0" * 32
    return {"policy": {"share_ppm": share, "by_search": False, "across": "machines", "commitment": blake3(text.encode()).hex(),
                       "revealed": {"root": of, "value": value}, "asked_at": 3}}  # fmt: skip


def committed(*others, share=1_000_000):
    """The counts were committed to, and a beacon drew those that were counted twice. The lines are: a policy, the
    beacon's, a commitment, others, trust, two authors, three times a range and an audit, a dispute."""
    head, lines = audited()
    of = rows_root(head, lines)
    commitments = [{"commitment": {"root": root, "at": 2}} for root in (of, *others)]
    return head, [lines[0], drawn_policy(of, share=share), *commitments, *lines[2:]]


def drawn_in_vain(*later):
    """What a beacon drew was not counted again: later audits were ordered instead, or the second counts are missing."""
    head, lines = committed()
    lines = [line for line in lines if "audit" not in line]
    for line in lines:
        if later and "range" in line:
            line["range"]["audit"] = "not_chosen"
    return head, [*lines[:2], *later, *lines[2:]]


def drawn_across_owners():
    """A beacon drew what another owner was to count again. It was counted again by another machine of the same owner, as an audit
    that was ordered later allows."""
    head, lines = committed()
    lines[1]["policy"]["across"] = "owners"
    lines[5]["author"]["owner"] = "a"
    return head, [*lines[:2], policy(share=0), *lines[2:]]


def digested(head, row, counts):
    """Gives a row the digest of what its tasks count."""
    plan = bytes.fromhex(head["fingerprint"])
    each = enumerate(map(int, counts), row["first"])
    hashes = (blake3(plan + at.to_bytes(8, "little") + count.to_bytes(8, "little")) for at, count in each)
    row.update(digest=f"{sum(little(hash[:16]) for hash in hashes) % (1 << 128):032x}")


def told():
    """N = 10 in two ranges, of which the first has tasks on both sides of a multiple of 64."""
    head, lines = read("halves-10-told.bundle")
    counts = [int(count) for line in lines if "tasks" in line for count in line["tasks"]["counts"]]
    made = lines[:1]
    for first, past in ((0, 68), (68, 71)):
        row = {**lines[1]["range"]["row"], "first": first, "past": past, "count": str(sum(counts[first:past]))}
        digested(head, row, counts[first:past])
        made.append({"range": {"audit": "not_chosen", "row": row}})
        for begin, end in [(first, 64), (64, past)] if first < 64 else [(first, past)]:
            made.append({"tasks": {"first": begin, "counts": [str(count) for count in counts[begin:end]]}})
    return head, made


def half_told():
    """Only the tasks of the second range are told."""
    head, lines = told()
    head.update(tasks_told=3)
    return head, [*lines[:2], *lines[4:]]


def told_and_signed():
    """A range whose tasks are told, and which is signed and was counted twice."""
    head, lines = told()
    first, signer_line = lines[1]["range"], signer(ONE)
    first["audit"] = "agreed"
    second = {"audit": {"row": {**first["row"], "by": [1]}}}
    said = statement(0, ONE, first["row"], head, signer_line, lines[0])
    return head, [policy(share=0), *lines[:1], author("b", "two"), *lines[1:4], signer_line, said, second, *lines[4:]]


def part(number, parts=3, state="done"):
    """One of three parts of N = 8: single tasks, because there are fewer tasks than blocks."""
    head, _ = read("rows-8.bundle")
    plan = bytes.fromhex(head["fingerprint"])
    rows = [row(task, task + 1, 0, plan) for task in range(number - 1, 21, parts)]
    counted = sum(int(row["count"]) for row in rows)
    head.update(shard=number, shards=parts, state=state, covered=len(rows), counted=str(counted))
    return head, [author("a", "one")] + [{"range": {"audit": "not_chosen", "row": row}} for row in rows]


def no_part():
    """The 25th of 30 parts of N = 8: there are 21 tasks, so it has none."""
    head, _ = read("rows-8.bundle")
    head.update(shard=25, shards=30, covered=0, counted="0")
    return head, []


def of_problem(problem):
    """All of N = 8, as the plan of another problem."""
    head, lines = read("rows-8.bundle")
    text = f"queens plan; enumeration 1; problem {problem}; n 8; method rows; rows 2; tasks 21"
    head.update(problem=problem, fingerprint=blake3(text.encode()).hex())
    plan = bytes.fromhex(head["fingerprint"])
    return sealed(head, [lines[0], {"range": {"audit": "not_chosen", "row": row(0, 21, 0, plan)}}])


def unfinished(state):
    head, lines = audited()
    del lines[-3:-1]
    head.update(state=state, covered=14, counted=str(sum(int(line["range"]["row"]["count"]) for line in lines if "range" in line)))
    return head, lines


GOOD = {
    "audited-across-machines": sealed(*audited()),
    "audited-across-owners": sealed(*audited("owners")),
    "part-2-of-3": sealed(*part(2)),
    "part-25-of-30-of-21-tasks": sealed(*no_part()),
    "names-with-controls": None,
    "drawn-by-a-beacon": sealed(*committed(), EXPORTER),
    "committed-to-other-counts-too": sealed(*committed("5a" * 32)),
    "drawn-and-replaced-by-no-audit": sealed(*drawn_in_vain(policy(share=0))),
    "drawn-without-second-counts": sealed(*drawn_in_vain()),
    "drawn-across-owners-and-counted-by-one": sealed(*drawn_across_owners()),
    "told": sealed(*told()),
    "told-in-part": sealed(*half_told()),
    "told-and-signed": sealed(*told_and_signed(), EXPORTER),
    "signed": sealed(*vouched(), EXPORTER),
    "signed-by-workers-alone": sealed(*vouched()),
}


def named(name):
    head, lines = read("rows-8.bundle")
    lines[0]["author"]["owner"] = name
    return sealed(head, lines)


def by_gpu():
    head, lines = read("halves-10.bundle")
    lines[0]["author"]["kernel"] = "gpu"
    return sealed(head, lines)


GOOD["names-with-controls"] = named('é"\\\n\x1b[31m\u200b')
GOOD["counted-by-a-gpu"] = by_gpu()
def of_version(version):
    head, lines = read("rows-8.bundle")
    head.update(queens_bundle=version)
    return sealed(head, lines)


UNKNOWN = {f"version-{version}": of_version(version) for version in (0, 2, (1 << 32) - 1)}
UNFINISHED = {state: sealed(*unfinished(state)) for state in ("running", "paused", "cancelled", "held")}


def bad():
    """Names and bytes of bad bundles."""
    plain, twice, third = read("rows-8.bundle"), audited(), part(2)
    good = sealed(*copy.deepcopy(plain))

    def edit(change, base=plain):
        head, lines = copy.deepcopy(base)
        change(head, lines)
        return sealed(head, lines)

    def forged(change, seed=EXPORTER):
        """A bundle with signatures, changed, and signed by who exports it."""
        head, lines = vouched()
        change(head, lines)
        return sealed(head, lines, seed)

    def text(name, old, new, of=good):
        """Bytes replaced, and sealed again if they are not in the header."""
        assert old in of, (name, old)
        head, *lines = of.split(b"\n")[:-1]
        if old in head:
            return name, of.replace(old, new, 1)
        lines = b"\n".join(lines).replace(old, new, 1).split(b"\n")
        return name, sealed(json.loads(head), lines)

    # The header.
    for field, value in [
        ("queens_bundle", "1"), ("queens_bundle", True), ("program", 1),
        ("exported_at", "0"), ("exported_at", 1 << 63), ("problem", "totals"), ("problem", "fundamental"), ("n", 9),
        ("n", "8"), ("n", -8), ("method", "diagonals"), ("method", "ring"), ("parameter", 3), ("parameter", None),
        ("parameter", 1 << 32), ("tasks", 22), ("fingerprint", "0" * 64), ("fingerprint", "0" * 62), ("shard", 0),
        ("shard", 2), ("shards", 0), ("shards", 2), ("state", "finished"), ("covered", 20), ("counted", "93"),
        ("counted", 92), ("counted", "-92"), ("counted", str(1 << 128)),
    ]:  # fmt: skip
        yield f"header-{field}-{str(value)[:12]}", edit(lambda head, _: head.update({field: value}))
    for field in NUMBERS:
        number = plain[0][field]
        yield text(f"number-of-{field}", b'"%s":%d' % (field.encode(), number), b'"%s":%d' % (field.encode(), number + 1))
    yield text("merkle-root", b'"merkle_root":"', b'"merkle_root":"0')
    yield "header-problem-with-another-text", of_problem("total N=8\ncounted   99999 by eight owners,")
    yield "header-version-beyond-32-bits", edit(lambda head, _: head.update(queens_bundle=1 << 32))
    # One content has one spelling.
    count = b'"count":"%s"' % plain[1][1]["range"]["row"]["count"].encode()
    for name, old, new in [
        ("plus", b'"count":"', b'"count":"+'), ("zero", b'"count":"', b'"count":"0'), ("blank", b'"count":"', b'"count":" '),
        ("number", count, count.replace(b'"', b"").replace(b"count", b'"count"')), ("space", b'"past":', b'"past": '),
        ("float", b'"first":0', b'"first":0.0'), ("exponent", b'"first":0', b'"first":0e0'), ("minus", b'"first":0', b'"first":-0'),
        ("upper-case", b'"kernel":"avx512"', b'"kernel":"AVX512"'), ("extra-field", b'{"author":{', b'{"author":{"a":1,'),
        ("missing-field", b'"audit":"not_chosen",', b""), ("two-fields", b'"busy_us":', b'"busy_us":1,"busy_us":'),
        ("order", b'"owner":"local","machine":"vm"', b'"machine":"vm","owner":"local"'), ("escape", b'"vm"', b'"\\u0076m"'),
        ("bool", b'"first":0', b'"first":false'), ("null", b'"machine":"vm"', b'"machine":null'), ("return", b"}}\n", b"}}\r\n"),
        ("nan", b'"busy_us":', b'"busy_us":NaN,"x":'), ("list", b'{"author":', b'[{"author":'), ("kind", b'{"author":', b'{"writer":'),
        ("utf-8", b'"vm"', b'"\xff"'), ("surrogate", b'"vm"', b'"\\ud800"'), ("empty-line", b'{"author":', b'\n{"author":'),
    ]:  # fmt: skip
        yield text(f"spelling-{name}", old, new)
    digest = plain[1][1]["range"]["row"]["digest"].encode()
    yield text("spelling-digest-upper-case", digest, digest.upper())
    yield text("spelling-digest-short", digest, digest[1:])
    # The file.
    yield "file-empty", b""
    yield "file-only-a-line-feed", b"\n"
    yield "file-without-its-last-line-feed", good[:-1]
    yield "file-cut-in-a-line", good[:-40]
    yield "file-cut-behind-a-line", b"\n".join(good.split(b"\n")[:-2]) + b"\n"
    yield "file-with-a-line-more", good + good.split(b"\n")[-2] + b"\n"
    yield "file-with-a-mark", b"\xef\xbb\xbf" + good
    yield "file-with-lines-swapped", b"\n".join([*good.split(b"\n")[:2], *reversed(good.split(b"\n")[2:4]), b""])
    yield "file-with-a-long-line", good.replace(b'"worker":"vm"', b'"worker":"%s"' % (b"v" * 70_000), 1)
    yield "line-changed-and-not-sealed", good.replace(b'"busy_us":', b'"busy_us":1', 1)
    # Ranges.
    first = lambda lines: next(line["range"] for line in lines if "range" in line)["row"]
    last = lambda lines: [line["range"] for line in lines if "range" in line][-1]["row"]
    plus = lambda row, more: row.update(count=str(int(row["count"]) + more))
    for name, change in {
        "gap": lambda head, lines: last(lines).update(first=last(lines)["first"] + 1),
        "overlap": lambda head, lines: last(lines).update(first=last(lines)["first"] - 1),
        "empty": lambda head, lines: first(lines).update(past=0),
        "backwards": lambda head, lines: last(lines).update(past=last(lines)["first"] - 1),
        "beyond-the-plan": lambda head, lines: last(lines).update(past=22),
        "far-beyond-the-plan": lambda head, lines: last(lines).update(past=1 << 63),
        "missing": lambda head, lines: lines.pop(),
        "missing-and-said": lambda head, lines: (head.update(covered=16, counted=first(lines)["count"]), lines.pop()),
        "swapped": lambda head, lines: lines.reverse(),
        "twice": lambda head, lines: lines.append(lines[-1]),
        "more-and-less": lambda head, lines: (plus(first(lines), 1), plus(last(lines), -1)),
        "more": lambda head, lines: plus(first(lines), 8),
        "more-and-said": lambda head, lines: (plus(first(lines), 8), head.update(counted="100")),
        "more-than-can-be": lambda head, lines: (plus(first(lines), 1 << 40), head.update(counted=str(92 + (1 << 40)))),
        "digest": lambda head, lines: first(lines).update(digest="0" * 32),
        "digests-swapped": lambda head, lines: first(lines).update(digest=last(lines)["digest"]),
        "unknown-author": lambda head, lines: first(lines).update(by=[1]),
        "no-author": lambda head, lines: first(lines).update(by=[]),
        "author-twice": lambda head, lines: first(lines).update(by=[0, 0]),
        "wanted": lambda head, lines: lines[1]["range"].update(audit="wanted"),
        "unknown-audit": lambda head, lines: lines[1]["range"].update(audit="maybe"),
        "author-behind": lambda head, lines: lines.append(lines.pop(0)),
        "same-author-twice": lambda head, lines: lines.insert(1, lines[0]),
        "unknown-kernel": lambda head, lines: lines[0]["author"].update(kernel="abacus"),
        "audit-without-range": lambda head, lines: lines.insert(1, {"audit": {"row": first(lines)}}),
        "audit-of-what-is-not-chosen": lambda head, lines: lines.insert(2, {"audit": {"row": first(lines)}}),
    }.items():
        yield f"range-{name}", edit(change)
    # Second counts, policies, disputes, trust.
    second = lambda lines: next(line["audit"] for line in lines if "audit" in line)["row"]
    for name, change in {
        "differs": lambda head, lines: plus(second(lines), 1),
        "digest-differs": lambda head, lines: second(lines).update(digest="1" * 32),
        "range-differs": lambda head, lines: second(lines).update(past=6),
        "by-the-same": lambda head, lines: second(lines).update(by=[0]),
        "by-both": lambda head, lines: second(lines).update(by=[0, 1]),
        "by-the-same-machine": lambda head, lines: lines[4]["author"].update(owner="a", machine="one"),
        "by-the-same-owner": lambda head, lines: (lines[4]["author"].update(owner="a"), lines[1]["policy"].update(across="owners")),
        "twice": lambda head, lines: lines.insert(7, lines[6]),
        "of-a-range-not-chosen": lambda head, lines: lines[5]["range"].update(audit="not_chosen"),
        "of-a-range-that-waits": lambda head, lines: lines[5]["range"].update(audit="wanted"),
        "not-chosen-but-chosen": lambda head, lines: (lines[5]["range"].update(audit="not_chosen"), lines.pop(6)),
        "commitment": lambda head, lines: lines[0]["policy"].update(commitment="0" * 64),
        "seed": lambda head, lines: lines[1]["policy"]["revealed"].update(seed="8"),
        "seed-too-large": lambda head, lines: lines[1]["policy"]["revealed"].update(seed=str(1 << 64)),
        "salt": lambda head, lines: lines[1]["policy"]["revealed"].update(salt="00" * 16),
        "hidden": lambda head, lines: lines[1]["policy"].update(revealed=None),
        "share-beyond-all": lambda head, lines: lines[0]["policy"].update(share_ppm=1_000_001),
        "across-nobody": lambda head, lines: lines[0]["policy"].update(across="nobody"),
        "policy-behind-trust": lambda head, lines: lines.insert(2, lines.pop(1)),
        "trust-behind-authors": lambda head, lines: lines.insert(4, lines.pop(2)),
        "trust-behind-ranges": lambda head, lines: lines.append(lines.pop(2)),
        "dispute-open": lambda head, lines: lines[-1]["dispute"].update(state="open"),
        "dispute-unknown": lambda head, lines: lines[-1]["dispute"].update(state="lost"),
        "dispute-by-nobody": lambda head, lines: lines[-1]["dispute"]["row"].update(by=[9]),
        "dispute-before-ranges": lambda head, lines: lines.insert(5, lines.pop()),
    }.items():
        yield f"audit-{name}", edit(change, twice)
    # Signatures. The lines are: two policies, trust, two authors, a range, a signer, its statement, an audit, a signer, its
    # statement, a range, two statements, an audit, its statement, a range, an audit, a dispute, its statement.
    flip = lambda text, at=0: text[:at] + format(int(text[at], 16) ^ 1, "x") + text[at + 1 :]
    said = lambda lines, at: lines[at]["statement"]
    order = 2**252 + 27742317777372353535851937790883648493

    def malleable(head, lines):
        """The same signature with a larger number, which also solves the equation."""
        bytes_of = bytes.fromhex(said(lines, 7)["signature"])
        number = little(bytes_of[32:]) + order
        said(lines, 7).update(signature=(bytes_of[:32] + number.to_bytes(32, "little")).hex())

    def count_and_statement(head, lines):
        """A count that its author has not signed, with a statement that fits it."""
        for line in (lines[5]["range"]["row"], said(lines, 7), lines[8]["audit"]["row"], said(lines, 10)):
            plus(line, 8)
        head.update(counted=str(int(head["counted"]) + 8))

    for name, change in {
        "altered": lambda head, lines: said(lines, 7).update(signature=flip(said(lines, 7)["signature"])),
        "altered-at-its-end": lambda head, lines: said(lines, 7).update(signature=flip(said(lines, 7)["signature"], 70)),
        "with-a-larger-number": malleable,
        "of-nothing": lambda head, lines: said(lines, 7).update(signature="0" * 128),
        "short": lambda head, lines: said(lines, 7).update(signature=said(lines, 7)["signature"][2:]),
        "of-another-range": lambda head, lines: said(lines, 7).update(signature=said(lines, 12)["signature"]),
        "of-the-second-count": lambda head, lines: said(lines, 7).update(signature=said(lines, 10)["signature"]),
        "by-another-key": lambda head, lines: lines[6]["signer"].update(key=lines[9]["signer"]["key"]),
        "by-no-key": lambda head, lines: lines[6]["signer"].update(key="ff" * 32),
        "of-another-job": lambda head, lines: lines[6]["signer"].update(job=4),
        "of-another-ledger": lambda head, lines: lines[6]["signer"].update(ledger="00" * 16),
        "for-another-purpose": lambda head, lines: lines[6]["signer"].update(purpose="recount"),
        "for-no-purpose": lambda head, lines: lines[6]["signer"].update(purpose="both"),
        "of-another-machine": lambda head, lines: lines[3]["author"].update(machine="three"),
        "by-another-kernel": lambda head, lines: lines[3]["author"].update(kernel="portable"),
        "of-another-count": lambda head, lines: plus(said(lines, 7), 8),
        "of-another-digest": lambda head, lines: said(lines, 7).update(digest=said(lines, 12)["digest"]),
        "of-a-count-that-was-not-signed": count_and_statement,
        "of-a-part-alone": lambda head, lines: lines.pop(13),
        "of-parts-in-another-order": lambda head, lines: lines.insert(12, lines.pop(13)),
        "of-a-part-twice": lambda head, lines: lines.insert(13, lines[12]),
        "behind-the-whole": lambda head, lines: lines.insert(8, lines[7]),
        "behind-another-count": lambda head, lines: lines.insert(8, lines.pop(7)),
        "before-all-counts": lambda head, lines: (lines.insert(5, lines.pop(6)), lines.insert(6, lines.pop(7))),
        "by-an-unknown-signer": lambda head, lines: said(lines, 7).update(by=2),
        "before-its-signer": lambda head, lines: lines.insert(7, lines.pop(6)),
        "by-two-signers": lambda head, lines: said(lines, 13).update(by=1),
        "by-a-signer-twice": lambda head, lines: lines.insert(9, lines[6]),
        "of-two-authors": lambda head, lines: lines[5]["range"]["row"].update(by=[0, 1]),
        "of-an-overruled-count": lambda head, lines: plus(lines[-2]["dispute"]["row"], 1),
        "without-numbers": lambda head, lines: (head.pop("signers"), head.pop("statements")),
    }.items():
        yield f"signature-{name}", forged(change)
    whole = sealed(*vouched(), EXPORTER)
    *before, end = whole.splitlines()
    exported = json.loads(end)["signature"]
    other = signature(blake3(before[0]).hex(), ONE)["signature"]
    for name, line in {
        "altered": {**exported, "signature": flip(exported["signature"])},
        "by-another-key": {**exported, "key": other["key"]},
        "of-another-bundle": signature("00" * 32, EXPORTER)["signature"],
        "of-another-field": {**exported, "name": "x"},
    }.items():
        yield f"exporter-{name}", whole.replace(end, spelled({"signature": line}))
    yield "exporter-without-a-secret", signed_without_a_secret(b"\1" + bytes(31), sealed(*vouched()))
    yield "exporter-without-a-secret-spelled-otherwise", signed_without_a_secret(b"\1" + bytes(30) + b"\x80", sealed(*vouched()))
    yield "exporter-twice", whole + end + b"\n"
    yield "exporter-not-last", whole + before[-1] + b"\n"
    yield "exporter-of-a-changed-header", whole.replace(b'"exported_at":', b'"exported_at":1', 1)
    yield text("number-of-signers", b'"signers":2', b'"signers":3', sealed(*vouched()))
    yield text("number-of-statements", b'"statements":6', b'"statements":5', sealed(*vouched()))
    # What a beacon drew.
    drawn = committed()
    beacon = lambda lines: lines[1]["policy"]["revealed"]

    def share_and_unchosen(head, lines):
        """A range that the beacon's seed chooses, but that nobody counted again."""
        lines[6]["range"].update(audit="not_chosen")
        lines.pop(7)

    for name, change in {
        "another-value": lambda head, lines: beacon(lines).update(value="4f2c9a72"),
        "no-value": lambda head, lines: beacon(lines).update(value=""),
        "a-value-with-a-blank": lambda head, lines: beacon(lines).update(value="4f2c 9a71"),
        "a-value-too-long": lambda head, lines: beacon(lines).update(value="z" * 129),
        "another-root": lambda head, lines: beacon(lines).update(root="5a" * 32),
        "a-seed-beside": lambda head, lines: beacon(lines).update(seed="7"),
        "a-root-alone": lambda head, lines: beacon(lines).pop("value"),
        "counts-nobody-committed-to": lambda head, lines: lines[2]["commitment"].update(root="5a" * 32),
        "no-commitment": lambda head, lines: lines.pop(2),
        "other-counts-uncommitted": lambda head, lines: lines.__setitem__(1, drawn_policy("5a" * 32)),
        "a-range-that-was-not-counted-again": share_and_unchosen,
        "a-root-too-short": lambda head, lines: beacon(lines).update(root="0" * 63),
        "commitment-before-policies": lambda head, lines: lines.insert(0, lines.pop(2)),
        "commitment-behind-trust": lambda head, lines: lines.insert(3, lines.pop(2)),
        "commitment-behind-ranges": lambda head, lines: lines.append(lines.pop(2)),
        "commitment-of-half-a-root": lambda head, lines: lines[2]["commitment"].update(root="5a" * 31),
        "commitment-without-a-time": lambda head, lines: lines[2]["commitment"].pop("at"),
        "without-a-number": lambda head, lines: head.pop("commitments"),
    }.items():
        yield f"beacon-{name}", edit(change, drawn)
    yield text("number-of-commitments", b'"commitments":1', b'"commitments":2', sealed(*committed()))
    # What single tasks count. The lines are: an author, a range, its tasks in two lines, a range and its tasks.
    tasks = told()
    counts = lambda lines, at=2: lines[at]["tasks"]["counts"]

    def moved(head, lines, more=8):
        """Counts that were moved between two tasks of a range."""
        counts(lines)[4] = str(int(counts(lines)[4]) - more)
        counts(lines)[6] = str(int(counts(lines)[6]) + more)

    def moved_and_digested(head, lines):
        """The same with the digest of the range that follows: only counting finds out."""
        moved(head, lines)
        digested(head, lines[1]["range"]["row"], counts(lines) + counts(lines, 3))

    def cut_otherwise(head, lines):
        """The tasks of the first line in two lines."""
        rest = counts(lines)[32:]
        del counts(lines)[32:]
        lines.insert(3, {"tasks": {"first": 32, "counts": rest}})

    def in_one_line(head, lines):
        counts(lines).extend(counts(lines, 3))
        lines.pop(3)

    def too_large_for_a_task(head, lines):
        """More than any task of N = 10 can have, and the range that follows."""
        more = Halves(10, None).most + 1 - int(counts(lines)[4])
        counts(lines)[4] = str(int(counts(lines)[4]) + more)
        plus(lines[1]["range"]["row"], more)
        digested(head, lines[1]["range"]["row"], counts(lines) + counts(lines, 3))
        head.update(counted=str(int(head["counted"]) + more))

    for name, change in {
        "moved": moved,
        "moved-and-digested": moved_and_digested,
        "one-more": lambda head, lines: counts(lines).__setitem__(4, str(int(counts(lines)[4]) + 1)),
        "one-too-few": lambda head, lines: counts(lines).pop(),
        "one-too-many": lambda head, lines: counts(lines, 3).append("0"),
        "none": lambda head, lines: counts(lines, 3).clear(),
        "too-large-for-a-task": too_large_for_a_task,
        "too-large-for-any": lambda head, lines: counts(lines).__setitem__(4, str(1 << 64)),
        "with-a-plus": lambda head, lines: counts(lines).__setitem__(4, "+16"),
        "with-a-zero-before": lambda head, lines: counts(lines).__setitem__(4, "016"),
        "as-numbers": lambda head, lines: counts(lines).__setitem__(4, 16),
        "with-the-first-missing": lambda head, lines: (head.update(tasks_told=head["tasks_told"] - 64), lines.pop(2)),
        "with-the-last-missing": lambda head, lines: (head.update(tasks_told=head["tasks_told"] - 4), lines.pop(3)),
        "twice": lambda head, lines: lines.insert(3, lines[2]),
        "swapped": lambda head, lines: lines.insert(2, lines.pop(3)),
        "cut-otherwise": cut_otherwise,
        "in-one-line": in_one_line,
        "of-another-first": lambda head, lines: lines[2]["tasks"].update(first=1),
        "of-the-next-range": lambda head, lines: lines.insert(2, lines.pop(5)),
        "before-their-range": lambda head, lines: lines.insert(1, lines.pop(2)),
        "behind-all": lambda head, lines: lines.append(lines.pop(3)),
        "with-another-field": lambda head, lines: lines[2]["tasks"].update(past=64),
        "without-a-number": lambda head, lines: head.pop("tasks_told"),
        "fewer-than-said": lambda head, lines: head.update(tasks_told=head["tasks_told"] - 1),
    }.items():
        yield f"tasks-{name}", edit(change, tasks)
    def of_another_method(head, lines):
        """Tasks of N = 8 by rows are told, and rightly."""
        plan = bytes.fromhex(head["fingerprint"])
        first = lines[1]["range"]["row"]
        counts = [row(task, task + 1, 0, plan)["count"] for task in range(first["first"], first["past"])]
        lines.insert(2, {"tasks": {"first": first["first"], "counts": counts}})
        head.update(tasks_told=len(counts))

    yield "tasks-of-another-method", edit(of_another_method)
    yield text("number-of-task-lines", b'"task_lines":3', b'"task_lines":2', sealed(*copy.deepcopy(tasks)))
    yield "part-without-tasks-as-a-whole", edit(lambda head, _: head.update(shard=25, shards=30))
    yield "part-as-another", edit(lambda head, _: head.update(shard=1), third)
    yield "part-as-a-whole", edit(lambda head, _: head.update(shard=1, shards=1), third)
    yield "part-with-a-wrong-count", edit(lambda head, lines: (plus(first(lines), 8), head.update(counted=str(int(head["counted"]) + 8))), third)
    yield "part-with-a-task-of-another", edit(lambda head, lines: last(lines).update(past=last(lines)["past"] + 1), third)
    yield "cancelled-with-a-hidden-seed", edit(lambda head, lines: lines[1]["policy"].update(revealed=None), unfinished("cancelled"))
    yield "running-with-a-wrong-count", edit(lambda head, lines: (plus(first(lines), 8), head.update(counted=str(int(head["counted"]) + 8))), part(1, 1, "running"))


def main():
    for folder in ("good", "unfinished", "unknown", "bad"):
        shutil.rmtree(HERE / folder, ignore_errors=True)
        (HERE / folder).mkdir()
    for path in (HERE / "exported").iterdir():
        shutil.copy(path, HERE / "good" / path.name)
    wrong = dict(bad())
    for folder, bundles in (("good", GOOD), ("unfinished", UNFINISHED), ("unknown", UNKNOWN), ("bad", wrong)):
        for name, bundle in bundles.items():
            (HERE / folder / f"{name}.bundle").write_bytes(bundle)
    print({folder: len(list((HERE / folder).iterdir())) for folder in ("good", "unfinished", "unknown", "bad")})


if __name__ == "__main__":
    main()
