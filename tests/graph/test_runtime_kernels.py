"""Operators that runtime kernels compute: each example in each type against the reference, random uses against
onnxruntime, which shares no code with us.
"""

from __future__ import annotations

import numpy as np
import pytest
from graph.examples import Case, cases
from graph.kernel_uses import NEWER
from graph.kernel_uses import USES as OTHERS
from graph.test_uses import by_onnxruntime, model_of

from workbench import load_exported, load_onnx
from workbench.graph import Graph, Node, TensorType
from workbench.graph.evaluation import evaluate, obstacle
from workbench.graph.kernels.recurrence import GATES
from workbench.graph.onnx import read_program
from workbench.graph.opdef import registry
from workbench.network.compile import compile
from workbench.network.dynamic_shapes import DynamicExecutable
from workbench.runtime.networks.execution_plan import CallPlan

onnx = pytest.importorskip("onnx")


def has_kernel(name: str, case: Case) -> bool:
    """Whether an operator is a runtime kernel, or becomes one."""
    return registry()[name].kernel(case.call(name)) is not None or name in GATES


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
USES = dict(OTHERS)


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


def _joined(rng, opset):
    how = rng.choice(["none", "add", "mul"] + ["max", "min"] * (opset >= 18)) if opset >= 16 else "none"
    return {} if how == "none" else {"reduction": str(how)}


@use("ScatterElements")
def _scatter_elements(rng):
    opset = int(rng.choice([13, 16, 18]))
    dtype = rng.choice(["float32", "float64", "int64", "int32"])
    shape = tuple(int(n) for n in rng.integers(1, 8, rng.integers(1, 5)))
    if rng.random() < 0.3:
        shape = (*shape[:-1], int(rng.integers(60, 200)))
    axis = int(rng.integers(len(shape)))
    size = tuple(int(rng.integers(1, n + 1)) for n in shape)
    attrs = {"axis": axis - len(shape) * int(rng.integers(2)), **_joined(rng, opset)}
    index = rng.integers(-shape[axis], shape[axis], size)
    if (
        not attrs.keys() - {"axis"} and rng.random() < 0.8
    ):  # of several at one place onnxruntime takes the last one, too
        index = np.abs(index) % shape[axis]
    x, new = (rng.integers(-4, 5, s).astype(dtype) for s in (shape, size))
    return {"x": x, "i": index.astype(rng.choice(["int32", "int64"])), "u": new}, (), attrs, 1, opset


@use("ScatterND")
def _scatter_slices(rng):
    opset = int(rng.choice([13, 16, 18]))
    dtype = rng.choice(["float32", "float64", "int64", "int32"])
    shape = tuple(int(n) for n in rng.integers(1, 8, rng.integers(1, 5)))
    if rng.random() < 0.4:
        shape = (*shape[:-1], int(rng.integers(30, 200)))
    width = int(rng.integers(1, len(shape) + 1))
    many = tuple(int(n) for n in rng.integers(1, 6, rng.integers(1, 3)))
    attrs = _joined(rng, opset)
    index = np.stack([rng.integers(-n, n, many) for n in shape[:width]], -1)
    if not attrs:  # each place once: onnxruntime does not say which of several wins
        places = rng.permutation(np.prod(shape[:width]))[: np.prod(many)]
        many = (len(places),)
        index = np.stack(np.unravel_index(places, shape[:width]), -1)
    x, new = (rng.integers(-4, 5, s).astype(dtype) for s in (shape, many + shape[width:]))
    return {"x": x, "i": index.astype(np.int64), "u": new}, (), attrs, 1, opset


@use("GridSample")
def _grid_sample(rng):
    opset = int(rng.choice([16, 20]))
    rank = int(rng.choice([2, 3])) if opset == 20 else 2
    modes = (
        ["nearest", "linear", "cubic"][: 3 if rank == 2 else 2] if opset == 20 else ["nearest", "bilinear", "bicubic"]
    )
    sizes, places = (tuple(int(n) for n in rng.integers(1, 8, rank)) for _ in range(2))
    batch, channels = int(rng.integers(1, 3)), int(rng.integers(1, 5))
    attrs = {"mode": str(rng.choice(modes)), "padding_mode": str(rng.choice(["zeros", "border", "reflection"])),
             "align_corners": int(rng.integers(2))}  # fmt: skip
    x = rng.standard_normal((batch, channels, *sizes)).astype("float32")
    grid = (rng.random((batch, *places, rank)) * 4 - 2).astype("float32")
    return {"x": x, "g": grid}, (), attrs, 1, opset


