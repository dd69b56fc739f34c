#!/usr/bin/env python3
"""Checks a bundle of `queens export`, by the specification in docs/BUNDLE.md and nothing else of the project.

It needs Python 3.10 and its standard library. It reads `total` and `fundamental` by `rows`, `ring` and `halves` up to
N = 27, and counts what it draws by plain searches, which take a thousand times as long as the program's loops.

Exit codes: 0 the bundle holds; 16 it does not; 13 it holds as far as it goes, but its job is not done; 2 this verifier
cannot tell.
"""

import argparse
import sys
import time

from blake3 import hashed as blake3, little
from ed25519 import has_signed
from lines import BEFORE, KEPT, LINES, MOST_KEPT, TYPES, VERSION, content, is_compressed
from plans import Halves, Ring, Rows, Wrong, demand, of_part, search
from told import at_most, when

# How many placements of N queens there are (OEIS A000170).
PUBLISHED = """1 1 0 0 2 10 4 40 92 352 724 2680 14200 73712 365596 2279184 14772512 95815104 666090624 4968057848
    39029188884 314666222712 2691008701644 24233937684440 227514171973736 2207893435808352 22317699616364044
    234907967154122528""".split()

# Tasks of `rows` and `ring` can only be numbered one after the other: so many take minutes.
MOST_NUMBERED = 10**8

class Unknown(Exception):
    """This verifier cannot tell."""

