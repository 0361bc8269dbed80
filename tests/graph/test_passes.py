"""Each pass on a small graph, and all of them on real ones."""

from __future__ import annotations

import numpy as np
import pytest
from graph.nets import close, conv, norm, norm_constants, random_feeds, residual_net

from workbench.cooperative_yield import giving_way
from workbench.errors import UsageError
from workbench.graph import Graph, Node, TensorType, list_passes, run_reference
from workbench.graph.passes import DEFAULT, ORDER, Pass, base, passes, run_pass, select_passes
from workbench.network.compile import compile


def make(nodes, constants=None, shape=(1, 4, 6, 6), outputs=("y",)):
    return Graph.make("g", nodes, {"x": TensorType(shape)}, outputs, constants or {})


def run(graph, *names):
    """The passes in order; the result must compute the same, and every output keep its name and type."""
    out = graph
    for name in names:
        out = run_pass(out, name)
    feeds = random_feeds(graph)
    want, got = run_reference(graph, feeds), run_reference(out, feeds)
    assert list(got) == list(want)
    for o in want:
        assert close(got[o], want[o], 1e-5), o
    return out


def ops(graph):
    return [n.op for n in graph.nodes]


def weights(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def test_passes_are_declared_with_their_description():
    listed = list_passes()
    assert [p.name for p in listed] == list(dict.fromkeys(ORDER))
    assert {p.name for p in listed} == set(passes())
    assert set(DEFAULT) == {p.name for p in listed if p.default}
    assert all(p.doc.endswith(".") and set(p.requires) <= set(passes()) for p in listed)


def test_passes_can_be_left_out():
    g = residual_net()
    assert not any(line.startswith("layout") for line in g.optimize(without="layout").history)
    whole, alone = g.optimize(), g.optimize(without=["fuse", "fold_batch_norm"])
    assert any(len(x.nodes) > 1 for x in whole.groups)
    assert [x.nodes for x in alone.groups] == [(n.name,) for n in alone.nodes]
    assert "BatchNormalization" in ops(alone)
    assert alone.groups[0].rules[0].endswith("fusion is switched off")


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("usage.pass", lambda g: g.optimize(without=["fold_constant"])),
        ("usage.pass", lambda g: g.optimize(["foldd"])),
        ("usage.pass", lambda g: compile(g.optimize(), without="fuse")),
    ],
)
def test_passes_that_cannot_be_left_out(code, call):
    with pytest.raises(UsageError) as e:
        call(residual_net())
    assert e.value.code == code
    assert e.value.hint


def test_a_pass_that_requires_another_goes_with_it(monkeypatch):
    monkeypatch.setitem(base._PASSES, "late", Pass("late", "A test.", lambda g: g, True, ("fuse",)))
    assert select_passes(["fuse", "late"]) == ("fuse", "late")
    assert select_passes(["fold_constants", "fuse", "late"], "fuse") == ("fold_constants",)
    with pytest.raises(UsageError) as e:
        select_passes(["late", "fuse"])
    assert e.value.code == "usage.pass_order"


def test_folding_follows_shapes_and_constants():
    nodes = [
        Node("shape", "Shape", ("x",), ("s",)),
        Node("n", "Gather", ("s", "zero"), ("n",), {"axis": 0}),
        Node("un", "Unsqueeze", ("n", "axis0"), ("n1",)),
        Node("cat", "Concat", ("n1", "rest"), ("target",), {"axis": 0}),
        Node("re", "Reshape", ("x", "target"), ("r",)),
        Node("fill", "ConstantOfShape", ("two",), ("c",), {"value": np.array([3.0], np.float32)}),
        Node("mul", "Mul", ("r", "c"), ("y",)),
    ]
    constants = {"zero": np.array(0), "axis0": np.array([0]), "rest": np.array([-1]), "two": np.array([1, 144])}
    g = run(make(nodes, constants), "fold_constants")
    assert ops(g) == ["Reshape", "Mul"]
    assert (g.constants["c"] == 3).all()


