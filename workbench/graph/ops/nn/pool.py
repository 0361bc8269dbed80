"""Pooling over windows and over whole images, in NCHW and NHWC."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from workbench import te
from workbench.graph.graph import Array, TensorType
from workbench.graph.node_steps import OWN, Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import dims
from workbench.graph.ops.lowering import (
    Window,
    compute,
    from_nchw,
    layout_of,
    np_windows,
    pad_stage,
    place,
    spatial_names,
    stride_words,
    to_nchw,
    unplace,
    where_all,
    window,
)
from workbench.ir.dtypes import lowest

#: What becomes of one value; None where it stays as it is.
_Step: TypeAlias = Callable[[te.Value], te.Value] | None
_Steps: TypeAlias = tuple[_Step, _Step]


def _along(win: Window, d: int) -> Window:
    """Windows over images that were reduced along all dimensions but one."""
    one = tuple(e == d for e in range(len(win.size)))

    def rest(own: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(a if mine else b for mine, a, b in zip(one, own, other, strict=True))

    ones, none = (1,) * len(one), (0,) * len(one)
    return Window(
        rest(win.size, win.out), rest(win.kernel, ones), rest(win.strides, ones), rest(win.dilations, ones),
        rest(win.begin, none), rest(win.end, none), win.out,
    )  # fmt: skip


def pool_window(c: Call) -> Window:
    """Window of a pooling node; `ModelError` without kernel_shape."""
    kernel = c.get_ints("kernel_shape")
    if kernel is None:
        raise c.error("invalid_graph", "lacks the attribute kernel_shape")
    if len(c.shape(0)) != len(kernel) + 2:
        raise c.error("shape_mismatch", f"has a kernel {list(kernel)} for an input of shape {list(c.shape(0))}")
    return window(c, unplace(layout_of(c), c.shape(0))[1], kernel, least=0)


class _Pool(OpDef):
    """Windows over an image, each of which becomes one element."""

    image = True
    kind: ClassVar[Literal["max", "sum"]] = "sum"
    stages: ClassVar[tuple[str, str]]  # blocks of the kernel: the reduction, and what becomes of its result

    def geometry(self, c: Call) -> Window:
        """The windows of a node."""
        return pool_window(c)

    def whole(self, c: Call) -> bool:
        """Whether the only window is the image."""
        return False

    def steps(self, c: Call, win: Window) -> _Steps:
        """What is reduced of each element, and what becomes of the result; None where it stays."""
        return None, None

    def fold(self, c: Call, win: Window, taps: Array, axes: tuple[int, ...]) -> Array:
        """Each window of an array, whose elements lie along `axes`, as one element."""
        return np.asarray(taps.max(axis=axes, initial=self.fill(taps.dtype.name)))

    def words(self, c: Call, out: TensorType) -> str:
        w, (_, _, channels) = self.geometry(c), unplace(layout_of(c), c.shape(0))
        return f"{self.stages[1]} {dims(w.kernel)}{stride_words(w.strides)} {channels} @{dims(w.size)}"

    def shape(self, c: Call) -> tuple[int, ...]:
        n, _, ch = unplace(layout_of(c), c.shape(0))
        return place(layout_of(c), n, self.geometry(c).out, ch)

    def reference(self, c: Call, x: Array) -> Array | tuple[Array, ...]:
        win, layout = self.geometry(c), layout_of(c)
        taps = np_windows(to_nchw(x, layout), win, self.fill(x.dtype.name))
        return from_nchw(self.fold(c, win, taps, tuple(range(-len(win.size), 0))).astype(x.dtype), layout)

    def fill(self, dtype: str) -> float:
        """What stands outside of the image."""
        return lowest(dtype) if self.kind == "max" else 0.0

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        win, (of, after) = self.geometry(c), self.steps(c, self.geometry(c))
        total = self._sliding(c, x, win, of) if self._slides(win, x.dtype) else self._direct(c, x, win, of)
        names = spatial_names(layout_of(c), len(win.size))
        return (
            total if after is None else compute(total.shape, lambda *i: after(total[i]), c.name(self.stages[1]), names)
        )

    def _slides(self, win: Window, dtype: str) -> bool:
        """Whether neighbouring windows have elements in common along two dimensions or more, so that reducing one
        dimension after the other takes fewer steps; sums in few bits would be rounded in between.
        """
        exact = self.kind == "max" or dtype in ("float32", "float64")
        several = zip(win.kernel, win.strides, win.out, strict=True)
        return exact and sum(k > s and n > 1 for k, s, n in several) >= 2

    def _sliding(self, c: Call, x: te.Tensor, win: Window, of: _Step) -> te.Tensor:
        """Reduce windows along one dimension after the other: each result is shared by all windows that contain it.

        Whole rows are left out where they lie outside of the image; along the last dimension there is a frame instead.
        """
        layout, last = layout_of(c), len(win.size) - 1
        for d in range(last + 1):
            one = _along(win, d)
            if one.kernel[d] == one.strides[d] == 1 and not one.padded:
                continue
            x = pad_stage(c, x, one, layout, self.fill(x.dtype)) if d == last else x
            x, of = self._fold_along(c, x, win, d, of), None
        return x

    def _fold_along(self, c: Call, x: te.Tensor, win: Window, d: int, of: _Step) -> te.Tensor:
        """Reduce the windows of an image along one dimension; those of the last one do not leave it."""
        layout = layout_of(c)
        n, size, ch = unplace(layout, x.shape)
        names = spatial_names(layout, len(size))
        last, k = d == len(size) - 1, te.reduce_axis(win.kernel[d], f"k{unplace(layout, names)[1][d]}")
        leaves = not last and (win.begin[d] or win.reach(d) > size[d])

        def body(*idx: te.Axis) -> te.Reduction:
            b, pos, channel = unplace(layout, idx)
            row = win.position(d, pos[d], k) - (0 if last else win.begin[d])
            v = x[place(layout, b, (*pos[:d], row, *pos[d + 1 :]), channel)]
            v = v if of is None else of(v)
            v = where_all([(row >= 0) & (row < size[d])] if leaves else [], v, te.const(self.fill(x.dtype), x.dtype))
            out = te.max(v, axis=k) if self.kind == "max" else te.sum(v, axis=k)
            assert isinstance(out, te.Reduction)
            return out

        shape = place(layout, n, (*size[:d], win.out[d], *size[d + 1 :]), ch)
        name = self.stages[0] if last else f"{self.stages[0]}_{unplace(layout, names)[1][d]}"
        return compute(shape, body, c.name(name), names)

    def _direct(self, c: Call, x: te.Tensor, win: Window, of: _Step) -> te.Tensor:
        """Reduce each window as a whole."""
        layout = layout_of(c)
        xp = pad_stage(c, x, win, layout, self.fill(x.dtype))
        names = spatial_names(layout, len(win.size))
        ks = [te.reduce_axis(k, f"k{n}") for k, n in zip(win.kernel, unplace(layout, names)[1], strict=True)]

        def body(*idx: te.Axis) -> te.Reduction:
            n, pos, ch = unplace(layout, idx)
            at = ks if self.whole(c) else [win.position(d, p, k) for d, (p, k) in enumerate(zip(pos, ks, strict=True))]
            v = xp[place(layout, n, at, ch)]
            v = v if of is None else of(v)
            out = te.max(v, axis=ks) if self.kind == "max" else te.sum(v, axis=ks)
            assert isinstance(out, te.Reduction)
            return out

        return compute(self.shape(c), body, c.name(self.stages[0]), names)


class _Global(_Pool):
    """The only window is the image."""

    def geometry(self, c: Call) -> Window:
        if len(c.shape(0)) < 3:
            raise c.error("shape_mismatch", f"needs spatial dimensions, but its input has shape {list(c.shape(0))}")
        _, size, _ = unplace(layout_of(c), c.shape(0))
        ones, none = (1,) * len(size), (0,) * len(size)
        return Window(size, size, ones, ones, none, none, ones)

    def whole(self, c: Call) -> bool:
        return True

    def words(self, c: Call, out: TensorType) -> str:
        _, size, channels = unplace(layout_of(c), c.shape(0))
        return f"{self.stages[1]}_pool {channels} @{dims(size)}"


# ---- maximum ---------------------------------------------------------------------------------------------------------


@operator("MaxPool", "complex", window=True, reads_parts=True, on_quantised=True)
class MaxPool(_Pool):
    """Maximum over windows and, where asked for, its place in the tensor; positions outside of the image never win."""

    multi = True
    kind, stages = "max", ("max_pool", "max_pool")

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        (y,) = super().infer(c)
        return (y, TensorType(y.shape, "int64")) if any(c.node.outputs[1:]) else (y,)

    def reference(self, c: Call, x: Array) -> Array | tuple[Array, ...]:
        y = np.asarray(super().reference(c, x))
        return (y, self._places(c, to_nchw(x, layout_of(c)))) if any(c.node.outputs[1:]) else y

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Maxima with their places have an operator of their own, which knows no layouts."""
        if not any(c.node.outputs[1:]) or layout_of(c) == "NHWC" or not c.type(0).size:
            return False
        steps.nodes.append(replace(c.node, domain=OWN, name=steps.editor.fresh(f"{c.node.name}.places")))
        return True

    def _places(self, c: Call, x: Array) -> Array:
        """Place of the first maximum of each window among all elements of the tensor."""
        win, shape = self.geometry(c), x.shape
        taps = np_windows(x, win, lowest(x.dtype.name))
        best = taps.max(axis=tuple(range(-len(win.size), 0)))
        image = math.prod(win.size)
        numbers = np.arange(image).reshape(win.size, order="F" if c.get_int("storage_order", 0) else "C")
        inside = np.broadcast_to(np_windows(numbers[None, None], win, -1), taps.shape)
        flat = (*best.shape, math.prod(win.kernel))
        taps, inside = taps.reshape(flat), inside.reshape(flat)
        hit = ((taps == best[..., None]) | (taps != taps)) & (inside >= 0)
        found = np.take_along_axis(inside, hit.argmax(-1)[..., None], -1)[..., 0]
        images = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *(1,) * len(win.size))
        return np.asarray(found + images * image, np.int64)


