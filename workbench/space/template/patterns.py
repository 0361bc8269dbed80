"""What a computation is, judged by its unscheduled nest: how a template finds its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from workbench.ir.expr import Binary, Cast, Const, Expr, Load
from workbench.ir.func import Func
from workbench.ir.stmt import Block, blocks
from workbench.space.sketch.analysis import consumers, is_padding, is_pointwise, main_block, producers, reads_aligned


class Mismatch(Exception):
    """The computation is another one; the message says in which respect."""


Pattern: TypeAlias = Callable[[Func], Any]


@dataclass(frozen=True, slots=True)
class Found:
    """Names in a computation that a template schedules.

    Attributes
    ----------
    block : str
        The reduction.
    axes : mapping of str to str
        What an axis means -> its loop; also attributes: ``found.i``.
    data, weights : str
        Buffers of the two factors. `weights` are those that move with the last axis.
    constant : bool
        Whether the weights are known ahead of time.
    pad : str or None
        Stage that puts a frame around the data.
    between : tuple of str
        Element-wise stages behind the reduction but the last one, in order.
    last : str or None
        The last of these stages.
    """

    block: str
    axes: Mapping[str, str]
    data: str
    weights: str
    constant: bool
    pad: str | None = None
    between: tuple[str, ...] = ()
    last: str | None = None

    def __getattr__(self, name: str) -> str:
        if name.startswith("_") or name not in self.axes:
            raise AttributeError(f"there is no axis {name!r} here, only {', '.join(self.axes)}")
        return self.axes[name]


def matmul(func: Func) -> Found:
    """``C[i, j] = sum(A[i, k] * B[k, j])`` with constant or other B, and element-wise stages behind it."""
    block, data, weights = _product(func, "SS", "R", "a product of matrices")
    i, j = _plain(block.index)
    (k,) = (it.name for it in block.iters if it.kind == "R")
    if (_plain(data.index), _plain(weights.index)) != ((i, k), (k, j)):
        raise Mismatch(f"block {block.name!r} multiplies, but not rows [i, k] with columns [k, j]")
    return _found(func, block, {"i": i, "j": j, "k": k}, data, weights, padded=False)


def conv2d_nhwc(func: Func) -> Found:
    """A convolution of an NHWC image with a kernel HWIO: bias, residual and activation may follow."""
    block, data, weights = _product(func, "SSSS", "RRR", "a convolution")
    n, h, w, o = _plain(block.index)
    if len(weights.index) != 4:
        raise Mismatch(f"the weights of block {block.name!r} have {len(weights.index)} dimensions, not [kh, kw, c, o]")
    kh, kw, c, last = _plain(weights.index)
    if last != o or not _moves(data, ({n}, {h, kh}, {w, kw}, {c})):
        raise Mismatch(f"block {block.name!r} does not sum an image [n, h + kh, w + kw, c] over all of its channels")
    axes = {"n": n, "h": h, "w": w, "o": o, "kh": kh, "kw": kw, "c": c}
    return _found(func, block, axes, data, weights)


def depthwise_conv2d_nhwc(func: Func) -> Found:
    """A convolution of an NHWC image, each channel with a kernel of its own."""
    block, data, weights = _product(func, "SSSS", "RR", "a depthwise convolution")
    n, h, w, c = _plain(block.index)
    taps = [x.single_var() for x in weights.index if x.terms]
    if len(taps) != 3 or taps[2] != c or None in taps:
        raise Mismatch(f"the weights of block {block.name!r} are not [kh, kw, c]")
    kh, kw = str(taps[0]), str(taps[1])
    if not _moves(data, ({n}, {h, kh}, {w, kw}, {c})):
        raise Mismatch(f"block {block.name!r} does not read an image [n, h + kh, w + kw, c] channel by channel")
    return _found(func, block, {"n": n, "h": h, "w": w, "c": c, "kh": kh, "kw": kw}, data, weights)


PATTERNS: Mapping[str, Pattern] = {
    "matmul": matmul,
    "conv2d_nhwc": conv2d_nhwc,
    "depthwise_conv2d_nhwc": depthwise_conv2d_nhwc,
}


# -------------------------------------------------------------------------------------------------------------- pieces


def _product(func: Func, spatial: str, reduced: str, what: str) -> tuple[Block, Load, Load]:
    """The reduction with these axes, and its factors: that which the last axis does not move first (or the image)."""
    block = main_block(func)
    if block is None:
        raise Mismatch("there is no reduction")
    kinds = "".join(sorted((it.kind for it in block.iters), reverse=True))
    if kinds != spatial + reduced:
        raise Mismatch(
            f"block {block.name!r} has {kinds.count('S')} axes of its result and {kinds.count('R')} of its sum; {what} "
            f"has {len(spatial)} and {len(reduced)}"
        )
    if any(x.single_var() is None for x in block.binds):
        raise Mismatch(f"block {block.name!r} is scheduled already")
    op, term = block.update()
    start = isinstance(block.init, Const) and block.init.value == 0
    factors = [_load(term.a), _load(term.b)] if isinstance(term, Binary) and term.op == "mul" else [None]
    if op != "add" or not start or None in factors or block.guard:
        raise Mismatch(f"block {block.name!r} does not sum up products of two operands")
    a, b = (x for x in factors if x is not None)
    axes = {it.name for it in block.iters}
    if any(
        not {d.var for d, _ in x.terms} <= axes or not all(d.plain for d, _ in x.terms)
        for ld in (a, b)
        for x in ld.index
    ):
        raise Mismatch(f"what block {block.name!r} reads takes axes apart (groups), or is looked up")
    return (block, a, b) if _is_weights(block, b, a) else (block, b, a)


def _is_weights(block: Block, ld: Load, other: Load) -> bool:
    """Whether a factor is the one that stays the same along the first axes of the result."""
    first = block.index[-2].single_var()
    return first not in {v for x in ld.index for v in x.vars} and first in {v for x in other.index for v in x.vars}


def _load(e: Expr) -> Load | None:
    """The load behind conversions of its type."""
    while isinstance(e, Cast):
        e = e.a
    return e if isinstance(e, Load) else None


def _plain(index: Any) -> tuple[str, ...]:
    """Axes of an index that is nothing but axes."""
    found = tuple(x.single_var() for x in index)
    if None in found:
        raise Mismatch("an index is more than an axis where it should be one")
    return tuple(map(str, found))


def _moves(ld: Load, want: tuple[set[str], ...]) -> bool:
    """Whether the dimensions of a load move with these axes."""
    return len(ld.index) == len(want) and all(x.vars == w for x, w in zip(ld.index, want, strict=True))


def _found(func: Func, block: Block, axes: Mapping[str, str], data: Load, weights: Load, padded: bool = True) -> Found:
    """Names of the stages around the reduction; all stages have to be explained."""
    loops = {it.name: str(x.single_var()) for it, x in zip(block.iters, block.binds, strict=True)}
    pads = [b for b in producers(func, block) if b.buffer == data.buffer]
    if any(not padded or not is_padding(b) or len(consumers(func, b)) > 1 for b in pads):
        raise Mismatch(
            f"stage {pads[0].name!r} computes the data of {block.name!r}, and is no frame of zeros around it"
        )
    behind = _behind(func, block)
    known = {block.name, *(b.name for b in pads), *(b.name for b in behind)}
    other = [b.name for b, _ in blocks(func.body) if b.name not in known]
    if other:
        raise Mismatch(f"stage {other[0]!r} is neither a frame around the data nor behind the reduction")
    return Found(
        block.name,
        {meaning: loops[axis] for meaning, axis in axes.items()},
        data.buffer,
        weights.buffer,
        func.buffer(weights.buffer).role == "const",
        pads[0].name if pads else None,
        tuple(b.name for b in behind[:-1]),
        behind[-1].name if behind else None,
    )


def _behind(func: Func, block: Block) -> list[Block]:
    """Stages that read the result, and what is made of it, in order."""
    made, out = {block.buffer}, list[Block]()
    for b, _ in blocks(func.body):
        if b.name == block.name or not made & {ld.buffer for ld in b.loads()}:
            continue
        if not is_pointwise(b) or not all(reads_aligned(b, name) for name in made):
            raise Mismatch(f"stage {b.name!r} behind {block.name!r} is not computed element by element")
        made.add(b.buffer)
        out.append(b)
    ends = [b.name for b in (block, *out) if func.buffer(b.buffer).role == "output"]
    if out and ends != [out[-1].name]:
        raise Mismatch(f"the results {', '.join(ends)} are more than the last stage")
    return out