def test_identities_are_dropped_and_outputs_keep_their_names():
    nodes = [
        Node("i1", "Identity", ("x",), ("a",)),
        Node("r", "Relu", ("a",), ("b",)),
        Node("d", "Dropout", ("b",), ("c", "mask"), {"ratio": 0.5}, "", 9),
        Node("s", "Sum", ("c",), ("d",)),
        Node("t", "Transpose", ("d",), ("e",), {"perm": (0, 1, 2, 3)}),
        Node("i2", "Identity", ("e",), ("y",)),
    ]
    g = run(make(nodes), "drop_identities")
    assert ops(g) == ["Relu"]
    assert g.nodes[0].outputs == ("y",)


def test_an_identity_between_input_and_output_stays():
    assert ops(run(make([Node("i", "Identity", ("x",), ("y",))]), *DEFAULT)) == ["Identity"]
    both = [Node("r", "Relu", ("x",), ("y",)), Node("i", "Identity", ("y",), ("z",))]
    assert ops(run(make(both, outputs=("y", "z")), *DEFAULT)) == ["Relu", "Identity"]


def test_batch_norm_folds_into_the_convolution_before():
    rng = np.random.default_rng(0)
    constants = {"w": weights(5, 4, 3, 3), "b": weights(5), **norm_constants(rng, "n", 5)}
    g = run(make([conv("c", "x", "w", "t", "b"), norm("n", "t", "y")], constants), "fold_batch_norm")
    assert ops(g) == ["Conv"]
    assert g.nodes[0].outputs == ("y",)


def test_scale_and_shift_per_channel_fold_too():
    constants = {"w": weights(5, 4, 1, 1), "s": weights(5, 1, 1), "h": weights(1, 5, 1, 1), "two": np.float32([2])}
    nodes = [
        conv("c", "x", "w", "t"),
        Node("m", "Mul", ("s", "t"), ("u",)),
        Node("a", "Add", ("u", "h"), ("v",)),
        Node("d", "Div", ("v", "two"), ("y",)),
    ]
    assert ops(run(make(nodes, constants), "fold_batch_norm")) == ["Conv"]


def test_batch_norm_is_not_folded_where_something_else_reads_the_convolution():
    rng = np.random.default_rng(0)
    constants = {"w": weights(5, 4, 1, 1), **norm_constants(rng, "n", 5)}
    nodes = [conv("c", "x", "w", "t"), norm("n", "t", "u"), Node("a", "Add", ("t", "u"), ("y",))]
    assert ops(run(make(nodes, constants), "fold_batch_norm")) == ["Conv", "Mul", "Add", "Add"]
    nodes = nodes[:2]
    assert ops(run(make(nodes, constants, outputs=("t", "u")), "fold_batch_norm")) == ["Conv", "Mul", "Add"]


def test_batch_norm_without_convolution_becomes_scale_and_shift():
    constants = {**norm_constants(np.random.default_rng(0), "n", 4), "s": weights(4, 1, 1)}
    nodes = [norm("n", "x", "t"), Node("m", "Mul", ("t", "s"), ("u",)), Node("r", "Relu", ("u",), ("y",))]
    assert ops(run(make(nodes, constants), "fold_batch_norm")) == ["Mul", "Add", "Relu"]


def test_a_spatial_constant_is_not_taken_for_a_scale_per_channel():
    constants = {"w": weights(6, 4, 1, 1), "s": weights(6)}
    nodes = [conv("c", "x", "w", "t"), Node("m", "Mul", ("t", "s"), ("y",))]
    assert ops(run(make(nodes, constants), "fold_batch_norm")) == ["Conv", "Mul"]
    back = [conv("c", "x", "w", "t"), Node("m", "Sub", ("k", "t"), ("y",))]
    assert ops(run(make(back, {"w": constants["w"], "k": weights(6, 1, 1)}), "fold_batch_norm")) == ["Conv", "Sub"]


def test_canonical_forms():
    whole = {"kernel_shape": (6, 6), "strides": (1, 1)}
    assert ops(run(make([Node("p", "AveragePool", ("x",), ("y",), whole)]), "canonicalize")) == ["GlobalAveragePool"]
    part = {"kernel_shape": (3, 3)}
    assert ops(run(make([Node("p", "AveragePool", ("x",), ("y",), part)]), "canonicalize")) == ["AveragePool"]
    mean = {"axes": (2, 3), "keepdims": 0}
    g = run(make([Node("m", "ReduceMean", ("x",), ("y",), mean, "", 13)]), "canonicalize")
    assert ops(g) == ["GlobalAveragePool", "Reshape"]
    g = run(make([Node("s", "Softmax", ("x",), ("y",), {"axis": 1}, "", 9)]), "canonicalize")
    assert ops(g) == ["Reshape", "Softmax", "Reshape"]


