"""Networks written in Python, layer by layer, as ONNX models whose batch size is open.

The weights are drawn from a seed, and scaled so that activations neither vanish nor explode: the builder estimates the
mean and the variance of every tensor, for inputs that are normally distributed, and draws weights for which a layer's
results have variance 1. Nothing has to be run, so equal seeds give equal weights on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from workbench.errors import ModelError
from workbench.graph.graph import Array
from workbench.zoo.activations import ACTIVATIONS, after

if TYPE_CHECKING:
    import onnx

Dim: TypeAlias = int | str
Sizes: TypeAlias = int | Sequence[int]

#: Standard deviation of biases, of what is added after a normalisation, and of learned positions.
SMALL = 0.1
#: Variances that are assumed: of the mean of an image, of averages of a few elements or of attended rows, and the shift
#: of the greatest of a few elements, each as a share of the variance (the last: of its root) that it is made of.
OF_IMAGE, OF_AVERAGE, OF_MAXIMUM = 0.3, 0.5, 1.0
#: Standard deviation of what the last softmax gets: some classes stand out, as in a trained network.
OF_SCORES = 2.0
OPSET, IR_VERSION = 20, 9
#: Name of the batch, which is open.
BATCH = "N"


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of a network under construction.

    Attributes
    ----------
    name : str
    shape : tuple of int or str
        The first one is the batch, ``"N"`` where it is open.
    mean, var : float
        What is expected of its elements.
    """

    name: str
    shape: tuple[Dim, ...]
    mean: float = 0.0
    var: float = 1.0

    @property
    def power(self) -> float:
        """Expected square of an element."""
        return self.mean**2 + self.var

    def size(self, axis: int) -> int:
        """Length along an axis that is not open."""
        found = self.shape[axis]
        if isinstance(found, str):
            raise ModelError("zoo.open_axis", f"{self.name!r} is open along the axis {axis}.", (self.name,))
        return found


