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
from lines import BEFORE, KEPT, LINES, LONGEST, MOST_AUTHORS, MOST_KEPT, TYPES, VERSION, content
from plans import Halves, Ring, Rows, Wrong, demand, of_part, search

# How many placements of N queens there are (OEIS A000170).
PUBLISHED = """1 1 0 0 2 10 4 40 92 352 724 2680 14200 73712 365596 2279184 14772512 95815104 666090624 4968057848
    39029188884 314666222712 2691008701644 24233937684440 227514171973736 2207893435808352 22317699616364044
    234907967154122528""".split()

# Tasks of `rows` and `ring` can only be numbered one after the other: so many take minutes.
MOST_NUMBERED = 10**8

class Unknown(Exception):
    """This verifier cannot tell."""

class Check:
    """All that has to hold of a bundle before anything is counted, and the ranges that its draws hit."""

    def __init__(self, file, draws, seed, beacon):
        if file.peek(4).startswith(b"\x28\xb5\x2f\xfd"):
            raise Unknown("it is compressed: `zstd -d` decompresses it")
        self.name = blake3(file.read()).hex()
        file.seek(0)
        line = self.line(file)
        demand(line is not None, "it is empty")
        head = self.head = content(line)
        version = head.get("queens_bundle") if type(head) is dict else None
        if TYPES["u32"](version) and version != VERSION:
            raise Unknown(f"it is of version {version}, and this verifier reads version {VERSION}")
        demand(TYPES["header"](head), "line 1 is no header")
        self.fingerprint = bytes.fromhex(head["fingerprint"])
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
        self.policies, self.authors, self.hits, self.last = [], [], {}, None
        self.known_authors = set()
        self.seen, self.end, self.covered, self.counted, self.unsettled = dict.fromkeys(LINES, 0), 0, 0, 0, 0
        self.told, self.passed, self.kept = 0, [0, 0], 0
        while (line := self.line(file)) is not None:
            try:
                self.see(content(line), len(line))
            except Wrong as wrong:
                raise Wrong(f"line {1 + sum(self.seen.values())}: {wrong}") from None
        self.close()

    def line(self, file):
        """The next line without its line feed; nothing at the end."""
        line = file.readline(LONGEST)
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
        demand(self.kept <= MOST_KEPT, "there are too many lines about who and what was ordered")
        if "row" in line:
            row = line["row"]
            demand(row["first"] < row["past"] and row["by"] < len(self.authors), "its range or its author is wrong")
        getattr(self, kind)(line)

    def policy(self, line):
        demand(self.seen["policy"] <= 1000, "there are too many policies")
        demand(line["share_ppm"] <= 1_000_000, "a policy is about more than all")
        told = line["revealed"]
        if told:
            text = "queens audit commitment; seed {seed}; salt {salt}".format(**told)
            fits = int(told["seed"]) >> 64 == 0 and blake3(text.encode()).hex() == line["commitment"]
            demand(fits, "seed and salt are not what was committed to")
        self.policies.append(line)

    def chooses(self, policy, row):
        """Whether an audit whose seed is known has chosen the range."""
        of = f"queens audit; seed {policy['revealed']['seed']}; plan {self.fingerprint.hex()}; range [{row['first']}, {row['past']})"
        return little(blake3(of.encode())[:8]) * 1_000_000 >> 64 < policy["share_ppm"]

    def trust(self, _):
        """It changes what second counts are worth, and not whether the bundle holds."""

    def author(self, line):
        demand(len(self.authors) < MOST_AUTHORS, "there are too many authors")
        known = tuple(line.values())
        demand(known not in self.known_authors, "the author is there already")
        self.known_authors.add(known)
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
        self.last, self.end, self.covered = line, past, self.covered + past - first
        self.counted += count
        self.unsettled += line["audit"] == "wanted"
        if line["counts"] is None:
            self.unit(row)
        else:
            self.tasks(row, [int(count) for count in line["counts"]])

    def tasks(self, row, counts):
        """What each task of a range counts. They are drawn instead of the range."""
        demand(self.head["method"] == "halves", "what tasks of this method count is not told")
        demand(len(counts) == row["past"] - row["first"], "it does not tell what each task counts")
        sum, digests = 0, 0
        for ordinal, count in enumerate(counts, row["first"]):
            demand(count >> 64 == 0 and count <= self.plan.most, f"the task {ordinal} cannot count {count}")
            digest = self.digest(ordinal, count)
            sum, digests = sum + count, digests + digest & (1 << 128) - 1
            self.unit({"first": ordinal, "past": ordinal + 1, "count": str(count), "digest": f"{digest:032x}"})
        demand((sum, digests) == (int(row["count"]), int(row["digest"], 16)), "the counts of the tasks do not add up")
        self.told += len(counts)

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

    def are_apart(self, first, second, policies):
        """Whether those who counted first and second may check each other by these policies: other machines, or other owners."""
        keys = ["owner"] if any(policy["across"] == "owners" for policy in policies) else ["owner", "machine"]
        one, other = ([self.authors[line["row"]["by"]][key] for key in keys] for line in (first, second))
        return one != other

    def dispute(self, line):
        self.last = None
        self.unsettled += line["state"] == "open"

    def close(self):
        head = self.head
        lines = ["policies", "trust", "authors", "ranges", "audits", "disputes"]
        demand([head[name] for name in lines] == list(self.seen.values()), "the header says other numbers of lines")
        demand(self.counted == int(head["counted"]), f"the ranges add up to {self.counted}")
        demand(self.covered == head["covered"], f"the ranges have {self.covered} tasks")
        hidden = any(policy["revealed"] is None for policy in self.policies)
        demand(not hidden or head["state"] not in ("done", "cancelled"), "seeds of audits are missing")
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

def at_most(draws, unknown):
    """The share that is wrong, with 95% confidence, if all draws were alike but for one, perhaps, that is not known."""
    low, high = 0.0, 1.0
    for _ in range(60):
        share = (low + high) / 2
        missed = (1 - share) ** draws + unknown * draws * share * (1 - share) ** (draws - 1)
        low, high = (share, high) if missed > 0.05 else (low, share)
    return high

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
