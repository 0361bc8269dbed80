"""Networks whose inputs have open lengths, as exporters write them: a BERT, a reader of lines, a detector."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx

node = onnx.helper.make_node
INT, FLOAT = np.int64, np.float32


@dataclass(frozen=True)
class OpenNet:
    """A model, the lengths of its open dimensions, and inputs for some of them."""

    model: Any
    lengths: Mapping[str, range]
    feeds: Callable[[Mapping[str, int], np.random.Generator], dict[str, np.ndarray[Any, Any]]]


@dataclass
class Writer:
    """Nodes and weights of a model; each operator's result has a new name."""

    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    nodes: list[Any] = field(default_factory=list)
    constants: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def __call__(self, op: str, *inputs: Any, **attributes: Any) -> str:
        """Write a node; arrays among its inputs become constants."""
        name = f"{op.lower()}{len(self.nodes)}"
        names = [self.constant(i) if isinstance(i, np.ndarray | np.generic) else i for i in inputs]
        self.nodes.append(node(op, names, [name], name, **attributes))
        return name

    def constant(self, array: Any) -> str:
        self.constants[name := f"c{len(self.constants)}"] = np.asarray(array)
        return name

    def weight(self, *shape: int, fan: int = 0) -> np.ndarray[Any, Any]:
        fan = fan or shape[0]
        return (self.rng.standard_normal(shape) / np.sqrt(fan)).astype(FLOAT)

    def length(self, x: str, axis: int) -> str:
        """A dimension of a tensor, as a vector of one number."""
        return self("Gather", self("Shape", x), INT([axis]), axis=0)

    def model(self, inputs: Mapping[str, tuple[Any, ...]], outputs: Mapping[str, str]) -> Any:
        """The model; `inputs` say the element type and the dimensions, `outputs` the tensors by name."""
        nodes = [*self.nodes, *(node("Identity", [x], [name], name) for name, x in outputs.items())]
        given = [onnx.helper.make_tensor_value_info(n, t, dims) for n, (t, *dims) in inputs.items()]
        weights = [onnx.numpy_helper.from_array(a, n) for n, a in self.constants.items()]
        ends = [onnx.helper.make_empty_tensor_value_info(o) for o in outputs]
        graph = onnx.helper.make_graph(nodes, "open", given, ends, weights)
        return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)


