"""Deliberate bugs in the passes that make integers of networks: each has to be noticed (see `graph.mutation`).

Scales are powers of two, so sums of floats are exact and integers have to give the same to the last bit.
"""

from __future__ import annotations

import numpy as np
import pytest
from graph.mutation import Mutation, assert_noticed

from workbench.graph import Graph, Node, TensorType

PASSES = "workbench.graph.passes.quantized"


def number(v, dtype="f4"):
    return np.array(v, dtype)


def bytes_of(*shape, dtype="u1"):
    return np.random.default_rng(sum(shape)).integers(0, 256, shape).astype("u1").view(dtype)


SCALES = {"half": number(0.5), "small": number(2.0**-9), "zero": number(0, "u1"), "z": number(77, "u1")}


def quantised_conv():
    """With padding, a zero point of the image, weights around 128 and a bias."""
    c = {**SCALES, "w": bytes_of(6, 4, 3, 3), "middle": number(128, "u1"), "b": bytes_of(6).astype("i4") * 40}
    node = Node(
        "c",
        "QLinearConv",
        ("x", "half", "z", "w", "small", "middle", "half", "zero", "b"),
        ("y",),
        {"pads": (1,) * 4},
        "",
        10,
    )
    return Graph.make("g", [node], {"x": TensorType((1, 4, 5, 6), "uint8")}, ["y"], c)


def channel_zeros():
    """A convolution whose weights have a zero point for each channel."""
    c = {"z": number(77, "u1"), "w": bytes_of(6, 4, 3, 3), "each": bytes_of(6)}
    node = Node("c", "ConvInteger", ("x", "w", "z", "each"), ("y",), {"pads": (1,) * 4}, "", 10)
    return Graph.make("g", [node], {"x": TensorType((1, 4, 5, 6), "uint8")}, ["y"], c)


def depthwise_zeros():
    """The same with one input channel for each."""
    c = {"z": number(77, "u1"), "w": bytes_of(6, 1, 3, 3), "each": bytes_of(6)}
    node = Node("c", "ConvInteger", ("x", "w", "z", "each"), ("y",), {"group": 6}, "", 10)
    return Graph.make("g", [node], {"x": TensorType((1, 6, 5, 6), "uint8")}, ["y"], c)


def widest():
    """Weights that reach 255 once the zero point of their channel is taken off."""
    c = {"z": number(77, "u1"), "w": np.full((2, 4, 1, 1), 255, "u1"), "each": number([0, 3], "u1")}
    node = Node("c", "ConvInteger", ("x", "w", "z", "each"), ("y",), {}, "", 10)
    return Graph.make("g", [node], {"x": TensorType((1, 4, 5, 6), "uint8")}, ["y"], c)


def product():
    """Both zero points, the second for each column, and weights without sign."""
    c = {"z": number(77, "u1"), "w": bytes_of(7, 6), "each": bytes_of(6)}
    node = Node("m", "MatMulInteger", ("x", "w", "z", "each"), ("y",), {}, "", 10)
    return Graph.make("g", [node], {"x": TensorType((2, 3, 7), "uint8")}, ["y"], c)


def computed_product():
    """Both operands are computed, and both have a zero point."""
    c = {"za": number(77, "u1"), "zb": number(131, "u1")}
    node = Node("m", "MatMulInteger", ("a", "b", "za", "zb"), ("y",), {}, "", 10)
    types = {"a": TensorType((2, 3, 7), "uint8"), "b": TensorType((2, 7, 5), "uint8")}
    return Graph.make("g", [node], types, ["y"], c)


def dynamic():
    """A product of what is quantised as it comes."""
    nodes = [
        Node("d", "DynamicQuantizeLinear", ("x",), ("q", "s", "z"), {}, "", 11),
        Node("m", "MatMulInteger", ("q", "w", "z"), ("y",), {}, "", 10),
    ]
    return Graph.make("g", nodes, {"x": TensorType((3, 70))}, ["y", "s", "z"], {"w": bytes_of(70, 6, dtype="i1")})


def axis():
    """Quantised by channel, and back."""
    c = {"s": number([0.25, 0.5, 2, 1]), "z": number([1, 90, 200, 3], "u1")}
    nodes = [
        Node("q", "QuantizeLinear", ("x", "s", "z"), ("q",), {"axis": 1}, "", 13),
        Node("d", "DequantizeLinear", ("q", "s", "z"), ("y",), {"axis": 1}, "", 13),
    ]
    return Graph.make("g", nodes, {"x": TensorType((2, 4, 5, 3))}, ["y", "q"], c)


