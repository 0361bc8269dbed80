"""Operators that runtime kernels compute: each example in each type against the reference, random uses against
onnxruntime, which shares no code with us.
"""

from __future__ import annotations

import numpy as np
import pytest
from graph.examples import Case, cases
from graph.test_uses import by_onnxruntime, model_of

from workbench import load_onnx
from workbench.graph import Graph
from workbench.graph.evaluation import evaluate, obstacle
from workbench.graph.opdef import registry
from workbench.network.compile import compile
from workbench.runtime.networks.execution_plan import CallPlan

onnx = pytest.importorskip("onnx")


def has_kernel(name: str, case: Case) -> bool:
    return registry()[name].kernel(case.call(name)) is not None


EXAMPLES = [
    pytest.param(n, c, id=f"{n}-{c.label}") for n, op in registry().items() for c in cases(op) if has_kernel(n, c)
]
FLOATS, WHOLE = ("float64", "float16", "bfloat16"), ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64")


def compiled(name: str, case: Case, threads: int = 1):
    """Executable of the one node, and the arrays of its inputs."""
    call = case.call(name)
    given = {n: a for n, a in zip(call.node.inputs, case.inputs, strict=True) if n}
    constants = {call.node.inputs[i]: case.inputs[i] for i in case.const}
    types = {n: t for n, t in zip(call.node.inputs, call.types, strict=True) if n and n not in constants}
    graph = Graph.make("one", [call.node], types, [o for o in call.node.outputs if o], constants)
    return compile(graph, threads=threads), {n: given[n] for n in types}


def agree(got, want, rtol=1e-5, atol=1e-6):
    for a, b in zip(got, want, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if b.dtype.kind in "fV":
            a, b = a.astype(np.float64), b.astype(np.float64)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(("name", "case"), EXAMPLES)
def test_a_kernel_computes_the_reference(name, case):
    exe, feeds = compiled(name, case)
    assert all(isinstance(c, CallPlan) for c in exe.plan.calls)
    agree(exe.run(feeds).values(), evaluate(case.call(name), *case.inputs))


# ---- random uses against onnxruntime ----

#: Operator -> what draws (inputs, constants, attributes, outputs, opset) of a use.
USES = {}


def use(name):
    def declare(draw):
        USES[name] = draw
        return draw

    return declare


@use("TopK")
def _top_k(rng):
    dtype = rng.choice(["float32", "float64", "int64", "int32"])
    shape = tuple(int(n) for n in rng.integers(1, 9, rng.integers(1, 4)))
    if rng.random() < 0.3:
        shape = (*shape[:-1], int(rng.integers(60, 700)))
    axis = int(rng.integers(-len(shape), len(shape)))
    spread = rng.choice([1, 5, 1000])  # few different numbers: many are equal
    x = np.round(rng.standard_normal(shape) * spread)
    if dtype.startswith("float"):
        x[rng.random(shape) < 0.1] = rng.choice([np.inf, -np.inf, -0.0, 0.25])
    count = np.array([rng.integers(1, shape[axis] + 1)], np.int64)
    attrs = {"axis": axis, "largest": int(rng.integers(2)), "sorted": 1}
    return {"x": x.astype(dtype), "k": count}, ("k",), attrs, 2, int(rng.choice([11, 17, 21]))


@use("CumSum")
def _cum_sum(rng):
    dtype = rng.choice(["float32", "float64", "int64", "int32"])
    shape = tuple(int(n) for n in rng.integers(1, 40, rng.integers(1, 4)))
    if rng.random() < 0.3:
        shape = (*shape[:-1], int(rng.integers(60, 300)))
    x = rng.integers(-9, 9, shape).astype(dtype)
    axis = np.array(rng.integers(-len(shape), len(shape)), np.int32)
    attrs = {"exclusive": int(rng.integers(2)), "reverse": int(rng.integers(2))}
    return {"x": x, "axis": axis}, ("axis",), attrs, 1, int(rng.choice([11, 17]))


def check_use(name, seed):
    rng = np.random.default_rng([len(name), seed])
    inputs, constants, attrs, outputs, opset = USES[name](rng)
    outs = [f"y{k}" for k in range(outputs)]
    node = onnx.helper.make_node(name, list(inputs), outs, name="n", **attrs)
    feeds = {n: a for n, a in inputs.items() if n and n not in constants}
    model = model_of([node], feeds, outs, opset, {n: inputs[n] for n in constants})
    exe = compile(load_onnx(model), threads=int(rng.choice([1, 3])))
    assert all(isinstance(c, CallPlan) for c in exe.plan.calls), exe.plan.calls
    agree(exe.run(feeds).values(), by_onnxruntime(model, feeds), 1e-4, 1e-5)


@pytest.mark.parametrize("name", USES)
def test_random_uses_agree_with_onnxruntime(name):
    pytest.importorskip("onnxruntime")
    for seed in range(12):
        check_use(name, seed)


@pytest.mark.checks
@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize("part", range(10))
def test_many_random_uses_agree_with_onnxruntime(name, part):
    pytest.importorskip("onnxruntime")
    for seed in range(100 + 40 * part, 140 + 40 * part):
        check_use(name, seed)


def test_every_operator_with_a_kernel_has_uses():
    assert {p.values[0] for p in EXAMPLES} == set(USES)


# ---- what onnxruntime does not say ----


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_k_orders_every_type(dtype, largest):
    x = np.random.default_rng(1).integers(-9 if not dtype.startswith("u") else 0, 9, (5, 70)).astype(dtype)
    case = Case("t", (x, np.array([9])), {"largest": largest}, (1,), outputs=2)
    exe, feeds = compiled("TopK", case)
    agree(exe.run(feeds).values(), evaluate(case.call("TopK"), *case.inputs))


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_top_k_takes_nan_for_the_largest(dtype, largest):
    x = np.array([1, np.nan, -np.inf, np.inf, -np.nan, 0.0, -0.0, np.nan] * 20, dtype)
    for count in (1, 7, 59, 61, 130, 160):
        case = Case("t", (x, np.array([count])), {"largest": largest}, (1,), outputs=2)
        exe, feeds = compiled("TopK", case)
        agree(exe.run(feeds).values(), evaluate(case.call("TopK"), *case.inputs))


def test_empty_tensors_are_left_to_the_reference():
    case = Case("t", (np.zeros((3, 0), np.float32), np.array([0])), {}, (1,), outputs=2)
    call = case.call("TopK")
    assert obstacle(call, registry()["TopK"].infer(call)) == "a tensor without elements"
