"""What a computation is, judged by its unscheduled nest: how a template finds its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from workbench.errors import TemplateError
from workbench.ir import Binary, Block, Cast, Const, Expr, Func, Load, blocks
from workbench.registry import Registry
from workbench.space.shared_steps.block_queries import (
    consumers,
    is_padding,
    is_pointwise,
    main_block,
    producers,
    reads_aligned,
)


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


@dataclass(frozen=True, slots=True)
class Product:
    """Pattern of sums of products of two operands, with element-wise stages behind them.

    Attributes
    ----------
    what : str
        In words.
    result, data, weights : str
        Axes of the index of each, one word a dimension: "h+kh" moves with both. Those of the weights that the result
        does not have are the axes of the sum. Weights may have more dimensions, of one element.
    framed : bool
        Whether a stage may put a frame of zeros around the data.
    """

    what: str
    result: str
    data: str
    weights: str
    framed: bool = True

    def __call__(self, func: Func) -> Found:
        """Names in a computation; `Mismatch` with the reason where it is another one."""
        result, weights = self.result.split(), self.weights.split()
        block, data, factor = self._factors(func, len(result), len(set(weights) - set(result)))
        axes = dict(zip(result, _plain(block.index), strict=True))
        moved = [x for x in factor.index if x.terms]
        if len(moved) != len(weights):
            raise Mismatch(f"the weights of block {block.name!r} are not [{', '.join(weights)}]")
        for word, axis in zip(weights, _plain(moved), strict=True):
            if axes.setdefault(word, axis) != axis:
                raise Mismatch(f"the weights of block {block.name!r} are not [{', '.join(weights)}]")
        want = [{axes[a] for a in word.split("+")} for word in self.data.split()]
        if [x.vars for x in data.index] != want or (not self.framed and not all(x.single_var() for x in data.index)):
            raise Mismatch(f"block {block.name!r} does not read its data at [{', '.join(self.data.split())}]")
        return _found(func, block, axes, data, factor, self.framed)

    def _factors(self, func: Func, spatial: int, reduced: int) -> tuple[Block, Load, Load]:
        """The reduction with so many axes, and its factors: that which the last axis does not move first."""
        block = main_block(func)
        if block is None:
            raise Mismatch("there is no reduction")
        kinds = "".join(it.kind for it in block.iters)
        if (kinds.count("S"), kinds.count("R")) != (spatial, reduced):
            raise Mismatch(
                f"block {block.name!r} has {kinds.count('S')} axes of its result and {kinds.count('R')} of its sum; "
                f"{self.what} has {spatial} and {reduced}"
            )
        if any(x.single_var() is None for x in block.binds):
            raise Mismatch(f"block {block.name!r} is scheduled already")
        op, term = block.update()
        start = isinstance(block.init, Const) and block.init.value == 0
        a, b = (_load(term.a), _load(term.b)) if isinstance(term, Binary) and term.op == "mul" else (None, None)
        if op != "add" or not start or a is None or b is None or block.guard:
            raise Mismatch(f"block {block.name!r} does not sum up products of two operands")
        axes = {it.name for it in block.iters}
        if any(d.var not in axes or not d.plain for ld in (a, b) for x in ld.index for d, _ in x.terms):
            raise Mismatch(f"what block {block.name!r} reads takes axes apart (groups), or is looked up")
        return (block, a, b) if _is_weights(block, b, a) else (block, b, a)


PATTERNS: Registry[Pattern] = Registry("pattern", "patterns", "template.unknown", TemplateError)
PATTERNS["matmul"] = Product("a product of matrices", "i j", "i k", "k j", framed=False)
PATTERNS["conv2d_nhwc"] = Product("a convolution", "n h w o", "n h+kh w+kw c", "kh kw c o")
PATTERNS["depthwise_conv2d_nhwc"] = Product("a depthwise convolution", "n h w c", "n h+kh w+kw c", "kh kw c")


# -------------------------------------------------------------------------------------------------------------- pieces


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


def _found(func: Func, block: Block, axes: Mapping[str, str], data: Load, weights: Load, framed: bool) -> Found:
    """Names of the stages around the reduction; all stages have to be explained."""
    loops = {it.name: str(x.single_var()) for it, x in zip(block.iters, block.binds, strict=True)}
    pads = [b for b in producers(func, block) if b.buffer == data.buffer]
    if any(not framed or not is_padding(b) or len(consumers(func, b)) > 1 for b in pads):
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