class Builder:
    """Writes a network as an ONNX model.

    A layer is a method: it takes values, adds nodes and weights, and returns a value. Images have channels behind the
    batch. `model` gives the model.

    Parameters
    ----------
    name : str
    seed : int
        Of the weights.
    dtype : str
        NumPy name of the floating-point type.
    channels_last : bool
        Whether images come in, and go out, with the channels as their last axis.

    Attributes
    ----------
    parameters, statistics : int
        Numbers that training would change; means and variances of batch normalisations.

    Examples
    --------
    >>> b = Builder("small")
    >>> x = b.image((3, 32, 32))
    >>> x = b.activation(b.batch_norm(b.conv(x, 16, 3, bias=False)))
    >>> b.scores(b.global_pool(x), 10)
    >>> b.parameters
    634
    """

    def __init__(self, name: str, seed: int = 0, dtype: str = "float32", channels_last: bool = False) -> None:
        self.name, self.dtype, self.channels_last = name, np.dtype(dtype), channels_last
        self.parameters = self.statistics = 0
        self._rng = np.random.default_rng(seed)
        self._weights: dict[str, Array] = {}
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[tuple[str, np.dtype[Any], tuple[Dim, ...]]] = []
        self._outputs: list[Value] = []
        self._names: dict[str, int] = {}

    # ---- ends and pieces

    def input(self, name: str, shape: Sequence[Dim], dtype: str | None = None) -> Value:
        """Declare an input; its numbers are expected to be normally distributed."""
        self._inputs.append((name, self.dtype if dtype is None else np.dtype(dtype), tuple(shape)))
        return Value(name, tuple(shape))

    def image(self, shape: Sequence[int], name: str = "data") -> Value:
        """Declare images as an input: channels, height and width (or depth, height, width), the batch left open."""
        inside = (*shape[1:], shape[0]) if self.channels_last else tuple(shape)
        x = self.input(name, (BATCH, *inside))
        return self.transpose(x, (0, len(shape), *range(1, len(shape)))) if self.channels_last else x

    def output(self, x: Value, name: str | None = None) -> None:
        """Declare an output; images have their channels where the inputs have them."""
        if self.channels_last and len(x.shape) > 3:
            x = self.transpose(x, (0, *range(2, len(x.shape)), 1))
        self._outputs.append(self.op("Identity", [x], x.shape, label=name or "output"))

    def op(
        self, kind: str, inputs: Sequence[Value | str], shape: Sequence[Dim], *,
        mean: float | None = None, var: float | None = None, label: str = "", **attributes: Any,
    ) -> Value:  # fmt: skip
        """Add any ONNX operator with one result.

        Parameters
        ----------
        kind : str
            Its name in ONNX.
        inputs : sequence of Value or str
            Tensors, names of weights, ``""`` for what is left out.
        shape : sequence of int or str
            Of the result.
        mean, var : float, optional
            What is expected of its elements; those of the first input when left out.
        label : str
            Name of the result.
        **attributes
            Of the operator; those that are None are left out.
        """
        from onnx import helper

        if any(isinstance(d, int) and d < 1 for d in shape):
            text = f"Nothing is left of the image for a {kind} of {self.name!r}."
            raise ModelError("zoo.too_small", text, (self.name, kind), "take larger images")
        name = label or self._fresh(kind.lower())
        names = [x.name if isinstance(x, Value) else x for x in inputs]
        given = {k: v for k, v in attributes.items() if v is not None}
        self._nodes.append(helper.make_node(kind, names, [name], name, **given))
        first = next((x for x in inputs if isinstance(x, Value)), Value("", ()))
        return Value(name, tuple(shape), first.mean if mean is None else mean, first.var if var is None else var)

    def weight(self, values: Array, name: str = "weight", trained: bool = True) -> str:
        """Keep an array as a constant of the model, in the network's type where it has fractions."""
        name = self._fresh(name)
        self._weights[name] = values.astype(self.dtype) if values.dtype.kind == "f" else values
        self.parameters += values.size if trained else 0
        return name

    def _normal(self, shape: Sequence[int], std: float, mean: float = 0.0) -> Array:
        return np.asarray(self._rng.standard_normal(shape, np.float32) * np.float32(std) + np.float32(mean))

    def _spread(self, n: int, low: float, high: float) -> Array:
        return self._rng.uniform(low, high, n).astype(np.float32)

    def _fresh(self, kind: str) -> str:
        self._names[kind] = count = self._names.get(kind, -1) + 1
        return f"{kind}_{count}"

    # ---- layers with weights

    def conv(
        self, x: Value, channels: int, kernel: Sizes, stride: Sizes = 1, pad: Sizes | None = None, *,
        groups: int = 1, dilation: int = 1, bias: bool = True,
    ) -> Value:  # fmt: skip
        """Convolve; without `pad` each side gets half a kernel, so that a step of 1 keeps the size."""
        rank = len(x.shape) - 2
        k, s = _each(kernel, rank), _each(stride, rank)
        wide = [dilation * (n - 1) + 1 for n in k]
        p = _each(pad, rank) if pad is not None else tuple(n // 2 for n in wide)
        fan = x.size(1) // groups * math.prod(k)
        inputs: list[Value | str] = [
            x,
            self.weight(self._normal((channels, x.size(1) // groups, *k), (fan * x.power) ** -0.5)),
        ]
        inputs += [self.weight(self._normal((channels,), SMALL), "bias")] if bias else []
        space = [(x.size(d + 2) + 2 * p[d] - wide[d]) // s[d] + 1 for d in range(rank)]
        attributes: dict[str, Any] = {
            "group": groups,
            "kernel_shape": k,
            "strides": s,
            "pads": (*p, *p),
            "dilations": (dilation,) * rank,
        }
        return self.op(
            "Conv", inputs, (x.shape[0], channels, *space), mean=0.0, var=1.0 + bias * SMALL**2, **attributes
        )

    def conv_transpose(
        self, x: Value, channels: int, kernel: int, stride: int, pad: int = 0, bias: bool = True
    ) -> Value:
        """Convolve backwards: every element spreads over a window of the larger result."""
        rank, fan = len(x.shape) - 2, x.size(1) * (kernel / stride) ** (len(x.shape) - 2)
        inputs: list[Value | str] = [
            x,
            self.weight(self._normal((x.size(1), channels, *(kernel,) * rank), (fan * x.power) ** -0.5)),
        ]
        inputs += [self.weight(self._normal((channels,), SMALL), "bias")] if bias else []
        space = [(x.size(d + 2) - 1) * stride + kernel - 2 * pad for d in range(rank)]
        return self.op("ConvTranspose", inputs, (x.shape[0], channels, *space), mean=0.0, var=1.0,
                       kernel_shape=(kernel,) * rank, strides=(stride,) * rank, pads=(pad,) * 2 * rank)  # fmt: skip

    def dense(self, x: Value, units: int, bias: bool = True, std: float = 1.0) -> Value:
        """Multiply the last axis by a matrix; `std` is the standard deviation of the result."""
        inside, shape = x.size(-1), (*x.shape[:-1], units)
        matrix = self._normal((units, inside), std * (inside * x.power) ** -0.5)
        added = [self.weight(self._normal((units,), SMALL), "bias")] if bias else []
        if len(x.shape) == 2:
            return self.op("Gemm", [x, self.weight(matrix), *added], shape, mean=0.0, var=std**2, transB=1)
        y = self.op("MatMul", [x, self.weight(np.ascontiguousarray(matrix.T))], shape, mean=0.0, var=std**2)
        return self.op("Add", [y, *added], shape) if bias else y

    def batch_norm(self, x: Value, eps: float = 1e-5, scale: bool = True) -> Value:
        """Normalise every channel by statistics that are known; without `scale` nothing is multiplied afterwards."""
        n = x.size(1)
        factors = self._spread(n, 0.5, 1.5) if scale else np.ones(n, np.float32)
        inputs: list[Value | str] = [
            x,
            self.weight(factors, "scale", scale),
            self.weight(self._normal((n,), SMALL), "shift"),
        ]
        inputs.append(self.weight(self._normal((n,), SMALL * x.var**0.5, x.mean), "mean", False))
        inputs.append(self.weight(self._spread(n, 0.8, 1.25) * np.float32(x.var), "var", False))
        self.statistics += 2 * n
        return self.op("BatchNormalization", inputs, x.shape, mean=0.0, var=13 / 12 if scale else 1.0, epsilon=eps)

    def layer_norm(self, x: Value, eps: float = 1e-5, bias: bool = True) -> Value:
        """Normalise along the last axis."""
        inputs: list[Value | str] = [x, self.weight(self._spread(x.size(-1), 0.5, 1.5), "scale")]
        inputs += [self.weight(self._normal((x.size(-1),), SMALL), "shift")] if bias else []
        return self.op("LayerNormalization", inputs, x.shape, mean=0.0, var=13 / 12, axis=-1, epsilon=eps)

    def embedding(self, ids: Value, table: str, width: int, std: float = 1.0) -> Value:
        """Look numbers up in a table, the name of a weight."""
        return self.op("Gather", [table, ids], (*ids.shape, width), mean=0.0, var=std**2, axis=0)

    def table(self, rows: int, width: int, std: float = 1.0) -> str:
        """Weights for `embedding`."""
        return self.weight(self._normal((rows, width), std), "table")

    def lstm(self, x: Value, hidden: int) -> Value:
        """Long short-term memory over the second axis: ``(N, T, inputs)`` to ``(N, T, hidden)``."""
        batch, steps, inside = x.shape[0], x.size(1), x.size(2)
        w = self._normal((1, 4 * hidden, inside), (2 * inside * x.power) ** -0.5)
        r = self._normal((1, 4 * hidden, hidden), hidden**-0.5)
        bias = self.weight(np.concatenate([self._normal((1, 4 * hidden), SMALL), np.zeros((1, 4 * hidden), "f4")], 1))
        self.parameters -= 4 * hidden  # ONNX adds two biases; one of them is 0
        first = self.op("Transpose", [x], (steps, batch, inside), perm=(1, 0, 2))
        y = self.op("LSTM", [first, self.weight(w), self.weight(r), bias], (steps, 1, batch, hidden),
                    mean=0.0, var=0.1, hidden_size=hidden)  # fmt: skip
        return self.op("Transpose", [self._squeeze(y, 1)], (batch, steps, hidden), perm=(1, 0, 2))

    # ---- layers without

    def activation(self, x: Value, kind: str = "relu") -> Value:
        """Apply a function to every element: a name in `ACTIVATIONS`."""
        found = ACTIVATIONS.find(kind)
        mean, var = after(found.function, x.mean, x.var)
        extra = [self.weight(np.asarray(c, np.float32), "bound", False) for c in found.bounds]
        return self.op(found.operator, [x, *extra], x.shape, mean=mean, var=var, **found.attributes)

    def pool(
        self, x: Value, kind: str, kernel: int, stride: int, pad: Sequence[int] | int = 0, ceil: bool = False
    ) -> Value:
        """Take the ``"max"`` or the ``"average"`` of windows; `pad` is one number, or one for each end of each axis."""
        rank = len(x.shape) - 2
        pads = _each(pad, 2 * rank)
        space = []
        for d in range(rank):
            room = x.size(d + 2) + pads[d] + pads[rank + d] - kernel
            space.append((-(-room // stride) if ceil else room // stride) + 1)
        most = kind == "max"
        mean, var = (x.mean + OF_MAXIMUM * x.var**0.5 * (kernel > 1), x.var) if most else (x.mean, OF_AVERAGE * x.var)
        return self.op("MaxPool" if most else "AveragePool", [x], (*x.shape[:2], *space), mean=mean, var=var,
                       kernel_shape=(kernel,) * rank, strides=(stride,) * rank, pads=pads,
                       ceil_mode=int(ceil) or None, count_include_pad=None if most else 1)  # fmt: skip

    def global_pool(self, x: Value, flat: bool = True) -> Value:
        """Average every channel of an image."""
        y = self.op("GlobalAveragePool", [x], (*x.shape[:2], *(1,) * (len(x.shape) - 2)), var=OF_IMAGE * x.var)
        return self.flatten(y) if flat else y

    def add(self, a: Value, b: Value) -> Value:
        """Sum of values of one shape, or of one that ONNX repeats."""
        return self.op("Add", [a, b], _joined(a, b), mean=a.mean + b.mean, var=a.var + b.var)

    def mul(self, a: Value, b: Value) -> Value:
        """Product, element by element."""
        mean = a.mean * b.mean
        return self.op("Mul", [a, b], _joined(a, b), mean=mean, var=a.power * b.power - mean**2)

    def matmul(self, a: Value, b: Value, mean: float = 0.0, var: float | None = None) -> Value:
        """Product of matrices; its variance follows from the inputs' unless it is given."""
        found = a.size(-1) * a.power * b.power if var is None else var
        return self.op("MatMul", [a, b], (*a.shape[:-1], b.shape[-1]), mean=mean, var=found)

    def times(self, x: Value, factor: float) -> Value:
        """Multiply by a number."""
        by = self.weight(np.asarray(factor, np.float32), "factor", False)
        return self.op("Mul", [x, by], x.shape, mean=x.mean * factor, var=x.var * factor**2)

    def concat(self, parts: Sequence[Value], axis: int = 1) -> Value:
        """Join along an axis."""
        sizes = [p.size(axis) for p in parts]
        mean, power = (sum(n * v for n, v in zip(sizes, of, strict=True)) / sum(sizes)
                       for of in ([p.mean for p in parts], [p.power for p in parts]))  # fmt: skip
        shape = (*parts[0].shape[:axis], sum(sizes), *parts[0].shape[axis + 1 :])
        return self.op("Concat", list(parts), shape, mean=mean, var=power - mean**2, axis=axis)

    def upsample(self, x: Value, factor: int) -> Value:
        """Repeat every pixel of an image along its height and width."""
        scales = self.weight(np.array([1, 1, *(factor,) * (len(x.shape) - 2)], np.float32), "scales", False)
        self._weights[scales] = self._weights[scales].astype(np.float32)  # ONNX has no others
        shape = (*x.shape[:2], *(x.size(d) * factor for d in range(2, len(x.shape))))
        return self.op("Resize", [x, "", scales], shape, mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")  # fmt: skip

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        """Give another shape behind the batch."""
        sizes = self.weight(np.array([0, *shape], np.int64), "shape", False)
        return self.op("Reshape", [x, sizes], (x.shape[0], *shape))

    def flatten(self, x: Value) -> Value:
        """Put everything behind the batch into one axis."""
        return self.op("Flatten", [x], (x.shape[0], math.prod(x.size(d) for d in range(1, len(x.shape)))))

    def transpose(self, x: Value, order: Sequence[int]) -> Value:
        """Put the axes into another order."""
        return self.op("Transpose", [x], tuple(x.shape[d] for d in order), perm=tuple(order))

    def softmax(self, x: Value, axis: int = -1) -> Value:
        """Turn scores into shares that add up to 1."""
        share = 1 / x.size(axis)
        return self.op("Softmax", [x], x.shape, mean=share, var=share**2, axis=axis)

    def scores(self, x: Value, classes: int) -> None:
        """Finish a classifier: a layer for the classes, its softmax, and the output."""
        self.output(self.softmax(self.dense(x, classes, std=OF_SCORES)))

    def _squeeze(self, x: Value, axis: int) -> Value:
        axes = self.weight(np.array([axis], np.int64), "axes", False)
        return self.op("Squeeze", [x, axes], (*x.shape[:axis], *x.shape[axis + 1 :]))

    def expected(self, x: Value, mean: float, var: float) -> Value:
        """The same value, of which other numbers are expected."""
        return replace(x, mean=mean, var=var)

    def model(self) -> onnx.ModelProto:
        """The network as it is now.

        Raises
        ------
        ModelError
            "zoo.no_output" while none is declared.
        """
        from onnx import helper, numpy_helper

        if not self._outputs:
            raise ModelError("zoo.no_output", f"The network {self.name!r} has no output.", (self.name,), "b.output(x)")
        made = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(t), s) for n, t, s in self._inputs]
        kind = helper.np_dtype_to_tensor_dtype(self.dtype)
        given = [helper.make_tensor_value_info(x.name, kind, x.shape) for x in self._outputs]
        weights = [numpy_helper.from_array(a, name) for name, a in self._weights.items()]
        graph = helper.make_graph(self._nodes, self.name, made, given, weights)
        return helper.make_model(graph, producer_name="workbench.zoo", ir_version=IR_VERSION,
                                 opset_imports=[helper.make_opsetid("", OPSET)])  # fmt: skip


def _each(size: Sizes, rank: int) -> tuple[int, ...]:
    return (size,) * rank if isinstance(size, int) else tuple(size)


def _joined(a: Value, b: Value) -> tuple[Dim, ...]:
    """Shape of an element-wise result: of the longer one, ones stretched."""
    long, short = (a.shape, b.shape) if len(a.shape) >= len(b.shape) else (b.shape, a.shape)
    short = (*(1,) * (len(long) - len(short)), *short)
    return tuple(m if n == 1 else n for m, n in zip(short, long, strict=True))
