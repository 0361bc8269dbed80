"""What an unscheduled function computes, said in NumPy: compiled code is checked with it before it is timed.

It is fast (whole arrays, BLAS for sums of products) and shares nothing with the interpreter or the code generator
beyond the IR itself. A block is evaluated over its axes at once: every array has one dimension per axis, of size 1
where it does not depend on that axis, so broadcasting does the bookkeeping. An access with plain affine indices is a
strided view, without a copy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from workbench.errors import InputError
from workbench.ir.affine import Affine, Digit
from workbench.ir.expr import Binary, Expr, Load, all_index_forms, loads
from workbench.ir.func import Func, pack
from workbench.ir.numpy_reference.expressions import Evaluator, compute_dtype
from workbench.ir.numpy_reference.math import convert
from workbench.ir.numpy_reference.product import sum_of_products
from workbench.ir.poly import concrete
from workbench.ir.stmt import Block, For, Iter, Stmt, map_block

Array: TypeAlias = NDArray[Any]

#: Points; reductions over at most so many run point by point, vectorised over space: NumPy is slow on short inner
#: axes. Chosen, with `_BUDGET`, so that the workloads of the tests stay within their time.
_SHORT = 64
#: Elements of one intermediate array of a reduction; longer ones are cut along their leading axes, which bounds
#: memory to 32 MB each.
_BUDGET = 4_000_000
_REDUCE: dict[str, Any] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def evaluate(func: Func, inputs: Mapping[str, Array], *, precise: bool = False) -> dict[str, Array]:
    """Compute the outputs of a function that has not been scheduled.

    Parameters
    ----------
    func : Func
        Concrete, as `te.func` makes it: one nest per block, each block's axes bound to the loops around it.
    inputs : mapping of str to ndarray
        One array per input and constant buffer, in the buffer's shape before packing.
    precise : bool
        Compute floating point in double precision throughout, and return it so. Otherwise float32 is computed and
        accumulated in float32, as compiled code does.

    Returns
    -------
    dict of str to ndarray
        One array per output buffer; elements that no block writes are NaN.

    Raises
    ------
    InputError
        "reference.input" for a missing input, "reference.scheduled" when the function was scheduled or has holes.
    ShapeError
        "shape.mismatch" when an array does not have its buffer's shape.
    RunError
        "reference.index" when an access leaves its buffer.
    """
    if not func.is_concrete:
        raise InputError(
            "reference.scheduled",
            f"{func.name!r} has open holes.",
            tuple(h.name for h in func.holes),
            "fill them first",
        )
    arrays: dict[str, Array] = {}
    for buffer in func.buffers:
        dtype = compute_dtype(buffer.dtype, precise)
        if buffer.role in ("input", "const"):
            if buffer.name not in inputs:
                raise InputError("reference.input", f"There is no array for the input {buffer.name!r}.", (buffer.name,))
            given = pack(buffer, np.asarray(inputs[buffer.name]))
            arrays[buffer.name] = np.ascontiguousarray(given, dtype=dtype).reshape(np.shape(given))
        else:
            fill = np.nan if dtype.kind == "f" else 0
            arrays[buffer.name] = np.full([concrete(d) for d in buffer.shape], fill, dtype)
    with np.errstate(all="ignore"):
        for stmt in func.body:
            _run(block_of(stmt), arrays, func, precise)
    return {b.name: arrays[b.name] if precise else arrays[b.name].astype(b.dtype, copy=False) for b in func.outputs}


def block_of(stmt: Stmt) -> Block:
    """Return the block of a nest that nobody has scheduled: its axes are the loops around it, one for one."""
    extents: dict[str, object] = {}
    while isinstance(stmt, For) and len(stmt.body) == 1:
        extents[stmt.name] = stmt.extent
        stmt = stmt.body[0]
    plain = isinstance(stmt, Block) and not stmt.guard
    if isinstance(stmt, Block) and plain:
        names = [form.single_var() for form in stmt.binds]
        if sorted(map(str, names)) == sorted(extents) and all(
            extents[str(n)] == it.extent for n, it in zip(names, stmt.iters, strict=True)
        ):
            return stmt
    raise InputError(
        "reference.scheduled",
        f"{stmt.name!r} has been scheduled; the reference takes functions as te.func makes them.",
        (stmt.name,),
        "evaluate the function that the schedule started from",
    )


def _run(block: Block, arrays: dict[str, Array], func: Func, precise: bool) -> None:
    block = split_digits(block)
    spatial = [it for it in block.iters if it.kind == "S"]
    ev = Evaluator(arrays, {it.name: concrete(it.extent) for it in block.iters}, precise)
    if block.init is None:
        value = ev.value(block.value)
    else:
        op, term = block.update()
        value = _REDUCE[op](ev.value(block.init), _reduce(ev, op, term, [it for it in block.iters if it.kind == "R"]))
        keep = tuple(0 if it.kind == "R" else slice(None) for it in block.iters)
        value = value[keep]
    out = Evaluator(arrays, {it.name: concrete(it.extent) for it in spatial}, precise)
    dtype = arrays[block.buffer].dtype
    value = convert(np.asarray(value), dtype)
    stored = func.buffer(block.buffer).dtype
    if stored in ("float16", "bfloat16") and not precise:
        value = value.astype(stored).astype(dtype)
    out.store(block.own_load(), value)


def split_digits(block: Block) -> Block:
    """Replace axes of which only digits are used (``o // 4``, ``o % 4``) by one axis per digit, so that
    indices become plain.
    """
    forms = [*block.index, *(f for e in block.exprs for f in all_index_forms(e))]
    cuts: dict[str, set[int]] = {}
    for digit in (d for f in forms for d, _ in f.terms if not d.plain):
        lower = concrete(digit.lower)
        cuts.setdefault(digit.var, set()).update(
            {lower} if digit.extent is None else {lower, lower * concrete(digit.extent)}
        )
    env: dict[str, Affine | Callable[[Digit], Affine]] = {}
    iters: list[Iter] = []
    for it in block.iters:
        total = concrete(it.extent)
        bounds = sorted({c for c in cuts.get(it.name, ()) if c < total} | {1, total})
        if len(bounds) < 3 or any(b % a for a, b in itertools.pairwise(bounds)):
            iters.append(it)
            continue
        parts = [(f"{it.name}#{low}", low, high) for low, high in itertools.pairwise(bounds)]
        iters += [Iter(name, high // low, it.kind) for name, low, high in reversed(parts)]
        env[it.name] = _digit_map(parts, total)
    if not env:
        return block

    def form(f: Affine) -> Affine:
        return f.subst(env)

    return replace(
        map_block(block, lambda a: a, form), iters=tuple(iters), binds=tuple(Affine.var(i.name) for i in iters)
    )


def _digit_map(parts: list[tuple[str, int, int]], total: int) -> Callable[[Digit], Affine]:
    def form(digit: Digit) -> Affine:
        lower = concrete(digit.lower)
        upper = total if digit.extent is None else min(total, lower * concrete(digit.extent))
        return Affine.make((Digit(name), low // lower) for name, low, high in parts if lower <= low and high <= upper)

    return form


def _reduce(ev: Evaluator, op: str, term: Expr, reduced: list[Iter]) -> Array:
    """Reduce `term` over the reduction axes, which keep a dimension of size 1."""
    factors = factors_of(term) if op == "add" else [term]
    if len(factors) > 1 and any(isinstance(x, Load) for f in factors for x in loads(f)):
        return _accumulate(ev, op, reduced, lambda e, rest: _contract(e, factors, rest), _largest(ev, factors))
    sizes = math.prod(ev.axes.values())
    return _accumulate(ev, op, reduced, lambda e, rest: _fold(e, op, term, rest), sizes, _SHORT)


def _accumulate(
    ev: Evaluator,
    op: str,
    reduced: list[Iter],
    part: Callable[[Evaluator, list[Iter]], Array],
    size: int,
    short: int = 1,
) -> Array:
    """Combine `part` over pieces of the leading reduction axes, so small that intermediate arrays keep the bound."""
    rest = list(reduced)
    steps: dict[str, int] = {}
    if math.prod(ev.axes[r.name] for r in rest) <= short:
        steps, rest = dict.fromkeys([r.name for r in rest], 1), []
    while rest and size > _BUDGET:
        inner = size // ev.axes[rest[0].name]
        steps[rest[0].name] = step = max(1, _BUDGET // max(inner, 1))
        if step > 1:
            break
        size = inner
        del rest[0]
    out: Array | None = None
    for piece_of in _pieces(ev, steps):
        piece = part(ev.within(piece_of), rest)
        if out is None:
            out = piece
        elif out.shape == piece.shape and out.flags.writeable and out.base is None and out.dtype == piece.dtype:
            _REDUCE[op](out, piece, out=out)
        else:
            out = np.asarray(_REDUCE[op](out, piece))
    assert out is not None
    return out


def _pieces(ev: Evaluator, steps: Mapping[str, int]) -> Iterator[dict[str, range]]:
    """Cut the axes into pieces of so many values each, and yield every combination."""
    cuts = ([range(at, min(at + n, ev.axes[a])) for at in range(0, ev.axes[a], n)] for a, n in steps.items())
    for spans in itertools.product(*cuts):
        yield dict(zip(steps, spans, strict=True))


def _fold(ev: Evaluator, op: str, term: Expr, reduced: list[Iter]) -> Array:
    """Evaluate the term over space and `reduced`, then fold; an axis that it ignores counts once per point."""
    value = ev.value(term)
    full = list(value.shape)
    axes = [k for k, name in enumerate(ev.axes) if name in {r.name for r in reduced}]
    if not axes:
        return value
    for k in axes:
        full[k] = ev.size(list(ev.axes)[k])
    return np.asarray(
        _REDUCE[op].reduce(np.broadcast_to(value, full), axis=tuple(axes), keepdims=True, dtype=value.dtype)
    )


def factors_of(term: Expr) -> list[Expr]:
    """Factors of a product, the expression itself where it is none."""
    if isinstance(term, Binary) and term.op == "mul":
        return factors_of(term.a) + factors_of(term.b)
    return [term]


def _largest(ev: Evaluator, factors: list[Expr]) -> int:
    """Number of elements of the largest operand once it is laid out for the matrix product."""
    sizes = []
    for f in factors:
        used = {v for form in all_index_forms(f) for v in form.vars}
        sizes.append(math.prod(ev.size(a) for a in used))
    # Copies of operands are cheap beside the arithmetic, so they may be a few times larger than other intermediates.
    return max(sizes) // 4


def _contract(ev: Evaluator, factors: list[Expr], reduced: list[Iter]) -> Array:
    """Sum of products over `reduced`, as one matrix product of two operands."""
    values = sorted((ev.value(f) for f in factors), key=lambda v: v.size)
    while len(values) > 2:
        values = sorted([values[0] * values[1], *values[2:]], key=lambda v: v.size)
    names = list(ev.axes)
    return sum_of_products(values[1], values[0], [names.index(r.name) for r in reduced], [ev.size(n) for n in names])
