"""Operators that move data: joining, slicing, transposing, padding, converting."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from workbench import te
from workbench.graph.graph import Array, AttrValue, Node, TensorType
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, Places, foreign, operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import Permuted, dims, inverse
from workbench.graph.ops.lowering import compute, ints, where_all

DTYPES = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
}
CODES = {name: code for code, name in DTYPES.items()}


@operator("Concat", "opaque", permutes_all=True, joins=True)
class Concat(OpDef):
    """Join along an axis. Several blocks write one buffer, hence a kernel of its own."""

    def idle(self, c: Call) -> bool:
        return len(c.types) == 1

    def words(self, c: Call, out: TensorType) -> str:
        return f"concat of {len(c.types)} to {dims(out.shape)}"

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted:
        return Permuted({**c.node.attrs, "axis": c.moved_axis(perm, 1)}, perm)

    def shape(self, c: Call) -> tuple[int, ...]:
        shapes = [c.shape(i) for i in range(len(c.types))]
        axis = c.axis(c.get_int("axis", 1), len(shapes[0]))
        rests = {s[:axis] + s[axis + 1 :] for s in shapes}
        if len(rests) != 1 or len({len(s) for s in shapes}) != 1:
            raise c.error("shape_mismatch", f"cannot join {', '.join(str(list(s)) for s in shapes)} along axis {axis}")
        first = shapes[0]
        return (*first[:axis], sum(s[axis] for s in shapes), *first[axis + 1 :])

    def reference(self, c: Call, *args: Array) -> Array:
        return np.concatenate(args, axis=c.get_int("axis", 1))

    def decompose(self, c: Call, steps: Steps) -> bool:
        """Without the parts that have no elements."""
        kept = tuple(name for i, name in enumerate(c.node.inputs) if c.type(i).size)
        if not kept or len(kept) == len(c.node.inputs):
            return False
        steps.add("Concat", kept, "concat", dict(c.node.attrs), version=c.version)
        return steps.finish()

    def lower(self, c: Call, *args: te.Tensor) -> te.Tensor:
        return te.concat(list(args), c.get_int("axis", 1), c.name("concat"))


@operator("Transpose", "injective", transposes=True, moves=True, on_quantised=True)
class Transpose(OpDef):
    """Permute the dimensions."""

    def perm(self, c: Call) -> tuple[int, ...]:
        """Permutation; reversal when none is given."""
        rank = len(c.shape(0))
        p = c.get_ints("perm") or tuple(reversed(range(rank)))
        if sorted(p) != list(range(rank)):
            raise c.error("invalid_graph", f"has the permutation {list(p)} for {rank} dimensions")
        return p

    def places(self, c: Call) -> Places:
        back = inverse(self.perm(c))
        return lambda i: tuple(i[d] for d in back)

    def idle(self, c: Call) -> bool:
        return list(self.perm(c)) == sorted(self.perm(c))

    def words(self, c: Call, out: TensorType) -> str:
        return f"transpose {dims(c.shape(0))} to {dims(out.shape)}"

    def shape(self, c: Call) -> tuple[int, ...]:
        return tuple(c.shape(0)[p] for p in self.perm(c))

    def reference(self, c: Call, x: Array) -> Array:
        return np.transpose(x, self.perm(c))

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        places = self.places(c)
        return compute(self.shape(c), lambda *i: x[places(i)], c.name("transpose"))


@operator("Cast", "injective", elementwise=True, converts=True)
class Cast(OpDef):
    """Convert the element type."""

    def idle(self, c: Call) -> bool:
        return True

    def accepts(self, node: Node) -> bool:
        return node.attrs.get("to") in DTYPES

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        code = c.get_int("to", 0)
        if code not in DTYPES:
            raise c.error("unsupported_dtype", f"converts to element type {code}, which is not supported")
        return (TensorType(c.shape(0), DTYPES[code]),)

    def reference(self, c: Call, x: Array) -> Array:
        return x.astype(self.infer(c)[0].dtype)

    def lower(self, c: Call, x: te.Tensor) -> te.Tensor:
        dtype = self.infer(c)[0].dtype
        return compute(x.shape, lambda *i: te.cast(x[i], dtype), c.name("cast"))


@operator("CastLike", "opaque", typed_by=1)
class CastLike(OpDef):
    """Convert to the element type of the second input."""

    def accepts(self, node: Node) -> bool:
        return not node.attrs.get("round_mode")

    def reference(self, c: Call, x: Array, like: Array) -> Array:
        other = None if like.dtype.name in CODES else foreign("", self.name, c.version)
        return x.astype(like.dtype) if other is None else other.reference(c, x, like)[0]

    def decompose(self, c: Call, steps: Steps) -> bool:
        steps.add("Cast", (steps.name(0),), "cast", {"to": CODES[c.type(1).dtype]})
        return steps.finish()


def _range(start: int, end: int, step: int, size: int) -> tuple[int, int, int]:
    """First place, count and step of what is taken of a dimension; both ends are moved to where there is something."""
    low, high = (0, size) if step > 0 else (-1, size - 1)
    first, last = (v + size if v < 0 else v for v in (start, end))
    taken = range(min(max(first, 0), high), min(max(last, low), high), step) if size else range(0)
    return taken.start, len(taken), step


@operator("Slice", "injective", moves=True, picks=True, on_quantised=True)
class Slice(OpDef):
    """Part of a tensor: starts, ends, axes and steps (attributes before opset 10, inputs since)."""

    parameters = (1, 2, 3, 4)

    def ranges(self, c: Call) -> list[tuple[int, int, int]]:
        """(start, count, step) of every dimension."""
        x = c.shape(0)
        starts, ends = c.ints_or_input("starts", 1, 10), c.ints_or_input("ends", 2, 10)
        if starts is None or ends is None:
            raise c.error("invalid_graph", "has no starts or ends")
        axes = c.ints_or_input("axes", 3, 10) or tuple(range(len(starts)))
        steps = (c.ints_or_input("steps", 4, 10) if c.version >= 10 else None) or (1,) * len(starts)
        out = [(0, e, 1) for e in x]
        for s, e, a, k in zip(starts, ends, axes, steps, strict=True):
            axis = c.axis(a, len(x))
            out[axis] = _range(s, e, k, x[axis])
        return out

    def places(self, c: Call) -> Places:
        cuts = self.ranges(c)
        return lambda i: tuple(v if (s, k) == (0, 1) else v * k + s for v, (s, _, k) in zip(i, cuts, strict=True))

    def idle(self, c: Call) -> bool:
        return all(step > 0 for _, _, step in self.ranges(c))

    def keeps_slices(self, c: Call, i: int, axis: int, at: int) -> bool:
        return i == 0 and self.ranges(c)[axis][::2] == (0, 1)

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        starts = c.ints_or_input("starts", 1, 10) or ()
        axes = c.ints_or_input("axes", 3, 10) or tuple(range(len(starts)))
        moved = tuple(perm.index(a % len(perm)) for a in axes)
        if c.version < 10:
            return Permuted({**c.node.attrs, "axes": moved}, perm)
        return Permuted(dict(c.node.attrs), perm, {3: ints(*moved)}) if len(c.types) > 3 else None

    def shape(self, c: Call) -> tuple[int, ...]:
        return tuple(n for _, n, _ in self.ranges(c))

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        grid = np.ix_(*[s + k * np.arange(n) for s, n, k in self.ranges(c)])
        return x[grid]

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        parts = self.ranges(c)
        return compute(
            [n for _, n, _ in parts],
            lambda *i: x[tuple(v * k + s for v, (s, _, k) in zip(i, parts, strict=True))],
            c.name("slice"),
        )


@operator("Pad", "injective")
class Pad(OpDef):
    """Surround with a constant, with what mirrors or repeats the tensor, or with its edge; negative pads crop first."""

    parameters = (1, 2, 3)

    def pads(self, c: Call) -> list[tuple[int, int]]:
        """(before, after) of every dimension."""
        flat = c.ints_or_input("pads", 1, 11) or c.get_ints("paddings") or ()
        rank = len(c.shape(0))
        axes = [c.axis(int(a), rank) for a in c.constant(3, "axes")] if c.has(3) else list(range(rank))
        if len(flat) != 2 * len(axes):
            raise c.error("invalid_graph", f"has {len(flat)} pads for {len(axes)} dimensions")
        out = [(0, 0)] * rank
        for n, a in enumerate(axes):
            out[a] = (flat[n], flat[n + len(axes)])
        return out

    def fill(self, c: Call) -> float:
        """Value of the padding."""
        if c.version < 11 or not c.has(2):
            return c.get_float("value", 0.0)
        return float(c.constant(2, "value").reshape(-1)[0])

    def shape(self, c: Call) -> tuple[int, ...]:
        pads, _ = self.pads(c), self.fill(c)
        shape = tuple(e + b + a for e, (b, a) in zip(c.shape(0), pads, strict=True))
        if min(shape, default=0) < 0:
            raise c.error("shape_mismatch", f"crops {list(c.shape(0))} by more than there is: {pads}")
        return shape

    def _kept(self, c: Call) -> tuple[list[slice], list[tuple[int, int]]]:
        """What cropping leaves of every dimension, and what is put around it."""
        pads = self.pads(c)
        kept = [slice(max(0, -b), max(0, e + min(0, a))) for e, (b, a) in zip(c.shape(0), pads, strict=True)]
        return kept, [(max(0, b), max(0, a)) for b, a in pads]

    def idle(self, c: Call) -> bool:
        return not any(map(any, self.pads(c)))

    def permuted(self, c: Call, perm: tuple[int, ...]) -> Permuted | None:
        if any(c.moving(i) for i in range(1, len(c.types))):
            return None
        pads = self.pads(c)
        flat = tuple(pads[p][0] for p in perm) + tuple(pads[p][1] for p in perm)
        attrs: dict[str, AttrValue] = {"pads": flat, "mode": c.get_str("mode", "constant"), "value": self.fill(c)}
        return Permuted(attrs, perm, count=1, version=10)

    def reference(self, c: Call, x: Array, *_: Any) -> Array:
        mode = c.get_str("mode", "constant")
        kept, pads = self._kept(c)
        x = x[tuple(kept)]
        if mode == "constant":  # of what is cropped to less than nothing only padding is left
            padded = np.pad(x, pads, constant_values=self.fill(c))
            return padded[tuple(slice(e) for e in self.shape(c))]
        modes: dict[str, Literal["edge", "reflect", "wrap"]] = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}
        if mode not in modes:
            raise c.error("unsupported_attr", f"pads with the mode {mode!r}, which is not known")
        return np.pad(x, pads, mode=modes[mode])

    def obstacle(self, c: Call) -> str:
        mode = c.get_str("mode", "constant")
        if any(k.start >= k.stop for k in self._kept(c)[0]):
            return "cropping leaves nothing of what is padded"
        return "" if mode in ("constant", "edge", "reflect", "wrap") else f"padding with mode {mode!r}"

    def beyond(self, c: Call, i: te.Axis, pads: tuple[int, int], size: int) -> te.Value:
        """Place in a dimension of what stands at `i` of the result; what leaves it becomes the edge."""
        mode, at = c.get_str("mode", "constant"), te.cast(i - pads[0], "int64")
        once = max(pads) < size  # else what is repeated is repeated several times
        if mode == "wrap":
            return te.select(at < 0, at + size, te.select(at < size, at, at - size)) if once else at % size
        if mode == "reflect":
            inner = te.abs(at) if once else at % max(2 * (size - 1), 1)
            return (size - 1) - te.abs((size - 1) - inner)
        return at

    def sides(
        self, c: Call, i: te.Axis, pads: tuple[int, int], size: int
    ) -> tuple[te.Axis | int, te.Axis | int] | None:
        """Places of what stands at `i` of the result before and behind the tensor, where they go up or down evenly."""
        mode, at = c.get_str("mode", "constant"), i - pads[0]
        if mode == "edge":
            return 0, size - 1
        if max(pads) >= size:
            return None
        return (at + size, at - size) if mode == "wrap" else (at * -1, at * -1 + 2 * (size - 1))

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        kept, pads = self._kept(c)
        if any(k != slice(0, e) for k, e in zip(kept, x.shape, strict=True)):
            whole = x
            sizes = [k.stop - k.start for k in kept]
            x = compute(
                sizes, lambda *i: whole[tuple(v + k.start for v, k in zip(i, kept, strict=True))], c.name("crop")
            )
        fill = te.const(self.fill(c), x.dtype)
        if c.get_str("mode", "constant") != "constant":

            def around(*i: te.Axis) -> te.Value:
                *outer, last = zip(i, pads, x.shape, strict=True)
                row = tuple(self.beyond(c, v, p, n) if any(p) else v for v, p, n in outer)
                sides = self.sides(c, *last) if any(last[1]) else None
                if sides is None:
                    return x[(*row, self.beyond(c, *last) if any(last[1]) else last[0])]
                # Along rows up to three pieces, of which each is read in vectors.
                k, (before, behind), size = last
                nothing = te.const(False if x.dtype == "bool" else 0, x.dtype)
                value = te.select((k >= before) & (k < before + size), x[(*row, k - before)], nothing)
                value = te.select(k >= before + size, x[(*row, sides[1])], value) if behind else value
                return te.select(k < before, x[(*row, sides[0])], value) if before else value

            return compute(self.shape(c), around, c.name("pad"))

        def body(*i: te.Axis) -> te.Value:
            inside = [(i[d] >= b) & (i[d] < b + x.shape[d]) for d, (b, a) in enumerate(pads) if b or a]
            return where_all(inside, x[tuple(i[d] - b for d, (b, _) in enumerate(pads))], fill)

        return compute(self.shape(c), body, c.name("pad"))
