"""Pooling over windows and over whole images, in NCHW and NHWC."""

from __future__ import annotations

import numpy as np

from ...ir import te
from ..graph import Array, AttrValue, TensorType
from ..opdef import Call, Case, OpDef, operator
from .common import (
    Window,
    compute,
    from_nchw,
    ints,
    layout_of,
    lowest,
    np_windows,
    pad_stage,
    place,
    sample,
    spatial_names,
    to_nchw,
    unplace,
    window,
)


def pool_window(c: Call) -> Window:
    """Window of a pooling node; `ModelError` without kernel_shape."""
    kernel = c.get_ints("kernel_shape")
    if kernel is None:
        raise c.error("invalid_graph", "lacks the attribute kernel_shape")
    if len(c.shape(0)) != len(kernel) + 2:
        raise c.error("shape_mismatch", f"has a kernel {list(kernel)} for an input of shape {list(c.shape(0))}")
    return window(c, unplace(layout_of(c), c.shape(0))[1], kernel)


def _pool_infer(c: Call) -> tuple[TensorType, ...]:
    n, _, ch = unplace(layout_of(c), c.shape(0))
    return (TensorType(place(layout_of(c), n, pool_window(c).out, ch), c.type(0).dtype),)


def _windowed(c: Call, x: te.Tensor, win: Window, fill: float, op: str) -> te.Tensor:
    """Stages pad and the reduction over the window."""
    layout, r = layout_of(c), len(win.size)
    xp = pad_stage(c, x, win, layout, fill)
    ks = [te.reduce_axis(win.kernel[d], f"k{n}") for d, n in enumerate(spatial_names("NHWC", r)[1:-1])]

    def body(*idx: te.Axis) -> te.Reduction:
        n, pos, ch = unplace(layout, idx)
        v = xp[place(layout, n, [win.position(d, pos[d], ks[d]) for d in range(r)], ch)]
        out = te.max(v, axis=ks) if op == "max" else te.sum(v, axis=ks)
        assert isinstance(out, te.Reduction)
        return out

    n, _, ch = unplace(layout, x.shape)
    return compute(
        place(layout, n, win.out, ch), body, c.name("max_pool" if op == "max" else "pool_sum"), spatial_names(layout, r)
    )


@operator("MaxPool", "complex")
class MaxPool(OpDef):
    """Maximum over windows; positions outside of the image never win."""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return _pool_infer(c)

    def reference(self, c: Call, *args: Array | None) -> Array:
        assert args[0] is not None
        win, layout = pool_window(c), layout_of(c)
        taps = np_windows(to_nchw(args[0], layout), win, lowest(args[0].dtype.name))
        return from_nchw(np.asarray(taps.max(axis=tuple(range(-len(win.size), 0)))), layout)

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        assert args[0] is not None
        return _windowed(c, args[0], pool_window(c), lowest(args[0].dtype), "max")

    def cases(self) -> list[Case]:
        return [
            *_pool_cases(sample(1, 3, 7, 8), sample(1, 7, 8, 3)),
            Case("bytes", (ints(*range(8)).astype(np.uint8).reshape(1, 1, 8),), {"kernel_shape": (3,), "pads": (1, 1)}),
            Case("dilated", (sample(1, 2, 8, 8),), {"kernel_shape": (3, 3), "dilations": (2, 2)}),
        ]


def _pool_cases(nchw: Array, nhwc: Array) -> list[Case]:
    def attrs(k: int, s: int, p: int, **more: AttrValue) -> dict[str, AttrValue]:
        return {"kernel_shape": (k, k), "strides": (s, s), "pads": (p, p, p, p), **more}

    return [
        Case("2x2", (nchw,), attrs(2, 2, 0)),
        Case("3x3 padded", (nchw,), attrs(3, 2, 1)),
        Case("ceil", (nchw,), attrs(3, 2, 0, ceil_mode=1)),
        Case("ceil padded", (nchw,), attrs(2, 3, 1, ceil_mode=1)),
        Case("same", (nchw,), {"kernel_shape": (3, 2), "strides": (2, 2), "auto_pad": "SAME_UPPER"}),
        Case("nhwc", (nhwc,), attrs(3, 2, 1, layout="NHWC")),
        Case("1d", (sample(2, 3, 9),), {"kernel_shape": (3,), "strides": (2,)}),
    ]


def _count_limits(c: Call, win: Window) -> list[tuple[int, int]]:
    """Range of padded positions that count as elements, per dimension."""
    whole = bool(c.get_int("count_include_pad", 0))
    return [
        (0, win.begin[d] + n + win.end[d]) if whole else (win.begin[d], win.begin[d] + n)
        for d, n in enumerate(win.size)
    ]


