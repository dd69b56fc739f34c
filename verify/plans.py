"""The tasks of a plan in their order, and a plain search that counts them.

`rows`, `ring` and `halves` list tasks. A task is an iterator over its boards, of which it yields how often each of them counts:
what the task counts is the sum. Rows and columns are numbered from 0. A set of columns is a mask, in which column 0 is the
lowest bit, and a queen is the bit of its column.
"""

from itertools import combinations, product
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

def boards(allowed, weight, share=lambda queens: 1):
    """The task with these columns for the queen of each row."""
    for queens in placements(allowed):
        yield weight * share(queens)

def most(method, n, parameter):
    """The most that a task can count; `None` if there is no such plan."""
    if method in ("rows", "prefixes"):
        images = 2 if method == "rows" else 1
        return images * factorial(n - parameter) if parameter is not None and parameter <= n else None
    if method == "ring":
        return 8 * factorial(n - 2 * parameter) if parameter in (1, 2) and 2 * parameter <= n else None
    return 8 * factorial(n // 2) ** 2 if parameter is None and n >= 4 else None

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

def ring(n, width):
    """The queens of the outer rows and columns, as four sides that are read clockwise: right, bottom, left, top. A side has the
    places of its queens, the outermost line's first. A task stands for the eight images of its ring, of which it is the least."""
    lines = range(n)
    sides = [(outer,) for outer in lines] if width == 1 else [(o, i) for o in lines for i in lines if abs(o - i) > 1]
    mirrored = {side: tuple(n - 1 - place for place in side) for side in sides}

    def squares(side, turns):
        """The row and column of each queen of the top side, after so many quarter turns clockwise."""
        queens = list(enumerate(side))
        for _ in range(turns):
            queens = [(column, n - 1 - row) for row, column in queens]
        return queens

    def fitting(turns):
        """For each side those that stand with it without attacks, so many quarter turns further."""
        top, turned = ({side: squares(side, by) for side in sides} for by in (0, turns))
        return {a: {b for b in sides if not any(attack(x, y) for x in top[a] for y in turned[b])} for a in sides}

    def task(ring, weight):
        queens = [queen for turns, side in zip((1, 2, 3, 0), ring) for queen in squares(side, turns)]
        is_free = lambda square: not any(attack(square, queen) for queen in queens)
        yield from boards([sum(1 << column for column in lines if is_free((row, column))) for row in lines], weight)

    after, across, before = map(fitting, (1, 2, 3))
    for a in sides:
        # With another side before this one, or its mirror image, the ring would not be the least image.
        rest = {side for side in sides if side >= a and mirrored[side] >= a}
        for b in sorted(rest & after[a]):
            for c in sorted(rest & across[a] & after[b]):
                for d in sorted(rest & before[a] & across[b] & after[c]):
                    rings = (a, b, c, d), tuple(mirrored[side] for side in (d, c, b, a))
                    images = [ring[turn:] + ring[:turn] for ring in rings for turn in range(4)]
                    if images[0] == min(images):
                        yield task(images[0], 8 // images.count(images[0]))

def attack(one, other):
    """Whether queens on two squares attack each other; a queen does not attack itself."""
    rows, columns = abs(one[0] - other[0]), abs(one[1] - other[1])
    return one != other and (rows == 0 or columns == 0 or rows == columns)

def halves(n, _):
    """The columns of the upper half's queens; those of the lower half have the others. If N is odd, the centre row has a queen
    too. Tasks whose queen there stands left of the centre come first; then the upper half has the centre column."""
    half = n // 2
    full, centre = (1 << half) - 1, 1 << half
    subsets = lambda columns, size: sorted(map(sum, combinations([1 << column for column in range(columns)], size)))
    gap = lambda mask, column: mask + (mask >> column << column)

    def task(upper, middle, weight, share):
        lower = (1 << n) - 1 & ~upper & ~middle
        return boards([upper] * half + [middle] * (n % 2) + [lower] * half, weight, share)

    def beside(upper, column):
        """A board counts twice if its centre row's queen is nearer to the edge than its centre column's. Otherwise that is so of
        the transposed board."""
        return task(upper | centre, 1 << column, 8, lambda queens: queens.index(centre) > column)

    if n % 2 and n <= 21:
        for on_right in range(half):
            for right, left in product(subsets(half, on_right), subsets(half, half - 1 - on_right)):
                yield from (beside(right << half + 1 | left, column) for column in range(half) if not left >> column & 1)
    elif n % 2:
        for column, columns in product(range(half), subsets(2 * half - 1, half - 1)):
            yield beside(gap(gap(columns, column), half), column)
    for size in range((half + 1) // 2, half + 1):
        sides = subsets(half, size)
        for west, east in product(sides, sides):
            # The complement of a side of half of the lines is a side, too: the larger one of both is meant.
            least = full - west if 2 * size == half else 0
            if least <= east <= west:
                left = int(f"{west:0{half}b}"[::-1], 2)
                yield task((full & ~east) << n - half | left, n % 2 * centre, 2, share(n, west, east))

def share(n, west, east):
    """A function that says how often a board counts, so that the eight images of a board count as eight. Its quadrants, without
    the centre lines if N is odd, have four sides. Each is a number with a bit for each line, that of the board's edge highest:

        west   the columns of the queens in the upper left quadrant       north   their rows
        east   the columns of the queens in the lower right quadrant      south   their rows

    A board counts if its west is the largest. If others are as large, several of its images count."""
    half = n // 2
    full = (1 << half) - 1
    larger = lambda side: max(side, full - side) if 2 * west.bit_count() == half else side
    side = lambda queens, columns: larger(sum(1 << half - 1 - row for row, queen in enumerate(queens) if queen & columns))
    shares = ((2, 0), (0, 1)) if larger(east) == west else ((4, 2), (2, 4))

    def of(queens):
        north, south = side(queens[:half], full), side(queens[: n - half - 1 : -1], full << n - half)
        return shares[north == west][south == west] if max(north, south) <= west else 0

    return of
