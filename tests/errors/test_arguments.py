"""Wrong arguments from Python: each is one `WorkbenchError`, at the call that was given it."""

from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from errors import models

import workbench as wb
from workbench.errors import WorkbenchError


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return models.dense(tmp_path_factory.mktemp("arguments") / "m.onnx")


@pytest.fixture(scope="module")
def graph(path):
    return wb.load_onnx(path)


@pytest.fixture(scope="module")
def executable(graph):
    return wb.compile(graph, threads=1)


def refused(code, call, *arguments, **named):
    with pytest.raises(WorkbenchError) as caught:
        call(*arguments, **named)
    assert caught.value.code == code
    assert str(caught.value)
    return caught.value


@pytest.mark.parametrize("source", [None, 3, ["m.onnx"]])
def test_what_is_no_model(source):
    assert isinstance(refused("usage.type", wb.load_onnx, source), TypeError)


LONG = "x" * 100_000
ODD = {
    "zero": "i\0", "long": LONG, "deep": "a/" * 50_000, "half a character": "\ud800", "array": np.array(["i", "j"]),
    "array without dimensions": np.array(3), "matrix": np.zeros((2, 2)), "thousands of digits": 10**5000,
    "not a number": float("nan"), "object": object(), "bytes": b"abc", "nothing": None, "true": True, "type": type,
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_values_anywhere(odd, executable, tmp_path, monkeypatch):
    """Every public call takes what it can use and refuses the rest in a sentence; no bare exception comes out."""
    monkeypatch.chdir(tmp_path)
    func = wb.workloads.matmul(4, 4, 4)
    session = wb.Session(func, auto_measure=False)
    calls = [
        wb.load_onnx, wb.read_log, wb.logs.open, wb.Workbench, wb.Target, wb.Target.host, wb.Schedule, wb.compile,
        wb.extract_tasks, wb.load_exported, wb.Task.of_func, wb.Hole, lambda x: wb.Hole(choices=x),
        lambda x: wb.Hole(choices=[x]),
        lambda x: wb.Schedule(func, x), lambda x: wb.Schedule(func).moves(x), lambda x: wb.Schedule(func).to_python(x),
        lambda x: wb.Schedule(func).build(x), lambda x: wb.Schedule(func).build(threads=x),
        lambda x: wb.Schedule(func).undo(x), lambda x: wb.Schedule(func).fill(x),
        lambda x: wb.Schedule(func).apply(x), lambda x: wb.Schedule(func).go_to(x),
        lambda x: wb.Schedule.from_json(func, x), lambda x: wb.Task.of_func(func, name=x),
        lambda x: wb.tune(x, trials=1, start=False), lambda x: wb.tune(func, trials=x, start=False),
        lambda x: wb.tune(func, seconds=x, start=False), lambda x: wb.tune(func, trials=1, seed=x, start=False),
        lambda x: wb.tune(func, trials=1, log=x, start=False), wb.te.placeholder, lambda x: wb.te.placeholder((x,)),
        lambda x: wb.te.placeholder((4,), name=x), lambda x: wb.te.placeholder((4,), x), wb.te.reduce_axis,
        lambda x: wb.te.reduce_axis(4, x), wb.te.func, wb.te.const, lambda x: wb.te.const(1.0, x),
        lambda x: wb.te.func(wb.te.compute((4,), lambda i: wb.te.const(1.0)), name=x),
        *(lambda x, name=name: session.run(name, **{"chart": {"name": x}}.get(name, {"task": x}))
          for name in ("chart", "open_task", "open_default")),
        lambda x: session.run("steer", name=x), lambda x: wb.Target(f"llvm -l1={x}" if isinstance(x, str) else x),
        lambda x: wb.workloads.matmul(x, 4, 4), executable.run, executable.set_threads, executable.export,
        lambda x: executable.run({"x": x}), lambda x: executable.benchmark(repeat=x),
    ]  # fmt: skip
    for call in calls:
        with contextlib.suppress(WorkbenchError):
            call(odd)
    session.close()


def test_numbers_of_thousands_of_digits_in_text():
    refused("target.size", wb.Target, "llvm -l1=" + "9" * 5000)
    refused("target.threads", wb.Target, "llvm -threads=" + "9" * 5000)


def test_paths_that_name_no_file(tmp_path):
    for odd in ("i\0", LONG, "a/" * 50_000, tmp_path / LONG):
        assert refused("usage.path", wb.load_onnx, odd).where
        refused("usage.path", wb.read_log, odd)
        refused("usage.path", wb.Workbench, odd)


def test_a_list_without_end(graph):
    refused("usage.tune", wb.tune, itertools.count(), trials=1, start=False)
    refused("workbench.subject", wb.Workbench, itertools.count())
    refused("primitive.argument", wb.Schedule(wb.workloads.matmul(4, 4, 4)).split, "i", itertools.count())


@pytest.mark.parametrize("source", ["", "/dev/zero"])
def test_what_is_no_file(source):
    assert refused("model.missing_file", wb.load_onnx, source).where == (source,)


@pytest.mark.parametrize(
    ("shapes", "code"),
    [
        ({"x": "8x64"}, "usage.type"), ({"x": 8}, "usage.type"), ({"x": (None, 64)}, "usage.shape"),
        ([("x", (8, 64))], "usage.type"),
        ({3: (8, 64)}, "model.unknown_input"), ({"x": (10**30, 64)}, "shape.too_large"),
    ],
)  # fmt: skip
def test_shapes(path, shapes, code):
    refused(code, wb.load_onnx, path, shapes)


def test_compile(graph, path):
    refused("usage.type", wb.compile, str(path))
    refused("usage.type", wb.extract_tasks, None)
    refused("usage.type", wb.compile, graph, target=3)
    refused("usage.type", wb.compile, graph, log=3)
    for threads in (0, -1, "2", 1.5):
        refused("run.threads", wb.compile, graph, threads=threads)


def test_executable(executable):
    for threads in (0, "2", 2.0, None, 10**6):
        refused("run.threads", executable.set_threads, threads)
    for wrong in ({"repeat": 0}, {"repeat": 2.5}, {"repeat": "3"}, {"number": 0}, {"warmup": -1}, {"warmup": "a"},
                  {"min_repeat_ms": float("nan")}):  # fmt: skip
        refused("usage.repeat", executable.benchmark, **wrong)
    for wrong in ({"repeat": 0}, {"repeat": -1}, {"repeat": 1.5}):
        refused("usage.repeat", executable.profile, **wrong)
    refused("shape.name", executable.run, {3: np.zeros((8, 64), "float32")})
    assert executable.benchmark(repeat=np.int64(2)).threads == executable.threads


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"trials": "3"}, "usage.trials"), ({"trials": 2.5}, "usage.trials"), ({"seconds": "a"}, "usage.seconds"),
        ({"seconds": float("nan")}, "usage.seconds"), ({"log": 3}, "usage.type"), ({"target": 3}, "usage.type"),
        ({"seed": "a"}, "usage.number"), ({"only_tasks": 9}, "usage.task"), ({"batch": 0}, "usage.batch"),
        ({"batch": "a"}, "usage.batch"), ({"options": 3}, "usage.type"),
    ],
)  # fmt: skip
def test_tune(graph, options, code):
    refused(code, wb.tune, graph, start=False, **{"trials": 2, **options})


def test_logs():
    refused("usage.type", wb.read_log, None)
    refused("usage.type", wb.read_log, 3)


def test_tensor_expressions():
    te = wb.te
    refused("te.shape", te.placeholder, "ab")
    refused("te.rank", te.placeholder, (1,) * 65)
    many = [te.reduce_axis(1, f"r{k}") for k in range(3000)]
    refused("te.reduce_axis", te.sum, te.const(1.0, "float32"), axis=many)
    refused("te.rank", te.compute, (1,) * 3000, lambda *i: te.const(1.0, "float32"))
    refused("te.shape", wb.workloads.matmul, "a", 2, 3)
    refused("te.dtype", wb.workloads.matmul, 4, 2, 3, dtype="float8")
    refused("te.dtype", te.placeholder, (4,), "str")
    refused("te.compute", te.compute, (4,), 3)
    refused("te.outputs", te.func, [])
    refused("te.outputs", te.func, None)
