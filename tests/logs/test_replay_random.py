"""Random steps of the auto-scheduler: each element is computed when a loop simulator of the steps computes it, and the
result is that of NumPy.
"""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logs.ansor_steps import Author, Program, Stage
from tiers import first

from workbench import te
from workbench.ir import Block
from workbench.logs.replays.ansor import build, follow, read_steps
from workbench.logs.replays.ansor.program import stage_order
from workbench.target import Target


def matmul():
    a, b, k = te.placeholder((12, 8), name="A"), te.placeholder((8, 6), name="B"), te.reduce_axis(8, "k")
    c = te.compute((12, 6), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    d = te.compute((12, 6), lambda i, j: te.maximum(c[i, j], 0.0), name="D")
    reads = {"A": lambda i, j, k: [(i, k)], "B": lambda i, j, k: [(k, j)]}
    stages = [
        Stage("A", [12, 8], 2), Stage("B", [8, 6], 2), Stage("C", [12, 6, 8], 2, reads),
        Stage("D", [12, 6], 2, {"C": lambda i, j: [(i, j)]}),
    ]  # fmt: skip
    return d, stages, lambda a, b: np.maximum(a @ b, 0)


def convolution():
    x, w = te.placeholder((4, 6, 3), name="X"), te.placeholder((3, 3, 3, 4), name="W")
    inside = lambda i, j, c: te.select((i >= 1) & (i < 5) & (j >= 1) & (j < 7), x[i - 1, j - 1, c], 0.0)  # noqa: E731
    p = te.compute((6, 8, 3), inside, name="P")
    r, s, c = te.reduce_axis(3, "r"), te.reduce_axis(3, "s"), te.reduce_axis(3, "c")
    y = te.compute((4, 6, 4), lambda h, v, o: te.sum(p[h + r, v + s, c] * w[r, s, c, o], axis=[r, s, c]), name="Y")
    z = te.compute((4, 6, 4), lambda h, v, o: te.maximum(y[h, v, o], 0.0), name="Z")
    stages = [
        Stage("X", [4, 6, 3], 3),
        Stage("P", [6, 8, 3], 3, {"X": lambda i, j, c: [(i - 1, j - 1, c)]}),
        Stage("W", [3, 3, 3, 4], 4),
        Stage("Y", [4, 6, 4, 3, 3, 3], 3, {
            "P": lambda h, v, o, r, s, c: [(h + r, v + s, c)], "W": lambda h, v, o, r, s, c: [(r, s, c, o)],
        }),
        Stage("Z", [4, 6, 4], 3, {"Y": lambda h, v, o: [(h, v, o)]}),
    ]  # fmt: skip

    def numpy(x, w):
        wide = np.pad(x, ((1, 1), (1, 1), (0, 0)))
        return np.maximum(sum(wide[i : i + 4, j : j + 6] @ w[i, j] for i in range(3) for j in range(3)), 0)

    return z, stages, numpy


def softmax():
    x, k, q = te.placeholder((4, 12), name="X"), te.reduce_axis(12, "k"), te.reduce_axis(12, "q")
    m = te.compute((4,), lambda i: te.max(x[i, k], axis=k), name="M")
    e = te.compute((4, 12), lambda i, j: te.exp(x[i, j] - m[i]), name="E")
    s = te.compute((4,), lambda i: te.sum(e[i, q], axis=q), name="S")
    o = te.compute((4, 12), lambda i, j: e[i, j] / s[i], name="O")
    stages = [
        Stage("X", [4, 12], 2), Stage("M", [4, 12], 1, {"X": lambda i, k: [(i, k)]}),
        Stage("E", [4, 12], 2, {"X": lambda i, j: [(i, j)], "M": lambda i, j: [(i,)]}),
        Stage("S", [4, 12], 1, {"E": lambda i, k: [(i, k)]}),
        Stage("O", [4, 12], 2, {"E": lambda i, j: [(i, j)], "S": lambda i, j: [(i,)]}),
    ]  # fmt: skip
    return o, stages, lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)


def pooling():
    x, r, s = te.placeholder((9, 9, 4), name="X"), te.reduce_axis(3, "r"), te.reduce_axis(3, "s")
    p = te.compute((4, 4, 4), lambda h, v, c: te.max(x[h * 2 + r, v * 2 + s, c], axis=[r, s]), name="P")
    q = te.compute((4, 4, 4), lambda h, v, c: p[h, v, c] + 1.0, name="Q")
    stages = [
        Stage("X", [9, 9, 4], 3),
        Stage("P", [4, 4, 4, 3, 3], 3, {"X": lambda h, v, c, r, s: [(2 * h + r, 2 * v + s, c)]}),
        Stage("Q", [4, 4, 4], 3, {"P": lambda h, v, c: [(h, v, c)]}),
    ]  # fmt: skip

    def numpy(x):
        return np.max([x[i : i + 7 : 2, j : j + 7 : 2] for i in range(3) for j in range(3)], 0) + 1

    return q, stages, numpy


def events(func):
    """Elements in the order in which a nest computes them, told by running its loops."""
    found = []

    def value(form, at):
        total = form.const
        for d, c in form.terms:
            part = at[d.var] // d.lower
            total += c * (part if d.extent is None else part % d.extent)
        return total

    def run(body, at):
        for s in body:
            if isinstance(s, Block):
                point = {it.name: value(bind, at) for it, bind in zip(s.iters, s.binds, strict=True)}
                if all(g.lo <= value(g.form, point) < g.hi for g in s.guard):
                    found.append((s.name, *point.values()))
                continue
            for n in range(s.extent):
                run(s.body, at | {s.name: n})

    run(func.body, {})
    return found


def replayed(make, seed):
    """Write random steps and replay them: events of the nest and of the simulator, and the schedule."""
    out, stages, _ = make()
    func = te.func(out)
    program = Program(stages)
    steps = read_steps({"i": [None, [[], Author(program, seed).write()]]})
    schedule, told = build(func, follow(func, stage_order(func), steps), steps, Target("llvm -threads=2"))
    assert [s.number for s in told if s.number >= 0] == list(range(len(steps)))
    assert sum(len(s.ours) for s in told) == len(schedule.trace)
    ours, simulated = events(schedule.func), program.events()
    if any("stays where it is" in s.words for s in told):
        # A stage in a loop that runs once is in a nest before it: then only the order in each stage is the record's.
        ours, simulated = (sorted(found, key=lambda e: e[0]) for found in (ours, simulated))
    return ours, simulated, schedule


MAKERS = [matmul, convolution, softmax, pooling]


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(MAKERS), st.integers(0, 1 << 30))
def test_elements_are_computed_in_the_order_of_the_record(make, seed):
    ours, simulated, _ = replayed(make, seed)
    assert ours == simulated


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", first(range(25), 2))
def test_results_are_those_of_numpy(make, seed):
    _, _, schedule = replayed(make, seed)
    rng = np.random.default_rng(seed)
    arrays = [rng.uniform(-1, 1, b.shape).astype(np.float32) for b in schedule.func.params if b.role != "output"]
    np.testing.assert_allclose(schedule.build()(*arrays), make()[2](*arrays), rtol=1e-4, atol=1e-5)


@pytest.mark.checks
def test_many_orders():
    for make, seed in itertools.product(MAKERS, range(200)):
        ours, simulated, _ = replayed(make, seed)
        assert ours == simulated, (make.__name__, seed)
