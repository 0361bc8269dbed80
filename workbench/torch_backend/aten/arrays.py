"""Operators that move, join and make elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.torch_backend.aten.writer import Operand, Unsupported, Value, Writer, aten, integers


@aten("clone", "alias", "detach", "lift_fresh_copy", "contiguous", "_to_copy", "_conj", moves=True)
def _same(w: Writer, x: Value, **how: Any) -> str:
    return w.cast(x)


@aten("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "flatten", "unflatten", "squeeze_copy", moves=True)
def _reshaped(w: Writer, x: Value, *how: Any) -> str:
    if w.dtype != x.dtype:
        raise Unsupported("its bits are read as another type")
    return x.name if w.shape == x.shape else str(w("Reshape", x, integers(w.shape)))


@aten("permute", moves=True)
def _permute(w: Writer, x: Value, dims: Sequence[int]) -> str:
    return str(w("Transpose", x, perm=x.axes(list(dims)) if dims else ()))


@aten("transpose", moves=True)
def _transpose(w: Writer, x: Value, dim0: int, dim1: int) -> str:
    order = list(range(x.rank))
    a, b = x.axis(dim0), x.axis(dim1)
    order[a], order[b] = order[b], order[a]
    return str(w("Transpose", x, perm=tuple(order)))


@aten("t", moves=True)
def _t(w: Writer, x: Value) -> str:
    return str(w("Transpose", x, perm=(1, 0))) if x.rank == 2 else x.name


@aten("expand", moves=True)
def _expand(w: Writer, x: Value, size: Any, implicit: bool = False) -> str:
    return x.name if w.shape == x.shape else str(w("Expand", x, integers(w.shape)))


@aten("copy")
def _copy(w: Writer, into: Value, source: Value, non_blocking: bool = False) -> str:
    return str(w("Expand", w.cast(source), integers(w.shape)))


@aten("repeat")
def _repeat(w: Writer, x: Value, repeats: Sequence[int]) -> str:
    shape = (1,) * (len(repeats) - x.rank) + x.shape
    return str(w("Tile", w("Reshape", x, integers(shape)), integers(repeats)))


@aten("slice", moves=True)
def _slice(
    w: Writer, x: Value, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> str:  # fmt: skip
    axis = x.axis(dim)
    first, last, _ = slice(start, end).indices(x.shape[axis])
    return str(w("Slice", x, *map(integers, ([first], [max(first, last)], [axis], [step]))))


@aten("flip")
def _flip(w: Writer, x: Value, dims: Sequence[int]) -> str:
    many = len(dims)
    ends = integers([np.iinfo(np.int64).min] * many)
    return str(w("Slice", x, integers([-1] * many), ends, integers(x.axes(list(dims))), integers([-1] * many)))


@aten("select", moves=True)
def _select(w: Writer, x: Value, dim: int, index: int) -> str:
    axis = x.axis(dim)
    return str(w("Gather", x, np.asarray(index % x.shape[axis], np.int64), axis=axis))


@aten("split", "split_with_sizes", "unbind", "chunk", "unsafe_split", moves=True)
def _split(w: Writer, x: Value, sizes: Any = None, dim: int = 0) -> Any:
    axis = x.axis(sizes or 0 if w.call == "unbind" else dim)
    taken = [1 if w.call == "unbind" else r.shape[axis] for r in w.result]
    parts = w("Split", x, integers(taken), outputs=len(taken), axis=axis) if len(taken) > 1 else (x.name,)
    if w.call != "unbind":
        return parts
    return tuple(w("Reshape", p, integers(w.shape)) for p in parts)


@aten("cat", "concat")
def _cat(w: Writer, tensors: Sequence[Value], dim: int = 0) -> str:
    kept = [t for t in tensors if t.shape != (0,)]  # what torch passes over
    return str(w("Concat", *map(w.cast, kept), axis=kept[0].axis(dim)))


@aten("stack")
def _stack(w: Writer, tensors: Sequence[Value], dim: int = 0) -> str:
    axis = dim % (tensors[0].rank + 1)
    return str(w("Concat", *(w("Unsqueeze", w.cast(t), integers([axis])) for t in tensors), axis=axis))


@aten("constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d",
      "replication_pad2d", "replication_pad3d")  # fmt: skip
def _pad(w: Writer, x: Value, pad: Sequence[int], value: float = 0) -> str:
    if min(pad) < 0:
        raise Unsupported("a padding is negative")
    free = [0] * (x.rank - len(pad) // 2)
    pads = integers([*free, *pad[-2::-2], *free, *pad[::-2]])
    mode = {"c": "constant", "r": "reflect"}.get(w.call[0], "") if not w.call.startswith("repl") else "edge"
    return str(w("Pad", x, pads, w.cast(value) if mode == "constant" else None, mode=mode))


@aten("embedding")
def _embedding(w: Writer, weight: Value, indices: Value, *how: Any) -> str:
    return str(w("Gather", weight, indices, axis=0))


@aten("index_select")
def _index_select(w: Writer, x: Value, dim: int, index: Value) -> str:
    return str(w("Gather", x, index, axis=x.axis(dim)))


@aten("gather")
def _gather(w: Writer, x: Value, dim: int, index: Value, *, sparse_grad: bool = False) -> str:
    if index.rank != x.rank or not x.rank:
        raise Unsupported("it has no dimensions")
    return str(w("GatherElements", x, index, axis=x.axis(dim)))


@aten("index", "_unsafe_index")
def _index(w: Writer, x: Value, indices: Sequence[Value | None]) -> str:
    given = [(d, i) for d, i in enumerate(indices) if i is not None]
    if any(i.dtype in ("bool", "uint8") for _, i in given):
        raise Unsupported("how much is taken depends on a mask")
    dims = [d for d, _ in given]
    if len(given) == 1:
        return str(w("Gather", x, given[0][1], axis=dims[0]))
    shape = np.broadcast_shapes(*(i.shape for _, i in given))
    whole = [w("Expand", w.cast(i, "int64"), integers(shape)) for _, i in given]
    at = w("Concat", *(w("Unsqueeze", i, integers([len(shape)])) for i in whole), axis=len(shape))
    rest = [d for d in range(x.rank) if d not in dims]
    found = w("GatherND", w("Transpose", x, perm=(*dims, *rest)), at)
    before = dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0  # apart, the new ones come first
    new = range(len(shape))
    order = (*(len(shape) + k for k in range(before)), *new, *(len(shape) + k for k in range(before, len(rest))))
    return str(w("Transpose", found, perm=order)) if before else str(found)


@aten("full", "full_like", "new_full", "scalar_tensor", "zeros", "zeros_like", "ones", "ones_like", "new_zeros",
      "new_ones", "empty", "empty_like", "new_empty", moves=True)  # fmt: skip
def _full(w: Writer, *given: Any, **how: Any) -> str:
    named = "full" in w.call or w.call == "scalar_tensor"  # the value is the last one
    value = given[-1] if named else "ones" in w.call
    if isinstance(value, Value):
        raise Unsupported("the value is a tensor")
    return w.constant(np.full(w.shape, value, np.dtype(w.dtype)))


@aten("arange", moves=True)
def _arange(w: Writer, first: float, end: float | None = None, step: float = 1, **how: Any) -> str:
    start, end = (0, first) if end is None else (first, end)
    return w.constant(np.arange(start, end, step).astype(np.dtype(w.dtype)))


@aten("scatter")
def _scatter(w: Writer, x: Value, dim: int, index: Value, src: Operand) -> str:
    if not isinstance(src, Value):
        src = np.full(index.shape, src, np.dtype(w.dtype))
    elif src.shape != index.shape:
        raise Unsupported("source and index differ in shape")
    return str(w("ScatterElements", x, index, src, axis=x.axis(dim)))
