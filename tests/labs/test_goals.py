"""Goals that several labs ask for: what they say of nests that reach them, and of those that do not."""

import pytest

import workbench as wb
from workbench import te
from workbench.analysis import Cache
from workbench.labs import goals
from workbench.labs.catalog.fusion.blurring import blur
from workbench.labs.exercise import Setting, said
from workbench.workloads import matmul, softmax

HASWELL = wb.Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell", threads=1)  # 8 lanes, 16 registers
AT = Setting(HASWELL, {"n": 64})
ONE, TWO = Cache("one", 1024, ways=None), Cache("two", 4096, ways=None)


def tile(rows, columns, *kinds):
    """A product of 64 by 64 with a tile inside of k: what its columns and its rows become."""
    s = wb.Schedule(matmul(64, 64, 64), target=HASWELL)
    s.split("i", [None, rows])
    s.split("j", [None, columns])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1")
    for kind, loop in zip(kinds, ("j.1", "i.1"), strict=False):
        getattr(s, kind)(loop)
    return s


def down(s):
    """The vector goes down the rows."""
    s.reorder("j", "k", "i")
    s.vectorize("i")


def nest(func, step=lambda s: None):
    s = wb.Schedule(func, target=HASWELL)
    step(s)
    return s


def doubled():
    """Reads and writes two lines."""
    x = te.placeholder((32,), name="X")
    return nest(te.func(te.compute((32,), lambda i: x[i] * 2.0, name="Y"), name="doubled"))


def small(columns=16):
    return nest(blur(8, columns))


def fused():
    return nest(blur(8, 16), lambda s: s.compute_at("bx", "by_y"))


def both(vertical=False):
    """Both stages of the blur in vectors, the second one down the columns where that is asked for."""

    def steps(s):
        s.vectorize(s.split("x", [None, 8])[1])
        if vertical:
            s.reorder("by_x", "by_y")
        s.vectorize("by_y" if vertical else "by_x")

    return nest(blur(8, 16), steps)


def inlined():
    return nest(blur(8, 16), lambda s: s.compute_inline("bx"))


def rows(n, columns=64):
    return nest(matmul(n, columns, 8), lambda s: s.parallel("i"))


KEPT = ("vectorize", "unroll")


