"""Operators whose data decide how large a result is: runtime kernels that write the largest, and count."""

from __future__ import annotations

import numpy as np
import pytest
from graph.test_uses import agree, by_onnxruntime, model_of

from workbench.graph.graph import Node
from workbench.graph.onnx import read_program
from workbench.graph.reference import interpret
from workbench.network.dynamic_shapes import DynamicExecutable
from workbench.runtime.buffers import as_aligned

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def non_zero(rng):
    shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 5)))
    shape = (int(rng.integers(60, 140)), int(rng.integers(1, 140))) if rng.random() < 0.3 else shape
    dtype = rng.choice(["float32", "int64", "bool", "int32", "uint8"])
    return [(rng.integers(0, 3, shape) > rng.integers(0, 3)).astype(dtype)], {}


def compress(rng):
    shape = tuple(int(n) for n in rng.integers(1, 40, rng.integers(1, 4)))
    shape = (3, int(rng.integers(60, 700)), int(rng.integers(1, 150))) if rng.random() < 0.3 else shape
    axis = None if rng.random() < 0.3 else int(rng.integers(-len(shape), len(shape)))
    length = int(np.prod(shape)) if axis is None else shape[axis]
    marks = rng.random(rng.integers(1, length + 1)) < rng.choice([0.0, 0.5, 1.0])
    x = rng.integers(-9, 9, shape).astype(rng.choice(["float32", "float64", "int64", "int32", "uint8", "bool"]))
    return [x, marks], {} if axis is None else {"axis": axis}


def boxes(rng):
    images, classes, count = int(rng.integers(1, 3)), int(rng.integers(1, 4)), int(rng.integers(1, 60))
    found = rng.random((images, count, 4)).astype(np.float32) * np.float32([10, 10, 4, 4])
    scores = rng.choice([rng.random((images, classes, count)), rng.integers(0, 4, (images, classes, count)) / 4])
    inputs = [found, scores.astype(np.float32), np.array([rng.integers(0, count + 3)])]
    inputs += [np.float32([rng.choice([0.0, 0.3, 0.5, 1.0])])] if rng.random() < 0.8 else []
    inputs += [np.float32([rng.choice([-1.0, 0.25, 0.5, 2.0])])] if len(inputs) == 4 and rng.random() < 0.7 else []
    return inputs, {"center_point_box": int(rng.integers(2))}


def unique(rng):
    shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 4)))
    shape = (int(rng.integers(60, 700)),) if rng.random() < 0.3 else shape
    dtype = rng.choice(["float32", "float64", "int64", "int8"])
    spread = rng.choice([2, 5, 100]) if dtype == "int8" or rng.random() < 0.8 else 1 << 40
    x = rng.integers(-spread, spread, shape)
    x = (x / 4 if dtype.startswith("float") and rng.random() < 0.5 else x).astype(dtype)
    attrs = {"sorted": int(rng.integers(2))}
    return [x], attrs | ({"axis": int(rng.integers(-len(shape), len(shape)))} if rng.random() < 0.5 else {})


DRAWN = {"NonZero": non_zero, "Compress": compress, "NonMaxSuppression": boxes, "Unique": unique}


def check(name: str, seed: int) -> None:
    rng = np.random.default_rng([len(name), seed])
    inputs, attrs = DRAWN[name](rng)
    outs = ["y"] if name != "Unique" else [o if o == "y" or rng.random() < 0.7 else "" for o in "yijc"]
    names = [f"x{k}" for k in range(len(inputs))]
    known = names[2:3] if rng.random() < 0.5 else []  # how many boxes is a constant, or given
    feeds = dict(zip(names, inputs, strict=True))
    node = onnx.helper.make_node(name, names, outs, name="n", **attrs)
    moving = {n: a for n, a in feeds.items() if n not in known}
    model = model_of([node], moving, [o for o in outs if o], 13, {n: feeds[n] for n in known})
    executable = DynamicExecutable(read_program(model))
    want = by_onnxruntime(model, moving)
    agree(executable.run(moving), want)
    agree(executable.bind({n: as_aligned(a) for n, a in moving.items()})(), want)
    nothing = name == "NonMaxSuppression" and not inputs[2][0]
    assert executable.reference_steps == ((name,) if nothing else ())


@pytest.mark.parametrize("name", DRAWN)
def test_like_onnxruntime(name):
    for seed in range(15):
        check(name, seed)


@pytest.mark.checks
@pytest.mark.parametrize("name", DRAWN)
def test_many_like_onnxruntime(name):
    for seed in range(100, 300):
        check(name, seed)


@pytest.mark.parametrize("marks", [[0, 0, 0, 0], [1, 0, 1, 1], [1, 1, 1, 1]])
def test_what_follows_is_compiled_for_as_many_as_there_are(marks):
    nodes = [onnx.helper.make_node("Compress", ["x", "m"], ["t"], axis=0), onnx.helper.make_node("Relu", ["t"], ["y"])]
    feeds = {"x": np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32), "m": np.array(marks, bool)}
    model = model_of(nodes, feeds, ["y", "t"], 13)
    executable = DynamicExecutable(read_program(model))
    agree(executable.run(feeds), by_onnxruntime(model, feeds))
    assert not executable.reference_steps


def test_bound_runs_read_what_is_in_the_arrays_then():
    nodes = [onnx.helper.make_node("Compress", ["x", "m"], ["t"], axis=0), onnx.helper.make_node("Relu", ["t"], ["y"])]
    rng = np.random.default_rng(0)
    feeds = {"x": as_aligned(rng.standard_normal((90, 3)).astype(np.float32)), "m": as_aligned(np.ones(90, bool))}
    model = model_of(nodes, feeds, ["y", "t"], 13)
    bound = DynamicExecutable(read_program(model)).bind(feeds)
    for marked in (0.0, 0.4, 1.0):
        feeds["x"][...], feeds["m"][...] = rng.standard_normal((90, 3)), rng.random(90) < marked
        agree(bound(), by_onnxruntime(model, feeds))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint64", "int16", "bool"])
@pytest.mark.parametrize("axis", [None, 1])
def test_every_type_has_its_different_elements(dtype, axis):
    """Against NumPy, with both zeros, infinities and NaN, of which all are one."""
    x = np.random.default_rng(3).integers(0, 3, (6, 50)).astype(dtype)
    if dtype.startswith("float"):
        x[:, 3:7], x[:, 30], x[0, 9] = [np.inf, -np.inf, -0.0, 0.0], np.inf, -0.0
        x[:, ::7] = np.nan if axis is None else x[:, ::7]
    for in_order in (0, 1):
        attrs = {"sorted": in_order} | ({} if axis is None else {"axis": axis})
        node = onnx.helper.make_node("Unique", ["x"], ["y", "i", "j", "c"], **attrs)
        executable = DynamicExecutable(read_program(model_of([node], {"x": x}, ["y", "i", "j", "c"], 13)))
        got = list(executable.run({"x": x}).values())
        reference = interpret((Node("n", "Unique", ("x",), tuple("yijc"), attrs),), {"x": x}, list("yijc"))
        for a, b in zip(got, reference.values(), strict=True):
            np.testing.assert_array_equal(a.astype(np.float64), b.astype(np.float64))
        assert not executable.reference_steps
