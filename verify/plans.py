"""The tasks of a plan, numbered as docs/BUNDLE.md says, and a plain search that counts them."""

from itertools import islice
from math import comb, factorial


class Wrong(Exception):
    """The bundle does not hold."""


def demand(holds, reason):
    if not holds:
        raise Wrong(reason)

def of_part(part, parts, tasks):
    """The runs of ordinals, each with its end, that a part of a plan with so many tasks has. It has none if there are more parts
    than tasks before it."""
    demand(1 <= part <= parts <= 1 << 20, "there is no such part of a plan")
    blocks = 1 if parts == 1 else min(64 * parts, tasks)
    return [(tasks * block // blocks, tasks * (block + 1) // blocks) for block in range(part - 1, blocks, parts)]


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

    def has(self, tasks):
        """Whether there are so many tasks. It counts no further."""
        return sum(1 for _ in islice(self.below(), tasks + 1)) == tasks

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

    def has(self, tasks):
        """Whether there are so many tasks. It counts no further."""
        return sum(1 for _ in islice(self.all(), tasks + 1)) == tasks

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

    def has(self, tasks):
        """Whether there are so many tasks."""
        return tasks == self.beside + sum(self.splits(least, wests) for _, least, wests in self.sizes())

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
