"""Normalisation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench import te
from workbench.graph.graph import Array, Node, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import BIAS, DATA, MEAN, SCALE, VARIANCE, Input, Permuted
from workbench.graph.ops.lowering import (
    at,
    compute,
    from_nchw,
    layout_of,
    place,
    same,
    spatial_names,
    to_nchw,
    unplace,
)
from workbench.graph.ops.nn.softmax import Rows


def _channel(c: Call) -> int:
    return len(c.shape(0)) - 1 if layout_of(c) == "NHWC" else 1


def _names(c: Call, rank: int) -> tuple[str, ...] | None:
    return spatial_names(layout_of(c), rank - 2) if 3 <= rank <= 5 else None


def _check_vectors(c: Call, count: int, length: int = 0) -> tuple[TensorType, ...]:
    """Type of the result of a node whose parameters have one number per channel, or `length` of them."""
    channels = length or (c.shape(0)[_channel(c)] if len(c.shape(0)) > 1 else 0)
    for i in range(1, count):
        if c.shape(i) != (channels,):
            what = "groups" if length else "channels"
            raise c.error("shape_mismatch", f"has a parameter of shape {list(c.shape(i))} for {channels} {what}")
    return same(c)


@operator("BatchNormalization", "injective", elementwise=True, image=True, word="batch_norm")
class BatchNormalization(OpDef):
    """Normalisation with stored statistics (inference)."""

    inputs = (DATA, SCALE, BIAS, MEAN, VARIANCE)

    def accepts(self, node: Node) -> bool:
        return not any(node.outputs[1:]) and not node.attrs.get("training_mode")

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return _check_vectors(c, 5)

    def reference(self, c: Call, x: Array, *vectors: Array) -> Array:
        shape = [1] * x.ndim
        shape[_channel(c)] = -1
        scale, bias, mean, var = (v.reshape(shape) for v in vectors)
        k = scale / np.sqrt(var + np.float32(c.get_float("epsilon", 1e-5)))
        return np.asarray((x - mean) * k + bias, dtype=x.dtype)

    def lower(
        self, c: Call, x: te.Tensor, scale: te.Tensor, bias: te.Tensor, mean: te.Tensor, var: te.Tensor
    ) -> te.Tensor:
        eps, axis = c.get_float("epsilon", 1e-5), _channel(c)

        def body(*i: te.Axis) -> te.Value:
            ch = i[axis]
            return (x[i] - mean[ch]) * (scale[ch] * te.rsqrt(var[ch] + eps)) + bias[ch]

        return compute(x.shape, body, c.name("batch_norm"), _names(c, x.ndim))


class _Grouped(OpDef):
    """Normalisation by the statistics of each image and group of channels."""

    inputs = (DATA, Input("scale"), Input("bias"))

    def groups(self, c: Call) -> int:
        """Number of groups."""
        return c.shape(0)[_channel(c)]

    def of_group(self, c: Call) -> bool:
        """Whether a group has one scale, and not each of its channels."""
        return False

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return _check_vectors(c, 3)

    def reference(self, c: Call, x: Array, scale: Array, bias: Array) -> Array:
        v, groups = to_nchw(x, layout_of(c)), self.groups(c)
        shape, each = (1, -1, *(1,) * (v.ndim - 2)), v.shape[1] // groups if self.of_group(c) else 1
        parts = v.reshape(len(v), groups, -1)
        mean, var = parts.mean(axis=2, keepdims=True), parts.var(axis=2, keepdims=True)
        y = ((parts - mean) / np.sqrt(var + np.float32(c.get_float("epsilon", 1e-5)))).reshape(v.shape)
        y = y * np.repeat(scale, each).reshape(shape) + np.repeat(bias, each).reshape(shape)
        return from_nchw(np.asarray(y, dtype=x.dtype), layout_of(c))

    def lower(self, c: Call, x: te.Tensor, scale: te.Tensor, bias: te.Tensor) -> te.Tensor:
        layout, eps, groups = layout_of(c), c.get_float("epsilon", 1e-5), self.groups(c)
        n, size, ch = unplace(layout, x.shape)
        each = ch // groups
        inv = 1.0 / float(np.prod(size) * each)

        def stat(what: str, mean: te.Tensor | None = None) -> te.Tensor:
            inner = [te.reduce_axis(each, "rc")] if each > 1 else []
            ks = [te.reduce_axis(s, f"r{d}") for d, s in enumerate(size)]

            def total(b: te.Axis, k: te.Axis) -> te.Reduction:
                v = x[place(layout, b, ks, k * each + inner[0] if inner else k)]
                d = v if mean is None else v - mean[b, k]
                return te.sum(v if mean is None else d * d, axis=[*inner, *ks])

            s = compute((n, groups), total, c.name(f"{what}_sum"), ("n", "c"))
            return compute((n, groups), lambda b, k: s[b, k] * inv, c.name(what), ("n", "c"))

        mean = stat("mean")
        var = stat("var", mean)

        def body(*i: te.Axis) -> te.Value:
            b, _, k = unplace(layout, i)
            g = k // each if each > 1 else k
            own = g if self.of_group(c) else k
            return (x[i] - mean[b, g]) * (scale[own] * te.rsqrt(var[b, g] + eps)) + bias[own]

        return compute(x.shape, body, c.name(self.word), _names(c, x.ndim))


@operator("InstanceNormalization", "complex", sensitive=True, image=True, word="instance_norm")
class InstanceNormalization(_Grouped):
    """Normalisation by the statistics of each image and channel."""


@operator("GroupNormalization", "complex", sensitive=True, image=True, word="group_norm")
class GroupNormalization(_Grouped):
    """Normalisation by the statistics of each image and group of channels, scaled by group until opset 20."""

    def groups(self, c: Call) -> int:
        channels, groups = c.shape(0)[_channel(c)], c.get_int("num_groups", 0)
        if groups < 1 or channels % groups:
            raise c.error("shape_mismatch", f"cannot put {channels} channels into {groups} groups")
        return groups

    def of_group(self, c: Call) -> bool:
        return c.version < 21

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        groups = self.groups(c)
        return _check_vectors(c, 3, groups if self.of_group(c) else 0)


@operator("LRN", "complex", image=True, window=True)
class LRN(OpDef):
    """Local response normalisation over neighbouring channels."""

    def shape(self, c: Call) -> tuple[int, ...]:
        self._reach(c)
        return c.shape(0)

    def _reach(self, c: Call) -> tuple[int, int, int]:
        size = c.get_int("size", 1)
        if size < 1:
            raise c.error("invalid_graph", f"looks at {size} channels")
        return size, (size - 1) // 2, size // 2

    def reference(self, c: Call, x: Array) -> Array:
        x = to_nchw(x, layout_of(c))
        size, before, after = self._reach(c)
        square = np.pad(x * x, [(0, 0), (before, after)] + [(0, 0)] * (x.ndim - 2))
        total = sum(square[:, k : k + x.shape[1]] for k in range(size))
        y = x / (c.get_float("bias", 1.0) + c.get_float("alpha", 1e-4) / size * total) ** c.get_float("beta", 0.75)
        return from_nchw(np.asarray(y, dtype=x.dtype), layout_of(c))

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        size, before, _ = self._reach(c)
        axis = _channel(c)
        k, channels = te.reduce_axis(size, "k"), x.shape[axis]

        def window(*i: te.Axis) -> te.Reduction:
            pos = i[axis] + k - before
            v = x[(*i[:axis], pos, *i[axis + 1 :])]
            return te.sum(te.select((pos >= 0) & (pos < channels), v * v, te.const(0.0, x.dtype)), axis=k)

        names = _names(c, x.ndim)
        total = compute(x.shape, window, c.name("square_sum"), names)
        bias, alpha, beta = c.get_float("bias", 1.0), c.get_float("alpha", 1e-4) / size, c.get_float("beta", 0.75)

        def body(*i: te.Axis) -> te.Value:
            return x[i] / te.power(total[i] * alpha + bias, beta)

        return compute(x.shape, body, c.name("lrn"), names)


@operator("LayerNormalization", "complex", sensitive=True, rowwise=True)
class LayerNormalization(OpDef):
    """Normalisation over the axes from `axis` on, then scale and shift; the statistics where they are asked for."""

    multi = True

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        axis = c.named_axis(-1)
        for i in (k for k in (1, 2) if c.has(k)):
            if np.broadcast_shapes(c.shape(i), c.shape(0)[axis:]) != c.shape(0)[axis:]:
                text = f"has a parameter of shape {list(c.shape(i))} for an input of shape {list(c.shape(0))}"
                raise c.error("shape_mismatch", text)
        size = c.shape(0)
        statistics = TensorType((*size[:axis], *(1,) * (len(size) - axis)), "float32")
        return (c.type(0), *(statistics for _ in c.node.outputs[1:]))

    def reference(self, c: Call, x: Array, scale: Array, bias: Array | None = None) -> Array | tuple[Array, ...]:
        axes = tuple(range(c.named_axis(-1), x.ndim))
        mean = x.mean(axis=axes, keepdims=True)
        square = np.square(x - mean).mean(axis=axes, keepdims=True)
        deviation = np.sqrt(square + np.float32(c.get_float("epsilon", 1e-5)))
        y = (x - mean) / deviation * scale
        y = np.asarray(y if bias is None else y + bias, dtype=x.dtype)
        if not any(c.node.outputs[1:]):
            return y
        return y, mean.astype(np.float32), (1 / deviation).astype(np.float32)

    def lower(self, c: Call, x: te.Tensor, scale: te.Tensor, bias: te.Tensor | None = None) -> te.Tensor:
        axis, eps = c.named_axis(-1), c.get_float("epsilon", 1e-5)
        rows = Rows(x, tuple(range(axis, x.ndim)))
        part = 1.0 / float(np.prod(x.shape[axis:]))
        total = rows.reduce("sum", x, c.name("norm_sum"))
        mean = rows.each(lambda *i: total[i] * part, c.name("norm_mean"))
        centred = compute(x.shape, lambda *i: x[i] - mean[rows.row(i)], c.name("norm_centred"))
        squares = rows.reduce("sum", centred, c.name("norm_squares"), lambda v: v * v)
        inverse = rows.each(lambda *i: te.rsqrt(squares[i] * part + eps), c.name("norm_inverse"))

        def body(*i: te.Axis) -> te.Value:
            y = centred[i] * inverse[rows.row(i)] * at(scale, i)
            return y if bias is None else y + at(bias, i)

        return compute(x.shape, body, c.name("layer_norm"))


#: Types that statistics may have, by ONNX's number.
_STASHED = {1: "float32", 11: "float64"}


@operator("RMSNormalization", "complex", sensitive=True, rowwise=True, word="rms_norm")
class RMSNormalization(OpDef):
    """Division by the root of the mean square over the axes from `axis` on, then scale, whose type the result has."""

    typed_by = 1

    def accepts(self, node: Node) -> bool:
        return node.attrs.get("stash_type", 1) in _STASHED

    def wide(self, c: Call) -> str:
        """Type in which all but the scale is computed."""
        return _STASHED[c.get_int("stash_type", 1)]

    def shape(self, c: Call) -> tuple[int, ...]:
        if np.broadcast_shapes(c.shape(1), c.shape(0)) != c.shape(0):
            raise c.error("shape_mismatch", f"has a scale of shape {list(c.shape(1))} for {list(c.shape(0))}")
        return c.shape(0)

    def reference(self, c: Call, x: Array, scale: Array) -> Array:
        axes, wide = tuple(range(c.named_axis(-1), x.ndim)), x.astype(self.wide(c))
        squares = np.square(wide).mean(axis=axes, keepdims=True)
        y = wide / np.sqrt(squares + np.float32(c.get_float("epsilon", 1e-5)))
        return np.asarray(y.astype(scale.dtype) * scale)

    def lower(self, c: Call, x: te.Tensor, scale: te.Tensor) -> te.Tensor:
        axis, eps, wide = c.named_axis(-1), c.get_float("epsilon", 1e-5), self.wide(c)
        rows = Rows(x, tuple(range(axis, x.ndim)))
        part = 1.0 / float(np.prod(x.shape[axis:]))
        squares = rows.reduce("sum", x, c.name("rms_squares"), lambda v: te.cast(v, wide) * te.cast(v, wide))
        inverse = rows.each(lambda *i: te.rsqrt(squares[i] * part + eps), c.name("rms_inverse"))

        def body(*i: te.Axis) -> te.Value:
            return te.cast(te.cast(x[i], wide) * inverse[rows.row(i)], scale.dtype) * at(scale, i)

        return compute(x.shape, body, c.name("rms_norm"))


#: What the standard adds to a deviation, so that nothing is divided by 0; there is no attribute for it.
_LEAST_DEVIATION = 1e-9


@operator("MeanVarianceNormalization", "complex", sensitive=True)
class MeanVarianceNormalization(OpDef):
    """Normalisation by the mean and the deviation over chosen axes, which are a float32 for numbers of 16 bits.

    Both are those of the differences from a group's first element: equal numbers give 0, not what rounding leaves.
    """

    def axes(self, c: Call) -> tuple[int, ...]:
        """Axes of a group, counted from the front."""
        rank, named = len(c.shape(0)), c.get_ints("axes", (0, 2, 3))
        return tuple(sorted({c.axis(a, rank) for a in named or range(rank)}))

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted:
        return Permuted({"axes": tuple(sorted(perm.index(a) for a in self.axes(c)))}, perm)

    def shape(self, c: Call) -> tuple[int, ...]:
        self.axes(c)
        return c.shape(0)

    def reference(self, c: Call, x: Array) -> Array:
        axes = self.axes(c)
        apart = x - x[tuple(slice(0, 1) if d in axes else slice(None) for d in range(x.ndim))]
        centred = apart - apart.mean(axis=axes, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=axes, keepdims=True))
        return np.asarray(centred / (deviation + x.dtype.type(_LEAST_DEVIATION)), dtype=x.dtype)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        axes = self.axes(c)
        outer = tuple(1 if d in axes else e for d, e in enumerate(x.shape))
        part = 1.0 / float(np.prod([x.shape[d] for d in axes]))

        def first(i: Sequence[te.Axis | int]) -> tuple[te.Axis | int, ...]:
            return tuple(0 if d in axes else k for d, k in enumerate(i))

        def mean(v: te.Tensor, square: bool, name: str) -> te.Tensor:
            ks = {d: te.reduce_axis(x.shape[d], f"k{n}" if n else "k") for n, d in enumerate(axes)}

            def total(*i: te.Axis) -> te.Reduction:
                e = v[tuple(ks.get(d, k) for d, k in enumerate(i))]
                return te.sum(e * e if square else e, axis=list(ks.values()))

            s = compute(outer, total, c.name(f"{name}_sum"))
            return compute(outer, lambda *i: s[i] * part, c.name(name))

        apart = compute(x.shape, lambda *i: x[i] - x[first(i)], c.name("norm_apart"))
        middle = mean(apart, False, "norm_mean")
        centred = compute(x.shape, lambda *i: apart[i] - middle[first(i)], c.name("norm_centred"))
        squares = mean(centred, True, "norm_squares")
        deviation = compute(outer, lambda *i: te.sqrt(squares[i]) + _LEAST_DEVIATION, c.name("norm_deviation"))
        return compute(x.shape, lambda *i: centred[i] / deviation[first(i)], c.name("mean_variance_norm"))