def _recurrent(op):
    functions = ("Sigmoid", "Tanh", "HardSigmoid", "Softsign")  # of those without bounds small errors grow

    def draw(rng):
        steps, batch, inputs, hidden = (int(n) for n in rng.integers(1, 7, 4))
        hidden = hidden if rng.random() < 0.5 else int(rng.integers(1, 90))
        way = str(rng.choice(["forward", "reverse", "bidirectional"]))
        ways, rows = 1 + (way == "bidirectional"), GATES[op] * hidden

        def real(*shape):
            return (rng.standard_normal(shape) * 0.5).astype("float32")

        lengths = rng.integers(1, steps + 1, batch).astype(np.int32)
        lengths[rng.integers(batch)] = steps
        kept = real(ways, rows, hidden) / np.float32(max(1, hidden**0.5))  # larger ones let rounding errors grow
        given = {"x": real(steps, batch, inputs), "w": real(ways, rows, inputs), "r": kept}
        more = {"b": real(ways, 2 * rows), "l": lengths, "h": real(ways, batch, hidden)}
        more |= {"c": real(ways, batch, hidden), "p": real(ways, 3 * hidden)} if op == "LSTM" else {}
        given |= dict(list(more.items())[: int(rng.integers(len(more) + 1))])
        attrs = {"hidden_size": hidden, "direction": way, **({"clip": 0.4} if rng.random() < 0.3 else {})}
        if rng.random() < 0.4:
            count = {"RNN": 1, "GRU": 2, "LSTM": 3}[op] * ways
            attrs["activations"] = [str(n) for n in rng.choice(functions, count)]
        if op == "GRU" and rng.random() < 0.5:
            attrs["linear_before_reset"] = 1
        known = [n for n in ("w", "r", "b") if n in given and rng.random() < 0.8]
        return given, known, attrs, 2 + (op == "LSTM"), int(rng.choice([7, 14]))

    return draw


USES |= {op: _recurrent(op) for op in GATES}


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
@pytest.mark.parametrize("part", range(2))
def test_many_random_uses_agree_with_onnxruntime(name, part):
    pytest.importorskip("onnxruntime")
    for seed in range(100 + 40 * part, 140 + 40 * part):
        check_use(name, seed)


def test_every_operator_with_a_kernel_has_uses():
    assert {p.values[0] for p in EXAMPLES} == set(USES) | NEWER


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


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(("shape", "width"), [((50, 70), 1), ((50, 3), 1), ((20, 30), 2), ((7, 130), 1)])
def test_many_slices_at_one_place_come_in_their_order(shape, width, threads):
    rng = np.random.default_rng(3)
    index = np.stack([rng.integers(-n - 1, n + 1, 3000) for n in shape[:width]], -1)  # some of them outside
    x, new = (rng.standard_normal(s).astype("float32") for s in (shape, (3000, *shape[width:])))
    for how in ("none", "add", "mul", "max", "min"):
        case = Case("t", (x, index, new), {"reduction": how})
        exe, feeds = compiled("ScatterND", case, threads)
        (got,), (want,) = exe.run(feeds).values(), evaluate(case.call("ScatterND"), *case.inputs)
        assert got.tobytes() == want.tobytes(), how


