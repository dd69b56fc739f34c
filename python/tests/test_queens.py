"""The package as its users see it, against the known numbers of the whole repository."""

import itertools
import json
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as xml

import pytest

import queens_count as queens

VECTORS = json.loads(pathlib.Path(__file__).with_name("counts.json").read_text())
PROBLEMS = ["total", "fundamental", "toroidal", "superqueens"]


def known(problem, most):
    """The published numbers for sizes from 1 to this one."""
    vector = VECTORS[problem]
    first = vector["first"]
    return {n: int(vector["values"][n - first]) for n in range(max(1, first), most + 1)}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_counts_are_the_known_ones(problem):
    numbers = known(problem, 14)
    assert {n: queens.count(n, problem=problem) for n in numbers} == numbers
    assert queens.count(12) == queens.count(12, threads=1)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_as_many_are_listed_as_are_counted(problem):
    for n, number in known(problem, 11).items():
        listed = list(queens.solutions(n, problem=problem))
        assert len(listed) == number, n
        assert listed == sorted(set(listed))
    assert list(queens.fundamental(9)) == list(queens.solutions(9, problem="fundamental"))


def test_given_queens_are_counted_up_to_size_64():
    assert queens.count(64, given=queens.solve(64).squares) == 1
    with pytest.raises(ValueError, match="65"):
        queens.count(65, given="a1")


@pytest.mark.parametrize("problem", ["total", "toroidal", "superqueens"])
def test_shards_add_up_to_the_whole(problem):
    for n in [1, 11, 13, 15] if problem == "total" else [11]:
        parts = [queens.count(n, problem=problem, shard=(index, 5)) for index in range(1, 6)]
        assert sum(parts) == known(problem, n).get(n)
    assert queens.count(10, shard=(1, 1)) == queens.count(10, shard=None) == queens.count(10)


def test_other_processes_find_the_function_by_its_name():
    assert pickle.loads(pickle.dumps(queens.count)) is queens.count


def test_solutions_are_searched_when_they_are_asked_for():
    first = list(itertools.islice(queens.solutions(20), 3))
    assert first == sorted(first) and all(placement.n == 20 for placement in first)
    one = queens.solutions(1)
    assert next(one).columns == (0,)
    assert next(one, None) is None and next(one, None) is None


def test_given_and_blocked_squares_are_heeded():
    everything = list(queens.solutions(8))
    wanted = [it for it in everything if "a1" in it.squares and "b5" not in it.squares]
    assert list(queens.solutions(8, given="a1", blocked=["b5"])) == wanted
    with_corner = [it for it in everything if "a1" in it.squares]
    assert queens.count(8, given=["a1"]) == len(with_corner)
    assert queens.complete(8, "a1", blocked="b5") in wanted
    assert queens.complete(6, "a1") is None
    torus = queens.complete(7, problem="toroidal", seed=3)
    assert torus in list(queens.solutions(7, problem="toroidal"))


def test_a_placement_is_a_sequence_of_columns():
    placement = queens.Placement([1, 3, 0, 2])
    assert list(placement) == [1, 3, 0, 2] and len(placement) == placement.n == 4
    assert placement[-1] == 2 and 3 in placement and list(reversed(placement)) == [2, 0, 3, 1]
    assert placement.columns == (1, 3, 0, 2)
    assert placement.squares == ["b1", "d2", "a3", "c4"]
    assert placement == queens.Placement("2 4 1 3") == queens.Placement(" ".join(placement.squares))
    assert str(placement) == "2 4 1 3" and eval(repr(placement), vars(queens)) == placement
    assert pickle.loads(pickle.dumps(placement)) == placement
    assert placement.symmetry == "quarter turn" and len(placement.orbit()) == 2
    for beyond in [4, -5]:
        with pytest.raises(IndexError):
            placement[beyond]


