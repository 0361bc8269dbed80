"""Quantised convolutions of random shapes, as kernels, against onnxruntime."""

from __future__ import annotations

import numpy as np
import ort_session
import pytest
import tiers

import workbench as wb
from workbench.graph import Graph, Node, TensorType, run_reference

#: Channels in and out, size, kernel, attributes: rows of an image that fill no tile, few channels, and others.
SHAPES = [
    (3, 32, (40, 64), (7, 7), {"pads": (3, 3, 3, 3), "strides": (2, 2)}),
    (64, 96, (7, 7), (3, 3), {"pads": (1, 1, 1, 1)}),
    (64, 512, (14, 14), (1, 1), {"strides": (2, 2)}),
    (3, 16, (9, 36), (3, 6), {"pads": (0, 1, 2, 0), "strides": (1, 2)}),
    (48, 64, (6, 5), (5, 2), {"pads": (2, 0, 2, 3)}),
    (3, 32, (16, 32), (3, 3), {"pads": (1, 1, 1, 1), "strides": (2, 2)}),
    (16, 24, (12, 12), (1, 1), {}),
    (20, 20, (11, 9), (3, 3), {"group": 20, "pads": (1, 1, 1, 1)}),
    (64, 64, (9, 9), (3, 3), {"pads": (2, 2, 2, 2), "dilations": (2, 2)}),
]
#: Those whose taps are written side by side.
UNFOLDED = 5


def network(rng, shape, image: str, residual: bool) -> Graph:
    """A convolution with bias, and a residual where it keeps the image's shape."""
    ci, co, size, kernel, attrs = shape
    info = np.iinfo(image)
    c = {
        "w": rng.integers(-127, 128, (co, ci // attrs.get("group", 1), *kernel)).astype("i1"),
        "b": rng.integers(-5000, 5000, co).astype("i4"),
        "sw": rng.uniform(0.001, 0.02, co).astype("f4"), "zw": np.zeros(co, "i1"),
        **{f"s{k}": np.array(rng.uniform(0.01, 0.1), "f4") for k in "xyr"},
        **{f"z{k}": rng.integers(info.min, info.max, (), endpoint=True).astype(image) for k in "xyr"},
    }  # fmt: skip
    c["sy"] *= np.float32(ci * np.prod(kernel)) ** 0.5
    names = ("x", "sx", "zx", "w", "sw", "zw", "sy", "zy", "b")
    nodes = [Node("conv", "QLinearConv", names, ("c" if residual else "y",), dict(attrs), "", 10)]
    if residual:
        names = ("x", "sx", "zx", "c", "sy", "zy", "sr", "zr")
        nodes.append(Node("add", "QLinearAdd", names, ("y",), {}, "com.microsoft", 1))
    return Graph.make("q", nodes, {"x": TensorType((2, ci, *size), image)}, ("y",), c)


@pytest.mark.parametrize("image", ["uint8", "int8"])
@pytest.mark.parametrize("k", tiers.first(range(len(SHAPES)), UNFOLDED + 2))
def test_network_equals_onnxruntime(tmp_path, k, image):
    rng = np.random.default_rng(k)
    keeps = SHAPES[k][:2] in ((64, 64), (20, 20))
    graph = network(rng, SHAPES[k], image, keeps)
    optimised = graph.optimize()
    assert [n.op for n in optimised.nodes].count("Taps") == (k < UNFOLDED)
    info = np.iinfo(image)
    x = rng.integers(info.min, info.max, graph.input_types()["x"].shape, endpoint=True).astype(image)
    wb.save_onnx(graph, tmp_path / "q.onnx")
    (want,) = ort_session.session(tmp_path / "q.onnx", exact=image == "uint8").run(None, {"x": x})
    for got in (wb.compile(optimised).run({"x": x})["y"], run_reference(optimised, {"x": x})["y"]):
        off = np.abs(got.astype(int) - want)
        assert off.max() <= 1  # where a sum lies in the middle between two bytes
        assert (off > 0).mean() < 0.001
