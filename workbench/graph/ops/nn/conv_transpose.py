"""Transposed convolution in NCHW (as ONNX writes it) and NHWC, any number of spatial dimensions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import BIAS, DATA, WEIGHT, Weights, dims
from workbench.graph.ops.lowering import (
    compute,
    from_nchw,
    layout_of,
    place,
    spatial_names,
    stride_words,
    to_nchw,
    unplace,
    where_all,
)
from workbench.graph.ops.nn.conv import check_bias, kernel_of, with_bias
from workbench.te.conv_transpose_phases import Phases

#: Channels of the result below which phases are computed side by side: fewer do not fill a vector of 16 bytes of
#: float32.
FEW = 4


@dataclass(frozen=True, slots=True)
class TransposedShape:
    """Geometry of a transposed convolution. Weights are [I, O / groups, *kernel] in NCHW, [*kernel, I, O / groups] in
    NHWC.
    """

    layout: str
    batch: int
    ci: int
    co: int
    groups: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the output."""
        return place(self.layout, self.batch, self.out, self.co)

    @property
    def few(self) -> bool:
        """Whether there are too few channels for vectors."""
        return self.groups == 1 and self.co < FEW

    @property
    def apart(self) -> bool:
        """Whether every result is reached by exactly one tap and all of them are kept."""
        whole = tuple(n * t for n, t in zip(self.size, self.strides, strict=True))
        plain = self.kernel == self.strides and not any(self.begin) and self.out == whole
        return plain and all(d == 1 for d in self.dilations) and max(self.strides) > 1

    def spread(self, d: int) -> bool:
        """Whether zeros are put between the inputs along a dimension: strides and dilation together."""
        return self.strides[d] > 1 and self.dilations[d] > 1

    def phases(self, d: int) -> Phases:
        """Geometry along a spatial dimension, of the input after zeros were put into it where they are."""
        size, stride = self.size[d], self.strides[d]
        if self.spread(d):
            size, stride = (size - 1) * stride + 1, 1
        return Phases(size, self.kernel[d], stride, self.begin[d], self.out[d], self.dilations[d])


def transposed_shape(c: Call) -> TransposedShape:
    """Read the geometry of a ConvTranspose node; `ModelError` "model.shape_mismatch" where its parts do not fit."""
    layout, x, w = layout_of(c), c.shape(0), c.shape(1)
    kernel, (batch, size, ci) = kernel_of(c), unplace(layout, x)
    rows, per = (w[-2], w[-1]) if layout == "NHWC" else (w[0], w[1])
    groups = c.get_int("group", 1)
    if groups < 1 or rows != ci or ci % groups:
        raise c.error("shape_mismatch", f"has {ci} input channels in {groups} groups and weights {list(w)}")
    r = len(size)
    strides, dilations = c.get_ints("strides") or (1,) * r, c.get_ints("dilations") or (1,) * r
    if not len(strides) == len(dilations) == r or min(*strides, *dilations) < 1:
        raise c.error("invalid_graph", f"has strides or dilations that do not fit {r} spatial dimensions")
    begin, out = _ends(c, size, tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)), strides)
    return TransposedShape(layout, batch, ci, per * groups, groups, size, kernel, strides, dilations, begin, out)