@pytest.mark.parametrize(
    ("goal", "work", "good", "told"),
    [
        (goals.whole_vectors(), lambda: tile(4, 16), False, "No loop is vectorised"),
        (goals.whole_vectors(), lambda: tile(4, 4, "vectorize"), False, "runs 4 times, which is not a multiple of 8"),
        (goals.whole_vectors(), lambda: tile(4, 16, "vectorize"), True, "8 neighbouring numbers along j"),
        (goals.whole_vectors("bx", "by"), small, False, "No loop of bx is vectorised"),
        (goals.whole_vectors("bx", "by"), both, True, "8 neighbouring numbers along x of bx and x of by."),
        (goals.pieces("bx", "by"), both, True, "one piece of memory"),
        (
            goals.pieces("bx", "by"),
            lambda: both(True),
            False,
            "16 elements apart in by and 16 elements apart in bx",
        ),
        (goals.pieces(), lambda: tile(4, 16), False, "nothing is loaded or stored as a vector"),
        (goals.pieces(), lambda: nest(matmul(64, 64, 64), down), False, "64 elements apart in"),
        (goals.pieces(buffer="B"), lambda: nest(matmul(64, 64, 64), down), True, "vector of B is one piece"),
        (goals.pieces(buffer="A"), lambda: nest(matmul(64, 64, 64), down), False, "lie 64 elements apart in A:"),
        (goals.pieces(), lambda: tile(4, 16, "vectorize"), True, "one piece of memory"),
        (goals.accumulators(8), lambda: tile(4, 16, "vectorize"), False, "No tile of C stays"),
        (goals.accumulators(9), lambda: tile(4, 16, *KEPT), False, "8 accumulators (4 rows × 2 vectors); at least 9"),
        (goals.accumulators(lambda at: at.registers // 2), lambda: tile(4, 16, *KEPT), True, "8 accumulators"),
        (goals.FITS, lambda: tile(4, 16), False, "What is not in registers"),
        (goals.FITS, lambda: tile(8, 16, *KEPT), False, "19 of 16 vector registers: what"),  # 16 + 2 + 1
        (goals.FITS, lambda: tile(4, 16, *KEPT), True, "11 of 16 vector registers."),
        (goals.PER_LOAD, lambda: tile(4, 16), False, "every multiply-add loads"),
        (goals.PER_LOAD, lambda: tile(1, 64, *KEPT), False, "8 multiply-adds share 9 loads: 0.89"),
        (goals.PER_LOAD, lambda: tile(4, 16, *KEPT), True, "8 multiply-adds share 6 loads: 1.33 for each load."),
        (goals.NOTHING_TWICE, fused, False, "bx is computed 2.4 times"),  # 8 rows times 3, of 10
        (goals.NOTHING_TWICE, small, True, "Nothing is computed twice."),
        (goals.repeated_at_most(2.5, "bx"), fused, True, "2.4 times"),
        (goals.repeated_at_most(3, "bx"), inlined, False, "no stage bx"),
        (goals.kept_at_most(8192, "bx"), fused, True, "192 bytes of bx"),
        (goals.kept_at_most(3 * 16 * 4, "bx"), fused, True, "192 bytes of bx"),
        (goals.kept_at_most(1024, "bx"), lambda: small(64), False, "2.5 KiB of bx"),
        (goals.kept_at_most(639), small, False, "640 bytes of bx"),
        (goals.kept_at_most(lambda at: 16 * at["n"]), inlined, True, "no temporary at all"),
        (goals.misses_at_most(lambda at: 4, ONE), doubled, True, "4 accesses miss the cache."),
        (goals.misses_at_most(lambda at: 3, ONE), doubled, False, "4 accesses miss the cache; it has to"),
        (goals.misses_at_most(lambda at: 4, ONE, TWO, buffer="X"), doubled, True, "2 accesses of X miss one."),
        (goals.parallel_iterations(8), lambda: tile(4, 16), False, "No loop is parallel."),
        (goals.parallel_iterations(8), lambda: rows(6), False, "6 iterations may run at the same time; at least 8"),
        (goals.parallel_iterations(8), lambda: rows(8), True, "8 iterations may run"),
        (goals.NO_SHARED_LINES, lambda: tile(4, 16), False, "No loop is parallel"),
        (goals.busy_at_least(0.9, 2), lambda: tile(4, 16), False, "No loop is parallel."),
        (
            goals.busy_at_least(0.8, 4),
            lambda: rows(5),
            False,
            "5 iterations take 2 rounds of 4 threads: 62.5% is work.",
        ),
        (goals.busy_at_least(0.6, lambda at: 4), lambda: rows(5), True, "62.5% is work."),
        (goals.NO_SHARED_LINES, lambda: rows(8, 8), False, "4 of 4 lines of C are written by up to 2"),
        (goals.NO_SHARED_LINES, lambda: rows(8, 16), True, "No line is written by two"),
    ],
)
def test_what_a_goal_says(goal, work, good, told):
    found, text = goal.reached(work(), AT)
    assert (found, told in text) == (good, True), text


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (goals.whole_vectors("a", "b"), "Loops of a and of b are vectorised, in whole vectors."),
        (goals.accumulators(1), "Kept in registers while the sum runs: at least 1 vector of sums (accumulators)."),
        (
            goals.accumulators(lambda at: at.registers),
            "Kept in registers while the sum runs: at least 16 vectors of sums (accumulators).",
        ),
        (goals.misses_at_most(lambda at: 1000, ONE, meaning=": few"), "At most 1,000 accesses miss the cache: few."),
        (goals.misses_at_most(lambda at: 2, ONE, TWO, level="two", buffer="B"), "At most 2 accesses of B miss two."),
        (goals.busy_at_least(0.9, lambda at: at["n"]), "At least 90% of the time of 64 threads is work."),
        (goals.repeated_at_most(1, "a", "b"), "Nothing of a and of b is computed twice."),
        (goals.repeated_at_most(1.5), "Each stage is computed at most 1.5 times as often as needed."),
        (goals.kept_at_most(2048, "a", "b"), "At most 2 KiB each of a and of b are kept at a time."),
        (goals.kept_at_most(2048, "a"), "At most 2 KiB of a are kept at a time."),
        (goals.kept_at_most(lambda at: at["n"]), "All temporaries together take at most 64 bytes."),
    ],
)
def test_the_text_of_a_goal(goal, text):
    assert said(goal.text, AT) == text


def test_temporaries_count_together():
    found = {name: 4 * size for name, size in {"largest": 4, "exps": 64, "total": 4, "inverse": 4}.items()}
    s = nest(softmax(4, 16))
    assert goals.kept_at_most(sum(found.values())).reached(s, AT)[0]
    assert not goals.kept_at_most(sum(found.values()) - 1).reached(s, AT)[0]


def product(a, b):
    return a * b


@pytest.mark.parametrize(
    ("work", "cases", "within", "good", "told"),
    [
        (product, [((2, 3), 6)], 0.0, True, "It multiplies."),
        (product, [((2, 3), 6), ((2, 4), 9)], 0.0, False, "product(2, 4) is 8; right is 9."),
        (product, lambda at: [((2, at["n"]), 127, "2 n")], 0.0, False, "For 2 n, product returns 128;"),
        (product, [((0.1, 3), 0.3)], 0.0, False, "right is 0.3"),
        (product, [((0.1, 3), 0.3), ((1e300, 1e300), float("inf"))], 1e-9, True, "It multiplies."),
        (lambda a: None, [((1,), 1)], 1e-9, False, "your function(1) is None; right is 1."),
        (lambda a: [a, a], [((1,), (1, 1))], 0.0, True, "It multiplies."),
        (lambda a, b: (b, a), [((1, 2), (1, 2))], 0.0, False, "The values are right, their order is not."),
        (lambda a: a.pop(), [(([1, 2],), 2), (([1, 2],), 2)], 0.0, True, "It multiplies."),
    ],
)  # fmt: skip
def test_a_function_is_right_for_all_cases(work, cases, within, good, told):
    found, text = goals.right_for("It multiplies.", cases, within).reached(work, AT)
    assert (found, told in text) == (good, True), text


def test_a_function_cannot_change_what_the_next_call_gets():
    given = [1, 2]
    goal = goals.right_for("It pops.", [((given,), 2), ((given,), 2)])
    assert goal.reached(list.pop, AT)[0]
    assert given == [1, 2]