def bert(layers: int = 4, width: int = 256, heads: int = 4, words: int = 1000, most: int = 512) -> OpenNet:
    """Devlin et al. 2018 for one text of n words, with a mask; gives the hidden states and the pooled first one."""
    w = Writer()
    n = w.length("ids", 1)
    places = w("Slice", w.weight(most, width, fan=width), INT([0]), n, INT([0]))
    x = w("Add", w("Gather", w.weight(words, width, fan=width), "ids", axis=0), places)
    mask = w("Mul", w("Sub", FLOAT(1), w("Cast", w("Unsqueeze", "mask", INT([1, 2])), to=1)), FLOAT(-1e4))
    split = w("Concat", INT([1]), n, INT([heads, width // heads]), axis=0)
    flat = w("Concat", INT([1]), n, INT([width]), axis=0)

    def dense(x: str, a: int, b: int) -> str:
        return w("Add", w("MatMul", x, w.weight(a, b)), w.weight(b, fan=100))

    def normal(x: str) -> str:
        return w("LayerNormalization", x, np.ones(width, FLOAT), np.zeros(width, FLOAT), axis=-1)

    x = normal(x)
    for _ in range(layers):
        q, k, v = (w("Transpose", w("Reshape", dense(x, width, width), split), perm=p)
                   for p in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))  # fmt: skip
        scores = w("Add", w("Div", w("MatMul", q, k), FLOAT(np.sqrt(width / heads))), mask)
        seen = w("Transpose", w("MatMul", w("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        x = normal(w("Add", x, dense(w("Reshape", seen, flat), width, width)))
        h = dense(x, width, 4 * width)
        h = w("Mul", w("Mul", h, FLOAT(0.5)), w("Add", w("Erf", w("Div", h, FLOAT(np.sqrt(2)))), FLOAT(1)))
        x = normal(w("Add", x, dense(h, 4 * width, width)))
    first = w("Tanh", dense(w("Gather", x, INT(0), axis=1), width, width))
    kind = onnx.TensorProto.INT64
    model = w.model({"ids": (kind, 1, "n"), "mask": (kind, 1, "n")}, {"hidden": x, "pooled": first})

    def feeds(sizes: Mapping[str, int], rng: np.random.Generator) -> dict[str, np.ndarray[Any, Any]]:
        n = sizes["n"]
        return {
            "ids": rng.integers(0, words, (1, n)),
            "mask": (np.arange(n) < rng.integers(1, n + 1))[None].astype(INT),
        }

    return OpenNet(model, {"n": range(1, most + 1)}, feeds)


def recogniser(width: int = 32, letters: int = 100, lengths: range = range(32, 641)) -> OpenNet:
    """Convolutions over a line of text of free width, attention over the columns, scores for each of them."""
    w = Writer()
    x = "x"
    for a, b, strides in ((3, width, [2, 2]), (width, 2 * width, [2, 1]), (2 * width, 2 * width, [2, 2])):
        x = w("Conv", x, w.weight(b, a, 3, 3, fan=9 * a), w.weight(b, fan=100), pads=[1, 1, 1, 1], strides=strides)
        x = w("HardSwish", x)
        share = w("HardSigmoid", w("Conv", w("GlobalAveragePool", x), w.weight(b, b, 1, 1)))
        x = w("Mul", x, share)
    x = w("MaxPool", x, kernel_shape=[4, 1], strides=[4, 1])
    x = w("Transpose", w("Squeeze", x, INT([2])), perm=[0, 2, 1])
    scores = w(
        "Softmax", w("MatMul", x, w("Transpose", w("MatMul", x, w.weight(2 * width, 2 * width)), perm=[0, 2, 1]))
    )
    x = w("Add", x, w("MatMul", scores, x))
    y = w("Softmax", w("MatMul", x, w.weight(2 * width, letters)), axis=2)
    model = w.model({"x": (onnx.TensorProto.FLOAT, 1, 3, 32, "width")}, {"y": y})
    return OpenNet(
        model, {"width": lengths}, lambda s, rng: {"x": rng.standard_normal((1, 3, 32, s["width"])).astype(FLOAT)}
    )


def detector(width: int = 16, classes: int = 4, lengths: range = range(96, 353, 32)) -> OpenNet:
    """A detector of free image size, decoded: boxes of two grids, those that stay, and the scores of these."""
    w = Writer()

    def conv(x: str, a: int, b: int, k: int = 3, stride: int = 1, act: bool = True) -> str:
        pads, strides = [k // 2] * 4, [stride, stride]
        y = w("Conv", x, w.weight(b, a, k, k, fan=a * k * k // 2), w.weight(b, fan=100), pads=pads, strides=strides)
        return w("Mul", y, w("Sigmoid", y)) if act else y

    x = conv("x", 3, width, stride=2)
    for k in range(3):
        x = conv(conv(x, width << k, width << k), width << k, width << k + 1, stride=2)
    fine, channels = x, width << 3
    coarse = conv(conv(fine, channels, channels, stride=2), channels, channels)
    up = w("Resize", coarse, "", FLOAT([1, 1, 2, 2]), mode="nearest", nearest_mode="floor",
           coordinate_transformation_mode="asymmetric")  # fmt: skip
    fine = conv(w("Concat", up, fine, axis=1), 2 * channels, channels)
    heads = [_head(w, conv(x, channels, 2 * (5 + classes), 1, act=False), stride, classes)
             for x, stride in ((fine, 16), (coarse, 32))]  # fmt: skip
    found = w("Concat", *heads, axis=1)
    boxes = w("Slice", found, INT([0]), INT([4]), INT([2]))
    likely = w("Mul", w("Slice", found, INT([4]), INT([5]), INT([2])), w("Slice", found, INT([5]), INT([99]), INT([2])))
    kept = w("NonMaxSuppression", boxes, w("Transpose", likely, perm=[0, 2, 1]), INT([30]), FLOAT([0.5]), FLOAT([0.27]),
             center_point_box=1)  # fmt: skip
    which = w("Squeeze", w("Gather", kept, INT([2]), axis=1), INT([1]))
    corners = w("Gather", w("Squeeze", boxes, INT([0])), which, axis=0)
    label = w("Cast", w("Gather", kept, INT([1]), axis=1), to=1)
    model = w.model({"x": (onnx.TensorProto.FLOAT, 1, 3, "height", "width")},
                    {"found": w("Concat", corners, label, axis=1), "kept": kept, "all": found})  # fmt: skip

    def feeds(s: Mapping[str, int], rng: np.random.Generator) -> dict[str, np.ndarray[Any, Any]]:
        return {"x": rng.standard_normal((1, 3, s["height"], s["width"])).astype(FLOAT)}

    return OpenNet(model, {"height": lengths, "width": lengths}, feeds)


def _head(w: Writer, x: str, stride: int, classes: int) -> str:
    """Boxes of one grid, two for each of its cells: centre, size, and how likely it is something, and what."""
    h, wide = w.length(x, 2), w.length(x, 3)
    x = w("Reshape", x, w("Concat", INT([1, 2, 5 + classes]), h, wide, axis=0))
    x = w("Transpose", x, perm=[0, 1, 3, 4, 2])

    def axis(length: str, shape: list[int]) -> str:
        cells = w("Range", INT(0), w("Squeeze", length, INT([0])), INT(1))
        cells = w("Reshape", w("Cast", cells, to=1), INT(shape))
        return w("Expand", cells, w("Concat", INT([1, 1]), h, wide, INT([1]), axis=0))

    grid = w("Concat", axis(wide, [1, 1, 1, -1, 1]), axis(h, [1, 1, -1, 1, 1]), axis=4)
    cut = [w("Slice", x, INT([a]), INT([b]), INT([4])) for a, b in ((0, 2), (2, 4), (4, 99))]
    centre = w("Mul", w("Add", w("Sigmoid", cut[0]), grid), FLOAT(stride))
    size = w("Mul", w("Exp", cut[1]), FLOAT(stride))
    x = w("Concat", centre, size, w("Sigmoid", cut[2]), axis=4)
    return w("Reshape", x, INT([1, -1, 5 + classes]))


def boxes(classes: int = 3, lengths: range = range(1, 301)) -> OpenNet:
    """Choice among a free number of boxes."""
    w = Writer()
    scores = w("Sigmoid", "logits")
    kept = w("NonMaxSuppression", "boxes", scores, INT([20]), FLOAT([0.5]), FLOAT([0.6]))
    which = w("Squeeze", w("Gather", kept, INT([2]), axis=1), INT([1]))
    found = w("Gather", w("Squeeze", "boxes", INT([0])), which, axis=0)
    kind = onnx.TensorProto.FLOAT
    model = w.model({"boxes": (kind, 1, "n", 4), "logits": (kind, 1, classes, "n")}, {"found": found, "kept": kept})

    def feeds(s: Mapping[str, int], rng: np.random.Generator) -> dict[str, np.ndarray[Any, Any]]:
        corner = rng.random((1, s["n"], 2)) * 10
        corners = np.concatenate([corner, corner + rng.random((1, s["n"], 2)) * 3], axis=2).astype(FLOAT)
        return {"boxes": corners, "logits": rng.standard_normal((1, classes, s["n"])).astype(FLOAT)}

    return OpenNet(model, {"n": lengths}, feeds)
