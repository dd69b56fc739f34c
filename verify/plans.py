"""The tasks of a plan in their order, and a plain search that counts them.

`rows`, `prefixes` and `colours` list tasks. A task is an iterator over its boards, of which it yields how often
each of them counts, or, by `colours`, over sets of its boards: what the task counts is the sum. Rows and columns are numbered from
0. A set of columns is a mask, in which column 0 is the lowest bit, and a queen is the bit of its column.
"""

from collections import Counter
from itertools import combinations
from math import factorial

def placements(allowed, queens=(), left=0, down=0, right=0):
    """All ways to place a queen in each row, in one of the columns that are allowed there, so that no two attack each other.
    The next row sees the queens so far along diagonals to higher columns (`left`), columns, and diagonals to lower columns."""
    if len(queens) == len(allowed):
        yield queens
        return
    free = allowed[len(queens)] & ~(left | down | right)
    while free:
        queen = free & -free
        free -= queen
        yield from placements(allowed, (*queens, queen), (left | queen) << 1, down | queen, (right | queen) >> 1)

def boards(allowed, weight):
    """The task with these columns for the queen of each row."""
    for _ in placements(allowed):
        yield weight

def most(method, n, parameter):
    """The most that a task can count; `None` if there is no such plan."""
    if method in ("rows", "prefixes"):
        images = 2 if method == "rows" else 1
        return images * factorial(n - parameter) if parameter is not None and parameter <= n else None
    return 8 * factorial(n // 2) * factorial((n + 1) // 2) if parameter is None and n >= 4 else None

def rows(n, m):
    """The queens of the first M rows, in the order of their columns. A task stands for its mirror image too: it is the one whose
    first queen off the centre column stands left of it."""
    full, centre = (1 << n) - 1, 1 << n // 2
    for queens in placements([full] * m):
        beside = [queen for queen in queens if n % 2 == 0 or queen != centre]
        if not beside or beside[0] < centre:
            yield boards([*queens, *[full] * (n - m)], 2 if beside else 1)

def prefixes(n, m):
    """The queens of the first M rows, in the order of their columns, each by itself."""
    for queens in placements([(1 << n) - 1] * m):
        yield boards([*queens, *[(1 << n) - 1] * (n - m)], 1)

EVEN, ODD = 0x55555555, 0xAAAAAAAA

def turned(n, lines):
    """A mask of lines, read from the other end."""
    return int(f"{lines:0{n}b}"[::-1], 2)

def colours(n, _):
    """The colour of the square of each row's queen: black if row and column are both even or both odd. A task has the even and the
    odd rows of the black queens. Tasks with the same odd rows stand together."""
    lines = lambda first, size: sorted(map(sum, combinations([1 << line for line in range(first, n, 2)], size)))
    for k in range(n % 2, (n // 4 if n % 2 == 0 else n // 2 + 1) + 1):
        evens, odds = lines(0, k), lines(1, k - n % 2)
        for place, odd in enumerate(odds):
            if n % 2 == 0:
                # The even rows, read from the other end, are no less than the odd ones, nor is
                # their complement if it has as many.
                end = len(odds) - place if 4 * k == n else len(odds)
                chosen = [turned(n, rows) for rows in odds[place:end]]
            elif odd < turned(n, odd):
                chosen = evens
            else:
                chosen = [rows for rows in evens if rows <= turned(n, rows)] if odd == turned(n, odd) else []
            yield from (by_colour(n, even, odd) for even in chosen)

def by_colour(n, even, odd):
    """The task with black queens in these even and odd rows. Queens of different colours share no diagonal. So the boards whose black
    queens stand in a set of columns are the placements of black queens there times those of white queens in the other columns."""
    full = (1 << n) - 1
    split, black = even | ODD & full & ~odd, even | odd
    share, weight = share_of_colours(n, split), len(images(n, split))
    white = placed(n, full & ~black, even=ODD, odd=EVEN)
    for columns, count in placed(n, black, even=EVEN, odd=ODD).items():
        if full & ~columns in white:
            yield weight * share(columns & EVEN | ODD & full & ~columns) * count * white[full & ~columns]

def placed(n, rows, even, odd):
    """For each set of columns, the number of ways to place queens there in these rows, those of even rows in the columns `even` and
    those of odd rows in the columns `odd`, so that no two attack each other."""
    lines = [row for row in range(n) if rows >> row & 1]
    allowed = [(odd if row % 2 else even) & (1 << n) - 1 for row in lines]
    gaps, found = [after - row for row, after in zip(lines, lines[1:])] + [1], Counter()

    def place(at, left, down, right):
        if at == len(lines):
            found[down] += 1
            return
        free = allowed[at] & ~(left | down | right)
        while free:
            queen = free & -free
            free -= queen
            place(at + 1, (left | queen) << gaps[at], down | queen, (right | queen) >> gaps[at])

    place(0, 0, 0, 0)
    return found

def images(n, split):
    """The split of a board and those of its mirror images. A split is the set of rows whose queens stand in even columns."""
    pair = {split, turned(n, split)}
    return pair if n % 2 else pair | {(1 << n) - 1 & ~one for one in pair}

def share_of_colours(n, split):
    """A function that says how often a board of this split counts, so that the eight images of a board count as eight. It is given
    the split of the transposed board: the columns whose queens stand in even rows. A board counts twice if the transposed board is
    of a task behind this one, and once if it is of this one. If N is odd, a board's mirror image has the same split: if their
    transposed boards have different splits, the one with the lesser split counts for both."""
    order = lambda split: ((split & EVEN).bit_count(), ODD & ~split, split & EVEN)
    task = order(split)

    def share(transposed):
        mine = images(n, transposed)
        first = min(map(order, mine))
        times = (first >= task) + (first > task)
        if n % 2:
            times *= len(mine) if order(transposed) == first else 0
        return times

    return share