@operator("GlobalMaxPool", "complex")
class GlobalMaxPool(_Global):
    """Maximum over all spatial positions."""

    kind, stages = "max", ("global_max", "global_max")


# ---- mean ------------------------------------------------------------------------------------------------------------


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


class _Average(_Pool):
    def steps(self, c: Call, win: Window) -> _Steps:
        scale = 1.0 / float(_counts(c, win).flat[0])
        return None, lambda v: v * scale

    def fold(self, c: Call, win: Window, taps: Array, axes: tuple[int, ...]) -> Array:
        return np.asarray(taps.sum(axis=axes, dtype=taps.dtype) / _counts(c, win))


@operator("AveragePool", "complex", window=True, reads_parts=True)
class AveragePool(_Average):
    """Mean over windows, with or without the padding counted."""

    stages = ("pool_sum", "avg_pool")

    def steps(self, c: Call, win: Window) -> _Steps:
        counts = _counts(c, win)
        return super().steps(c, win) if (counts == counts.flat[0]).all() else (None, None)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        total, win, layout = super().lower(c, x), self.geometry(c), layout_of(c)
        if self.steps(c, win)[1] is not None:
            return total
        names = spatial_names(layout, len(win.size))
        over, limits = unplace(layout, names)[1], _count_limits(c, win)

        def along(d: int) -> te.Tensor:
            (lo, hi), k = limits[d], te.reduce_axis(win.kernel[d], f"k{over[d]}")

            def counted(i: te.Axis) -> te.Reduction:
                p = win.position(d, i, k)
                return te.sum(where_all([(p >= lo) & (p < hi)], te.const(1.0, x.dtype), te.const(0.0, x.dtype)), axis=k)

            return te.compute(win.out[d : d + 1], counted, c.name(f"count_{over[d]}"))

        counts = [along(d) for d in range(len(limits))]

        def share(*pos: te.Axis) -> te.Value:
            return 1.0 / math.prod((n[i] for n, i in zip(counts[1:], pos[1:], strict=True)), start=counts[0][pos[0]])

        part = compute(win.out, share, c.name("part"), over)

        def mean(*i: te.Axis) -> te.Value:
            return total[i] * part[unplace(layout, i)[1]]

        return compute(total.shape, mean, c.name("avg_pool"), names)


