"""Pooling over windows and over whole images, in NCHW and NHWC."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from workbench import te
from workbench.graph.call import Call, Case
from workbench.graph.facts import dims
from workbench.graph.graph import Array, AttrValue, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.ops.common import (
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
    stride_words,
    to_nchw,
    unplace,
    window,
)

#: What becomes of one value; None where it stays as it is.
_Step: TypeAlias = Callable[[te.Value], te.Value] | None
_Steps: TypeAlias = tuple[_Step, _Step]


def pool_window(c: Call) -> Window:
    """Window of a pooling node; `ModelError` without kernel_shape."""
    kernel = c.get_ints("kernel_shape")
    if kernel is None:
        raise c.error("invalid_graph", "lacks the attribute kernel_shape")
    if len(c.shape(0)) != len(kernel) + 2:
        raise c.error("shape_mismatch", f"has a kernel {list(kernel)} for an input of shape {list(c.shape(0))}")
    return window(c, unplace(layout_of(c), c.shape(0))[1], kernel, least=0)


def _pool_infer(c: Call) -> tuple[TensorType, ...]:
    n, _, ch = unplace(layout_of(c), c.shape(0))
    return (TensorType(place(layout_of(c), n, pool_window(c).out, ch), c.type(0).dtype),)


def _pool_words(c: Call, name: str) -> str:
    w, (_, _, channels) = pool_window(c), unplace(layout_of(c), c.shape(0))
    return f"{name} {dims(w.kernel)}{stride_words(w.strides)} {channels} @{dims(w.size)}"


def _global_words(c: Call, name: str) -> str:
    _, size, channels = unplace(layout_of(c), c.shape(0))
    return f"{name} {channels} @{dims(size)}"


def _windowed(c: Call, x: te.Tensor, win: Window, fill: float, op: str, of: _Step = None) -> te.Tensor:
    """Stages pad and the reduction over the window, of each element or of a function of it."""
    layout, r = layout_of(c), len(win.size)
    xp = pad_stage(c, x, win, layout, fill)
    ks = [te.reduce_axis(win.kernel[d], f"k{n}") for d, n in enumerate(spatial_names("NHWC", r)[1:-1])]

    def body(*idx: te.Axis) -> te.Reduction:
        n, pos, ch = unplace(layout, idx)
        v = xp[place(layout, n, [win.position(d, pos[d], ks[d]) for d in range(r)], ch)]
        v = v if of is None else of(v)
        out = te.max(v, axis=ks) if op == "max" else te.sum(v, axis=ks)
        assert isinstance(out, te.Reduction)
        return out

    n, _, ch = unplace(layout, x.shape)
    return compute(
        place(layout, n, win.out, ch), body, c.name("max_pool" if op == "max" else "pool_sum"), spatial_names(layout, r)
    )


@operator("MaxPool", "complex", image=True, window=True, reads_parts=True, on_quantised=True)
class MaxPool(OpDef):
    """Maximum over windows and, where asked for, its place in the tensor; positions outside of the image never win."""

    multi = True

    def words(self, c: Call, out: TensorType) -> str:
        return _pool_words(c, "max_pool")

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        (y,) = _pool_infer(c)
        return (y, TensorType(y.shape, "int64")) if any(c.node.outputs[1:]) else (y,)

    def reference(self, c: Call, x: Array) -> Array | tuple[Array, ...]:
        win, layout = pool_window(c), layout_of(c)
        x = to_nchw(x, layout)
        taps = np_windows(x, win, lowest(x.dtype.name))
        best = np.asarray(taps.max(axis=tuple(range(-len(win.size), 0))))
        y = from_nchw(best, layout)
        return (y, self._places(c, x.shape, win, taps, best)) if any(c.node.outputs[1:]) else y

    def _places(self, c: Call, shape: tuple[int, ...], win: Window, taps: Array, best: Array) -> Array:
        """Place of the first maximum of each window among all elements of the tensor."""
        image = math.prod(win.size)
        numbers = np.arange(image).reshape(win.size, order="F" if c.get_int("storage_order", 0) else "C")
        inside = np.broadcast_to(np_windows(numbers[None, None], win, -1), taps.shape)
        flat = (*best.shape, math.prod(win.kernel))
        taps, inside = taps.reshape(flat), inside.reshape(flat)
        hit = ((taps == best[..., None]) | (taps != taps)) & (inside >= 0)
        found = np.take_along_axis(inside, hit.argmax(-1)[..., None], -1)[..., 0]
        images = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *(1,) * len(win.size))
        return np.asarray(found + images * image, np.int64)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        return _windowed(c, x, pool_window(c), lowest(x.dtype), "max")

    def cases(self) -> list[Case]:
        return [
            *_pool_cases(sample(1, 3, 7, 8), sample(1, 7, 8, 3)),
            Case("bytes", (ints(*range(8)).astype(np.uint8).reshape(1, 1, 8),), {"kernel_shape": (3,), "pads": (1, 1)}),
            Case("dilated", (sample(1, 2, 8, 8),), {"kernel_shape": (3, 3), "dilations": (2, 2)}),
            Case("places", (sample(2, 3, 5, 6),), {"kernel_shape": (2, 3), "pads": (1, 0, 0, 1)}, outputs=2),
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


@operator("AveragePool", "complex", image=True, window=True, reads_parts=True)
class AveragePool(OpDef):
    """Mean over windows, with or without the padding counted."""

    def words(self, c: Call, out: TensorType) -> str:
        return _pool_words(c, "avg_pool")

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return _pool_infer(c)

    def reference(self, c: Call, x: Array) -> Array:
        win, layout = pool_window(c), layout_of(c)
        taps = np_windows(to_nchw(x, layout), win, 0.0)
        total = taps.sum(axis=tuple(range(-len(win.size), 0)), dtype=x.dtype)
        return from_nchw(np.asarray(total / _counts(c, win), dtype=x.dtype), layout)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
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


def _exponent(c: Call) -> float:
    """Exponent of a norm."""
    p = c.get_float("p", 2.0)
    if p <= 0:
        raise c.error("invalid_graph", f"asks for a norm with the exponent {p:g}")
    return p


def _norm(p: float) -> _Steps:
    """What is summed of each element, and the norm of the sum."""
    if p == 1:
        return te.abs, None
    if p == 2:
        return lambda v: v * v, te.sqrt
    return lambda v: te.power(te.abs(v), p), lambda v: te.power(v, 1 / p)


@operator("LpPool", "complex", image=True, window=True)
class LpPool(OpDef):
    """Norm of each window: the p-th root of the sum of all magnitudes to the power p."""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        _exponent(c)
        return _pool_infer(c)

    def reference(self, c: Call, x: Array) -> Array:
        win, layout, p = pool_window(c), layout_of(c), _exponent(c)
        taps = np.abs(np_windows(to_nchw(x, layout), win, 0.0)) ** p
        total = taps.sum(axis=tuple(range(-len(win.size), 0)))
        return from_nchw(np.asarray(total ** (1 / p), dtype=x.dtype), layout)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        of, root = _norm(_exponent(c))
        total = _windowed(c, x, pool_window(c), 0.0, "sum", of)
        names = spatial_names(layout_of(c), total.ndim - 2)
        return total if root is None else compute(total.shape, lambda *i: root(total[i]), c.name("lp_pool"), names)

    def cases(self) -> list[Case]:
        base = _pool_cases(sample(1, 3, 7, 8), sample(1, 7, 8, 3))
        more = [Case(f"{b.label}, p={p}", b.inputs, {**b.attrs, "p": p}) for b in base[:2] for p in (1, 3)]
        return base + more


class _Global(OpDef):
    image = True
    kind, stage = "sum", "global_avg"

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        if len(c.shape(0)) < 3:
            raise c.error("shape_mismatch", f"needs spatial dimensions, but its input has shape {list(c.shape(0))}")
        n, size, ch = unplace(layout_of(c), c.shape(0))
        return (TensorType(place(layout_of(c), n, (1,) * len(size), ch), c.type(0).dtype),)

    def numpy(self, c: Call, x: Array, axes: tuple[int, ...]) -> Array:
        """What `reference` computes of the spatial axes."""
        return np.asarray(np.mean(x, axis=axes, keepdims=True, dtype=x.dtype))

    def steps(self, c: Call, count: int) -> _Steps:
        """What is reduced of each element, and what becomes of the result; None where it stays."""
        return None, lambda v: v * (1.0 / count)

    def reference(self, c: Call, x: Array) -> Array:
        return self.numpy(c, x, tuple(range(1, x.ndim - 1) if layout_of(c) == "NHWC" else range(2, x.ndim)))

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        layout = layout_of(c)
        n, size, ch = unplace(layout, x.shape)
        r = len(size)
        of, after = self.steps(c, math.prod(size))
        ks = [te.reduce_axis(size[d], f"k{nm}") for d, nm in enumerate(spatial_names("NHWC", r)[1:-1])]
        shape = place(layout, n, (1,) * r, ch)

        def body(*idx: te.Axis) -> te.Reduction:
            b, _, k = unplace(layout, idx)
            v = x[place(layout, b, ks, k)]
            v = v if of is None else of(v)
            out = te.max(v, axis=ks) if self.kind == "max" else te.sum(v, axis=ks)
            assert isinstance(out, te.Reduction)
            return out

        names = spatial_names(layout, r)
        total = compute(shape, body, c.name(f"global_{self.kind}"), names)
        return total if after is None else compute(shape, lambda *i: after(total[i]), c.name(self.stage), names)

    def cases(self) -> list[Case]:
        return [
            Case("nchw", (sample(2, 3, 4, 5),)),
            Case("nhwc", (sample(1, 4, 5, 3),), {"layout": "NHWC"}),
            Case("1d", (sample(1, 3, 7),)),
        ]


@operator("GlobalAveragePool", "complex")
class GlobalAveragePool(_Global):
    """Mean over all spatial positions."""

    def words(self, c: Call, out: TensorType) -> str:
        return _global_words(c, "global_avg_pool")


@operator("GlobalMaxPool", "complex")
class GlobalMaxPool(_Global):
    """Maximum over all spatial positions."""

    kind = "max"

    def words(self, c: Call, out: TensorType) -> str:
        return _global_words(c, "global_max_pool")

    def numpy(self, c: Call, x: Array, axes: tuple[int, ...]) -> Array:
        return np.asarray(x.max(axis=axes, keepdims=True))

    def steps(self, c: Call, count: int) -> _Steps:
        return None, None


@operator("GlobalLpPool", "complex")
class GlobalLpPool(_Global):
    """Norm of all spatial positions."""

    stage = "global_lp"

    def numpy(self, c: Call, x: Array, axes: tuple[int, ...]) -> Array:
        p = _exponent(c)
        return np.asarray((np.abs(x) ** p).sum(axis=axes, keepdims=True) ** (1 / p), dtype=x.dtype)

    def steps(self, c: Call, count: int) -> _Steps:
        return _norm(_exponent(c))

    def cases(self) -> list[Case]:
        return [*super().cases(), *(Case(f"p={p}", (sample(2, 3, 4, 5),), {"p": p}) for p in (1, 3))]


@operator("MaxUnpool", "opaque")
class MaxUnpool(OpDef):
    """Elements put back to the places that MaxPool took them from, with 0 everywhere else."""

    parameters = (2,)

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        x, kernel = c.shape(0), c.get_ints("kernel_shape")
        if kernel is None:
            raise c.error("invalid_graph", "lacks the attribute kernel_shape")
        r = len(kernel)
        strides, pads = c.get_ints("strides") or (1,) * r, c.get_ints("pads") or (0,) * (2 * r)
        if not len(x) - 2 == r == len(strides) == len(pads) // 2 or c.shape(1) != x:
            raise c.error("shape_mismatch", f"has a kernel {list(kernel)} or places {list(c.shape(1))} for {list(x)}")
        if c.has(2):
            return (TensorType(tuple(int(d) for d in c.constant(2, "output_shape")), c.type(0).dtype),)
        sizes = [(x[2 + d] - 1) * strides[d] + kernel[d] - pads[d] - pads[d + r] for d in range(r)]
        return (TensorType((*x[:2], *sizes), c.type(0).dtype),)

    def reference(self, c: Call, x: Array, places: Array, *_: Any) -> Array:
        y = np.zeros(self.infer(c)[0].shape, x.dtype)
        y.reshape(-1)[places.reshape(-1)] = x.reshape(-1)
        return y

    def cases(self) -> list[Case]:
        x, places, attrs = sample(1, 1, 2, 2), ints(5, 7, 13, 15).reshape(1, 1, 2, 2), {"kernel_shape": (2, 2)}
        strided: dict[str, AttrValue] = {**attrs, "strides": (2, 2)}
        return [
            Case("places", (x, places), strided),
            Case("larger", (x, places, ints(1, 1, 5, 5)), strided, const=(2,)),
        ]
