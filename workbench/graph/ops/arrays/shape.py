"""Operators that only change the shape (views), and those that compute with shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.graph import Array, Node, TensorType
from workbench.graph.node_steps import Steps
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call
from workbench.graph.ops.lowering import compute


def _view(c: Call, x: te.Tensor, shape: tuple[int, ...]) -> te.Tensor:
    """Copy in row-major order into another shape, with affine indices only where the shapes have common factors."""
    groups = _factor_groups(x.shape, shape)

    def body(*idx: te.Axis) -> te.Value:
        src: list[te.Axis | int] = [0] * x.ndim
        for (i0, i1), (o0, o1) in groups:
            flat: te.Axis | int = 0
            for d in range(o0, o1):
                if shape[d] > 1:
                    flat = idx[d] * math.prod(shape[d + 1 : o1]) + flat
            for d in range(i0, i1):
                below = math.prod(x.shape[d + 1 : i1])
                if x.shape[d] > 1:
                    part = flat // below
                    src[d] = part % x.shape[d] if math.prod(x.shape[i0:d]) > 1 else part
        return x[tuple(src)]

    return compute(shape, body, c.name("reshape"))


def _factor_groups(a: tuple[int, ...], b: tuple[int, ...]) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Smallest runs of dimensions with equal products."""
    out = []
    i = j = 0
    while i < len(a) or j < len(b):
        i0, j0 = i, j
        pa = pb = 1
        while True:
            if pa == pb and (i > i0 or j > j0):
                break
            if (pa <= pb and i < len(a)) or j >= len(b):
                pa *= a[i]
                i += 1
            else:
                pb *= b[j]
                j += 1
        out.append(((i0, i), (j0, j)))
    return out


class _Reshaping(OpDef):
    on_quantised = True

    def shape(self, c: Call) -> tuple[int, ...]:
        """Shape of the result."""
        raise NotImplementedError

    def reference(self, c: Call, x: Array, *_: Any) -> Array | tuple[Array, ...]:
        return x.reshape(self.shape(c))

    def lower(self, c: Call, x: te.Tensor, *_: Any) -> te.Tensor:
        return _view(c, x, self.shape(c))


@operator("Reshape", "injective", view=True)
class Reshape(_Reshaping):
    """New shape; 0 keeps a dimension (unless allowzero), -1 is what remains."""

    parameters = (1,)

    def shape(self, c: Call) -> tuple[int, ...]:
        want = c.ints_or_input("shape", 1, 5)
        if want is None:
            raise c.error("invalid_graph", "has no shape")
        x = c.shape(0)
        dims = list(want)
        for d, e in enumerate(dims):
            if e == 0 and not c.get_int("allowzero", 0):
                if d >= len(x):
                    raise c.error("shape_mismatch", f"copies dimension {d} of a tensor with {len(x)} dimensions")
                dims[d] = x[d]
        size, rest = math.prod(x), math.prod(e for e in dims if e != -1)
        if dims.count(-1) == 1 and rest and size % rest == 0:
            dims[dims.index(-1)] = size // rest
        if -1 in dims or math.prod(dims) != size:
            raise c.error("shape_mismatch", f"cannot reshape {list(x)} to {list(want)}")
        return tuple(dims)


@operator("Flatten", "injective", view=True)
class Flatten(_Reshaping):
    """Two dimensions: everything before `axis`, everything from it on."""

    def shape(self, c: Call) -> tuple[int, ...]:
        x = c.shape(0)
        axis = c.get_int("axis", 1)
        axis = len(x) if axis == len(x) else c.axis(axis, len(x))
        return math.prod(x[:axis]), math.prod(x[axis:])


@operator("Squeeze", "injective", view=True)
class Squeeze(_Reshaping):
    """Drop unit dimensions."""

    parameters = (1,)

    def shape(self, c: Call) -> tuple[int, ...]:
        x = c.shape(0)
        named = c.ints_or_input("axes", 1, 13)
        axes = {d for d, e in enumerate(x) if e == 1} if not named else {c.axis(a, len(x)) for a in named}
        if any(x[a] != 1 for a in axes):
            raise c.error("shape_mismatch", f"drops a dimension that is not 1 from {list(x)}")
        return tuple(e for d, e in enumerate(x) if d not in axes)


@operator("Unsqueeze", "injective", view=True)
class Unsqueeze(_Reshaping):
    """Insert unit dimensions."""

    parameters = (1,)

    def shape(self, c: Call) -> tuple[int, ...]:
        x, named = c.shape(0), c.ints_or_input("axes", 1, 13)
        if named is None:
            raise c.error("invalid_graph", "has no axes")
        rank = len(x) + len(named)
        axes = {c.axis(a, rank) for a in named}
        if len(axes) < len(named):
            raise c.error("invalid_graph", f"inserts an axis twice: {list(named)}")
        rest = iter(x)
        return tuple(1 if d in axes else next(rest) for d in range(rank))


@operator("Identity", "injective", elementwise=True, view=True)
class Identity(_Reshaping):
    """The input itself."""

    def shape(self, c: Call) -> tuple[int, ...]:
        return c.shape(0)