def _counts(c: Call, win: Window) -> Array:
    """Number of counted elements of every window, ``[*out]``."""
    total = np.ones((), np.float32)
    for d, (lo, hi) in enumerate(_count_limits(c, win)):
        pos = win.position(d, np.arange(win.out[d])[:, None], np.arange(win.kernel[d])[None, :])
        per = ((pos >= lo) & (pos < hi)).sum(axis=1).astype(np.float32)
        total = np.multiply.outer(total, per)
    return np.asarray(total)


@operator("AveragePool", "complex")
class AveragePool(OpDef):
    """Mean over windows, with or without the padding counted."""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return _pool_infer(c)

    def reference(self, c: Call, *args: Array | None) -> Array:
        assert args[0] is not None
        win, layout = pool_window(c), layout_of(c)
        taps = np_windows(to_nchw(args[0], layout), win, 0.0)
        total = taps.sum(axis=tuple(range(-len(win.size), 0)), dtype=args[0].dtype)
        return from_nchw(np.asarray(total / _counts(c, win), dtype=args[0].dtype), layout)

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        x = args[0]
        assert x is not None
        win, layout, r = pool_window(c), layout_of(c), len(pool_window(c).size)
        total = _windowed(c, x, win, 0.0, "sum")
        counts = _counts(c, win)
        names = spatial_names(layout, r)
        if counts.size == 0 or (counts == counts.flat[0]).all():
            scale = 1.0 / float(counts.flat[0])
            return compute(total.shape, lambda *i: total[i] * scale, c.name("avg_pool"), names)
        ks = [
            te.reduce_axis(win.kernel[d], f"k{n}") for d, n in enumerate(names[1:-1] if layout == "NHWC" else names[2:])
        ]
        limits = _count_limits(c, win)

        def counted(*pos: te.Axis) -> te.Reduction:
            cond = None
            for d, (lo, hi) in enumerate(limits):
                p = win.position(d, pos[d], ks[d])
                one = (p >= lo) & (p < hi)
                cond = one if cond is None else cond & one
            assert cond is not None
            return te.sum(te.select(cond, te.const(1.0), te.const(0.0)), axis=ks)

        count = compute(win.out, counted, c.name("count"), spatial_names("NHWC", r)[1:-1])
        return compute(total.shape, lambda *i: total[i] / count[unplace(layout, i)[1]], c.name("avg_pool"), names)

    def cases(self) -> list[Case]:
        base = _pool_cases(sample(1, 3, 7, 8), sample(1, 7, 8, 3))
        more = [Case(b.label + " counted", b.inputs, {**b.attrs, "count_include_pad": 1}) for b in base]
        return base + more


class _Global(OpDef):
    op = "mean"

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        if len(c.shape(0)) < 3:
            raise c.error("shape_mismatch", f"needs spatial dimensions, but its input has shape {list(c.shape(0))}")
        n, size, ch = unplace(layout_of(c), c.shape(0))
        return (TensorType(place(layout_of(c), n, (1,) * len(size), ch), c.type(0).dtype),)

    def reference(self, c: Call, *args: Array | None) -> Array:
        x = args[0]
        assert x is not None
        axes = tuple(range(1, x.ndim - 1)) if layout_of(c) == "NHWC" else tuple(range(2, x.ndim))
        out = (
            x.max(axis=axes, keepdims=True) if self.op == "max" else np.mean(x, axis=axes, keepdims=True, dtype=x.dtype)
        )
        return np.asarray(out)

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        x, layout = args[0], layout_of(c)
        assert x is not None
        n, size, ch = unplace(layout, x.shape)
        r = len(size)
        ks = [te.reduce_axis(size[d], f"k{nm}") for d, nm in enumerate(spatial_names("NHWC", r)[1:-1])]
        shape = place(layout, n, (1,) * r, ch)

        def body(*idx: te.Axis) -> te.Reduction:
            b, _, k = unplace(layout, idx)
            v = x[place(layout, b, ks, k)]
            out = te.max(v, axis=ks) if self.op == "max" else te.sum(v, axis=ks)
            assert isinstance(out, te.Reduction)
            return out

        names = spatial_names(layout, r)
        total = compute(shape, body, c.name("global_max" if self.op == "max" else "global_sum"), names)
        if self.op == "max":
            return total
        scale = 1.0 / float(np.prod(size))
        return compute(shape, lambda *i: total[i] * scale, c.name("global_avg"), names)

    def cases(self) -> list[Case]:
        return [
            Case("nchw", (sample(2, 3, 4, 5),)),
            Case("nhwc", (sample(1, 4, 5, 3),), {"layout": "NHWC"}),
            Case("1d", (sample(1, 3, 7),)),
        ]


@operator("GlobalAveragePool", "complex")
class GlobalAveragePool(_Global):
    """Mean over all spatial positions."""


@operator("GlobalMaxPool", "complex")
class GlobalMaxPool(_Global):
    """Maximum over all spatial positions."""

    op = "max"
