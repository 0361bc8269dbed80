"""Resize to the nearest element; other modes are left to the onnx package."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ...ir import te
from ..graph import Array, Node, TensorType
from ..opdef import Call, Case, OpDef, operator
from .common import Idx, compute, ints, sample

#: Position in the input of output `o`, for the scale of an axis and its lengths before and after.
_COORDINATES: dict[str, Callable[[Array, float, int, int], Array]] = {
    "half_pixel": lambda o, s, n, m: (o + 0.5) / s - 0.5,
    "half_pixel_symmetric": lambda o, s, n, m: n / 2 * (1 - m / (s * n)) + (o + 0.5) / s - 0.5,
    "pytorch_half_pixel": lambda o, s, n, m: (o + 0.5) / s - 0.5 if m > 1 else 0.0 * o,
    "align_corners": lambda o, s, n, m: o * (n - 1) / (m - 1) if m > 1 else 0.0 * o,
    "asymmetric": lambda o, s, n, m: o / s,
}
_ROUNDING: dict[str, Callable[[Array], Array]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
#: Positions along an axis that are looked at for a formula.
_LONGEST = 1 << 20


@operator("Resize", "injective")
class Resize(OpDef):
    """Every element of the result is the nearest one of the input."""

    parameters = (1, 2, 3)

    def accepts(self, node: Node) -> bool:
        plain = node.attrs.get("keep_aspect_ratio_policy", "stretch") == "stretch" and "axes" not in node.attrs
        known = node.attrs.get("coordinate_transformation_mode", "half_pixel") in _COORDINATES
        return node.version >= 11 and node.attrs.get("mode", "nearest") == "nearest" and plain and known

    def _scales(self, c: Call) -> list[tuple[float, int]]:
        """Scale and new length of every dimension."""
        x = c.shape(0)
        if c.has(3):
            sizes = [int(d) for d in c.constant(3, "sizes")]
            found = [(m / n, m) for n, m in zip(x, sizes, strict=False)]
        else:
            scales = [float(s) for s in c.constant(2, "scales")]
            found = [(s, math.floor(n * s)) for n, s in zip(x, scales, strict=False)]
        if len(found) != len(x) or any(m < 1 for _, m in found):
            raise c.error("shape_mismatch", f"cannot resize a tensor of shape {list(x)} so")
        return found

    def tables(self, c: Call) -> list[Array]:
        """Element of the input for every element of the result, per dimension."""
        place = _COORDINATES[c.get_str("coordinate_transformation_mode", "half_pixel")]
        mode = c.get_str("nearest_mode", "round_prefer_floor")
        if mode not in _ROUNDING:
            raise c.error("unsupported_attr", f"has the nearest_mode {mode!r}, which is not known")
        near = _ROUNDING[mode]
        found = []
        for n, (s, m) in zip(c.shape(0), self._scales(c), strict=True):
            o = np.arange(m)
            found.append(o if s == 1 else np.clip(near(place(o, s, n, m)), 0, n - 1).astype(np.int64))
        return found

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        return (TensorType(tuple(m for _, m in self._scales(c)), c.type(0).dtype),)

    def reference(self, c: Call, *args: Array | None) -> Array:
        x = args[0]
        assert x is not None
        for axis, table in enumerate(self.tables(c)):
            x = np.take(x, table, axis=axis)
        return np.asarray(x)

    def obstacle(self, c: Call) -> str:
        if any(m > _LONGEST for _, m in self._scales(c)):
            return f"more than {_LONGEST:,} positions along an axis"
        return "" if all(_rule(t) for t in self.tables(c)) else "positions that no formula gives"

    def lower(self, c: Call, *args: te.Tensor | None) -> te.Tensor:
        x, rules = args[0], [_rule(t) for t in self.tables(c)]
        assert x is not None

        def body(*i: te.Axis) -> te.Value:
            return x[tuple(_position(k, rule) for k, rule in zip(i, rules, strict=True))]

        return compute(self.infer(c)[0].shape, body, c.name("resize"))

    def cases(self) -> list[Case]:
        x = sample(1, 2, 4, 6)

        def scaled(*scales: float) -> tuple[Array | None, ...]:
            return x, None, np.array(scales, np.float32)

        return [
            Case("twice", scaled(1, 1, 2, 2), const=(2,)),
            Case("floor", scaled(1, 1, 2, 3), _FLOOR, const=(2,)),
            Case("half", scaled(1, 1, 0.5, 0.5), _FLOOR, const=(2,)),
            Case("sizes", (x, None, None, ints(1, 2, 8, 6)), const=(3,)),
            Case(
                "corners", (x, None, None, ints(1, 2, 7, 9)), {"coordinate_transformation_mode": "align_corners"}, (3,)
            ),
        ]


_FLOOR = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}


def _rule(table: Array) -> tuple[str, int, int] | None:
    """Formula of a table: output `o` reads ``o // step`` or ``o * step + first``; None where neither holds."""
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