def _ends(
    c: Call, size: tuple[int, ...], span: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How many results are cut off at the beginning of each dimension, and how many there are then."""
    r = len(size)
    more = c.get_ints("output_padding") or (0,) * r
    pads, wanted = c.get_ints("pads") or (0,) * (2 * r), c.get_ints("output_shape")
    mode = c.get_str("auto_pad", "NOTSET")
    if len(more) != r or len(pads) != 2 * r or (wanted is not None and len(wanted) < r) or min(pads) < 0:
        raise c.error("invalid_graph", f"has pads or an output shape that do not fit {r} spatial dimensions")
    begin, out = [], []
    for d in range(r):
        full = (size[d] - 1) * strides[d] + more[d] + span[d]
        b, e = (0, 0) if mode == "VALID" else (pads[d], pads[d + r])
        target = None if wanted is None else wanted[len(wanted) - r + d]
        if target is None and mode.startswith("SAME"):
            target = size[d] * strides[d]
        if target is not None:
            total = max(0, full - target)
            b = total // 2 if mode == "SAME_UPPER" else total - total // 2
            e = full - target - b
        n = full - b - e
        if n < 1:
            raise c.error("shape_mismatch", f"has {full} results along a dimension and cuts off {b} and {e}")
        begin.append(b)
        out.append(n)
    return tuple(begin), tuple(out)


@operator("ConvTranspose", "complex", image=True, weights=Weights(1, input_first=True))
class ConvTranspose(OpDef):
    """Transposed convolution with groups, strides, dilation, padding and an output shape."""

    inputs = (DATA, WEIGHT, BIAS)

    def words(self, c: Call, out: TensorType) -> str:
        s = transposed_shape(c)
        groups = f" in {s.groups} groups" if s.groups > 1 else ""
        layout = "" if s.layout == "NHWC" else " NCHW"
        kind = f"conv{len(s.size)}d_transpose {dims(s.kernel)}{stride_words(s.strides)}"
        return f"{kind} {s.ci}→{s.co}{groups} @{dims(s.size)}{layout}" + (" + bias" if c.has(2) else "")

    def shape(self, c: Call) -> tuple[int, ...]:
        s = transposed_shape(c)
        check_bias(c, 2, s.co)
        return s.shape

    def reference(self, c: Call, x: Array, w: Array, b: Array | None = None) -> Array:
        s = transposed_shape(c)
        r, per = len(s.size), s.ci // s.groups
        x = to_nchw(x, s.layout)
        w = np.moveaxis(w, (-2, -1), (0, 1)) if s.layout == "NHWC" else w
        whole = [
            max((z - 1) * t + (k - 1) * d + 1, n + o)
            for z, t, k, d, n, o in zip(s.size, s.strides, s.kernel, s.dilations, s.begin, s.out, strict=True)
        ]
        out = np.zeros((s.batch, s.groups, s.co // s.groups, *whole), x.dtype)
        grouped, weights = x.reshape(s.batch, s.groups, per, -1), w.reshape(s.groups, per, *w.shape[1:])
        for tap in itertools.product(*(range(k) for k in s.kernel)):
            every: tuple[Any, ...] = (slice(None), slice(None), slice(None))
            part = np.einsum("ngip,gio->ngop", grouped, weights[every + tap])
            at = tuple(
                slice(k * d, k * d + (z - 1) * t + 1, t)
                for k, d, z, t in zip(tap, s.dilations, s.size, s.strides, strict=True)
            )
            out[:, :, :, *at] += part.reshape(s.batch, s.groups, -1, *s.size)
        kept = tuple(slice(n, n + o) for n, o in zip(s.begin, s.out, strict=True))
        out = out[:, :, :, *kept].reshape(s.batch, s.co, *s.out)
        return from_nchw(out if b is None else out + b.reshape(-1, *(1,) * r), s.layout)

    def lower(self, c: Call, x: te.Tensor, w: te.Tensor, b: te.Tensor | None = None) -> te.Tensor:
        s = transposed_shape(c)
        if s.few and s.apart:
            y = _phase_by_phase(c, s, x, w)
        else:
            y = _cropped(c, s, _gather(c, s, _framed(c, s, _spread(c, s, x)), w))
        return with_bias(c, s.layout, y, b)


def _spread(c: Call, s: TransposedShape, x: te.Tensor) -> te.Tensor:
    """Input with zeros between its elements along dimensions where strides and dilation meet."""
    r = len(s.size)
    steps = [s.strides[d] if s.spread(d) else 1 for d in range(r)]
    if max(steps) == 1:
        return x

    def body(*idx: te.Axis) -> te.Value:
        n, pos, ch = unplace(s.layout, idx)
        hits = [p % t < 1 for p, t in zip(pos, steps, strict=True) if t > 1]
        value = x[place(s.layout, n, [p // t if t > 1 else p for p, t in zip(pos, steps, strict=True)], ch)]
        return where_all(hits, value, te.const(0.0, x.dtype))

    shape = place(s.layout, s.batch, [s.phases(d).size for d in range(r)], s.ci)
    return compute(shape, body, c.name("spread"), spatial_names(s.layout, r))


def _framed(c: Call, s: TransposedShape, x: te.Tensor) -> te.Tensor:
    """Input with the zeros before and behind it that the first and last results read."""
    r = len(s.size)
    along = [s.phases(d) for d in range(r)]
    moved = [d for d in range(r) if along[d].before or along[d].behind]
    if not moved:
        return x

    def body(*idx: te.Axis) -> te.Value:
        n, pos, ch = unplace(s.layout, idx)
        at = [p - a.before for p, a in zip(pos, along, strict=True)]
        inside = [(pos[d] >= along[d].before) & (pos[d] < along[d].before + along[d].size) for d in moved]
        value = x[place(s.layout, n, at, ch)]
        return where_all(inside, value, te.const(0.0, x.dtype))

    shape = place(s.layout, s.batch, [p.before + p.size + p.behind for p in along], s.ci)
    return compute(shape, body, c.name("pad"), spatial_names(s.layout, r))


def _gather(c: Call, s: TransposedShape, x: te.Tensor, w: te.Tensor) -> te.Tensor:
    """Sum over the taps that reach each result of the frame, and over the channels of its group."""
    r, per, each = len(s.size), s.ci // s.groups, s.co // s.groups
    along = [s.phases(d) for d in range(r)]
    ks = [te.reduce_axis(p.taps, f"k{n}") for p, n in zip(along, spatial_names("NHWC", r)[1:-1], strict=True)]
    rc = te.reduce_axis(per, "c") if per > 1 or s.groups == 1 else None

    def body(*idx: te.Axis) -> te.Reduction:
        n, pos, o = unplace(s.layout, idx)
        group, mine = (o // each if each > 1 else o, o % each if each > 1 else 0) if s.groups > 1 else (0, o)
        ch = group * per if rc is None else rc + group * per
        taps = [p.tap(x_, k) for p, x_, k in zip(along, pos, ks, strict=True)]
        at = [p.row(x_, k) for p, x_, k in zip(along, pos, ks, strict=True)]
        kernel = (*taps, ch, mine) if s.layout == "NHWC" else (ch, mine, *taps)
        term = x[place(s.layout, n, at, ch)] * w[kernel]
        there = [t < p.kernel for t, p in zip(taps, along, strict=True) if p.ragged]
        return te.sum(where_all(there, term, te.const(0.0, x.dtype)), axis=[*ks, *(() if rc is None else (rc,))])

    shape = place(s.layout, s.batch, [p.frame for p in along], s.co)
    return compute(shape, body, c.name("conv"), spatial_names(s.layout, r, "c" if rc is None else "o"))


def _phase_by_phase(c: Call, s: TransposedShape, x: te.Tensor, w: te.Tensor) -> te.Tensor:
    """All results that one input reaches side by side, as channels of a product, and then in their places."""
    r, rc = len(s.size), te.reduce_axis(s.ci, "c")
    inner = [prod(s.kernel[d + 1 :]) * s.co for d in range(r)]

    def product(*idx: te.Axis) -> te.Reduction:
        n, pos, j = unplace(s.layout, idx)
        taps = [(j // q) % k if q > 1 else j % k for q, k in zip(inner, s.kernel, strict=True)]
        o = j % s.co if s.co > 1 else 0
        return te.sum(x[place(s.layout, n, pos, rc)] * w[(*taps, rc, o) if s.layout == "NHWC" else (rc, o, *taps)], rc)

    names = spatial_names(s.layout, r, "o")
    wide = compute(place(s.layout, s.batch, s.size, s.co * prod(s.kernel)), product, c.name("conv"), names)

    def body(*idx: te.Axis) -> te.Value:
        n, pos, o = unplace(s.layout, idx)
        j = o if s.co > 1 else 0
        for p, q, k in zip(pos, inner, s.kernel, strict=True):
            j = (p % k) * q + j if k > 1 else j
        return wide[place(s.layout, n, [p // k if k > 1 else p for p, k in zip(pos, s.kernel, strict=True)], j)]

    return compute(s.shape, body, c.name("spread"), names)


def _cropped(c: Call, s: TransposedShape, whole: te.Tensor) -> te.Tensor:
    """Results that are kept of the frame."""
    if whole.shape == s.shape:
        return whole
    cut = [s.phases(d).crop for d in range(len(s.size))]

    def body(*idx: te.Axis) -> te.Value:
        n, pos, ch = unplace(s.layout, idx)
        return whole[place(s.layout, n, [p + k for p, k in zip(pos, cut, strict=True)], ch)]

    return compute(s.shape, body, c.name("crop"), spatial_names(s.layout, len(s.size), "o"))
