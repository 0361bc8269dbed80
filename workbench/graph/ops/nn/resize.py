"""Resize: the element at a position between those of the input, along every axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array
from workbench.graph.node_steps import OWN, Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Permuted
from workbench.graph.ops.arrays.movement import CODES
from workbench.graph.ops.lowering import Idx, compute
from workbench.graph.ops.quantized.quantize_linear import np_saturated
from workbench.ir.dtypes import is_float


@dataclass(frozen=True, slots=True)
class Side:
    """An axis: its lengths before and after, its scale, and the part of it that is looked at (`crop`)."""

    n: int
    m: int
    scale: Any = 1
    crop: tuple[float, float] | None = None

    @property
    def same(self) -> bool:
        """Whether every element stays where it is."""
        return self.n == self.m and self.scale == 1 and self.crop is None


#: Position in the input of output `o`, which is a float32 as the standard's own formulas have it.
_COORDINATES: dict[str, Callable[[Array, Side], Array]] = {
    "half_pixel": lambda o, a: (o + 0.5) / a.scale - 0.5,
    "half_pixel_symmetric": lambda o, a: a.n / 2 * (1 - a.m / (a.scale * a.n)) + (o + 0.5) / a.scale - 0.5,
    "pytorch_half_pixel": lambda o, a: (o + 0.5) / a.scale - 0.5 if a.m > 1 else 0 * o,
    "align_corners": lambda o, a: o * (a.n - 1) / (a.m - 1) if a.m > 1 else 0 * o,
    "asymmetric": lambda o, a: o / a.scale,
    "tf_half_pixel_for_nn": lambda o, a: (o + 0.5) / a.scale,
    "tf_crop_and_resize": lambda o, a: _cropped(o, a),
}
#: Nearest element to a position; "simple" is what there was before opset 11.
_ROUNDING: dict[str, Callable[[Array, Side], Array]] = {
    "round_prefer_floor": lambda x, a: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x, a: np.floor(x + 0.5),
    "floor": lambda x, a: np.floor(x),
    "ceil": lambda x, a: np.ceil(x),
    "simple": lambda x, a: np.ceil(x) if a.scale < 1 else np.floor(x),
}
#: Positions along an axis that are looked at for a formula.
_LONGEST = 1 << 20


def _cropped(o: Array, a: Side) -> Array:
    first, last = a.crop or (0.0, 1.0)
    if a.m < 2:
        return np.asarray(0 * o + 0.5 * (first + last) * (a.n - 1))
    return np.asarray(first * (a.n - 1) + o * (last - first) * (a.n - 1) / (a.m - 1))


def _linear(d: Array, a: float) -> Array:
    return np.asarray(np.maximum(0, 1 - np.abs(d)))


def cubic_weight(d: Array, a: float) -> Array:
    """Weight of the element at distance `d` in a cubic mean with the coefficient `a`."""
    d = np.abs(d)
    near, far = ((a + 2) * d - (a + 3)) * d * d + 1, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d < 1, near, np.where(d < 2, far, 0))


#: Weight by distance, and the distance from which on it is 0.
_FILTERS: dict[str, tuple[Callable[[Array, float], Array], int]] = {"linear": (_linear, 1), "cubic": (cubic_weight, 2)}


def _fitted(policy: str, old: Sequence[int], new: Sequence[int]) -> list[tuple[Any, int]]:
    """Scale and length of each axis for the sizes that are asked for, of which all but "stretch" keep the ratio."""
    scales = [np.float32(m) / np.float32(n) if n else np.float32(1) for n, m in zip(old, new, strict=True)]
    if policy == "stretch":
        return list(zip(scales, new, strict=True))
    scale = min(scales) if policy == "not_larger" else max(scales)
    return [(scale, int(np.floor(scale * np.float32(n) + np.float32(0.5)))) for n in old]


@operator("Resize", "injective")
class Resize(OpDef):
    """The nearest element of the input, or a mean of its neighbours by their distance (linear, cubic)."""

    parameters = (1, 2, 3)

    def sides(self, c: Call) -> list[Side]:
        """Every axis; of a region that is computed at run time nothing is known here."""
        x, found = c.shape(0), [Side(n, n) for n in c.shape(0)]
        axes = [c.axis(a, len(x)) for a in c.get_ints("axes") or range(len(x))]
        sizes, scales = self._given(c, 3, "sizes"), self._given(c, 2, "scales")
        numbers = scales if sizes is None else sizes
        if numbers is None or len(numbers) != len(axes):
            raise c.error("shape_mismatch", f"needs a scale or a size for each of {len(axes)} axes")
        new = [
            (np.float32(s), int(np.floor(np.float32(x[a]) * np.float32(s)))) for a, s in zip(axes, numbers, strict=True)
        ]
        if sizes is not None:
            new = _fitted(
                c.get_str("keep_aspect_ratio_policy", "stretch"), [x[a] for a in axes], [int(m) for m in sizes]
            )
        for a, (scale, m) in zip(axes, new, strict=True):
            found[a] = Side(x[a], m, scale)
        if any(a.m < 0 or (a.m and not a.n) or not a.scale > 0 for a in found):
            raise c.error("shape_mismatch", f"cannot resize a tensor of shape {list(x)} so")
        return found

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        cropped = c.node.attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize"
        at = 3 if c.has(3) and c.type(3).size else 2
        if "axes" in c.node.attrs or cropped or c.moving(at) or len(c.types) <= at:
            return None
        return Permuted(dict(c.node.attrs), perm, {at: c.constant(at, "sizes")[list(perm)]})

    def _given(self, c: Call, i: int, what: str) -> Array | None:
        """Constant input `i`; one without elements stands for none."""
        return c.constant(i, what).reshape(-1) if c.has(i) and c.type(i).size else None

    def _cropped(self, c: Call, sides: list[Side], roi: Array | None) -> list[Side]:
        """The axes with the part of each that is looked at."""
        if c.get_str("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize":
            return sides
        axes = [c.axis(a, len(sides)) for a in c.get_ints("axes") or range(len(sides))]
        if roi is None or roi.size != 2 * len(axes):
            raise c.error("shape_mismatch", f"needs a region with {2 * len(axes)} numbers")
        first, last = roi.reshape(2, -1)
        crops = {a: (first[k], last[k]) for k, a in enumerate(axes)}
        return [replace(side, crop=crops.get(d)) for d, side in enumerate(sides)]

    def positions(self, c: Call, side: Side) -> Array:
        """Position in the input of every element along an axis."""
        place = _COORDINATES.get(c.get_str("coordinate_transformation_mode", "half_pixel"))
        if place is None:
            name = c.node.attrs["coordinate_transformation_mode"]
            raise c.error("unsupported_attr", f"has the coordinate_transformation_mode {name!r}, which is not known")
        o = np.arange(side.m, dtype=np.float32)
        return o if side.crop is None and side.same else np.asarray(place(o, side), np.float32)

    def tables(self, c: Call, sides: Sequence[Side]) -> list[Array]:
        """Element of the input for every element of the result, per dimension, where the nearest one is taken."""
        mode = c.get_str("nearest_mode", "round_prefer_floor")
        if mode not in _ROUNDING:
            raise c.error("unsupported_attr", f"has the nearest_mode {mode!r}, which is not known")
        near = _ROUNDING[mode]
        return [np.clip(near(self.positions(c, a), a), 0, max(a.n - 1, 0)).astype(np.int64) for a in sides]

    def shape(self, c: Call) -> tuple[int, ...]:
        if c.get_str("mode", "nearest") not in ("nearest", *_FILTERS):
            raise c.error("unsupported_attr", f"has the mode {c.node.attrs['mode']!r}, which is not known")
        return tuple(a.m for a in self.sides(c))

    def reference(self, c: Call, x: Array, roi: Array | None = None, *_: Any) -> Array:
        sides = self._cropped(c, self.sides(c), roi)
        if c.get_str("mode", "nearest") == "nearest":
            y = x
            for axis, table in enumerate(self.tables(c, sides)):
                y = np.take(y, table, axis=axis)
        else:
            y = x if x.dtype == np.float64 else x.astype(np.float32)
            for axis, side in enumerate(sides):
                y = y if side.same else self._mixed(c, y, axis, side)
            if not is_float(c.type(0).dtype) and c.get_int("antialias", 0):
                y = np.rint(
                    y
                )  # as the standard's reference has it; else onnxruntime's way, which cuts the fraction off
        for axis, side in enumerate(sides):
            if side.crop is not None:
                at = self.positions(c, side).reshape(-1, *(1,) * (x.ndim - 1 - axis))
                outside = np.float32(c.get_float("extrapolation_value", 0.0))
                y = np.where((at < 0) | (at > side.n - 1), outside, y)
        whole = not is_float(c.type(0).dtype) and c.get_str("mode", "nearest") != "nearest"
        return np_saturated(y, x.dtype.name) if whole else np.asarray(y).astype(x.dtype)  # cubic means may overshoot

    def taps(self, c: Call, side: Side) -> tuple[Array, Array]:
        """Elements along an axis that each of the result is a mean of, and how much of each: ``[m, taps]``."""
        kernel, reach = _FILTERS[c.get_str("mode", "nearest")]
        at = self.positions(c, side).astype(np.float64)
        narrow = min(1.0, float(side.scale)) if c.get_int("antialias", 0) else 1.0
        wide = math.ceil(reach / narrow)
        taps = np.floor(at)[:, None] + np.arange(1 - wide, wide + 1)
        weights = kernel((taps - at[:, None]) * narrow, c.get_float("cubic_coeff_a", -0.75))
        if c.get_int("exclude_outside", 0):
            weights = np.where((taps < 0) | (taps > side.n - 1), 0, weights)
        return np.clip(taps, 0, side.n - 1).astype(np.int64), weights / weights.sum(axis=1, keepdims=True)

    def _mixed(self, c: Call, x: Array, axis: int, side: Side) -> Array:
        """Weighted means along an axis."""
        taps, weights = self.taps(c, side)
        along = (-1, *(1,) * (x.ndim - 1 - axis))
        y = np.zeros((*x.shape[:axis], side.m, *x.shape[axis + 1 :]), x.dtype)
        for k in range(taps.shape[1]):
            y += np.take(x, taps[:, k], axis=axis) * weights[:, k].astype(x.dtype).reshape(along)
        return y

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Elements by tables of their places, and means by tables of places and weights, along one axis at a time."""
        mode, dtype = c.get_str("mode", "nearest"), c.type(0).dtype
        crop = c.get_str("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize"
        if not self.obstacle(c) or (crop and (not c.has(1) or c.values[1] is None)) or 0 in self.shape(c):
            return False
        sides = self._cropped(c, self.sides(c), c.values[1] if crop else None)
        moving = [(d, s) for d, s in enumerate(sides) if not s.same]
        x = steps.name(0)
        if mode == "nearest":
            for d, table in ((d, t) for d, t in enumerate(self.tables(c, sides)) if not sides[d].same):
                x = steps.add("Gather", (x, steps.constant(f"places_{d}", table)), f"nearest_{d}", {"axis": d})
        else:
            wide = "float64" if dtype == "float64" else "float32"
            # Axes that become shorter come first, and the last one last: its elements are picked one by one.
            for d, side in sorted(moving, key=lambda at: (at[1].m > at[1].n, at[0])):
                places, weights = self.taps(c, side)
                tables = steps.constant(f"places_{d}", places.T), steps.constant(f"weights_{d}", weights.T.astype(wide))
                x = steps.add("WeightedMeans", (x, *tables), f"means_{d}", {"axis": d}, own=True)
            if not is_float(dtype) and c.get_int("antialias", 0):
                x = steps.add("Round", (x,), "whole")
        x = self._bounded(c, sides, steps, x)
        if mode != "nearest" and not (moving and dtype == wide):
            x = steps.add("Cast", (x,), "typed", {"to": CODES[dtype]})
        return steps.finish() if steps.nodes else False

    def _bounded(self, c: Call, sides: Sequence[Side], steps: Steps, x: str) -> str:
        """What lies beyond the edges of a cropped image has a value of its own."""
        if all(side.crop is None for side in sides):
            return x
        outside = np.zeros((1,) * len(sides), bool)
        for d, side in enumerate(sides):
            if side.crop is not None:
                at = self.positions(c, side).reshape(-1, *(1,) * (len(sides) - 1 - d))
                outside = outside | (at < 0) | (at > side.n - 1)
        dtype = c.type(0).dtype
        wide = dtype if c.get_str("mode", "nearest") == "nearest" or dtype == "float64" else "float32"
        value = np.asarray(c.get_float("extrapolation_value", 0.0)).astype(wide)
        return steps.add("Where", (steps.constant("outside", outside), steps.constant("value", value), x), "bounded")

    def obstacle(self, c: Call) -> str:
        if c.get_str("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
            return "a part of the image is looked at, which is computed at run time"
        if c.get_str("mode", "nearest") != "nearest":
            return "means are written by tables (the pass decompose)"
        sides = self.sides(c)
        if any(a.m > _LONGEST for a in sides):
            return f"more than {_LONGEST:,} positions along an axis"
        return "" if all(_rule(t) for t in self.tables(c, sides)) else "positions that no formula gives"

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        rules = [_rule(t) for t in self.tables(c, self.sides(c))]

        def body(*i: te.Axis) -> te.Value:
            return x[tuple(_position(k, rule) for k, rule in zip(i, rules, strict=True))]

        return compute(self.shape(c), body, c.name("resize"))


@operator("WeightedMeans", "complex", domain=OWN, typed_by=2)
class WeightedMeans(OpDef):
    """Sums along an axis of elements at `places` times `weights`, both ``[taps, length of the result]``."""

    def shape(self, c: Call) -> tuple[int, ...]:
        x, axis = c.shape(0), c.named_axis(0)
        return (*x[:axis], c.shape(1)[1], *x[axis + 1 :])

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted:
        return Permuted({"axis": c.moved_axis(perm, 0)}, perm)

    def reference(self, c: Call, x: Array, places: Array, weights: Array) -> Array:
        axis = c.named_axis(0)
        parts = np.moveaxis(x, axis, -1).astype(weights.dtype)[..., places]
        return np.ascontiguousarray(np.moveaxis((parts * weights).sum(axis=-2), -1, axis))

    def lower(self, c: Call, x: te.Tensor, places: te.Tensor, weights: te.Tensor) -> te.Tensor:
        axis, k = c.named_axis(0), te.reduce_axis(places.shape[0], "k")

        def body(*i: te.Axis) -> te.Reduction:
            part = x[tuple(places[k, v] if d == axis else v for d, v in enumerate(i))]
            return te.sum(te.cast(part, weights.dtype) * weights[k, i[axis]], axis=k)

        return compute(self.shape(c), body, c.name("means"))


def _rule(table: Array) -> tuple[str, int, int] | None:
    """Formula of a table: output `o` reads ``o // step`` or ``o * step + first``; None where neither holds."""
    if not table.size:
        return "div", 1, 0
    places, first = np.arange(len(table)), int(table[0])
    repeat = int(np.count_nonzero(table == first))
    if np.array_equal(table, places // repeat):
        return "div", repeat, 0
    step = int(table[1]) - first if len(table) > 1 else 1
    if step >= 1 and np.array_equal(table, places * step + first):
        return "mul", step, first
    return None


def _position(k: te.Axis, rule: tuple[str, int, int] | None) -> Idx:
    assert rule is not None
    kind, step, first = rule
    if kind == "div":
        return k // step if step > 1 else k
    return k * step + first