@pytest.mark.parametrize("name", ["ScatterND", "ScatterElements"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint16", "float16", "bfloat16", "uint64"])
@pytest.mark.parametrize("how", ["none", "add", "mul", "max", "min"])
def test_every_type_is_stored_and_joined(name, dtype, how):
    rng = np.random.default_rng(4)
    index = rng.integers(-6, 6, (30, 1) if name == "ScatterND" else (30, 40))
    x, new = (rng.integers(0, 3, s).astype(dtype) for s in ((6, 40), (30, 40)))
    case = Case("t", (x, index, new), {"reduction": how})
    exe, feeds = compiled(name, case, 2)
    agree(exe.run(feeds).values(), evaluate(case.call(name), *case.inputs))


@pytest.mark.parametrize("how", ["none", "add", "max"])
def test_what_is_stored_outside_is_dropped_and_the_last_one_wins(how):
    x, at = np.zeros((4, 2), np.float32), np.array([[5, -5], [1, -4], [1, 0], [-9, 9]])
    new = np.arange(1, 9, dtype=np.float32).reshape(4, 2)
    want = {"none": [[0, 6], [5, 0]], "add": [[0, 10], [8, 0]], "max": [[0, 6], [5, 0]]}[how] + [[0, 0]] * 2
    exe, feeds = compiled("ScatterElements", Case("odd", (x, at, new), {"reduction": how}))
    np.testing.assert_array_equal(exe.run(feeds)["y0"], want)
    exe, feeds = compiled("ScatterND", Case("odd", (x, at[:, :1], new), {"reduction": how}))
    got = exe.run(feeds)["y0"]
    np.testing.assert_array_equal(got[1], {"none": [5, 6], "add": [8, 10], "max": [5, 6]}[how])
    assert not got[[0, 2, 3]].any()


def test_a_library_has_the_kernels(tmp_path):
    """With all threads, and as an executable has them."""
    x = np.random.default_rng(2).standard_normal((8, 3000)).astype("float32")
    exe, feeds = compiled("TopK", Case("t", (x, np.array([40])), {}, (1,), outputs=2), 2)
    loaded = load_exported(exe.export(tmp_path / "net.so").library)
    agree(loaded.run(feeds).values(), exe.run(feeds).values(), 0, 0)


def test_shapes_may_be_known_only_at_run_time():
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]> g (float[n, m] x) => (float[n, m] y)
        <int64 axis = {1}> { y = CumSum(x, axis) }"""
    )
    executable = DynamicExecutable(read_program(model))
    for shape in ((3, 70), (2, 5)):
        x = np.ones(shape, np.float32)
        (got,) = executable.run({"x": x}).values()
        np.testing.assert_array_equal(got, x.cumsum(1))


def test_a_result_is_written_over_a_tensor_that_nobody_needs_any_more():
    nodes = [Node("a", "Relu", ("x",), ("t",)), Node("s", "ScatterND", ("t", "i", "u"), ("s",)),
             Node("b", "Neg", ("s",), ("y",))]  # fmt: skip
    i, u = np.array([[2], [0]]), np.ones((2, 5), np.float32)
    graph = Graph.make("g", nodes, {"x": TensorType((4, 5))}, ["y"], {"i": i, "u": u})
    exe = compile(graph)
    (call,) = [c for c in exe.plan.calls if c.fixed]
    assert call.reuses
    assert call.args[call.reuses[0][0]] == call.args[call.reuses[0][1]]
    x = np.random.default_rng(0).standard_normal((4, 5)).astype("float32")
    want = np.maximum(x, 0)
    want[[2, 0]] = 1
    np.testing.assert_array_equal(exe.run(x)["y"], -want)


def test_positions_that_are_no_numbers_read_inside_of_the_image():
    x = np.ones((1, 2, 5, 4), np.float32)
    grid = np.full((1, 9, 9, 2), np.nan, np.float32)
    grid[0, :3] = [[np.inf, 0]]
    grid[0, 3:5] = [[1e38, -1e38]]
    for mode in ("nearest", "linear", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            exe, feeds = compiled("GridSample", Case("t", (x, grid), {"mode": mode, "padding_mode": padding}, (), 20))
            exe.run(feeds)


@pytest.mark.parametrize("dtype", FLOATS)
def test_other_floats_are_sampled(dtype):
    rng = np.random.default_rng(5)
    case = Case(
        "t", (rng.random((2, 3, 6, 7)).astype(dtype), (rng.random((2, 5, 5, 2)) * 2 - 1).astype(dtype)), {}, (), 20
    )
    exe, feeds = compiled("GridSample", case)
    rtol = 1e-12 if dtype == "float64" else 1e-2
    agree(exe.run(feeds).values(), evaluate(case.call("GridSample"), *case.inputs), rtol, rtol)


def test_empty_tensors_are_left_to_the_reference():
    case = Case("t", (np.zeros((3, 0), np.float32), np.array([0])), {}, (1,), outputs=2)
    call = case.call("TopK")
    assert obstacle(call, registry()["TopK"].infer(call)) == "a tensor without elements"