def test_products_with_constants_become_gemm_with_transposed_weights():
    constants = {"w": weights(5, 4), "b": weights(1, 5)}
    attrs = {"transB": 1, "alpha": 0.5, "beta": 2.0}
    g = run(make([Node("g", "Gemm", ("x", "w", "b"), ("y",), attrs)], constants, (3, 4)), "canonicalize")
    assert not g.nodes[0].attrs
    assert [g.types[i].shape for i in g.nodes[0].inputs[1:]] == [(4, 5), (5,)]
    nodes = [Node("m", "MatMul", ("x", "w"), ("t",)), Node("a", "Add", ("b", "t"), ("y",))]
    g = run(make(nodes, {"w": weights(4, 5), "b": weights(5)}, (3, 4)), "canonicalize")
    assert ops(g) == ["Gemm"]
    for n in (5, 3):  # also where a column is as long as a row
        columns = {"w": weights(n, 4), "b": weights(3, 1)}
        run(make([Node("g", "Gemm", ("x", "w", "b"), ("y",), attrs)], columns, (3, 4)), "canonicalize")


def test_layout_is_carried_between_convolutions():
    constants = {"w": weights(4, 4, 3, 3), "s": weights(4, 1, 1), "r": weights(1, 1, 6)}
    nodes = [
        conv("c1", "x", "w", "a", pads=(1, 1, 1, 1)),
        Node("add", "Add", ("a", "x"), ("b",)),
        Node("mul", "Mul", ("b", "s"), ("c",)),
        Node("row", "Mul", ("c", "r"), ("c2",)),
        Node("clip", "Clip", ("c2",), ("d",), {"min": 0.0, "max": 6.0}, "", 6),
        Node("cat", "Concat", ("d", "x"), ("e",), {"axis": 1}),
        Node("mean", "ReduceMean", ("e",), ("f",), {"axes": (2, 3), "keepdims": 1}, "", 13),
        Node("max", "ReduceMax", ("e",), ("g",), {"axes": (2, 3), "keepdims": 0}, "", 13),
        Node("pad", "Pad", ("e",), ("h",), {"pads": (0, 1, 0, 2, 0, 0, 1, 0), "value": 1.0}, "", 9),
        Node("lrn", "LRN", ("h",), ("i",), {"size": 3, "alpha": 0.1}),
        Node("pool", "MaxPool", ("i",), ("y",), {"kernel_shape": (2, 2)}),
    ]
    g = run(make(nodes, constants, outputs=("y", "f", "g")), "layout")
    assert ops(g).count("Transpose") == 2  # the input, and the output y; one pixel (f) is only reshaped
    assert all(n.attrs["layout"] == "NHWC" for n in g.nodes if n.op in ("Conv", "MaxPool", "LRN"))


def test_layout_returns_where_an_operator_does_not_understand_it():
    constants = {"w": weights(4, 4, 1, 1), "shape": np.array([1, 2, 2, 36])}
    nodes = [
        conv("c1", "x", "w", "a"),
        Node("re", "Reshape", ("a", "shape"), ("b",)),
        Node("t", "Transpose", ("b",), ("c",), {"perm": (0, 2, 1, 3)}),
        Node("re2", "Reshape", ("c", "back"), ("d",)),
        conv("c2", "d", "w", "y"),
    ]
    constants["back"] = np.array([1, 4, 6, 6])
    run(make(nodes, constants), "layout", "simplify_views", "fold_constants")


@pytest.mark.parametrize("rank", [1, 3])
def test_layout_in_other_ranks(rank):
    shape = (1, 4, *(5,) * rank)
    nodes = [conv("c", "x", "w", "a"), Node("p", "GlobalMaxPool", ("a",), ("y",))]
    g = run(make(nodes, {"w": weights(3, 4, *(2,) * rank)}, shape), "layout")
    assert g.nodes[1].attrs["layout"] == "NHWC"


