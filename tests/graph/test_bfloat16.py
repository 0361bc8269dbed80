"""Networks in bfloat16: which tensors the pass chooses, and that kernels, nodes and NumPy agree about them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from graph.nets import random_feeds, residual_net, run_groups
from graph.random_nets import random_net

import workbench as wb
from workbench.errors import UsageError
from workbench.graph import Graph, Node, TensorType, explain, partition, run_reference
from workbench.graph.passes import optimized, order_of, suited
from workbench.target import Target

BF16 = ml_dtypes.bfloat16
X86 = "llvm -mtriple=x86_64-unknown-linux-gnu"


@pytest.fixture
def small_products(monkeypatch):
    """Products of any size take bfloat16."""
    monkeypatch.setattr("workbench.graph.ops.nn.conv.LEAST_HALVED", 1)
    monkeypatch.setattr("workbench.graph.ops.math.linear.LEAST_HALVED", 1)


def constants(seed: int = 0, **shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {n: (rng.standard_normal(s) / np.sqrt(s[0])).astype("f4") for n, s in shapes.items()}


def two_products(*between: Node, outputs: tuple[str, ...] = ("y",)) -> Graph:
    """x · w -> a, nodes from a to b, b · v -> y."""
    nodes = [Node("first", "MatMul", ("x", "w"), ("a",)), *between, Node("second", "MatMul", ("b", "v"), ("y",))]
    return Graph.make(
        "g", nodes, {"x": TensorType((5, 32))}, outputs, constants(w=(32, 48), v=(48, 16), s=(48,), t=(48,))
    )


def halved(graph: Graph) -> Graph:
    return graph.optimize(precision="bfloat16")


def kinds(graph: Graph) -> dict[str, str]:
    return {n: t.dtype for n, t in graph.types.items() if n not in graph.constants}


def relative(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.abs(got.astype("f8") - want.astype("f8")).max(initial=0) / np.abs(want).max(initial=1e-30))


def test_what_lies_between_products_is_stored_in_bfloat16():
    graph = halved(two_products(Node("r", "Relu", ("a",), ("b",))))
    types = kinds(graph)
    assert types["x"] == types["y"] == "float32"
    assert types["a"] == "float32"  # in registers
    assert types["b"] == "bfloat16"
    assert types["x.bfloat16"] == "bfloat16"  # the Cast
    made = {n.name: n for n in graph.nodes}
    assert graph.types[made["first"].inputs[1]].dtype == "bfloat16"
    assert made["first"].attrs["stored"] == "float32"
    assert made["r"].attrs["stored"] == "bfloat16"


def test_scores_of_attention_stay_in_float32(small_products):
    """Queries come through a move that a product reads them by; what it gives a softmax is not rounded all the same."""
    nodes = [
        Node("first", "MatMul", ("x", "w"), ("a",)),
        Node("q", "Transpose", ("a",), ("queries",), {"perm": (1, 0, 2)}),
        Node("k", "Transpose", ("a",), ("keys",), {"perm": (1, 2, 0)}),
        Node("scores", "MatMul", ("queries", "keys"), ("s",)),
        Node("p", "Softmax", ("s",), ("b",), {"axis": -1}),
        Node("second", "MatMul", ("b", "queries"), ("y",)),
    ]
    graph = halved(Graph.make("g", nodes, {"x": TensorType((16, 4, 32))}, ("y",), constants(w=(32, 48))))
    types = kinds(graph)
    assert (types["s"], types["b"], types["y"]) == ("float32", "bfloat16", "float32")


def test_a_normalised_tensor_that_later_sums_carry_on_stays_in_float32():
    nodes = [
        Node("n", "LayerNormalization", ("a", "s", "t"), ("b",), {"axis": -1}),
        Node("m", "MatMul", ("b", "u"), ("c",)),
        Node("sum", "Add", ("c", "b"), ("d",)),
        Node("n2", "LayerNormalization", ("d", "s", "t"), ("e",), {"axis": -1}),
    ]
    weights = constants(w=(32, 48), s=(48,), t=(48,), u=(48, 48), v=(48, 16))
    first, last = Node("first", "MatMul", ("x", "w"), ("a",)), Node("second", "MatMul", ("e", "v"), ("y",))
    types = kinds(halved(Graph.make("g", [first, *nodes, last], {"x": TensorType((5, 32))}, ("y",), weights)))
    assert types["b"] == "float32", "the sum reads it, too"
    assert types["b.bfloat16"] == "bfloat16"
    assert types["e"] == "bfloat16", "only a product reads it"


def test_sensitive_operators_read_float32():
    norm = Node("n", "LayerNormalization", ("a", "s", "t"), ("b",), {"axis": -1})
    types = kinds(halved(two_products(norm)))
    assert types["a"] == "float32"
    assert types["b"] == "bfloat16"


def test_outputs_keep_their_type():
    graph = halved(two_products(Node("r", "Relu", ("a",), ("b",)), outputs=("y", "b")))
    assert kinds(graph)["b"] == "float32"
    assert kinds(graph)["b.bfloat16"] == "bfloat16"


def test_parts_of_a_concatenation_are_kept_alike():
    nodes = [
        Node("p", "MatMul", ("x", "w"), ("a",)),
        Node("q", "Relu", ("x",), ("c",)),
        Node("j", "Concat", ("a", "c"), ("b",), {"axis": 1}),
        Node("second", "MatMul", ("b", "v"), ("y",)),
    ]
    shapes = constants(w=(32, 16), v=(48, 16))
    graph = Graph.make("g", nodes, {"x": TensorType((5, 32))}, ("y",), shapes)
    types = kinds(halved(graph))
    assert types["a"] == types["b"] == types["c"] == "bfloat16"
    other = Graph.make("g", nodes, {"x": TensorType((5, 32))}, ("y", "c"), shapes)
    types = kinds(halved(other))
    assert types["a"] == types["b"] == types["c"] == "float32"
    assert types["b.bfloat16"] == "bfloat16"


def emulated(graph: Graph) -> Graph:
    """For a processor that has no instruction for bfloat16."""
    return optimized(graph, precision="bfloat16", target=Target(f"{X86} -mcpu=skylake-avx512"))


def test_without_an_instruction_numbers_are_rounded_in_float32():
    graph = emulated(two_products(Node("r", "Relu", ("a",), ("b",))))
    assert set(kinds(graph).values()) == {"float32"}
    assert {n.name: n.attrs.get("rounded") for n in graph.nodes if n.op != "Cast"} == {
        "first": None, "r": "bfloat16", "second": None,
    }  # fmt: skip
    for w in graph.constants.values():
        np.testing.assert_array_equal(w, w.astype(BF16).astype("f4"))
    names = {g.description for g in partition(graph)}
    assert any(name.endswith("relu + round") for name in names), names


@pytest.mark.parametrize("seed", range(30))
def test_rounded_in_float32_or_stored_in_bfloat16_are_the_same_numbers(seed, small_products):
    graph = random_net(seed)
    feeds = random_feeds(graph)
    with np.errstate(all="ignore"):
        want = run_reference(graph.optimize(precision="bfloat16", without=["unfold_taps"]), feeds)
        low = emulated(graph)
        got, computed = run_reference(low, feeds), run_groups(low, feeds)
    for name, value in want.items():
        np.testing.assert_array_equal(got[name], value)
        if np.isfinite(value).all():  # a sum that rounds to the neighbour may cross a step of a later operator
            apart = np.abs(computed[name].astype("f8") - value) > 0.03 * np.abs(value).max(initial=1e-30)
            assert apart.mean() < 0.05 if apart.size else True


def test_an_optimised_graph_is_suited_to_the_target_that_it_is_compiled_for():
    graph = two_products(Node("r", "Relu", ("a",), ("b",)))
    skylake = Target(f"{X86} -mcpu=skylake-avx512")
    rapids = Target(f"{X86} -mcpu=sapphirerapids")
    low = halved(graph)
    assert suited(low, rapids) is low
    assert kinds(suited(low, skylake)) == kinds(emulated(graph))
    assert kinds(suited(emulated(graph), rapids)) == kinds(low)
    changed = low.replace()
    assert suited(changed, skylake) is changed, "of a graph that was changed nobody knows the original"
    assert suited(graph.optimize(), skylake).origin.passes == graph.optimize().origin.passes
    keys = {t.key for t in wb.extract_tasks(low, skylake)}
    assert keys == {t.key for t in wb.extract_tasks(emulated(graph), skylake)}
    assert keys.isdisjoint(t.key for t in wb.extract_tasks(low, rapids))


def test_what_no_product_follows_stays_in_float32():
    nodes = [Node("p", "MatMul", ("x", "w"), ("a",)), Node("s", "Softmax", ("a",), ("y",))]
    graph = halved(Graph.make("g", nodes, {"x": TensorType((5, 32))}, ("y",), constants(w=(32, 16))))
    assert kinds(graph)["a"] == "float32"


def test_a_network_without_products_is_left_alone():
    graph = Graph.make("g", [Node("r", "Relu", ("x",), ("y",))], {"x": TensorType((4, 4))}, ("y",))
    assert "no product" in " ".join(halved(graph).history)
    assert set(kinds(halved(graph)).values()) == {"float32"}


def test_the_report_says_what_is_rounded_and_why():
    report = explain(two_products(Node("r", "Relu", ("a",), ("b",))), precision="bfloat16")
    (done,) = (p for p in report.passes if p.name == "bfloat16")
    reasons = {c.node: c.reason for c in done.changes}
    assert reasons["r"] == "computes in float32, and its result is stored in bfloat16"
    assert reasons["first"] == "multiplies bfloat16 and sums in float32, and its result stays in registers"
    assert reasons["x.bfloat16.Cast"] == "x stays in float32, and a product reads it in bfloat16"
    assert done.notes == ("bfloat16: 2 products, 1 of 2 tensors between kernels",)


@pytest.mark.parametrize("seed", range(30))
def test_nodes_and_kernels_agree(seed, small_products):
    """Sums in another order may round to the neighbour."""
    graph = random_net(seed)
    feeds = random_feeds(graph)
    done = halved(graph)
    assert (done.inputs, done.outputs) == (graph.inputs, graph.outputs)
    with np.errstate(all="ignore"):
        want, got = run_reference(done, feeds), run_groups(done, feeds)
    for name, value in want.items():
        assert (
            (got[name].dtype, got[name].shape) == (value.dtype, value.shape) == (graph.types[name].dtype, value.shape)
        )
        if np.isfinite(value).all():
            assert relative(got[name], value) < 0.03


def test_a_convolutional_network_is_near_the_exact_one(small_products):
    graph = residual_net()
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)
    got = wb.compile(graph, precision="bfloat16").run(feeds)
    for name, value in want.items():
        assert got[name].dtype == np.float32
        assert 1e-6 < relative(got[name], value) < 0.03


def test_each_pass_off(small_products):
    graph = residual_net()
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)
    for off in order_of("bfloat16"):
        got = run_reference(graph.optimize(without=[off], precision="bfloat16"), feeds)
        assert all(relative(got[n], want[n]) < 0.03 for n in want)


def test_precision_of_a_graph():
    graph = two_products(Node("r", "Relu", ("a",), ("b",)))
    feeds = random_feeds(graph)
    plain, rounded = graph.optimize(), graph.to_precision("bfloat16")
    exact = wb.compile(plain, precision="float32").run(feeds)["y"]
    got = wb.compile(rounded).run(feeds)["y"]
    np.testing.assert_array_equal(got, wb.compile(graph, precision="bfloat16").run(feeds)["y"])
    assert relative(got, exact) > 1e-5
    assert {t.name for t in wb.extract_tasks(rounded)} != {t.name for t in wb.extract_tasks(plain)}
    for call in (
        lambda: graph.optimize(precision="bf16"),
        lambda: graph.optimize(precision="int8"),
        lambda: wb.compile(plain, precision="bfloat16"),
        lambda: wb.compile(rounded, precision="float32"),
    ):
        with pytest.raises(UsageError) as e:
            call()
        assert e.value.code == "usage.precision"


def test_a_model_that_is_written_in_bfloat16():
    """Every result is rounded, as the standard has it."""
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype(BF16) for s in ((6, 40), (40, 24), (24,)))
    nodes = [
        Node("p", "MatMul", ("x", "w"), ("a",)),
        Node("s", "Add", ("a", "b"), ("c",)),
        Node("t", "Transpose", ("c",), ("d",), {"perm": (1, 0)}),
        Node("e", "Tanh", ("d",), ("y",)),
    ]
    graph = Graph.make("g", nodes, {"x": TensorType((6, 40), "bfloat16")}, ("y",), {"w": w, "b": b})
    assert graph.types["y"].dtype == "bfloat16"
    product = (x.astype("f8") @ w.astype("f8")).astype("f4").astype(BF16)
    want = np.tanh((product.astype("f4") + b.astype("f4")).astype(BF16).astype("f8")).astype(BF16).T
    got = wb.compile(graph).run({"x": x})["y"]
    assert got.dtype == BF16
    assert relative(got.astype("f4"), want.astype("f4")) < 0.02
    np.testing.assert_array_equal(run_reference(graph, {"x": x})["y"].view(np.uint16), want.view(np.uint16))


def test_a_1x1_convolution_sees_an_image_as_one_row_of_pixels():
    nodes = [
        Node("c", "Conv", ("x", "w"), ("a",)),
        Node("r", "Relu", ("a",), ("b",)),
        Node("d", "Conv", ("b", "v"), ("e",)),
        Node("s", "Add", ("e", "x"), ("y",)),
    ]
    weights = constants(w=(48, 32, 1, 1), v=(32, 48, 1, 1))
    graph = Graph.make("g", nodes, {"x": TensorType((2, 32, 7, 5))}, ("y",), weights)
    kernels = [g for g in partition(halved(graph)) if "conv" in g.description]
    assert len(kernels) == 2
    for kernel in kernels:
        assert {tuple(b.shape)[:-1] for b in kernel.func.params if b.role != "const"} == {(1, 1, 70)}
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)["y"]
    assert relative(wb.compile(graph, precision="bfloat16").run(feeds)["y"], want) < 0.02


@pytest.mark.parametrize(("op", "dtype"), [("Conv", "float32"), ("ConvInteger", "int8")])
@pytest.mark.parametrize("size", [(1, 5, 1), (7, 3, 1), (2, 1, 4)])
def test_strides_along_a_side_of_one_pixel_are_not_those_of_a_row(op, dtype, size):
    batch, h, w = size
    rng = np.random.default_rng(0)
    x, weights = (rng.integers(-50, 50, s).astype(dtype) for s in ((batch, 1, h, w), (2, 1, 1, 1)))
    node = Node("c", op, ("x", "w"), ("a",), {"strides": (1, 3) if w == 1 else (3, 1)})
    nodes = [node, Node("s", "Add", ("a", "a"), ("y",))]
    graph = Graph.make("g", nodes, {"x": TensorType(x.shape, dtype)}, ("y",), {"w": weights})
    want = 2 * np.einsum("nchw,oc->nohw", x.astype("i8"), weights[:, :, 0, 0].astype("i8"))
    for without in ((), ("layout",)):
        np.testing.assert_array_equal(wb.compile(graph, without=without).run({"x": x})["y"], want)


def test_rows_of_pixels_that_are_parts_of_a_concatenation():
    nodes = [
        Node("c", "Conv", ("x", "w"), ("a",)),
        Node("d", "Conv", ("a", "v"), ("b",)),
        Node("j", "Concat", ("a", "b"), ("e",), {"axis": 1}),
        Node("f", "Conv", ("e", "u"), ("y",)),
    ]
    weights = constants(w=(64, 32, 1, 1), v=(32, 64, 1, 1), u=(16, 96, 1, 1))
    graph = Graph.make("g", nodes, {"x": TensorType((1, 32, 7, 5))}, ("y",), weights)
    groups = partition(halved(graph))
    assert sum(g.description.startswith("parts in place") for g in groups) == 1
    feeds = random_feeds(graph)
    want = run_reference(graph, feeds)["y"]
    assert relative(wb.compile(graph, precision="bfloat16").run(feeds)["y"], want) < 0.02


def test_the_error_of_each_layer(small_products):
    graph = residual_net()
    samples = [random_feeds(graph)]
    table = wb.accuracy(graph, "bfloat16", samples, bound=1e-9)
    assert set(graph.outputs) == set(table.tensor[table.output])
    assert (table.relative < 0.03).all()
    first = table[table.relative > 0].iloc[0]
    assert table.attrs["first_above"] == first.tensor
    exact, rounded = wb.compile(graph).run(samples[0]), wb.compile(graph, precision="bfloat16").run(samples[0])
    for name in graph.outputs:
        error = np.abs(exact[name] - rounded[name]).max()
        assert table[table.tensor == name].max_error.item() == pytest.approx(error, rel=1e-5, abs=1e-9)


def conv_net(ci: int, co: int, size: tuple[int, int], kernel: tuple[int, int], **attrs: object) -> Graph:
    """A convolution with random weights, bias and Relu, behind it a 1x1 one."""
    weights = constants(w=(co, ci, *kernel), u=(16, co, 1, 1), b=(co,))
    nodes = [
        Node("conv", "Conv", ("x", "w", "b"), ("c",), dict(attrs)),
        Node("relu", "Relu", ("c",), ("r",)),
        Node("last", "Conv", ("r", "u"), ("y",)),
    ]
    return Graph.make("g", nodes, {"x": TensorType((2, ci, *size))}, ("y",), weights)


UNFOLDED = [
    conv_net(3, 32, (40, 64), (7, 7), pads=(3, 3, 3, 3), strides=(2, 2)),
    conv_net(3, 16, (9, 33), (3, 3), pads=(0, 1, 2, 0), strides=(1, 2), auto_pad="NOTSET"),
    conv_net(1, 48, (6, 16), (5, 3), auto_pad="SAME_LOWER"),
    conv_net(64, 96, (7, 7), (3, 3), pads=(1, 1, 1, 1)),
    conv_net(32, 64, (14, 14), (3, 3), pads=(1, 1, 1, 1), strides=(2, 2)),
    conv_net(64, 512, (14, 14), (1, 1), strides=(2, 2)),
    conv_net(48, 64, (6, 5), (5, 2), pads=(2, 0, 2, 3)),
]


@pytest.mark.parametrize("graph", UNFOLDED, ids=lambda g: "-".join(map(str, g.constants["w"].shape)))
def test_taps_side_by_side_give_the_same_convolution(graph):
    low = halved(graph)
    assert [n.op for n in low.nodes].count("Taps") == 1
    x = np.random.default_rng(1).standard_normal(graph.input_types()["x"].shape).astype("f4")
    want = run_reference(graph, {"x": x})["y"]
    assert relative(run_reference(low, {"x": x})["y"], want) < 0.02
    assert relative(wb.compile(low).run({"x": x})["y"], want) < 0.02
    x[0, 0, 2, 3] = np.inf  # stays with the windows that see it
    seen, other = (wb.compile(g).run({"x": x})["y"] for g in (low, graph))
    assert np.array_equal(np.isfinite(seen), np.isfinite(other))


def test_convolutions_that_fill_their_tiles_keep_their_taps():
    for graph in (
        conv_net(64, 64, (28, 28), (3, 3), pads=(1, 1, 1, 1)),
        conv_net(64, 64, (7, 7), (1, 1)),
        conv_net(3, 8, (16, 16), (3, 3), pads=(1, 1, 1, 1)),
        conv_net(64, 64, (7, 7), (3, 3), pads=(2, 2, 2, 2), dilations=(2, 2)),
    ):
        assert "Taps" not in {n.op for n in halved(graph).nodes}
