"""Graphs for a range of lengths: whatever padding holds, what counts of the results is what onnxruntime has."""

from __future__ import annotations

from itertools import count, pairwise

import numpy as np
import pytest
from graph import open_nets
from graph.test_uses import by_onnxruntime

from workbench.errors import ModelError, UsageError
from workbench.graph.onnx import load_onnx, read_program
from workbench.graph.open_sizes import MOST, Bucket, open_sizes
from workbench.graph.padding.padded_graph import PaddedGraph
from workbench.graph.reference import run_reference

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
INT, FLOAT = np.int64, np.float32
node = onnx.helper.make_node
LEAST, LARGEST = 3, 8


def model_of(nodes, inputs, constants=None, outputs=("y",), opset=17):
    """A model in which `inputs` have open dimensions."""
    kinds = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in inputs.items()]
    weights = [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()]
    ends = [onnx.helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = onnx.helper.make_graph(nodes, "open", kinds, ends, weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)


def drawn(shape, seed=0):
    """Numbers from 0.5 to 1.5, so that ``x * (x / x)`` is NaN in padding alone."""
    return (np.random.default_rng(seed).random(shape) + 0.5).astype(FLOAT)


DIRTY = [node("Div", ["x", "x"], ["one"]), node("Mul", ["x", "one"], ["d"])]
W = {"w": drawn((4, 3, 3), 1), "v": drawn((6, 5), 2), "b": drawn((4,), 3), "i": INT([2, 0]), "ends": INT([-1])}
IMAGE, ROWS, SQUARE = [1, 3, "n"], ["n", 6], [2, "n", "n"]
ATTENTION = [
    *(n for q in ("q", "k2", "v2") for n in (
        node("MatMul", ["d", f"w{q}"], [f"m{q}"]), node("Add", [f"m{q}", "six"], [f"a{q}"]),
        node("Reshape", [f"a{q}", "heads"], [f"r{q}"]))),
    node("Transpose", ["rq"], ["q"], perm=[1, 0, 2]), node("Transpose", ["rk2"], ["k2"], perm=[1, 2, 0]),
    node("Transpose", ["rv2"], ["v2"], perm=[1, 0, 2]), node("MatMul", ["q", "k2"], ["scores"]),
    node("Softmax", ["scores"], ["shares"], axis=-1), node("MatMul", ["shares", "v2"], ["y"]),
]  # fmt: skip
#: Operator on `d`, whose padding is NaN, and the shape of the input.
USES = {
    "relu": ([node("Relu", ["d"], ["y"])], ROWS),
    "add with a broadcast": ([node("Add", ["d", "c"], ["y"])], ROWS),
    "transpose": ([node("Transpose", ["d"], ["y"], perm=[1, 0])], ROWS),
    "rows of a product": ([node("MatMul", ["d", "v"], ["y"])], ROWS),
    "sum of a product": (
        [node("Transpose", ["d"], ["t"], perm=[1, 0]), node("MatMul", ["t", "d"], ["y"])], ROWS),
    "gemm, transposed": ([node("Gemm", ["d", "d"], ["y"], transA=1)], ROWS),
    "attention": (
        [node("Softmax", ["d"], ["s"], axis=-1), node("MatMul", ["s", "d"], ["y"])], SQUARE),
    "queries, keys and values": (ATTENTION, ROWS),
    "queries, keys and values of what was summed": (
        [node("ReduceSum", ["d", "zero1"], ["sum"]), *ATTENTION[:-1], node("MatMul", ["shares", "v2"], ["found"]),
         node("Reshape", ["sum", "heads"], ["one row"]), node("Transpose", ["one row"], ["of heads"], perm=[1, 0, 2]),
         node("Add", ["found", "of heads"], ["y"])], ROWS),
    "log softmax": ([node("LogSoftmax", ["d"], ["y"], axis=1)], SQUARE),
    "softmax of all": ([node("Softmax", ["d"], ["y"], axis=0)], ROWS),
    "convolution": ([node("Conv", ["d", "w", "b"], ["y"], pads=[1, 1])], IMAGE),
    "strided, dilated": ([node("Conv", ["d", "w"], ["y"], strides=[2], dilations=[2], pads=[2, 1])], IMAGE),
    "two convolutions": (
        [node("Conv", ["d", "w", "b"], ["c1"], pads=[1, 1], strides=[2]),
         node("Conv", ["c1", "w2"], ["y"], pads=[1, 1])], IMAGE),
    "transposed convolution": (
        [node("ConvTranspose", ["d", "wt"], ["y"], strides=[2], pads=[1, 0])], IMAGE),
    "largest of windows": ([node("MaxPool", ["d"], ["y"], kernel_shape=[3], strides=[2], pads=[1, 1])], IMAGE),
    "rounded up": ([node("MaxPool", ["d"], ["y"], kernel_shape=[2], strides=[2], ceil_mode=1)], IMAGE),
    "mean of windows": ([node("AveragePool", ["d"], ["y"], kernel_shape=[2], strides=[2])], IMAGE),
    "mean with borders": (
        [node("AveragePool", ["d"], ["y"], kernel_shape=[3], pads=[1, 1], count_include_pad=1)], IMAGE),
    "mean of an image": ([node("GlobalAveragePool", ["d"], ["y"])], IMAGE),
    "largest of an image": ([node("GlobalMaxPool", ["d"], ["y"])], IMAGE),
    "mean": ([node("ReduceMean", ["d"], ["y"], axes=[0], keepdims=0)], ROWS),
    "mean of both": ([node("ReduceMean", ["d"], ["y"])], SQUARE),
    "mean of rows": ([node("ReduceMean", ["d"], ["y"], axes=[1])], ROWS),
    "mean of images": ([node("GlobalAveragePool", ["d"], ["y"])], ["n", 2, 3]),
    "norm": ([node("ReduceL2", ["d"], ["y"], axes=[0])], ROWS),
    "largest": ([node("ReduceMax", ["d"], ["y"], axes=[0])], ROWS),
    "smallest": ([node("ReduceMin", ["d"], ["y"], axes=[0])], ROWS),
    "product": ([node("ReduceProd", ["d"], ["y"], axes=[0])], ROWS),
    "logarithm of sums": ([node("ReduceLogSumExp", ["d"], ["y"], axes=[0])], ROWS),
    "place of the largest": ([node("ArgMax", ["d"], ["y"], axis=0)], ROWS),
    "place of the smallest": ([node("ArgMin", ["d"], ["y"], axis=0)], ROWS),
    "two largest": ([node("TopK", ["d", "k"], ["y", "z"], axis=0)], ROWS),
    "running sum": ([node("CumSum", ["d", "zero"], ["y"])], ROWS),
    "rows are normalised": ([node("LayerNormalization", ["d", "six"], ["y"], axis=-1)], ROWS),
    "channels are normalised": ([node("BatchNormalization", ["d", *["three"] * 4], ["y"])], IMAGE),
    "chosen rows": ([node("Gather", ["d", "i"], ["y"], axis=0)], ROWS),
    "joined": ([node("Concat", ["head", "d"], ["y"], axis=0)], ROWS),
    "all but the first": ([node("Slice", ["d", "from", "far", "zero1"], ["y"])], ROWS),
    "all but the last": ([node("Slice", ["d", "zero1", "ends", "zero1"], ["y"])], ROWS),
    "every other": ([node("Slice", ["d", "from", "far", "zero1", "two"], ["y"])], ROWS),
    "padded": ([node("Pad", ["d", "pads", "half"], ["y"])], ROWS),
    "enlarged": (
        [node("Resize", ["d", "", "scales"], ["y"], mode="nearest", nearest_mode="floor",
              coordinate_transformation_mode="asymmetric")], IMAGE),
    "split into heads": (
        [node("Reshape", ["d", "heads"], ["h"]), node("Transpose", ["h"], ["y"], perm=[1, 0, 2])], ROWS),
    "one axis more": ([node("Unsqueeze", ["d", "zero1"], ["u"]), node("Flatten", ["u"], ["y"], axis=2)], ROWS),
    "lower triangle": ([node("Trilu", ["d"], ["y"], upper=0)], SQUARE),
    "a length as data": (
        [node("Shape", ["d"], ["shape"]), node("Gather", ["shape", "zero"], ["n"], axis=0),
         node("Cast", ["n"], ["f"], to=1), node("Sqrt", ["f"], ["r"]), node("Div", ["d", "r"], ["y"])], ROWS),
    "places": (
        [node("Shape", ["d"], ["shape"]), node("Gather", ["shape", "zero"], ["n"], axis=0),
         node("Range", ["zero", "n", "one64"], ["places"]), node("Cast", ["places"], ["f"], to=1),
         node("Unsqueeze", ["f", "ends"], ["column"]), node("Add", ["d", "column"], ["y"])], ROWS),
    "repeated over a length": (
        [node("Shape", ["d"], ["shape"]), node("Expand", ["row", "shape"], ["e"]), node("Add", ["d", "e"], ["y"])],
        ROWS),
    "chosen from the end": ([node("Gather", ["d", "ends"], ["y"], axis=0)], ROWS),
    "chosen by numbers below 0": (
        [node("ArgMin", ["d"], ["lowest"], axis=0), node("Sub", ["lowest", "two"], ["below"]),
         node("Gather", ["d", "below"], ["y"], axis=0)], ROWS),
    "joined at the end": ([node("Concat", ["d", "head"], ["y"], axis=0)], ROWS),
    "joined between": ([node("Concat", ["head", "d", "head", "d"], ["y"], axis=0)], ROWS),
    "the last rows": ([node("Slice", ["d", "ends", "far", "zero1"], ["y"])], ROWS),
    "all backwards": ([node("Slice", ["d", "ends", "first", "zero1", "ends"], ["y"])], ROWS),
    "parts of rows": (
        [node("Split", ["d"], ["a", "b2"], axis=1), node("Sub", ["a", "b2"], ["y"])], ROWS),
    "axes joined": ([node("Flatten", ["d"], ["y"], axis=0)], SQUARE),
    "axes joined inside": ([node("Reshape", ["d", "pairs"], ["y"])], [1, 2, "n", "n", 3]),
    "an axis split": (
        [node("Concat", ["d", "d"], ["e"], axis=1), node("Reshape", ["e", "halves"], ["y"])], [2, "n", 3]),
    "forwards through time": ([node("RNN", ["d", "wi", "wh"], ["y"], hidden_size=2)], ["n", 1, 6]),
}  # fmt: skip
MORE = {
    "c": drawn((1, 6), 4), "w2": drawn((2, 4, 3), 5), "three": drawn((3,), 6), "six": drawn((6,), 7), "k": INT([2]),
    "zero": INT(0), "one64": INT(1), "head": drawn((2, 6), 8), "from": INT([1]), "far": INT([99]), "zero1": INT([0]),
    "two": INT([2]), "pads": INT([1, 0, 2, 1]), "half": FLOAT(0.5), "scales": FLOAT([1, 1, 2]),
    "heads": INT([-1, 2, 3]), "row": drawn((6,), 9), "wi": drawn((1, 2, 6), 10), "wh": drawn((1, 2, 2), 11),
    "wt": drawn((3, 2, 3), 12),
    **{f"w{q}": drawn((6, 6), k) - 1 for k, q in enumerate(("q", "k2", "v2"), 13)},
    "first": INT([-(2**40)]), "pairs": INT([1, -1, 3]), "halves": INT([2, 2, -1, 3]),
}  # fmt: skip


def padded_run(padded, program, values, feeds):
    """Results of a padded graph for one size, cut to what counts, also where data say that."""
    numbers = padded.numbers(values)
    whole = dict(numbers.feeds)
    for v in program.inputs:
        kind = padded.graph.types[v.name]
        whole[v.name] = np.zeros(kind.shape, kind.dtype)
        whole[v.name][tuple(map(slice, feeds[v.name].shape))] = feeds[v.name]
    with np.errstate(all="ignore"):
        found = run_reference(padded.graph, whole)
    for o, (length, axis) in padded.graph.cuts.items():
        found[o] = found[o][(slice(None),) * axis + (slice(int(found[length][0])),)]
    return [found[o][tuple(map(slice, shape))] for o, shape in numbers.outputs.items()]


@pytest.mark.parametrize("name", USES)
def test_padding_reaches_no_result(name):
    nodes, shape = USES[name]
    used = {i for n in nodes for i in n.input}
    model = model_of([*DIRTY, *nodes], {"x": shape}, {k: a for k, a in (W | MORE).items() if k in used})
    sizes = open_sizes(read_program(model), {"n": range(LEAST, LARGEST + 1)})
    padded = PaddedGraph(sizes, Bucket((LEAST,), (LARGEST,)))
    for n in range(LEAST, LARGEST + 1):
        feeds = {"x": drawn([n if d == "n" else d for d in shape], n)}
        (got,), (want, *_) = padded_run(padded, sizes.program, (n,), feeds), by_onnxruntime(model, feeds)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


def test_queries_keys_and_values_stay_one_product():
    """What fills the padding of values stands in what all three are made of."""
    net = open_nets.bert(2, 16, 2)
    sizes = open_sizes(read_program(net.model), net.lengths)
    graph = PaddedGraph(sizes, Bucket((9,), (16,))).graph
    filled = [graph.types[n.outputs[0]].shape for n in graph.nodes if n.op == "Where"]
    assert filled == [(1, 16, 16), (1, 2, 16, 16)] * 2  # what a layer reads, and its scores
    ready = graph.optimize()
    products = [ready.types[n.outputs[0]].shape[1] for n in ready.nodes if n.op == "Gemm"]
    assert products == [48, 16, 64, 16] * 2 + [16]


def test_attention_over_rows_and_over_columns_of_one_tensor():
    """The values of both are products of one tensor, of which both axes are open."""
    nodes = list(DIRTY)
    for d, turns in (("r", ([0, 1, 2], [0, 2, 1], [0, 1, 2])), ("c", ([1, 0, 2], [1, 2, 0], [1, 0, 2]))):
        for q, perm in zip(("q", "k2", "v2"), turns, strict=True):
            product = node("MatMul", ["d", f"w{q}"], [f"m{q}{d}"])
            nodes += [product, node("Transpose", [f"m{q}{d}"], [f"{q}{d}"], perm=perm)]
        nodes += [node("MatMul", [f"q{d}", f"k2{d}"], [f"scores{d}"]), node("Softmax", [f"scores{d}"], [f"shares{d}"])]
        nodes.append(node("MatMul", [f"shares{d}", f"v2{d}"], [f"found{d}"]))
    nodes += [node("Transpose", ["foundc"], ["turned"], perm=[1, 0, 2]), node("Add", ["foundr", "turned"], ["y"])]
    model = model_of(nodes, {"x": ["a", "b", 6]}, {f"w{q}": MORE[f"w{q}"] for q in ("q", "k2", "v2")})
    sizes = open_sizes(read_program(model), {"a": range(2, 5), "b": range(5, 8)})
    padded = PaddedGraph(sizes, Bucket((2, 5), (4, 7)))
    for a, b in ((2, 5), (3, 6), (4, 5), (2, 7), (4, 7)):  # also of the largest along one axis
        feeds = {"x": drawn((a, b, 6), a)}
        (got,), (want,) = padded_run(padded, sizes.program, (a, b), feeds), by_onnxruntime(model, feeds)
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


CHOSEN = {
    "places that are not 0": ([node("Greater", ["x", "half"], ["g"]), node("NonZero", ["g"], ["y"])], SQUARE),
    "marked rows": (
        [node("ReduceMean", ["x"], ["m"], axes=[1], keepdims=0), node("Greater", ["m", "half"], ["g"]),
         node("Compress", ["x", "g"], ["y"], axis=0)], ROWS),
    "marked elements": (
        [node("Flatten", ["x"], ["f"], axis=0), node("Greater", ["f", "half"], ["g"]),
         node("Squeeze", ["g", "zero1"], ["h"]), node("Compress", ["f", "h"], ["y"])], ROWS),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOSEN)
def test_what_data_choose_is_not_chosen_from_padding(name):
    nodes, shape = CHOSEN[name]
    used = {i for n in nodes for i in n.input}
    model = model_of(nodes, {"x": shape}, {k: a for k, a in (MORE | {"half": FLOAT(0)}).items() if k in used})
    sizes = open_sizes(read_program(model), {"n": range(LEAST, LARGEST + 1)})
    padded = PaddedGraph(sizes, Bucket((LEAST,), (LARGEST,)))
    for n in range(LEAST, LARGEST + 1):
        feeds = {"x": drawn([n if d == "n" else d for d in shape], n) - FLOAT(1)}
        (got,), (want, *_) = padded_run(padded, sizes.program, (n,), feeds), by_onnxruntime(model, feeds)
        assert want.size
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("net", "least", "most"),
    [(open_nets.boxes(), (3,), (40,)), (open_nets.detector(4, lengths=range(64, 129, 32)), (64, 64), (128, 96)),
     (open_nets.bert(1, 16, 2), (1,), (9,)), (open_nets.recogniser(4, 10), (32,), (49,))],
    ids=["boxes", "detector", "bert", "recogniser"],
)  # fmt: skip
def test_networks_as_exporters_write_them(net, least, most):
    sizes = open_sizes(read_program(net.model), net.lengths)
    padded, rng, kept = PaddedGraph(sizes, Bucket(least, most)), np.random.default_rng(0), 0
    choices = [[n for n in r if a <= n <= z] for r, a, z in zip(net.lengths.values(), least, most, strict=True)]
    for _ in range(6):
        values = tuple(int(rng.choice(c)) for c in choices)
        feeds = net.feeds(dict(zip(net.lengths, values, strict=True)), rng)
        found = padded_run(padded, sizes.program, values, feeds)
        for got, want in zip(found, by_onnxruntime(net.model, feeds), strict=True):
            assert (got.shape, got.dtype) == (want.shape, want.dtype)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        kept += len(found[0])
    assert kept


