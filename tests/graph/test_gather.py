"""Operators that read by numbers: what ONNX leaves open, and that nothing is left to Python between kernels."""

from __future__ import annotations

import numpy as np
import pytest
from graph.examples import Case
from graph.mutation import Mutation
from graph.test_programs import info, model
from onnx import TensorProto, helper

import workbench as wb
from workbench import te
from workbench.errors import ModelError
from workbench.graph import load_onnx, partition, run_reference
from workbench.graph.opdef import registry
from workbench.ir.interpreter import interp
from workbench.ir.numpy_reference.evaluate import evaluate

INT = TensorProto.INT64


def values(name: str, case: Case) -> list[np.ndarray]:
    """What the reference, the interpreter and the evaluated loop nest make of a case."""
    op, call = registry()[name], case.call(name)
    args = [
        None if i in case.const else te.placeholder(a.shape, a.dtype.name, f"x{i}")
        for i, a in enumerate(case.inputs)
        if a is not None
    ]
    func = te.func(op.lower(call, *args), name)
    feeds = {f"x{i}": a for i, a in enumerate(case.inputs) if i not in case.const and a is not None}
    (run,), (made,) = interp.run(func, feeds).values(), evaluate(func, feeds).values()
    return [np.asarray(op.reference(call, *case.inputs)), run, made]


@pytest.mark.parametrize("at", [[7, -6, 9223372036854775807, -9223372036854775808], [4, -5, 0, -1]])
def test_what_lies_outside_is_the_nearest_row(at):
    x, ids = np.arange(10, dtype=np.float32).reshape(5, 2), np.array(at)
    want = x[np.clip(np.where(ids < 0, ids.astype(object) + 5, ids).astype(object), 0, 4).astype(int)]
    for got in values("Gather", Case("outside", (x, ids))):
        np.testing.assert_array_equal(got, want)
    for got in values("GatherND", Case("outside", (x, ids[:, None]))):
        np.testing.assert_array_equal(got, want)
    for got in values("GatherElements", Case("outside", (x, np.stack([ids] * 2, 1)))):
        np.testing.assert_array_equal(got, want)


def test_numbers_that_are_known_have_to_exist():
    x = np.zeros((3, 4), np.float32)
    for name, index in [("Gather", [3]), ("Gather", -4), ("GatherND", [[0, 4]]), ("GatherElements", [[-4]])]:
        case = Case("odd", (x, np.array(index)), const=(1,))
        with pytest.raises(ModelError) as e:
            registry()[name].infer(case.call(name))
        assert e.value.code == "model.bad_value", (name, index)
    with pytest.raises(ModelError) as e:
        registry()["Gather"].infer(Case("odd", (x, np.zeros(2, np.float32))).call("Gather"))
    assert e.value.code == "model.unsupported_dtype"


@pytest.mark.parametrize("name", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("last", [0, 1])
def test_the_first_or_last_extreme_and_nan_is_one(name, last):
    x = np.array([[1, 3, 3, 2], [np.nan, 5, np.nan, 9], [-np.inf] * 4, [np.inf, 0, np.inf, -1]], np.float32)
    at = {
        ("ArgMax", 0): [1, 0, 0, 0],
        ("ArgMax", 1): [2, 2, 3, 2],
        ("ArgMin", 0): [0, 0, 0, 3],
        ("ArgMin", 1): [0, 2, 3, 3],
    }
    case = Case("odd", (x,), {"axis": 1, "keepdims": 0, "select_last_index": last})
    for got in values(name, case):
        assert got.dtype == np.int64
        np.testing.assert_array_equal(got, at[name, last])


@pytest.mark.parametrize("mode", ["reflect", "wrap", "edge"])
def test_padding_that_repeats_several_times(mode):
    x, pads = np.arange(24, dtype=np.float32).reshape(2, 3, 4), np.array([0, 7, 1, 1, 5, 9])
    for got in values("Pad", Case("wide", (x, pads), {"mode": mode}, const=(1,))):
        np.testing.assert_array_equal(got, np.pad(x, [(0, 1), (7, 5), (1, 9)], mode=mode))


_OPS = "workbench.graph.ops."
_IDS = np.array([[2, -1], [0, -3]])
_X = np.array([[1, 3, 3, 2], [4, 5, 0, 0], [7, 7, 1, 9]], np.float32)
BUGS = [
    ("arrays.gather:counted", "value + extent", "value", "Gather", (_X, _IDS), {}),
    ("arrays.gather:Gather.lower", "i[axis + width :]", "i[axis + 1 :][: x.ndim - axis - 1]", "Gather", (_X, _IDS), {}),
    ("arrays.gather:GatherND.lower", "x.shape[batch + k]", "x.shape[k]", "GatherND", (_X, _IDS[[0, 1, 1], 1:]),
     {"batch_dims": 1}),
    ("math.arg_extremes:Arg.lower", "te.const(-1 if last else size, narrow)", "te.const(0, narrow)", "ArgMax", (_X,),
     {"axis": 1}),
]  # fmt: skip


@pytest.mark.parametrize(("where", "old", "new", "name", "inputs", "attrs"), BUGS, ids=[b[0] for b in BUGS])
def test_deliberate_bugs_are_noticed(where, old, new, name, inputs, attrs):
    case = Case("bug", inputs, attrs)
    want, *nests = values(name, case)
    assert all(np.array_equal(want, got) for got in nests)
    with Mutation("lower", _OPS + where, new, old, new, ()).active():
        try:
            noticed = not all(np.array_equal(want, got) for got in values(name, case))
        except NameError:
            raise
        except Exception:  # one that ends in an error is noticed as well
            noticed = True
    assert noticed


def test_an_embedding_is_compiled_with_what_surrounds_it():
    """Rows by number, positions added, the row with the largest sum chosen: no step between the kernels."""
    rng = np.random.default_rng(0)
    constants = {"table": rng.standard_normal((50, 16)).astype(np.float32), "where": np.array([[3], [1]]),
                 "more": rng.standard_normal((6, 16)).astype(np.float32), "axes": np.array([2])}  # fmt: skip
    nodes = [
        helper.make_node("Cast", ["ids"], ["whole"], to=INT),
        helper.make_node("Gather", ["table", "whole"], ["rows"]),
        helper.make_node("Add", ["rows", "more"], ["e"]),
        helper.make_node("ReduceSum", ["e", "axes"], ["sums"], keepdims=0),
        helper.make_node("ArgMax", ["sums"], ["best"], axis=1, keepdims=0),
        helper.make_node("Unsqueeze", ["best", "last"], ["number"]),
        helper.make_node("GatherND", ["e", "number"], ["y"], batch_dims=1),
    ]
    constants["last"] = np.array([1])
    proto = model(nodes, [info("ids", [2, 6], TensorProto.INT32)], ["y", "best"], constants)
    graph = load_onnx(proto)
    assert not [g.obstacle for g in partition(graph.optimize()) if g.obstacle]
    executable = wb.compile(graph)
    for low in (0, -50):
        feeds = {"ids": rng.integers(low, 50, (2, 6)).astype(np.int32)}
        want, got = run_reference(graph, feeds), executable.run(feeds)
        np.testing.assert_allclose(got["y"], want["y"], rtol=1e-6)
        np.testing.assert_array_equal(got["best"], want["best"])
    assert not any(executable.profile(feeds, repeat=2).note)