def around(op, nodes, more=(), attrs=None, inputs=("a", "wr"), zero="zero", constants=None, shape=(1, 4, 5, 6)):
    """An operator between dequantisations and a quantisation."""
    first = Node("d", "DequantizeLinear", ("x", "half", "z"), ("a",), {}, "", 13)
    middle = Node("o", op, inputs, ("b",), attrs or {}, "", 13)
    last = Node("q", "QuantizeLinear", (more[-1].outputs[0] if more else "b", "half", zero), ("y",), {}, "", 13)
    c = {**SCALES, **(constants or {})}
    return Graph.make("g", [first, *nodes, middle, *more, last], {"x": TensorType(shape, "uint8")}, ["y"], c)


def qdq_conv():
    """Weights by channel, a bias that is no multiple of the sums' unit by itself but was quantised to one."""
    c = {"w": bytes_of(6, 4, 3, 3, dtype="i1"), "s": number([2.0**-k for k in range(5, 11)]), "zs": np.zeros(6, "i1")}
    c |= {"bq": bytes_of(6).astype("i4") * 9, "bs": c["s"] * 2}
    nodes = [
        Node("dw", "DequantizeLinear", ("w", "s", "zs"), ("wr",), {"axis": 0}, "", 13),
        Node("db", "DequantizeLinear", ("bq", "bs"), ("br",), {"axis": 0}, "", 13),
    ]
    return around("Conv", nodes, (), {"pads": (1,) * 4}, ("a", "wr", "br"), constants=c)


def qdq_relu():
    """A rectifier that the quantisation behind it does not imply."""
    return around("Add", [], (Node("r", "Relu", ("b",), ("c",)),), inputs=("a", "a"), zero="z")


def qdq_scaled_pool():
    """A pooling whose result gets another zero point."""
    return around("MaxPool", [], (), {"kernel_shape": (2, 2)}, ("a",))


def mutation(where, what, old, new, *on):
    unit = "qdq_to_integer" if where.startswith("qdq_to_integer:") else "integer_products"
    return Mutation(unit, f"{PASSES}.{where}", what, old, new, on)


MUTATIONS = (
    mutation(
        "integer_products:_convolution",
        "the image is surrounded with 0",
        "} if fill else",
        "} if False else",
        quantised_conv,
    ),
    mutation(
        "integer_products:_convolution", "zero points of channels are lost", "fill, zw)", 'fill, "")', depthwise_zeros
    ),
    mutation("integer_products:_convolution", "sums of plain weights", "= real.sum", "= weights.sum", channel_zeros),
    mutation("integer_products:_halves", "what is lost by halving", "real - (real >> 1)", "(real >> 1)", channel_zeros),
    mutation("integer_products:_halves", "halves that do not fit a byte", "> 254", "> 999", widest),
    mutation(
        "integer_products:_convolution", "no bias", "None if bias is None else", "None if True else", quantised_conv
    ),
    mutation("integer_sums:centred", "the zero point stays", ", zero - 128", ", zero", quantised_conv, product),
    mutation("integer_sums:product", "the zero points' own product is lost", "- w.shape[-2] * zero", "", product),
    mutation("integer_sums:_of_computed", "zero points change places", "((second, a,", "((first, a,", computed_product),
    mutation(
        "integer_sums:_of_computed",
        "no product of zero points",
        "if both else y",
        "if False else y",
        computed_product,
    ),
    mutation("integer_sums:_of_computed", "no sign", "second - 128", "second", computed_product),
    mutation("integer_sums:product", "rows are not summed", "if zero.any():", "if False:", product),
    mutation("integer_sums:less_zero", "wrong sign", "-known.reshape(()) * sums", "known.reshape(()) * sums", product),
    mutation("integer_sums:less_zero", "a computed zero point is 0", "if known is None:", "if False:", dynamic),
    mutation(
        "integer_products:_spread", "scales lie along the last axis", "spread_shape(call, i)", "value.shape", axis
    ),
    mutation(
        "integer_products:_dynamic",
        "scale and zero point change places",
        "scale = outs[1]",
        "scale = s.name(0)",
        dynamic,
    ),
    mutation(
        "qdq_to_integer:_Search._cut_by_range", "any quantisation rectifies", "bool(low", "bool(True or low", qdq_relu
    ),
    mutation(
        "qdq_to_integer:_Search.bias", "the bias keeps its unit", "if np.allclose(", "if True or np.allclose(", qdq_conv
    ),
    mutation("qdq_to_integer:_move", "scales may differ", "or not s.same(x, out)", "", qdq_scaled_pool),
)


@pytest.mark.checks
@pytest.mark.parametrize("bug", MUTATIONS, ids=str)
def test_the_mutation_is_noticed(bug):
    assert_noticed(bug)