#: What has no answer that padding leaves alone: operator on `d`, shape, and a word of the reason.
REFUSED = {
    "image normalised": ([node("InstanceNormalization", ["d", "three", "three"], ["y"])], IMAGE, "divides"),
    "mean at the border": (
        [node("AveragePool", ["d"], ["y"], kernel_shape=[3], pads=[1, 1])], IMAGE, "at the end of an image"),
    "interpolated": ([node("Resize", ["d", "", "scales"], ["y"], mode="linear")], IMAGE, "interpolates"),
    "backwards": ([node("RNN", ["d", "wi", "wh"], ["y"], hidden_size=2, direction="reverse")], ["n", 1, 6], "steps"),
    "places of others": ([node("GatherElements", ["d", "at"], ["y"])], ROWS, "there is no rule"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_depends_on_padding_is_refused_with_its_node(name):
    nodes, shape, word = REFUSED[name]
    used = {i for n in nodes for i in n.input}
    constants = {k: a for k, a in (W | MORE | {"at": INT([[0] * 6])}).items() if k in used}
    nodes[-1].name = "culprit"
    model = model_of([*DIRTY, *nodes], {"x": shape}, constants)
    sizes = open_sizes(read_program(model), {"n": range(LEAST, LARGEST + 1)})
    with pytest.raises(ModelError, match=word) as refused:
        PaddedGraph(sizes, Bucket((LEAST,), (LARGEST,)))
    assert (refused.value.code, refused.value.where[0]) == ("model.padding", "culprit")
    PaddedGraph(sizes, Bucket((LARGEST,), (LARGEST,)))  # there is no padding


def test_a_mean_of_integers_is_refused():
    cast = node("Cast", ["x"], ["i"], to=onnx.TensorProto.INT32)
    model = model_of([cast, node("ReduceMean", ["i"], ["y"], axes=[0], name="culprit")], {"x": ROWS})
    sizes = open_sizes(read_program(model), {"n": range(LEAST, LARGEST + 1)})
    with pytest.raises(ModelError, match="averages integers") as refused:
        PaddedGraph(sizes, Bucket((LEAST,), (LARGEST,)))
    assert (refused.value.code, refused.value.where[0]) == ("model.padding", "culprit")


@pytest.mark.parametrize(
    ("mean", "shape"),
    [(node("ReduceMean", ["h"], ["y"], axes=[0]), ROWS), (node("GlobalAveragePool", ["h"], ["y"]), IMAGE)],
)
def test_the_sum_of_a_mean_of_float16_does_not_overflow(mean, shape):
    model = model_of([node("Cast", ["x"], ["h"], to=onnx.TensorProto.FLOAT16), mean], {"x": shape})
    sizes = open_sizes(read_program(model), {"n": range(LEAST, LARGEST + 1)})
    padded = PaddedGraph(sizes, Bucket((LEAST,), (LARGEST,)))
    for n in (LEAST, LARGEST):
        x = 30000 * drawn([n if d == "n" else d for d in shape], n)
        (got,) = padded_run(padded, sizes.program, (n,), {"x": x})
        axis = 0 if shape is ROWS else 2
        want = x.astype(np.float16).astype(np.float64).mean(axis=axis, keepdims=True)
        assert got.dtype == np.float16
        np.testing.assert_allclose(got, want, rtol=2e-3)


def test_buckets_cover_each_length_once_with_little_padding():
    model = model_of([node("Relu", ["x"], ["y"])], {"x": ["n", "m"]})
    for lengths in (range(1, 513), range(32, 641, 32), range(100, 110), [7], [1, 1000]):
        sizes = open_sizes(read_program(model), {"n": lengths})
        found = sizes.buckets()
        assert [n for n in lengths if not any(b.least[0] <= n <= b.most[0] for b in found)] == []
        assert all(a.most[0] < b.least[0] for a, b in pairwise(found))
        assert all(b.most[0] <= b.least[0] * 1.13 + 1 for b in found)
        assert {b.most[0] for b in found} <= set(lengths)
        assert len(sizes.representatives()) == min(6, len(found))
    both = open_sizes(read_program(model), {"n": range(1, 513), "m": range(1, 513)}).buckets()
    assert len(both) <= MOST


def test_lengths_that_make_no_sense_are_refused():
    model = model_of([node("Relu", ["x"], ["y"])], {"x": ["n", None]})
    for dynamic in (
        {"m": range(4)},
        {"n": []},
        {"n": [0]},
        {"n": [1.5]},
        {"n": "long"},
        {"n": [float("inf")]},
        {"n": count(1)},
    ):
        with pytest.raises(UsageError) as refused:
            load_onnx(model, dynamic={"x.1": [4], **dynamic})
        assert refused.value.code == "usage.dynamic"
    assert load_onnx(model, dynamic={"n": (n for n in (2, 3)), "x.1": 4}).dynamic == {"n": (2, 3), "x.1": (4,)}
    assert load_onnx(model, dynamic={"n": range(1, 5), "x.1": 4}).dynamic == {"n": (1, 2, 3, 4), "x.1": (4,)}
    assert load_onnx(model, {"x": (2, 3)}).dynamic == {}
