#!/usr/bin/env python3
"""Checks a bundle of `queens export`, by the specification in docs/BUNDLE.md and nothing else of the project.

It needs Python 3.10 and its standard library. It reads `total` and `fundamental` by `rows`, `ring` and `halves` up to
N = 27, and counts what it draws by plain searches, which take a thousand times as long as the program's loops.

Exit codes: 0 the bundle holds; 16 it does not; 13 it holds as far as it goes, but its job is not done; 2 this verifier
cannot tell.
"""

import argparse
import json
import sys
import time
from itertools import islice
from math import comb, factorial

# How many placements of N queens there are (OEIS A000170).
PUBLISHED = """1 1 0 0 2 10 4 40 92 352 724 2680 14200 73712 365596 2279184 14772512 95815104 666090624 4968057848
    39029188884 314666222712 2691008701644 24233937684440 227514171973736 2207893435808352 22317699616364044
    234907967154122528""".split()

class Wrong(Exception):
    """The bundle does not hold."""

class Unknown(Exception):
    """This verifier cannot tell."""

def demand(holds, reason):
    if not holds:
        raise Wrong(reason)

# --- BLAKE3, by its specification ---

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
NEXT_WORDS = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
COLUMNS = [(i, i + 4, i + 8, i + 12) for i in range(4)]
DIAGONALS = [(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12) for i in range(4)]
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8

rotated = lambda word, by: (word >> by | word << 32 - by) & 0xFFFFFFFF
little = lambda data: int.from_bytes(data, "little")
to_bytes = lambda words: b"".join(word.to_bytes(4, "little") for word in words)
blake3 = lambda data: to_bytes(subtree(data, 0, ROOT))

def compress(chain, block, counter, flags):
    words = [little(block[at : at + 4]) for at in range(0, 64, 4)]
    v = [*chain, *IV[:4], counter & 0xFFFFFFFF, counter >> 32, len(block), flags]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(COLUMNS + DIAGONALS):
            for word, first, second in ((words[2 * i], 16, 12), (words[2 * i + 1], 8, 7)):
                v[a] = v[a] + v[b] + word & 0xFFFFFFFF
                v[d] = rotated(v[d] ^ v[a], first)
                v[c] = v[c] + v[d] & 0xFFFFFFFF
                v[b] = rotated(v[b] ^ v[c], second)
        words = [words[i] for i in NEXT_WORDS]
    return tuple(v[i] ^ v[i + 8] for i in range(8))