@operator("Optional", "injective", elementwise=True, view=True)
class Optional(Identity):
    """The value itself: one that may be absent is the value, or None."""

    multi = True

    def reference(self, c: Call, x: Any = None) -> tuple[Any, ...]:
        return (x,)


@operator("OptionalGetElement", "injective", elementwise=True, view=True)
class OptionalGetElement(Optional):
    """The value itself, which must be there."""

    def reference(self, c: Call, x: Any = None) -> tuple[Any, ...]:
        if x is None:
            raise c.error("bad_value", "asks for a value that is absent")
        return (x,)


@operator("OptionalHasElement", "opaque", result="bool")
class OptionalHasElement(OpDef):
    """Whether a value is there."""

    multi = True

    def shape(self, c: Call) -> tuple[int, ...]:
        return ()

    def reference(self, c: Call, x: Any = None) -> tuple[Any, ...]:
        return (np.array(x is not None),)


@operator("Dropout", "injective", elementwise=True, view=True)
class Dropout(_Reshaping):
    """The input itself: nothing is dropped in inference, and the mask says so."""

    multi = True
    parameters = (1, 2)

    def accepts(self, node: Node) -> bool:
        return not any(node.inputs[2:])  # the third one may ask for training mode

    def shape(self, c: Call) -> tuple[int, ...]:
        return c.shape(0)

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        mask = TensorType(c.shape(0), "bool")
        return (TensorType(self.shape(c), c.type(0).dtype), *((mask,) if len(c.node.outputs) > 1 else ()))

    def reference(self, c: Call, x: Array, *_: Any) -> tuple[Array, ...]:
        return x, np.ones(x.shape, bool)

    def decompose(self, c: Call, steps: Steps) -> bool:
        """The input itself, and a mask that is constant."""
        if not any(c.node.outputs[1:]):
            return False
        sources = steps.name(0), steps.constant("mask", np.ones(c.shape(0), bool))
        for source, out in zip(sources, c.node.outputs, strict=True):
            if out:
                steps.add("Identity", (source,), "copy")
                steps.finish(out)
        return True


@operator("Shape", "opaque", result="int64")
class Shape(OpDef):
    """The shape, as a constant."""

    by_type = True

    def shape(self, c: Call) -> tuple[int, ...]:
        return (len(self._dims(c)),)

    def _dims(self, c: Call) -> tuple[int, ...]:
        x = c.shape(0)
        return x[slice(c.get_int("start", 0), c.get_int("end", len(x)))]

    def reference(self, c: Call, *_: Any) -> Array:
        return np.array(self._dims(c), dtype=np.int64)


@operator("Size", "opaque", result="int64")
class Size(OpDef):
    """The number of elements, as a constant."""

    by_type = True

    def shape(self, c: Call) -> tuple[int, ...]:
        return ()

    def reference(self, c: Call, *_: Any) -> Array:
        return np.array(c.type(0).size, dtype=np.int64)


@operator("Constant", "opaque")
class Constant(OpDef):
    """A constant in the graph; the importer has already turned its value into an array."""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        v = self.reference(c)
        return (TensorType(v.shape, v.dtype.name),)

    def reference(self, c: Call, *_: Any) -> Array:
        for key, value in c.node.attrs.items():
            if key in ("value", "sparse_value") and isinstance(value, np.ndarray):
                return value
            if key in ("value_int", "value_ints"):
                return np.array(value, dtype=np.int64)
            if key in ("value_float", "value_floats"):
                return np.array(value, dtype=np.float32)
        raise c.error(
            "unsupported_attr", f"has a value of a kind that is not supported: {', '.join(c.node.attrs) or 'none'}"
        )


@operator("ConstantOfShape", "opaque")
class ConstantOfShape(OpDef):
    """One value, repeated."""

    parameters = (0,)

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        shape = tuple(int(d) for d in c.constant(0, "shape"))
        return (TensorType(shape, self._value(c).dtype.name),)

    def _value(self, c: Call) -> Array:
        v = c.node.attrs.get("value")
        return v if isinstance(v, np.ndarray) else np.zeros(1, np.float32)

    def reference(self, c: Call, x: Array) -> Array:
        value = self._value(c)
        return np.full(tuple(int(d) for d in x), value.reshape(-1)[0], value.dtype)


@operator("Range", "opaque")
class Range(OpDef):
    """Numbers from a start up to a limit, a step apart."""

    parameters = (0, 1, 2)

    def shape(self, c: Call) -> tuple[int, ...]:
        start, limit, step = (c.constant(i, "bounds").reshape(()).item() for i in range(3))
        if not step or not all(map(math.isfinite, (start, limit, step))):
            raise c.error("invalid_graph", f"counts from {start} to {limit} by {step}")
        return (self._count(start, limit, step),)

    def _count(self, start: float, limit: float, step: float) -> int:
        exact = -((start - limit) // step) if isinstance(step, int) else math.ceil((limit - start) / step)
        return max(0, int(exact))

    def reference(self, c: Call, *args: Array) -> Array:
        start, limit, step = (a.reshape(()) for a in args)
        count = self._count(start.item(), limit.item(), step.item())
        return np.asarray(start + np.arange(count, dtype=start.dtype) * step)
