#!/usr/bin/env python3
"""How much the method `colours` has to do for a board: the numbers of docs/COLOURS.md.

    python3 tools/placements.py 20 28

prints for each N the splits, the tasks and the cells, which are exact, and the placements of one colour that the kernel looks at. Up
to N = 10 these are counted; above, they are an estimate with its standard error. It needs Python 3.10 and nothing else.

Names are those of docs/COLOURS.md: lines are numbered from 0, a task has black queens in its even and odd rows, and c and d are the
odd and the even columns of black queens. Bit i of a set of odd lines is line 2i + 1, and of a set of even lines it is line 2i.
"""

import argparse
from itertools import combinations
from math import comb, sqrt
from random import Random

def reverse(lines, size):
    return int(f"{lines:0{size}b}"[::-1], 2)

def bits(mask):
    while mask:
        yield mask & -mask
        mask &= mask - 1

class Board:
    def __init__(self, n):
        self.n, self.even, self.odd = n, (n + 1) // 2, n // 2
        self.splits = comb(n, self.even)

    def black(self):
        """All numbers k of even rows with black queens."""
        return range(self.n % 2, self.even + 1)

    def cells(self):
        """The pairs of a split of the rows and one of the columns that have the same k."""
        return sum((comb(self.even, k) * comb(self.odd, k - self.n % 2)) ** 2 for k in self.black())

    def tasks(self):
        """The classes of splits, by Burnside's lemma."""
        def palindromes(size, k):
            return comb(size // 2, k // 2) if size % 2 or k % 2 == 0 else 0
        if self.n % 2:
            fixed = sum(palindromes(self.even, k) * palindromes(self.odd, k - 1) for k in self.black())
            return (self.splits + fixed) // 2
        # No split is its own complement, and 2^(N/2) are the complement of their reverse.
        return (self.splits + palindromes(self.n, self.odd) + 2 ** self.odd) // 4

    def all_splits(self):
        return combinations(range(self.n), self.even)

    def task_of(self, split):
        """The even and the odd rows of black queens of the task of a split, and the task's weight. The split has the rows whose
        queens stand in even columns."""
        even = sum(1 << row // 2 for row in split if row % 2 == 0)
        odd = 2 ** self.odd - 1 - sum(1 << row // 2 for row in split if row % 2)
        if self.n % 2:
            images = {(even, odd), (reverse(even, self.even), reverse(odd, self.odd))}
        else:
            full = 2 ** self.odd - 1
            images = {(even, odd), (full - reverse(odd, self.odd), full - reverse(even, self.odd))}
            images |= {(full - even, full - odd) for even, odd in images}
        return min(images, key=lambda image: (image[0].bit_count(), image[1], image[0])), len(images)

    def bounds(self, even, odd):
        """Whether placements are looked at whose black queens have these odd columns c, and these even columns d."""
        if self.n % 2:
            return lambda c: odd <= c <= reverse(c, self.odd), lambda d: True
        most = 2 ** self.odd - 1 - (odd if 4 * even.bit_count() == self.n else 0)
        return lambda c: odd <= c <= most, lambda d: odd <= reverse(d, self.odd) <= most

    def placements(self, even, odd, choose):
        """The placements of either colour that are looked at for a task. `choose` is told the free columns of a row, and returns
        the queens that are tried there, and how many each of them stands for."""
        n = self.n
        looks_at_c, looks_at_d = self.bounds(even, odd)
        in_even, in_odd = (sum(1 << column for column in range(parity, n, 2)) for parity in (0, 1))
        middle_first = sorted(range(n), key=lambda row: abs(2 * row - n + 1))

        def place(at, taken, rising, falling):
            """`rising` and `falling` are the diagonals of the queens that were placed in `rows[:at]`."""
            black = taken if is_black else 2 ** n - 1 - taken
            if at == of_odd and not looks_at_c(sum(1 << i for i in range(self.odd) if black >> 2 * i + 1 & 1)):
                return 0
            if at == len(rows):
                return int(looks_at_d(sum(1 << i for i in range(self.even) if black >> 2 * i & 1)))
            row, columns = rows[at], in_odd if at < of_odd else in_even
            queens, times = choose(columns & ~(taken | rising >> row | falling >> n - 1 - row))
            return times * sum(place(at + 1, taken | queen, rising | queen << row, falling | queen << n - 1 - row) for queen in queens)

        found = 0
        for is_black in (True, False):
            own = [row for row in middle_first if bool((odd if row % 2 else even) >> row // 2 & 1) == is_black]
            # The rows whose queens stand in odd columns come first: odd rows of black queens, even
            # rows of white ones.
            rows = [row for row in own if row % 2 == is_black] + [row for row in own if row % 2 != is_black]
            of_odd = sum(row % 2 == is_black for row in own)
            found += place(0, 0, 0, 0)
        return found

    def count(self):
        """The placements that are looked at for all tasks."""
        tasks = {self.task_of(split)[0] for split in self.all_splits()}
        return sum(self.placements(*task, lambda free: (bits(free), 1)) for task in tasks)

    def estimate(self, draws, random):
        """The same by Knuth's method, with its standard error: the task of a random split, and a random free column in each row."""
        def choose(free):
            queens = list(bits(free))
            return ([random.choice(queens)] if queens else []), len(queens)
        total = squares = 0.0
        for _ in range(draws):
            task, weight = self.task_of(random.sample(range(self.n), self.even))
            found = self.splits / weight * self.placements(*task, choose)
            total += found
            squares += found * found
        mean = total / draws
        return mean, sqrt((squares / draws - mean * mean) / draws)

def main():
    options = argparse.ArgumentParser(description="How much the method `colours` has to do for boards.")
    options.add_argument("n", nargs="+", type=int, help="sizes of boards, 4 to 32")
    options.add_argument("--draws", type=int, default=400_000, help="random placements for an estimate [default: 400000, a minute or two]")
    options.add_argument("--seed", type=int, default=1, help="repeats an estimate [default: 1]")
    options = options.parse_args()
    for n in options.n:
        board = Board(n)
        line = f"N = {n}: {board.splits} splits, {board.tasks()} tasks, {board.cells()} cells"
        if n <= 10:
            print(f"{line}, {board.count()} placements", flush=True)
        else:
            mean, error = board.estimate(options.draws, Random(options.seed))
            print(f"{line}, {mean:.3e} placements +- {100 * error / mean:.1f}%, from {options.draws} draws", flush=True)

if __name__ == "__main__":
    main()
