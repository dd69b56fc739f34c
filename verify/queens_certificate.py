#!/usr/bin/env python3
"""Checks a certificate of `queens certificate`, by the specification in docs/CERTIFICATES.md and nothing else of the project.

It needs Python 3.10 and its standard library. It draws a class of each task, as `queens certificate open` does, and counts as
many as there is time for by searching all boards of the task, up to N = 27.

Exit codes: 0 the certificate holds; 16 it does not; 13 its end is missing; 2 this verifier cannot tell.
"""

import argparse
import secrets
import sys
import time

from blake3 import hashed as blake3, little
from lines import TYPES, content, is_compressed, record
from plans import Halves, Wrong, demand, of_part, search
from queens_verify import PUBLISHED, Unknown, root

TYPES["version1"] = lambda value: type(value) is int and value == 1
record("first", "queens_certificate:version1 n:u32 tasks:u64 fingerprint:hex32 shard:u32 shards:u32")
record("last", "total:decimal merkle_root:hex32")
CLASSES = 27


class Unfinished(Exception):
    """The end is missing."""


def numbers(line):
    """The 27 subtotals of a line, if it is spelled in the one way."""
    numbers = line.split(b" ")
    demand(all(number.isdigit() and len(number) < 21 and number == b"%d" % int(number) for number in numbers), "it has no numbers")
    subtotals = [int(number) for number in numbers]
    demand(len(subtotals) == CLASSES and max(subtotals) < 1 << 64, "it has not 27 numbers below 2^64")
    return subtotals


class Check:
    """All that has to hold of a certificate before anything is counted."""

    def __init__(self, file):
        self.lines = 0
        if is_compressed(file):
            raise Unknown("it is compressed: `zstd -d` decompresses it")
        first = self.line(file)
        head = self.head = content(first) if first else None
        demand(TYPES["first"](head), "line 1 is no first line that this verifier reads: version 1")
        n, tasks, part, parts = head["n"], head["tasks"], head["shard"], head["shards"]
        if n > 27:
            raise Unknown("boards beyond N = 27 are too large to be counted by plain searches")
        self.plan = Halves(n, None)
        demand(self.plan.has(tasks), f"the plan does not have {tasks} tasks")
        plan = f"queens plan; enumeration 3; problem total; n {n}; method halves; tasks {tasks}"
        demand(blake3(plan.encode()).hex() == head["fingerprint"], "the fingerprint is not that of the plan")
        mine = of_part(part, parts, tasks)
        leaves, self.subtotals, self.total, last = [blake3(b"\0" + first)], {}, 0, None
        for ordinal in (ordinal for run in mine for ordinal in range(*run)):
            line = self.line(file, Unfinished)
            if line is None:
                raise Unfinished(f"it ends after {self.lines - 2} tasks")
            subtotals = self.subtotals[ordinal] = numbers(line)
            demand(sum(subtotals) <= self.plan.most, f"line {self.lines}: a task cannot count so much")
            self.total += sum(subtotals)
            leaves.append(blake3(b"\0" + line))
        last = self.line(file, Unfinished)
        if last is None:
            raise Unfinished("its last line is missing")
        last, self.name = content(last), root(leaves)
        demand(TYPES["last"](last) and self.line(file) is None, "it has no last line, or something stands behind it")
        demand(int(last["total"]) == self.total, f"the subtotals add up to {self.total}")
        demand(last["merkle_root"] == self.name, "the lines do not have the Merkle root of the last line")
        known = int(PUBLISHED[n])
        demand(parts > 1 or self.total == known, f"the total is {self.total}, and the published one is {known}")

    def line(self, file, cut_off=Wrong):
        """The next line without its line feed; nothing at the end. If the file ends within a line, it is what `cut_off` says."""
        self.lines += 1
        line = file.readline(65536)
        demand(len(line) < 65536 or line.endswith(b"\n"), f"line {self.lines} is too long")
        if line and not line.endswith(b"\n"):
            raise cut_off(f"line {self.lines} is cut off")
        return line[:-1] if line else None

    def draws(self, value):
        """A class of each task, in a random order. It is the order in which `--share` of the program leaves them out."""
        drawn = []
        for ordinal in self.subtotals:
            hash = blake3(f"queens certificate; name {self.name}; value {value}; task {ordinal}".encode())
            drawn.append((little(hash[16:24]), ordinal, little(hash[:16]) % CLASSES))
        return [(ordinal, number) for _, ordinal, number in sorted(drawn)]

    def count(self, ordinal, number):
        """The boards of a class of a task, by a search of all boards of the task."""
        [(weight, allowed, worth)] = self.plan.tasks(ordinal, ordinal + 1)
        return weight * search(allowed, lambda queens: worth(queens) if class_of(queens) == number else 0)


def class_of(queens):
    """The class of a board, from the bits of the queens' columns in each row."""
    n, half = len(queens), len(queens) // 2
    places = [(row, bit.bit_length() - 1) for row, bit in enumerate(queens)]
    longest = [("-", 0), ("+", n - 1), ("-", 1), ("+", n - 2), ("-", -1)]
    on = lambda diagonal: [row for row, column in places if diagonal == (diagonal[0], column - row if diagonal[0] == "-" else column + row)]
    free = [rows for rows in map(on, longest) if n % 2 == 0 or half not in rows]
    number = 0
    for rows in free[:3]:
        number = 3 * number + (0 if not rows else 1 if rows[0] < half else 2)
    return number


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("certificate", help="a file of `queens certificate`, decompressed (zstd -d)")
    words.add_argument("--beacon", default=secrets.token_hex(16), help="decides what is drawn [default: a random value]")
    words.add_argument("--seconds", type=float, default=60, help="time to count [default: 60]")
    args = words.parse_args()
    end, opened = time.monotonic() + args.seconds, 0
    try:
        with open(args.certificate, "rb") as file:
            check = Check(file)
        for ordinal, number in check.draws(args.beacon):
            if time.monotonic() > end:
                break
            stated, found = check.subtotals[ordinal][number], check.count(ordinal, number)
            demand(stated == found, f"the subtotal of class {number} of task {ordinal} is {stated} there, and {found} here")
            opened += 1
        if opened == 0 and check.subtotals:
            raise Unknown("nothing was counted in this time: give more --seconds")
    except Wrong as wrong:
        return f"the certificate does not hold: {wrong}", 16
    except Unfinished as unfinished:
        return f"the certificate is not finished: {unfinished}", 13
    except (Unknown, OSError) as error:
        return f"cannot tell: {error}", 2
    print(f"name      {check.name}")
    print(f"counted   {check.total}")
    print(f"opened    a subtotal each of {opened} of {len(check.subtotals)} tasks, drawn by {args.beacon!r}: all as stated")
    return None, 0


if __name__ == "__main__":
    said, code = main()
    if said:
        print(f"queens_certificate: {said}", file=sys.stderr)
    sys.exit(code)