@operator("GlobalAveragePool", "complex")
class GlobalAveragePool(_Global, _Average):
    """Mean over all spatial positions."""

    stages = ("global_sum", "global_avg")


# ---- norms -----------------------------------------------------------------------------------------------------------


def _exponent(c: Call) -> float:
    """Exponent of a norm."""
    p = c.get_float("p", 2.0)
    if p <= 0:
        raise c.error("invalid_graph", f"asks for a norm with the exponent {p:g}")
    return p


def _norm(p: float) -> _Steps:
    """What is summed of each element, and the norm of the sum."""

    def part(v: te.Value) -> te.Value:
        return v * v if p == 2 else te.abs(v) if p == 1 else te.power(te.abs(v), p)

    def root(v: te.Value) -> te.Value:
        return te.sqrt(v) if p == 2 else te.power(v, 1 / p)

    return part, None if p == 1 else root


class _Lp(_Pool):
    words = OpDef.words

    def shape(self, c: Call) -> tuple[int, ...]:
        _exponent(c)
        return super().shape(c)

    def steps(self, c: Call, win: Window) -> _Steps:
        return _norm(_exponent(c))

    def fold(self, c: Call, win: Window, taps: Array, axes: tuple[int, ...]) -> Array:
        p = _exponent(c)
        return np.asarray((np.abs(taps) ** p).sum(axis=axes) ** (1 / p))


@operator("LpPool", "complex", window=True)
class LpPool(_Lp):
    """Norm of each window: the p-th root of the sum of all magnitudes to the power p."""

    stages = ("pool_sum", "lp_pool")


@operator("GlobalLpPool", "complex")
class GlobalLpPool(_Lp, _Global):
    """Norm of all spatial positions."""

    stages = ("global_sum", "global_lp")
