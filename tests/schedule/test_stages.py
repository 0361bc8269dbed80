"""Schedules stage by stage, and the rest of TVM's words for computations."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from workbench import te
from workbench.errors import ExpressionError, UsageError
from workbench.graph.tasks import Task
from workbench.schedule.stages import StagedSchedule


def product(n=48, m=40, k=24, extra=False):
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    d = te.compute((n, m), lambda i, j: te.max(c[i, j] - 1, 0.0), name="D") if extra else c
    return a, b, r, c, d


def right(s, n=48, m=40, k=24, of=lambda x: x):
    rng = np.random.default_rng(0)
    a, b = rng.random((n, k), np.float32), rng.random((k, m), np.float32)
    np.testing.assert_allclose(s.build()(a, b), of(a @ b), rtol=1e-5, atol=1e-5)


def test_axes_are_loops_and_steps_are_primitives():
    _, _, r, c, _ = product()
    s = te.create_schedule(c.op)
    assert isinstance(s, wb.Schedule)
    assert s[c].op.axis == ("i", "j") == c.op.axis
    assert s[c].op.reduce_axis == ("k",) == c.op.reduce_axis
    yo, yi = s[c].split(s[c].op.axis[0], factor=8)
    xo, xi = s[c].split("j", nparts=5)
    ko, ki = s[c].split(r, 4)
    s[c].reorder(yo, xo, ko, yi, ki, xi)
    s[c].vectorize(xi)
    s[c].unroll(ki)
    fused = s[c].fuse(yo, xo)
    s[c].parallel(fused)
    s[c].pragma(ko, "prefetch", 4)
    assert [step.name for step in s.trace[:4]] == ["split", "split", "split", "reorder"]
    right(s)
    assert repr(s[c]).startswith("<stage C:")
    assert wb.Schedule.from_json(s.base, s.to_json()).nest() == s.nest()


def test_sizes_need_not_divide():
    _, _, _, c, _ = product()
    s = te.create_schedule([c])
    s[c].tile("i", "j", 7, 9)
    right(s)
    s = te.create_schedule(c)
    outer, inner = s[c].split("i", nparts=7)  # seven parts of seven
    assert [s.func.loop(n)[0].extent for n in (outer, inner)] == [7, 7]
    right(s)


def test_stages_move_and_are_copied():
    a, _, _, c, d = product(extra=True)
    s = te.create_schedule(d.op)
    yo, _, yi, _ = s[d].tile("i", "j", 8, 8)
    s[c].compute_at(s[d], yo)
    assert s[c].op.axis == ("C_i", "C_j") or len(s[c].op.axis) == 2
    copy = s.cache_read(a, "local", [c])
    copy.compute_root()
    right(s, of=lambda x: np.maximum(x - 1, 0))
    assert yi in {lp.name for lp in s.loops}
    s = te.create_schedule(d)
    e = te.compute((4,), lambda i: d[i, 0] * 2, name="E")
    s = te.create_schedule(e)
    s[d].compute_inline()
    assert [b.name for b in s.blocks] == ["C", "E"]
    with pytest.raises(UsageError, match="one reader"):
        s.cache_read(a, "local", [c, d])
    with pytest.raises(UsageError, match="by a tensor"):
        s[3]


def test_open_factors():
    _, _, _, c, _ = product()
    s = te.create_schedule(c)
    s[c].split("i", wb.Hole("tile"))
    assert [h.name for h in s.holes]
    assert isinstance(s.copy(), StagedSchedule)


def test_bound_loops():
    _, _, _, c, _ = product()
    s = te.create_schedule(c)
    s[c].bind("i", te.thread_axis("blockIdx.x"))
    s[c].bind("j", te.thread_axis((0, 40), "threadIdx.x"))
    assert [lp.kind for lp in s.loops] == ["blockIdx.x", "threadIdx.x", "serial"]


@pytest.mark.parametrize(
    ("combine", "of"),
    [
        (lambda x, y: x + y, np.sum),
        (lambda x, y: y * x, np.prod),
        (lambda x, y: te.max(x, y), np.max),
        (te.minimum, np.min),
    ],
)
def test_reducers(combine, of):
    reduce = te.comm_reducer(combine, lambda t: te.const(0, t), name="own")
    a, k = te.placeholder((6, 5), name="A"), te.reduce_axis((0, 5), "k")
    c = te.compute((6,), lambda i: reduce(a[i, k], axis=k), name="C")
    x = np.random.default_rng(1).random((6, 5), np.float32)
    np.testing.assert_allclose(wb.Schedule(te.func(c)).build()(x), of(x, axis=1), rtol=1e-6)


@pytest.mark.parametrize(
    ("write", "code"),
    [
        (lambda: te.var("n"), "te.var"),
        (lambda: te.size_var("n"), "te.var"),
        (lambda: te.comm_reducer(lambda x, y: x - y, None), "te.comm_reducer"),
        (lambda: te.comm_reducer(lambda x, y: x + x, None), "te.comm_reducer"),
        (lambda: te.comm_reducer(lambda x, y: (x, y), None, "argmax"), "te.comm_reducer"),
    ],
)
def test_what_is_not_here_says_what_to_write(write, code):
    with pytest.raises(ExpressionError) as e:
        write()
    assert e.value.code == code
    assert e.value.hint


def test_several_results_of_one_function():
    a = te.placeholder((6, 5), name="A")
    k = te.reduce_axis((0, 5), "k")
    total, most = te.compute((6,), lambda i: (te.sum(a[i, k], axis=k), te.max(a[i, k], axis=k)), name="B", tag="x")
    x = np.random.default_rng(1).random((6, 5), np.float32)
    found = wb.Schedule(te.func([total, most])).build()(x)
    np.testing.assert_allclose(found[0], x.sum(1), rtol=1e-6)
    np.testing.assert_array_equal(found[1], x.max(1))
    assert (total.name, most.name) == ("B.v0", "B.v1")


def test_one_line_per_stage():
    _, _, _, _, d = product(extra=True)
    task = Task.of_func(te.func(d))
    assert task.compute_dag.splitlines() == [
        "A = PLACEHOLDER [48, 24]",
        "B = PLACEHOLDER [24, 40]",
        "C(i, j) += A[i, k] * B[k, j]",
        "D(i, j) = max(C[i, j] - 1.0, 0.0)",
    ]
    assert task.workload_key == f'["{task.key}", [48, 24], [24, 40], [48, 40]]'
    long = Task.of_func(
        te.func(te.compute((2,), lambda i: sum((te.exp(te.const(n)) for n in range(99)), te.const(0.0))))
    )
    (line,) = long.compute_dag.splitlines()
    assert "..(OMITTED).." in line
    assert len(line) < 300


def test_every_block_of_the_workloads_has_a_line():
    for func in (wb.workloads.softmax(4, 8), wb.workloads.matmul(8, 8, 8, bias=True, relu=True)):
        s = wb.Schedule(func)
        text = Task.of_func(func).compute_dag
        assert len(text.splitlines()) == len(s.blocks) + sum(b.role in ("input", "const") for b in func.params)
