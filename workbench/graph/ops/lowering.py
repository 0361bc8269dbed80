"""What the operator families share: axis names, broadcasting, spatial geometry and padding."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench import te
from workbench.graph.evaluation import ROUNDED
from workbench.graph.graph import Array, TensorType
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import dims

Idx = te.Axis | int
#: Channels or terms of a sum from which on instructions for bfloat16 compute a product faster than those for float32:
#: they take 32 at a time, and the sketch rule leaves tiles that are filled by less than two fifths.
LEAST_HALVED = 13
_NAMES = {1: ("i",), 2: ("i", "j"), 3: ("b", "i", "j"), 4: ("n", "h", "w", "c")}
_SPATIAL = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}


def compute(shape: Sequence[int], fn: Callable[..., Any], name: str, names: Sequence[str] | None = None) -> te.Tensor:
    """`te.compute` with a function that takes any number of indices, and with readable axis names."""
    names = names or _NAMES.get(len(shape)) or tuple(f"a{d}" for d in range(len(shape)))

    def named(*idx: te.Axis) -> Any:
        return fn(*idx)

    params = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    vars(named)["__signature__"] = inspect.Signature(params)
    return te.compute(shape, named, name)


@dataclass(frozen=True, slots=True, eq=False)
class Widened(te.Tensor):
    """A tensor of 16 bits as an operator sees it: every element that is read is converted to float32.

    Attributes
    ----------
    source : Tensor
    """

    source: te.Tensor | None = None

    def __getitem__(self, index: Any) -> te.Value:
        assert self.source is not None
        return te.cast(self.source[index], self.dtype)


def widened(x: te.Tensor) -> te.Tensor:
    """What an operator reads of a tensor: float32 where 16 bits are stored."""
    return Widened(x.name, x.shape, "float32", x.constant, (), x) if x.dtype in ("bfloat16", "float16") else x


def as_type(c: Call, y: te.Tensor, dtype: str) -> te.Tensor:
    """What an operator's lowering gives, as the type that was inferred; it may compute in another, or be rounded."""
    if y.dtype != dtype or isinstance(y, Widened):
        y = compute(y.shape, lambda *i, y=y: te.cast(y[i], dtype), c.name("cast"))
    if narrow := c.get_str(ROUNDED, ""):
        return compute(y.shape, lambda *i: te.cast(te.cast(y[i], narrow), dtype), c.name("round"))
    return y


def spatial_names(layout: str, rank: int, channel: str = "c") -> tuple[str, ...]:
    """Axis names of an image tensor with `rank` spatial dimensions."""
    return place(layout, "n", _SPATIAL[rank], channel)


def place(layout: str, n: Any, spatial: Sequence[Any], c: Any) -> tuple[Any, ...]:
    """Put batch, spatial and channel items in the order of the layout: "NCHW" or "NHWC", of any rank."""
    return (n, *spatial, c) if layout == "NHWC" else (n, c, *spatial)


def unplace(layout: str, items: Sequence[Any]) -> tuple[Any, tuple[Any, ...], Any]:
    """Inverse of `place`: (batch, spatial, channel)."""
    if layout == "NHWC":
        return items[0], tuple(items[1:-1]), items[-1]
    return items[0], tuple(items[2:]), items[1]


def layout_of(c: Call) -> str:
    """Layout attribute, which only our own layout pass sets."""
    return c.get_str("layout", "NCHW")


def to_nchw(x: Array, layout: str) -> Array:
    """View of an image tensor as NCHW."""
    return np.moveaxis(x, -1, 1) if layout == "NHWC" else x


def from_nchw(x: Array, layout: str) -> Array:
    """Inverse of `to_nchw`."""
    return np.moveaxis(x, 1, -1) if layout == "NHWC" else x


