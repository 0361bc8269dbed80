"""Wrong arguments from Python: each is one `WorkbenchError`, at the call that was given it."""

from __future__ import annotations

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
    refused("te.shape", wb.workloads.matmul, "a", 2, 3)
    refused("te.dtype", wb.workloads.matmul, 4, 2, 3, dtype="float8")
    refused("te.dtype", te.placeholder, (4,), "str")
    refused("te.compute", te.compute, (4,), 3)
    refused("te.outputs", te.func, [])
    refused("te.outputs", te.func, None)