def test_views_are_joined():
    nodes = [
        Node("f", "Flatten", ("x",), ("a",)),
        Node("u", "Unsqueeze", ("a",), ("b",), {"axes": (0,)}, "", 11),
        Node("q", "Squeeze", ("b",), ("c",), {"axes": (0,)}, "", 11),
        Node("r", "Relu", ("c",), ("d",)),
        Node("t1", "Transpose", ("d",), ("e",)),
        Node("t2", "Transpose", ("e",), ("y",)),
    ]
    assert ops(run(make(nodes), "simplify_views")) == ["Reshape", "Relu"]


# ---- fusion ----


def groups(graph):
    return [" ".join(graph.node(n).name for n in g.nodes) for g in graph.groups]


def test_fusion_of_a_small_network():
    g = run(residual_net(), *DEFAULT)
    assert groups(g) == [
        "data.nhwc.Transpose",
        "c0 r0",
        "c2",
        "c1 a1 r1",  # the deeper branch takes the sum, the shortcut comes first
        "c3 a2 s2 m2",
        "c4",
        "c5",
        "cat",
        "pool",
        "gap",
        "flat",
        "dense",
        "soft",
    ]
    rules = {g.nodes[0]: " / ".join(g.rules) for g in g.groups}
    assert rules["c1"] == (
        "Sum a1: element-wise after Conv c1, with its other operand from an earlier kernel / "
        "Relu r1: element-wise after Conv c1"
    )
    assert "Mul m2: element-wise after Conv c3" in rules["c3"]
    assert rules["soft"] == "Softmax soft: complex, and nothing element-wise follows that only reads it"
    assert rules["flat"] == "Reshape flat: a view, no data move"


def test_injective_chains_and_what_precedes_a_reduction():
    nodes = [
        Node("e", "Exp", ("x",), ("a",)),
        Node("t", "Transpose", ("a",), ("b",), {"perm": (0, 2, 3, 1)}),
        Node("n", "Neg", ("b",), ("c",)),
        Node("s", "ReduceSum", ("c",), ("d",), {"axes": (1,), "keepdims": 0}, "", 11),
        Node("q", "Sqrt", ("abs",), ("y",)),
        Node("ab", "Abs", ("d",), ("abs",)),
    ]
    g = run(make(nodes), "fuse")
    assert groups(g) == ["e t n s", "ab q"]
    assert g.groups[0].rules[-1] == "Neg n: injective before the reduction ReduceSum s"


def test_a_value_that_is_needed_elsewhere_is_not_fused_away():
    nodes = [
        conv("c", "x", "w", "a"),
        Node("r", "Relu", ("a",), ("b",)),
        Node("m", "MaxPool", ("a",), ("y",), {"kernel_shape": (2, 2)}),
    ]
    g = run(make(nodes, {"w": weights(4, 4, 1, 1)}, outputs=("b", "y")), "fuse")
    assert groups(g) == ["c", "r", "m"]
    g = run(make(nodes[:2], {"w": weights(4, 4, 1, 1)}, outputs=("a", "b")), "fuse")
    assert groups(g) == ["c", "r"]


def test_broadcasting_that_grows_the_result_is_not_fused_into_a_convolution():
    nodes = [Node("g", "GlobalAveragePool", ("x",), ("a",)), Node("m", "Mul", ("x", "a"), ("y",))]
    assert groups(run(make(nodes), "fuse")) == ["g", "m"]


def test_large_weights_are_worked_on_a_part_at_a_time():
    """Others have their turn meanwhile, and the numbers are the same ones."""
    w, constants = weights(640, 320, 3, 3), norm_constants(np.random.default_rng(0), "n", 640)
    graph = make([conv("c", "x", "w", "t"), norm("n", "t", "y")], {"w": w, **constants}, (1, 320, 4, 4))
    turns = []
    with giving_way(lambda: turns.append(1)):
        folded = run_pass(graph, "fold_batch_norm")
    assert len(turns) > 20
    scale, var = (constants[f"n.{k}"].astype("f8") for k in ("scale", "var"))
    exact = w.astype("f8") * (scale / np.sqrt(var + 1e-5)).reshape(-1, 1, 1, 1)
    assert ops(folded) == ["Conv"]
    assert np.array_equal(folded.constants[folded.nodes[0].inputs[1]], exact.astype("f4"))