def broadcast_shape(c: Call, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """NumPy broadcasting, with the node named when it fails; shapes may be larger than NumPy's can be."""
    rank = max(map(len, shapes), default=0)
    columns = zip(*((1,) * (rank - len(s)) + tuple(s) for s in shapes), strict=True)
    sizes = [{*column} - {1} for column in columns]
    if any(len(found) > 1 for found in sizes):
        raise c.error("shape_mismatch", f"cannot broadcast {' with '.join(str(list(s)) for s in shapes)}")
    return tuple(int(found.pop()) if found else 1 for found in sizes)


def at(t: te.Tensor, idx: Sequence[Idx]) -> te.Value:
    """Element of `t` at the trailing part of `idx`; unit dimensions are read at 0.

    Where the axis itself has one value it is kept: a schedule can then see that both sides walk the same elements.
    """
    tail = idx[len(idx) - t.ndim :]
    return t[tuple(0 if e == 1 and not _is_unit(i) else i for e, i in zip(t.shape, tail, strict=True))]


def _is_unit(i: Idx) -> bool:
    return isinstance(i, te.Axis) and i.form.single_var() is not None and all(e == 1 for _, e in i.extents)


def operand(c: Call, i: int, args: Sequence[te.Tensor | None]) -> Callable[[Sequence[Idx]], te.Value]:
    """Reader of input `i` under broadcasting; a constant with one element becomes a literal."""
    v = c.scalar(i)
    if v is not None:
        literal = te.const(v, c.type(i).dtype)
        return lambda idx: literal
    t = args[i]
    assert t is not None
    return lambda idx: at(t, idx)


def where_all(conditions: Sequence[Any], value: te.Value, other: te.Value) -> te.Value:
    """`value` where all conditions hold, `other` elsewhere; `value` where there are none."""
    return te.select(functools.reduce(operator.and_, conditions), value, other) if conditions else value


@dataclass(frozen=True, slots=True)
class Window:
    """Sliding window over the spatial dimensions: sizes of input, kernel and output, steps and padding."""

    size: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    out: tuple[int, ...]

    @property
    def padded(self) -> bool:
        """Whether any window reaches beyond the image."""
        return any(self.begin) or any(self.reach(d) > self.size[d] for d in range(len(self.size)))

    def reach(self, d: int) -> int:
        """One past the last input position that a window reads, counted without the begin padding."""
        span = (self.kernel[d] - 1) * self.dilations[d] + 1
        return max(0, self.out[d] - 1) * self.strides[d] + span - self.begin[d]

    def position(self, d: int, o: Any, k: Any) -> Any:
        """Position in the padded image that output `o` reads with kernel offset `k`."""
        return o * self.strides[d] + k * self.dilations[d]


def window(c: Call, size: tuple[int, ...], kernel: tuple[int, ...], least: int = 1) -> Window:
    """Window geometry from the attributes strides, dilations, pads, auto_pad and ceil_mode; `least` windows fit in."""
    r = len(size)
    strides = c.get_ints("strides") or (1,) * r
    dilations = c.get_ints("dilations") or (1,) * r
    pads = c.get_ints("pads") or (0,) * (2 * r)
    if not len(kernel) == len(strides) == len(dilations) == r or len(pads) != 2 * r:
        raise c.error("invalid_graph", f"has kernel, strides, dilations or pads that do not fit {r} spatial dimensions")
    if min((*kernel, *strides, *dilations), default=1) < 1 or min(pads, default=0) < 0:
        numbers = f"kernel {list(kernel)}, strides {list(strides)}, dilations {list(dilations)}, pads {list(pads)}"
        raise c.error("invalid_graph", f"has sizes that make no sense: {numbers}")
    mode, ceil = c.get_str("auto_pad", "NOTSET"), bool(c.get_int("ceil_mode", 0))
    begin, end, out = [], [], []
    for d in range(r):
        span = (kernel[d] - 1) * dilations[d] + 1
        b, e = pads[d], pads[d + r]
        if mode.startswith("SAME"):
            total = max(0, (-(-size[d] // strides[d]) - 1) * strides[d] + span - size[d])
            b = total // 2 if mode == "SAME_UPPER" else total - total // 2
            e = total - b
        elif mode == "VALID":
            b = e = 0
        free = size[d] + b + e - span
        n = (-(-free // strides[d]) if ceil else free // strides[d]) + 1
        if ceil and (n - 1) * strides[d] >= size[d] + b:
            n -= 1  # a window that starts in the end padding is dropped
        if n < least or (least and free < 0):
            raise c.error(
                "shape_mismatch", f"has a window of {span} over a dimension of {size[d]} padded by {b} and {e}"
            )
        begin.append(b)
        end.append(e)
        out.append(n)
    return Window(size, kernel, strides, dilations, tuple(begin), tuple(end), tuple(out))


def pad_stage(
    c: Call, x: te.Tensor, win: Window, layout: str, value: float | te.Value, narrow: bool = False
) -> te.Tensor:
    """Stage that surrounds the image with `value`, as far as any window reads; the image itself where none does.

    With `narrow` it holds 16 bits where the image does.
    """
    if not win.padded:
        return x
    if isinstance(x, Widened) and x.source is not None and not isinstance(value, te.Value) and narrow:
        return widened(pad_stage(c, x.source, win, layout, value))
    r = len(win.size)
    n, _, ch = unplace(layout, x.shape)
    full = [win.reach(d) + win.begin[d] for d in range(r)]
    fill = value if isinstance(value, te.Value) else te.const(value, x.dtype)

    def body(*idx: te.Axis) -> te.Value:
        b, pos, k = unplace(layout, idx)
        moved = [d for d in range(r) if full[d] != win.size[d] or win.begin[d]]
        inside = [(pos[d] >= win.begin[d]) & (pos[d] < win.begin[d] + win.size[d]) for d in moved]
        return where_all(inside, x[place(layout, b, [p - win.begin[d] for d, p in enumerate(pos)], k)], fill)

    return compute(place(layout, n, full, ch), body, c.name("pad"), spatial_names(layout, r))


def np_windows(x: Array, win: Window, value: float) -> Array:
    """Strided view ``[N, C, *out, *kernel]`` of an NCHW array padded with `value`."""
    r = len(win.size)
    full = [win.reach(d) + win.begin[d] for d in range(r)]
    pads = [(0, 0), (0, 0)] + [(win.begin[d], max(0, full[d] - win.begin[d] - win.size[d])) for d in range(r)]
    x = np.pad(x, pads, constant_values=value)
    spans = tuple((win.kernel[d] - 1) * win.dilations[d] + 1 for d in range(r))
    view = np.lib.stride_tricks.sliding_window_view(x, spans, axis=tuple(range(2, 2 + r)))
    outs = tuple(slice(0, max(0, (win.out[d] - 1) * win.strides[d] + 1), win.strides[d]) for d in range(r))
    taps = tuple(slice(0, None, win.dilations[d]) for d in range(r))
    return view[(slice(None), slice(None), *outs, *taps)]


def stride_words(strides: tuple[int, ...]) -> str:
    """``/2`` for steps of two along every axis; nothing for steps of one."""
    if all(s == 1 for s in strides):
        return ""
    return f"/{strides[0]}" if len(set(strides)) == 1 else f"/{dims(strides)}"


def same(c: Call, i: int = 0) -> tuple[TensorType, ...]:
    """Type of input `i` as the only output type."""
    return (c.type(i),)


def ints(*values: int) -> Array:
    """Vector of int64, as shape inputs are given."""
    return np.array(values, dtype=np.int64)