def test_drawings_show_the_queens():
    placement = queens.solve(8)
    rows = queens.draw(placement).splitlines()[:8]
    queens_of = [row.split()[1:].index("Q") for row in reversed(rows)]
    assert tuple(queens_of) == placement.columns
    svg = placement._repr_svg_()
    assert svg == queens.draw(placement, "svg")
    drawn = xml.fromstring(svg).findall(".//{*}use[@class='queen']")
    assert [(int(it.get("x")), 7 - int(it.get("y"))) for it in drawn] == [
        (column, row) for row, column in enumerate(placement)
    ]
    assert queens.solve(1000)._repr_svg_() is None


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: queens.count(33), "33"),
        (lambda: queens.count(-1), "a board of size -1: give a size from 0 to 100000000"),
        (lambda: queens.count(10**30), "give a size from 0"),
        (lambda: queens.solutions(10**9), "give a size from 0"),
        (lambda: queens.count(8, problem="knights"), "`knights` is no problem: give total"),
        (lambda: queens.count(8, given="a1 b2"), "a1 and b2 attack each other"),
        (lambda: queens.count(8, given="a9"), "a9 is off the board"),
        (lambda: queens.count(8, given=["1a"]), "`1a` is no square"),
        (lambda: queens.count(7, given="a1", problem="toroidal"), "list those of toroidal"),
        (lambda: queens.count(8, threads=0), "0: give threads from 1"),
        (lambda: queens.count(8, threads=-5), "-5: give threads from 1"),
        (lambda: queens.count(8, shard=(0, 64)), "(0, 64) is no shard: give (INDEX, SHARDS)"),
        (lambda: queens.count(8, shard=(-1, 64)), "(-1, 64) is no shard"),
        (lambda: queens.count(8, shard=(1, 10**9)), "at most 1048576 shards"),
        (lambda: queens.count(8, shard=(1, 2), problem="fundamental"), "the shards of the total"),
        (lambda: queens.solve(3), "sizes 2 and 3 have no placement"),
        (lambda: queens.solutions(8, given="a1", blocked="a1"), "blocked square"),
        (lambda: queens.Placement([0, 1]), "a1 and b2 attack each other"),
        (lambda: queens.Placement([-1]), "-1 is no column"),
        (lambda: queens.Placement("2 4 1"), "4 is no column"),
        (lambda: queens.draw(queens.solve(201)), "a board of size 201 cannot be drawn"),
        (lambda: queens.draw(queens.solve(8), "png"), "`png` is no format: give text or svg"),
    ],
)
def test_wrong_arguments_are_told_in_a_sentence(call, sentence):
    with pytest.raises(ValueError) as raised:
        call()
    assert sentence in str(raised.value)


def test_wrong_types_are_type_errors():
    for call in [lambda: queens.count("8"), lambda: queens.count(8.0)]:
        with pytest.raises(TypeError):
            call()
    with pytest.raises(TypeError):
        queens.count(8, given=[1])
    for shard in ["3/64", 3, (1, 2, 3)]:
        with pytest.raises((TypeError, ValueError)):
            queens.count(8, shard=shard)


def test_progress_rises_to_one():
    fractions = []
    queens.count(17, threads=1, progress=fractions.append)
    assert fractions == sorted(fractions) and fractions[-1] == 1.0


def test_what_progress_raises_ends_the_count():
    def report(fraction):
        raise KeyError(fraction)

    with pytest.raises(KeyError):
        queens.count(26, progress=report)


def test_other_threads_run_during_a_count():
    counting = threading.Thread(target=queens.count, args=(18,), kwargs={"threads": 1})
    counting.start()
    rounds = 0
    while counting.is_alive():
        rounds += 1
        time.sleep(0)
    assert rounds > 100


@pytest.mark.skipif(sys.platform == "win32", reason="it sends a signal")
@pytest.mark.parametrize(
    "call",
    [
        "queens.count(27)",
        "queens.count(26, problem='fundamental')",
        "queens.count(20, problem='superqueens')",
        "queens.count(64, given='a1')",
        "next(queens.solutions(64))",
        "next(queens.solutions(100))",
        "list(queens.solutions(20))",
        "next(queens.fundamental(32))",
        "queens.complete(101, 'a1', problem='toroidal')",
    ],
)
def test_control_c_ends_it(call):
    # A process that a shell has begun in the background ignores the signal.
    program = f"""
import queens_count as queens, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print(time.monotonic())
"""
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "begun\n"
        time.sleep(0.5)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        try:
            interrupted = float(child.communicate(timeout=30)[0])
        finally:
            child.kill()
    print(f"{call}: {interrupted - sent:.3f} s")
    # It takes 0.03 s where the processors are free.
    assert interrupted - sent < 5
    assert child.returncode == 0


def test_an_interrupted_iterator_goes_on():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    listed = queens.solutions(30)
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while True:
            next(listed)
    timer.join()
    assert next(listed).n == 30


def test_the_type_hints_are_those_of_the_module():
    assert pathlib.Path(queens.__file__).with_name("py.typed").exists()
    stubtest = [sys.executable, "-m", "mypy.stubtest", "queens_count", "--ignore-missing-stub"]
    # The folder is a temporary one. Here, mypy would leave a folder and find the stubs a second
    # time.
    with tempfile.TemporaryDirectory() as folder:
        found = subprocess.run(stubtest, cwd=folder, capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def test_all_that_is_public_has_a_docstring():
    for name in ["count", "solutions", "fundamental", "solve", "complete", "draw", "Placement"]:
        assert getattr(queens, name).__doc__, name
    assert queens.__doc__