def subtree(data, chunk, root):
    """The chaining value of the chunks of `data`, of which the first has this number."""
    if len(data) > 1024:
        left = 1024 << ((len(data) - 1) // 1024).bit_length() - 1
        children = subtree(data[:left], chunk, 0) + subtree(data[left:], chunk + left // 1024, 0)
        return compress(IV, to_bytes(children), 0, PARENT | root)
    blocks, chain = [data[at : at + 64] for at in range(0, len(data), 64)] or [b""], IV
    for i, block in enumerate(blocks):
        chain = compress(chain, block, chunk, CHUNK_START * (i == 0) | (CHUNK_END | root) * (i == len(blocks) - 1))
    return chain

# --- Tasks: weight, the columns that each row's queen may have, and how often a board of these counts ---

def bits(mask):
    """The single bits of a mask, the lowest first."""
    while mask:
        yield mask & -mask
        mask &= mask - 1

def placed(state, bit):
    """What the next row sees of the queens so far: diagonals to higher columns, columns, diagonals to lower ones."""
    left, down, right = state
    return (left | bit) << 1, down | bit, (right | bit) >> 1

def search(allowed, worth, state=(0, 0, 0), queens=()):
    """The sum over all placements of one queen in each row, in one of its allowed columns."""
    if len(queens) == len(allowed):
        return worth(queens)
    free = bits(allowed[len(queens)] & ~(state[0] | state[1] | state[2]))
    return sum(search(allowed, worth, placed(state, bit), queens + (bit,)) for bit in free)

once = lambda _: 1
mirrored = lambda mask, width: int(format(mask, f"0{width}b")[::-1], 2)

class Rows:
    """The first M rows, in the order of their queens' columns. Of two mirror images the one whose first queen off the
    centre column stands left of it."""

    def __init__(self, n, m):
        demand(m is not None and m <= n, "there is no such plan")
        self.n, self.m, self.most = n, m, 2 * factorial(n - m)
        self.length = sum(1 for _ in self.below())

    def tasks(self, first, past):
        for weight, queens in islice(self.below(), first, past):
            yield weight, (*queens, *[(1 << self.n) - 1] * (self.n - self.m)), once

    def below(self, state=(0, 0, 0), queens=(), weight=1):
        if len(queens) == self.m:
            yield weight, queens
            return
        left, down, right = state
        centre = 1 << self.n // 2 if self.n % 2 else 0
        columns = (1 << (self.n if weight == 2 else (self.n + 1) // 2)) - 1
        for bit in bits(columns & ~(left | down | right)):
            yield from self.below(placed(state, bit), queens + (bit,), 1 if weight == 1 and bit == centre else 2)

class Ring:
    """The queens of the outer rows and columns, as four sides that are read clockwise: right, bottom, left, top. Of the
    eight images of a ring the one whose sides are least."""

    def __init__(self, n, width):
        demand(width in (1, 2) and 2 * width <= n, "there is no such plan")
        self.n, self.most = n, 8 * factorial(n - 2 * width)
        wide = [(outer, inner) for outer in range(n) for inner in range(n) if abs(outer - inner) > 1]
        self.sides = [(along,) for along in range(n)] if width == 1 else wide
        place = {side: at for at, side in enumerate(self.sides)}
        self.mirror = [place[tuple(n - 1 - along for along in side)] for side in self.sides]
        every = range(len(self.sides))
        top, right, bottom = ([self.queens(side, turns) for side in every] for turns in range(3))
        fits = lambda some, others: not any(attack(a, b) for a in some for b in others)
        mask = lambda belongs: [sum(1 << b for b in every if belongs(a, b)) for a in every]
        self.next = mask(lambda a, b: fits(top[a], right[b]))
        self.previous = mask(lambda a, b: self.next[b] >> a & 1)
        self.across = mask(lambda a, b: fits(top[a], bottom[b]))
        self.not_less = mask(lambda a, b: a <= b and a <= self.mirror[b])
        self.length = sum(1 for _ in self.all())

    def queens(self, side, turns):
        """The squares (row, column) of a side's queens, the top side turned clockwise so many times."""
        squares = list(enumerate(self.sides[side]))
        for _ in range(turns):
            squares = [(column, self.n - 1 - row) for row, column in squares]
        return squares

    def tasks(self, first, past):
        for weight, ring in islice(self.all(), first, past):
            queens = {square for turns, side in zip((1, 2, 3, 0), ring) for square in self.queens(side, turns)}
            stands = lambda row, column: not any(attack((row, column), queen) for queen in queens)
            line = range(self.n)
            yield weight, [sum(1 << column for column in line if stands(row, column)) for row in line], once

    def all(self):
        members = lambda mask: [bit.bit_length() - 1 for bit in bits(mask)]
        for a in range(len(self.sides)):
            for b in members(self.not_less[a] & self.next[a]):
                for c in members(self.not_less[a] & self.across[a] & self.next[b]):
                    for d in members(self.not_less[a] & self.previous[a] & self.across[b] & self.next[c]):
                        ring = (a, b, c, d)
                        back = tuple(self.mirror[side] for side in reversed(ring))
                        images = [one[turn:] + one[:turn] for one in (ring, back) for turn in range(4)]
                        if ring == min(images):
                            yield 8 // images.count(ring), ring

def attack(a, b):
    rows, columns = abs(a[0] - b[0]), abs(a[1] - b[1])
    return a != b and (rows == 0 or columns == 0 or rows == columns)

class Halves:
    """The columns of the upper half's queens, and the column of the centre row's."""

    def __init__(self, n, parameter):
        demand(parameter is None and n >= 4, "there is no such plan")
        self.n, self.half, self.most = n, n // 2, 8 * factorial(n // 2) ** 2
        self.beside = self.half * comb(2 * self.half - 1, self.half - 1) if n % 2 else 0
        self.length = self.beside + sum(self.splits(least, wests) for _, least, wests in self.sizes())

    def tasks(self, first, past):
        n, half, full = self.n, self.half, (1 << self.n) - 1
        for ordinal in range(first, past):
            weight, centre, upper = self.split(ordinal)
            middle = [] if centre is None else [1 << centre]
            yield weight, [upper] * half + middle + [full & ~upper & ~sum(middle)] * half, self.worth(centre, upper)

    def split(self, ordinal):
        """Weight, the column of the centre row's queen, and those of the upper half's."""
        n, half = self.n, self.half
        if n % 2 == 0:
            return 2, None, self.even(ordinal)
        if ordinal >= self.beside:
            return 2, half, left_out(self.even(ordinal - self.beside), half)
        if n > 21:
            column, split = divmod(ordinal, comb(2 * half - 1, half - 1))
            return 4, column, left_out(left_out(combination(half - 1, split), column), half) | 1 << half
        for on_right in range(half):
            on_left = half - 1 - on_right
            squares, lefts = half - on_left, comb(half, on_left)
            tasks = comb(half, on_right) * lefts * squares
            if ordinal < tasks:
                break
            ordinal -= tasks
        right, left = combination(on_right, ordinal // (lefts * squares)), combination(on_left, ordinal // squares % lefts)
        centre = [column for column in range(half) if not left >> column & 1][ordinal % squares]
        return 4, centre, right << half + 1 | 1 << half | left

    def sizes(self):
        """For each size of the west: it, the rank of the first set that can be the west, and how many can."""
        for chosen in range((self.half + 1) // 2, self.half + 1):
            least = comb(self.half, chosen) // 2 if 2 * chosen == self.half else 0
            yield chosen, least, comb(self.half, chosen) - least

    @staticmethod
    def splits(least, wests):
        """The splits whose west is one of the first `wests`."""
        return wests * (wests + 1) // (1 if least else 2)

    def even(self, ordinal):
        """The columns of the upper half in a canonical split of an even number of columns."""
        for chosen, least, wests in self.sizes():
            if ordinal < self.splits(least, wests):
                break
            ordinal -= self.splits(least, wests)
        west = next(west for west in range(wests) if ordinal < self.splits(least, west + 1))
        east = ordinal - self.splits(least, west) + (least - 1 - west if least else 0)
        west, east = combination(chosen, least + west), combination(chosen, east)
        return ((1 << self.half) - 1 & ~east) << self.half | mirrored(west, self.half)

    def worth(self, centre, upper):
        """How often a board counts: by the numbers of its halves, which say which rows' queens stand in some columns."""
        n, half = self.n, self.half
        if centre not in (None, half):
            columns, above, below, times = 1 << half, (-1, 1 << half - 1 - centre), (-1, 1 << half), ((2, 2), (2, 2))
        else:
            columns = (1 << half) - 1
            west, east, least = mirrored(upper & columns, half), columns & ~(upper >> n - half), -1
            if 2 * west.bit_count() == half:
                least, east = columns - west, max(east, columns - east)
            times = ((2, 0), (0, 1)) if east == west else ((4, 2), (2, 4))
            above, below = (least, west), (columns - west, columns - least)

        def of(queens):
            halves = queens[:half], queens[: n - half - 1 : -1]
            one, two = (sum((bit & columns != 0) << half - 1 - row for row, bit in enumerate(rows)) for rows in halves)
            if above[0] <= one <= above[1] and below[0] <= two <= below[1]:
                return times[one in above][two in below]
            return 0

        return of

def combination(chosen, ordinal):
    """The set of `chosen` columns with this number, in the order of the masks."""
    mask = 0
    for ones in range(chosen, 0, -1):
        column = ones - 1
        while comb(column + 1, ones) <= ordinal:
            column += 1
        ordinal -= comb(column, ones)
        mask |= 1 << column
    return mask

def left_out(mask, column):
    """Makes room for a column: those from it on move up by one."""
    below = mask & (1 << column) - 1
    return (mask - below) << 1 | below

# --- The file ---

is_small = lambda value: value == str(int(value)) and int(value) >> 128 == 0
is_hex = lambda value, size: type(value) is str and len(value) == 2 * size and set(value) <= set("0123456789abcdef")
TYPES = {
    "u32": lambda value: type(value) is int and 0 <= value < 1 << 32,
    "u64": lambda value: type(value) is int and 0 <= value < 1 << 64,
    "time": lambda value: type(value) is int and -1 << 63 <= value < 1 << 63,
    "null": lambda value: value is None,
    "flag": lambda value: type(value) is bool,
    "text": lambda value: type(value) is str,
    "version": lambda value: type(value) is int and value == 3,
    "decimal": lambda value: type(value) is str and len(value) < 40 and value.isdecimal() and is_small(value),
    "hex16": lambda value: is_hex(value, 16),
    "hex32": lambda value: is_hex(value, 32),
    "by": lambda value: type(value) is list and value and all(map(TYPES["u32"], value)) and value == sorted(set(value)),
}

def record(name, fields):
    """Adds a type: objects with these fields in this order. A field has a type, or it is one of some words."""
    fields = [field.split(":") for field in fields.split()]

    def fits(value):
        if type(value) is not dict or list(value) != [field for field, _ in fields]:
            return False
        return all(any(of(value[field], kind) for kind in kinds.split("|")) for field, kinds in fields)

    TYPES[name] = fits

def of(value, kind):
    return TYPES[kind](value) if kind in TYPES else value == kind.replace("_mirrored", " mirrored")

record("row", "first:u64 past:u64 count:decimal digest:hex16 by:by busy_us:u64 at:time")
record("revealed", "seed:decimal salt:hex16")
record("header", """queens_bundle:version program:text exported_at:time problem:text n:u32
    method:rows|ring|halves parameter:u32|null tasks:u64 fingerprint:hex32 shard:u32 shards:u32
    state:running|paused|cancelled|held|done covered:u64 counted:decimal policies:u64 trust:u64 authors:u64 ranges:u64
    audits:u64 disputes:u64 merkle_root:hex32""")
KERNELS = "|".join(f"{loop}|{loop}_mirrored" for loop in ("reference", "portable", "avx2", "avx512")) + "|search"
LINES = {
    "policy": "share_ppm:u32 by_search:flag across:machines|owners commitment:hex32 revealed:revealed|null asked_at:time",
    "trust": "owner:text machine:text|null trusted:flag reason:text at:time",
    "author": f"owner:text machine:text worker:text build:text kernel:{KERNELS}",
    "range": "audit:not_chosen|wanted|agreed row:row",
    "audit": "row:row",
    "dispute": "state:open|settled|taken_back row:row",
}
BEFORE = {"policy": ["trust", "author", "range", "dispute"], "trust": ["author", "range", "dispute"], "range": ["dispute"]}
for kind, fields in LINES.items():
    record(kind, fields)

def content(line):
    """What a line says, if it is spelled in the one way."""
    try:
        value = json.loads(line.decode())
        demand(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() == line, "it is spelled otherwise")
    except (ValueError, RecursionError) as error:
        raise Wrong(f"it is no JSON: {error}") from error
    return value

def root(level):
    """The Merkle root over leaves: neighbours are joined, and a last one without a neighbour moves up."""
    while len(level) > 1:
        pairs = (level[at : at + 2] for at in range(0, len(level), 2))
        level = [blake3(b"\1" + b"".join(pair)) if len(pair) == 2 else pair[0] for pair in pairs]
    return (level[0] if level else blake3(b"")).hex()

class Check:
    """All that has to hold of a bundle before anything is counted, and the ranges that its draws hit."""

    def __init__(self, file, draws, seed, beacon):
        line = self.line(file)
        demand(line is not None, "it is empty")
        head = self.head = content(line)
        demand(TYPES["header"](head), "line 1 is no header that this verifier reads: version 3")
        self.name, self.fingerprint = blake3(line).hex(), bytes.fromhex(head["fingerprint"])
        n, method, parameter, tasks = head["n"], head["method"], head["parameter"], head["tasks"]
        problem = head["problem"].split(" ")[0]
        demand(problem in ("total", "fundamental", "toroidal", "superqueens", "completions"), "there is no such problem")
        if problem not in ("total", "fundamental"):
            raise Unknown(f"it does not count the problem {problem}")
        if n > 27:
            raise Unknown("boards beyond N = 27 are too large to be counted by plain searches")
        self.plan = {"rows": Rows, "ring": Ring, "halves": Halves}[method](n, parameter)
        cut = {"rows": f"; rows {parameter}", "ring": f"; width {parameter}", "halves": ""}[method]
        enumeration = 3 if method == "halves" else 1
        plan = f"queens plan; enumeration {enumeration}; problem {head['problem']}; n {n}; method {method}{cut}; tasks {tasks}"
        demand(blake3(plan.encode()) == self.fingerprint, "the fingerprint is not that of the plan")
        demand(self.plan.length == tasks, f"the plan has {self.plan.length} tasks")
        part, parts, blocks = head["shard"], head["shards"], min(64 * head["shards"], tasks)
        mine = range(part - 1, blocks, parts) if 1 < parts else []
        self.mine = [(tasks * block // blocks, tasks * (block + 1) // blocks) for block in mine] or [(0, tasks)]
        demand(1 <= head["shard"] <= head["shards"] <= 1 << 20, "there is no such part of a plan")
        if beacon is not None:
            seed = little(blake3(f"queens beacon; bundle {self.name}; value {beacon}".encode())[:8])
        self.draw(draws, seed)
        self.policies, self.authors, self.leaves, self.hits, self.last = [], [], [], {}, None
        self.seen, self.end, self.covered, self.counted, self.unsettled = dict.fromkeys(LINES, 0), 0, 0, 0, 0
        while (line := self.line(file)) is not None:
            self.leaves.append(blake3(b"\0" + line))
            try:
                self.see(content(line))
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

    def see(self, value):
        demand(type(value) is dict and len(value) == 1, "it is no line of a bundle")
        [(kind, line)] = value.items()
        demand(kind in LINES and TYPES[kind](line), f"it is no {kind} with the right fields")
        demand(not any(self.seen[other] for other in BEFORE.get(kind, ())), "it is out of order")
        self.seen[kind] += 1
        if kind in ("range", "audit", "dispute"):
            row = line["row"]
            demand(row["first"] < row["past"] and row["by"][-1] < len(self.authors), "its range or its authors are wrong")
        getattr(self, kind)(line)

    def policy(self, line):
        demand(self.seen["policy"] <= 1000, "there are too many policies")
        demand(line["share_ppm"] <= 1_000_000, "a policy is about more than all")
        if line["revealed"]:
            text = "queens audit commitment; seed {seed}; salt {salt}".format(**line["revealed"])
            told = int(line["revealed"]["seed"]) >> 64 == 0 and blake3(text.encode()).hex() == line["commitment"]
            demand(told, "seed and salt are not what was committed to")
        self.policies.append(line)

    def trust(self, _):
        """It changes what second counts are worth, and not whether the bundle holds."""

    def author(self, line):
        demand(line not in self.authors, "the author is there already")
        self.authors.append(line)

    def range(self, line):
        row, policy = line["row"], self.policies[-1] if self.policies else None
        first, past, count = row["first"], row["past"], int(row["count"])
        demand(self.end <= first, "the range begins before the last one ends")
        demand(any(begin <= first and past <= end for begin, end in self.mine), "the range is not of this part of the plan")
        demand(count <= (past - first) * self.plan.most, "the tasks cannot count so much")
        if policy and policy["revealed"]:
            of = f"queens audit; seed {policy['revealed']['seed']}; plan {self.fingerprint.hex()}; range [{first}, {past})"
            chosen = little(blake3(of.encode())[:8]) * 1_000_000 >> 64 < policy["share_ppm"]
            demand(not chosen or line["audit"] != "not_chosen", "the range is chosen for an audit, but not said to be")
        self.last, self.end, self.covered = line, past, self.covered + past - first
        self.counted += count
        self.unsettled += line["audit"] == "wanted"
        for points, sum in ((self.points, self.counted), (self.places, self.covered)):
            while points and points[-1][0] < sum:
                self.hits[points.pop()[1]] = row

    def audit(self, line):
        first, self.last = self.last, None
        demand(first and first["audit"] == "agreed", "there is no range before it that was counted twice")
        same = all(first["row"][name] == line["row"][name] for name in ("first", "past", "count", "digest"))
        demand(same, "the second count differs")
        keys = ["owner"] if self.policies and self.policies[-1]["across"] == "owners" else ["owner", "machine"]
        ones, others = ({tuple(self.authors[by][key] for key in keys) for by in row["row"]["by"]} for row in (first, line))
        demand(not ones & others, "those who counted do not check each other")

    def dispute(self, line):
        self.last = None
        self.unsettled += line["state"] == "open"

    def close(self):
        head = self.head
        demand(root(self.leaves) == head["merkle_root"], "the lines do not have the Merkle root of the header")
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
        """Counts the ranges that were hit again, in the order of the draws: how many draws from the total and from the tasks,
        and how many of them say nothing, because the time was over."""
        end, alike, draws, unknown = time.monotonic() + seconds, set(), [0, 0], [0, 0]
        for at, row in sorted(self.hits.items()):
            kind = 0 if self.by_count(at) else 1
            draws[kind] += 1
            if row["first"] not in alike and not self.is_alike(row, end):
                unknown[kind] = 1
                break
            alike.add(row["first"])
        return draws, unknown

    def is_alike(self, row, end):
        """Whether there was time to count a range again. It must have the same count."""
        sum, digest = 0, 0
        for ordinal, (weight, allowed, worth) in enumerate(self.plan.tasks(row["first"], row["past"]), row["first"]):
            if time.monotonic() > end:
                return False
            count = weight * search(allowed, worth)
            task = self.fingerprint + ordinal.to_bytes(8, "little") + count.to_bytes(8, "little")
            sum, digest = sum + count, digest + little(blake3(task)[:16]) & (1 << 128) - 1
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