def root(level):
    """The Merkle root over leaves: neighbours are joined, and a last one without a neighbour moves up."""
    while len(level) > 1:
        pairs = (level[at : at + 2] for at in range(0, len(level), 2))
        level = [blake3(b"\1" + b"".join(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    return (level[0] if level else blake3(b"")).hex()

def verified(key, text, signature):
    return has_signed(bytes.fromhex(key), text.encode(), bytes.fromhex(signature))

class Check:
    """All that has to hold of a bundle before anything is counted, and the ranges that its draws hit."""

    def __init__(self, file, draws, seed, beacon):
        if is_compressed(file):
            raise Unknown("it is compressed: `zstd -d` decompresses it")
        line = self.line(file)
        demand(line is not None, "it is empty")
        head = self.head = content(line)
        version = head.get("queens_bundle") if type(head) is dict else None
        if TYPES["u32"](version) and version != VERSION:
            raise Unknown(f"it is of version {version}, and this verifier reads version {VERSION}")
        demand(TYPES["header"](head), "line 1 is no header")
        self.name, self.fingerprint = blake3(line).hex(), bytes.fromhex(head["fingerprint"])
        n, method, parameter, tasks = head["n"], head["method"], head["parameter"], head["tasks"]
        problem = head["problem"].split(" ")[0]
        demand(problem in ("total", "fundamental", "toroidal", "superqueens", "completions"), "there is no such problem")
        demand(problem in ("completions", head["problem"]), "only completions have given queens")
        if problem not in ("total", "fundamental"):
            raise Unknown(f"it does not count the problem {problem}")
        if n > 27:
            raise Unknown("boards beyond N = 27 are too large to be counted by plain searches")
        if method != "halves" and tasks > MOST_NUMBERED:
            raise Unknown(f"numbering {tasks} tasks takes too long here: give a bundle of at most {MOST_NUMBERED} tasks, or one of halves")
        self.plan = {"rows": Rows, "ring": Ring, "halves": Halves}[method](n, parameter)
        cut = {"rows": f"; rows {parameter}", "ring": f"; width {parameter}", "halves": ""}[method]
        enumeration = 3 if method == "halves" else 1
        plan = f"queens plan; enumeration {enumeration}; problem {head['problem']}; n {n}; method {method}{cut}; tasks {tasks}"
        demand(blake3(plan.encode()) == self.fingerprint, "the fingerprint is not that of the plan")
        demand(self.plan.has(tasks), f"the plan does not have {tasks} tasks")
        self.mine = of_part(head["shard"], head["shards"], tasks)
        if beacon is not None:
            seed = little(blake3(f"queens beacon; bundle {self.name}; value {beacon}".encode())[:8])
        self.draw(draws, seed)
        self.policies, self.authors, self.leaves, self.hits, self.last = [], [], [], {}, None
        self.committed, self.beacons, self.rows, self.lines_about_whom = [], [], [], set()
        self.signers, self.signing, self.vouched, self.signed_by = [], None, {}, None
        self.seen, self.end, self.covered, self.counted, self.unsettled = dict.fromkeys(LINES, 0), 0, 0, 0, 0
        self.telling, self.told, self.passed, self.kept = None, 0, [0, 0], 0
        while (line := self.line(file)) is not None:
            try:
                demand(self.signed_by is None, "it stands behind the signature")
                value = content(line)
                if type(value) is dict and list(value) == ["signature"]:
                    self.signature(value["signature"])
                    continue
                self.leaves.append(blake3(b"\0" + line))
                self.see(value, len(line))
            except Wrong as wrong:
                raise Wrong(f"line {1 + sum(self.seen.values())}: {wrong}") from None
        self.close()

    def line(self, file):
        """The next line without its line feed; nothing at the end."""
        line = file.readline(65536)
        demand(line == b"" or line.endswith(b"\n"), "a line is cut off or too long")
        return line[:-1] if line else None

    def draw(self, draws, seed):
        """The draws as points of the total and as tasks, the nearest last."""
        self.points, self.places = [], []
        for at in range(draws if self.head["covered"] else 0):
            x = little(blake3(f"queens verify; seed {seed}; draw {at}".encode())[:16])
            if self.by_count(at):
                self.points.append((x % int(self.head["counted"]), at))
            else:
                self.places.append((x % self.head["covered"], at))
        self.points.sort(reverse=True), self.places.sort(reverse=True)

    def by_count(self, at):
        """Whether draw number `at` is a point of the total."""
        return at % 2 == 0 and self.head["counted"] != "0"

    def see(self, value, size):
        demand(type(value) is dict and len(value) == 1, "it is no line of a bundle")
        [(kind, line)] = value.items()
        demand(kind in LINES and TYPES[kind](line), f"it is no {kind!a} with the right fields")
        demand(not any(self.seen[other] for other in BEFORE.get(kind, ())), "it is out of order")
        self.seen[kind] += 1
        self.kept += size if kind in KEPT else 0
        demand(self.kept <= MOST_KEPT, "there are too many lines about who, what was ordered and what was committed to")
        if kind != "tasks":
            self.close_tasks()
        if kind in ("range", "audit", "dispute"):
            row = line["row"]
            demand(row["first"] < row["past"] and row["by"][-1] < len(self.authors), "its range or its authors are wrong")
            self.close_count()
            self.signing = {"kind": kind, "row": row, "next": row["first"], "count": 0, "digest": 0, "by": None}
        demand(kind != "tasks" or self.head["method"] == "halves", "what tasks of this method count is not told")
        getattr(self, kind)(line)

    def policy(self, line):
        demand(self.seen["policy"] <= 1000, "there are too many policies")
        demand(line["share_ppm"] <= 1_000_000, "a policy is about more than all")
        told = line["revealed"]
        if told and "value" in told:
            seed = little(blake3("queens beacon; rows {root}; value {value}".format(**told).encode())[:8]) % (1 << 63)
            told.update(seed=str(seed), salt="0" * 32)
        if told:
            text = "queens audit commitment; seed {seed}; salt {salt}".format(**told)
            fits = int(told["seed"]) >> 64 == 0 and blake3(text.encode()).hex() == line["commitment"]
            demand(fits, "seed and salt are not what was committed to")
        self.policies.append(line)
        if told and "value" in told:
            self.beacons.append(line | {"drawn": 0, "tasks": 0, "twice": 0})

    def commitment(self, line):
        self.committed.append(line)

    def chooses(self, policy, row):
        """Whether an audit whose seed is known has chosen the range."""
        of = f"queens audit; seed {policy['revealed']['seed']}; plan {self.fingerprint.hex()}; range [{row['first']}, {row['past']})"
        return little(blake3(of.encode())[:8]) * 1_000_000 >> 64 < policy["share_ppm"]

    def drawn(self, row):
        """The beacons that have chosen the range, whatever was ordered after them."""
        return (beacon for beacon in self.beacons if self.chooses(beacon, row))

    def trust(self, _):
        """It changes what second counts are worth, and not whether the bundle holds."""

    def author(self, line):
        demand(self.is_new(line), "the author is there already")
        self.authors.append(line)

    def range(self, line):
        row, policy = line["row"], self.policies[-1] if self.policies else None
        first, past, count = row["first"], row["past"], int(row["count"])
        demand(self.end <= first, "the range begins before the last one ends")
        demand(any(begin <= first and past <= end for begin, end in self.mine), "the range is not of this part of the plan")
        demand(count <= (past - first) * self.plan.most, "the tasks cannot count so much")
        if policy and policy["revealed"]:
            missed = line["audit"] == "not_chosen" and self.chooses(policy, row)
            demand(not missed, "the range is chosen for an audit, but not said to be")
        for beacon in self.drawn(row):
            beacon["drawn"] += 1
            beacon["tasks"] += past - first
        text = f"queens row; plan {self.fingerprint.hex()}; range [{first}, {past}); count {count}; digest {row['digest']}"
        self.rows.append(blake3(b"\0" + text.encode()))
        self.last, self.end, self.covered = line, past, self.covered + past - first
        self.counted += count
        self.unsettled += line["audit"] == "wanted"
        self.telling = {"row": row, "next": first, "count": 0, "digest": 0}

    def tasks(self, line):
        """What the tasks of the range before it count, up to a multiple of 64. They are drawn instead of the range."""
        now, first, counts = self.telling, line["first"], [int(count) for count in line["counts"]]
        demand(now and now["next"] == first < now["row"]["past"], "these tasks do not follow those before them")
        past = min(now["row"]["past"], (first // 64 + 1) * 64)
        demand(first + len(counts) == past, "the tasks do not end with their block of 64 or their range")
        for ordinal, count in enumerate(counts, first):
            demand(count >> 64 == 0 and count <= self.plan.most, f"the task {ordinal} cannot count {count}")
            digest = self.digest(ordinal, count)
            now["count"], now["digest"] = now["count"] + count, now["digest"] + digest & (1 << 128) - 1
            self.unit({"first": ordinal, "past": ordinal + 1, "count": str(count), "digest": f"{digest:032x}"})
        now["next"], self.told = past, self.told + len(counts)

    def close_tasks(self):
        """A range whose tasks are not told is drawn as a whole."""
        now, self.telling = self.telling, None
        if now and now["next"] == now["row"]["first"]:
            self.unit(now["row"])
        elif now:
            row = now["row"]
            same = (now["next"], now["count"], now["digest"]) == (row["past"], int(row["count"]), int(row["digest"], 16))
            demand(same, "the counts of the tasks do not add up to that of their range")

    def unit(self, row):
        """A range or a task that can be drawn: notes the draws that hit it."""
        self.passed = [self.passed[0] + int(row["count"]), self.passed[1] + row["past"] - row["first"]]
        for points, sum in zip((self.points, self.places), self.passed):
            while points and points[-1][0] < sum:
                self.hits[points.pop()[1]] = row

    def digest(self, ordinal, count):
        """The digest of one task."""
        return little(blake3(self.fingerprint + ordinal.to_bytes(8, "little") + count.to_bytes(8, "little"))[:16])

    def audit(self, line):
        first, self.last = self.last, None
        demand(first and first["audit"] == "agreed", "there is no range before it that was counted twice")
        same = all(first["row"][name] == line["row"][name] for name in ("first", "past", "count", "digest"))
        demand(same, "the second count differs")
        demand(self.are_apart(first, line, self.policies[-1:]), "those who counted do not check each other")
        for beacon in self.drawn(line["row"]):
            beacon["twice"] += self.are_apart(first, line, [beacon])

    def are_apart(self, first, second, policies):
        """Whether those who counted first and second may check each other by these policies: other machines, or other owners."""
        keys = ["owner"] if any(policy["across"] == "owners" for policy in policies) else ["owner", "machine"]
        ones, others = ({tuple(self.authors[by][key] for key in keys) for by in row["row"]["by"]} for row in (first, second))
        return not ones & others

    def dispute(self, line):
        self.last = None
        self.unsettled += line["state"] == "open"

    def signer(self, line):
        demand(self.is_new(line), "the signer is there already")
        self.signers.append(line)

    def is_new(self, line):
        """Whether no line about an author or a signer was the same, which have no fields in common."""
        lines = len(self.lines_about_whom)
        self.lines_about_whom.add(str(line))
        return len(self.lines_about_whom) > lines

    def statement(self, line):
        """What a key has signed of the count before it. All statements about a count are by one signer, and tile it."""
        now, row = self.signing, self.signing and self.signing["row"]
        demand(now and line["by"] < len(self.signers), "no count stands before it, or it has an unknown signer")
        demand(now["by"] in (None, line["by"]) and len(row["by"]) == 1, "a count has several signers or authors")
        demand(now["next"] == line["first"] < line["past"] <= row["past"], "the statement is about another range")
        demand(int(line["count"]) >> 64 == 0, "the count is too large")
        signer, author = self.signers[line["by"]], self.authors[row["by"][0]]
        text = (
            "queens statement; ledger {ledger}; job {job}; plan {plan}; range [{first}, {past}); count {count}; digest {digest}; "
            "kernel {kernel}; purpose {purpose}; machine {machine}"
        ).format(**signer, **{**author, **line}, plan=self.fingerprint.hex())
        demand(verified(signer["key"], text, line["signature"]), "the key has not signed the statement")
        now["by"], now["next"] = line["by"], line["past"]
        now["count"], now["digest"] = now["count"] + int(line["count"]), now["digest"] + int(line["digest"], 16) & (1 << 128) - 1

    def close_count(self):
        """Notes who vouches for the last count."""
        now, self.signing = self.signing, None
        if not now or now["by"] is None:
            return
        row = now["row"]
        same = (now["next"], now["count"], now["digest"]) == (row["past"], int(row["count"]), int(row["digest"], 16))
        demand(same, "the statements about a count do not add up to it")
        key = self.signers[now["by"]]["key"]
        count, last = self.vouched.get(key, (0, None))
        # A key that has signed both counts of a range vouches for it once.
        if now["kind"] != "dispute" and last != row["first"]:
            self.vouched[key] = count + now["count"], row["first"]

    def signature(self, line):
        """The signature of whoever exported the bundle, over its name. It is no leaf of the tree."""
        demand(TYPES["signature"](line) and verified(line["key"], f"queens bundle; name {self.name}", line["signature"]), "it is no signature of the bundle")
        self.signed_by = line["key"]

    def close(self):
        head = self.head
        self.close_count(), self.close_tasks()
        demand(root(self.leaves) == head["merkle_root"], "the lines do not have the Merkle root of the header")
        lines = ["policies", "trust", "authors", "ranges", "audits", "disputes"]
        lines += ["signers", "statements", "commitments", "task_lines"]
        demand([head.get(name, 0) for name in lines] == list(self.seen.values()), "the header says other numbers of lines")
        demand(self.told == head.get("tasks_told", 0), f"{self.told} tasks are told")
        demand(self.counted == int(head["counted"]), f"the ranges add up to {self.counted}")
        demand(self.covered == head["covered"], f"the ranges have {self.covered} tasks")
        hidden = any(policy["revealed"] is None for policy in self.policies)
        demand(not hidden or head["state"] not in ("done", "cancelled"), "seeds of audits are missing")
        drawn = {beacon["revealed"]["root"] for beacon in self.beacons}
        demand(drawn <= {line["root"] for line in self.committed}, "a beacon has drawn from counts that nobody has committed to")
        if head["state"] != "done":
            return
        part = sum(end - begin for begin, end in self.mine)
        demand(self.covered == part and self.unsettled == 0, "it is not done: tasks, second counts or decisions are missing")
        known = int(PUBLISHED[head["n"]])
        demand(head["shards"] > 1 or self.counted == known, f"the total is {self.counted}, and the published one is {known}")

    def recount(self, seconds):
        """Counts the ranges and tasks that were hit again, in the order of the draws: how many draws from the total and from the tasks,
        and how many of them say nothing, because the time was over."""
        end, alike, draws, unknown = time.monotonic() + seconds, set(), [0, 0], [0, 0]
        for at, row in sorted(self.hits.items()):
            kind = 0 if self.by_count(at) else 1
            draws[kind] += 1
            if (row["first"], row["past"]) not in alike and not self.is_alike(row, end):
                unknown[kind] = 1
                break
            alike.add((row["first"], row["past"]))
        return draws, unknown

    def is_alike(self, row, end):
        """Whether there was time to count a range again. It must have the same count."""
        sum, digest = 0, 0
        for ordinal, (weight, allowed, worth) in enumerate(self.plan.tasks(row["first"], row["past"]), row["first"]):
            if time.monotonic() > end:
                return False
            count = weight * search(allowed, worth)
            sum, digest = sum + count, digest + self.digest(ordinal, count) & (1 << 128) - 1
        same = (sum, digest) == (int(row["count"]), int(row["digest"], 16))
        demand(same, f"[{row['first']}, {row['past']}) is counted as {row['count']} in the bundle, and as {sum} here")
        return True

def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("bundle", help="a file that `queens export` has written, decompressed (zstd -d)")
    words.add_argument("--draws", type=int, default=100, help="random draws that are counted again [default: 100]")
    words.add_argument("--seed", type=int, default=time.time_ns(), help="decides what is drawn [default: the time]")
    words.add_argument("--beacon", help="decides what is drawn, together with the bundle's name: docs/BUNDLE.md")
    words.add_argument("--seconds", type=float, default=60, help="time to count again [default: 60]")
    args = words.parse_args()
    try:
        with open(args.bundle, "rb") as file:
            check = Check(file, args.draws, args.seed, args.beacon)
        draws, unknown = check.recount(args.seconds)
        head = check.head
        if head["covered"] and draws in ([0, 0], unknown):
            raise Unknown("nothing was counted again in this time: give more --seconds or --draws")
    except Wrong as wrong:
        return f"the bundle does not hold: {wrong}", 16
    except (Unknown, OSError) as error:
        return f"cannot tell: {error}", 2
    print(f"bundle    {check.name}")
    print(f"plan      {head['problem']} N={head['n']} by {head['method']}, {head['covered']} of {head['tasks']} tasks")
    print(f"counted   {head['counted']}")
    print(f"told      one by one: {check.told} of these tasks")
    now = root(check.rows)
    for line in check.committed:
        print(f"committed as {line['root']} at {when(line['at'])} to {'these' if line['root'] == now else 'other'} counts")
    for beacon in check.beacons:
        told = beacon["revealed"]
        print(f"drawn     at {when(beacon['asked_at'])} by the beacon {told['value']} from {told['root']}: {beacon['share_ppm'] / 1e4:g}%")
        share, ranges = 100 * beacon["tasks"] / max(1, head["covered"]), "the ranges" if told["root"] == now else "other ranges"
        print(f"          of {ranges}, {beacon['drawn']} here with {share:.2f}% of the tasks, {beacon['twice']} of them counted twice")
    for key, (count, _) in sorted(check.vouched.items()):
        print(f"vouched   for {100 * count / max(1, check.counted):.2f}% of it by the key ed25519:{key}")
    print(f"signed    by the key ed25519:{check.signed_by}" if check.signed_by else "signed    by nobody")
    print("recounted {} draws from the total and {} from the tasks, all alike".format(*draws))
    if any(unknown):
        print("          but for the last one, for which there was no time: it counts as wrong")
    for what, kind in (("total", 0), ("tasks", 1)):
        if draws[kind]:
            print(f"          with 95% confidence at most {100 * at_most(draws[kind], unknown[kind]):.2f}% of the {what} is wrong")
    return (f"its job is {head['state']}", 13) if head["state"] != "done" else (None, 0)

if __name__ == "__main__":
    said, code = main()
    if said:
        print(f"queens_verify: {said}", file=sys.stderr)
    sys.exit(code)
