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
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from ..errors import InputError, RunError, ShapeError
from .affine import FREE, Affine, Digit
from .dtypes import is_float
from .expr import (
    Binary,
    Bound,
    Cast,
    Const,
    Expr,
    Index,
    Load,
    Pick,
    Select,
    Unary,
    Where,
    all_index_forms,
    loads,
)
from .func import Func, pack
from .poly import concrete
from .reference_math import BINARY, UNARY, convert
from .reference_product import sum_of_products
from .stmt import Block, For, Iter, Stmt, map_block

Array: TypeAlias = NDArray[Any]

#: Reductions over at most this many points run point by point, vectorised over space: NumPy is slow on
#: short inner axes.
_SHORT = 64
#: Most elements that one intermediate array may have; longer reductions are cut along their leading axes.
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
        dtype = _compute_dtype(buffer.dtype, precise)
        if buffer.role in ("input", "const"):
            if buffer.name not in inputs:
                raise InputError("reference.input", f"There is no array for the input {buffer.name!r}.", (buffer.name,))
            given = np.asarray(inputs[buffer.name])
            if given.shape != buffer.logical_shape():
                raise ShapeError(
                    "shape.mismatch",
                    f"{buffer.name!r} has shape {given.shape}, expected {buffer.logical_shape()}.",
                    (buffer.name,),
                )
            given = pack(buffer, given) if buffer.layout else given
            arrays[buffer.name] = np.ascontiguousarray(given, dtype=dtype).reshape(np.shape(given))
        else:
            fill = np.nan if dtype.kind == "f" else 0
            arrays[buffer.name] = np.full([concrete(d) for d in buffer.shape], fill, dtype)
    with np.errstate(all="ignore"):
        for stmt in func.body:
            _run(_block_of(stmt), arrays, func, precise)
    return {b.name: arrays[b.name] if precise else arrays[b.name].astype(b.dtype, copy=False) for b in func.outputs}


def _compute_dtype(dtype: str, precise: bool) -> np.dtype[Any]:
    kind = np.dtype(dtype)
    if not is_float(kind):
        return kind
    return np.dtype("float64") if precise or kind.itemsize > 4 else np.dtype("float32")


def _block_of(stmt: Stmt) -> Block:
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
    ev = _Evaluator(arrays, {it.name: concrete(it.extent) for it in block.iters}, precise)
    if block.init is None:
        value = ev.value(block.value)
    else:
        op, term = block.update()
        value = _REDUCE[op](ev.value(block.init), _reduce(ev, op, term, [it for it in block.iters if it.kind == "R"]))
        keep = tuple(0 if it.kind == "R" else slice(None) for it in block.iters)
        value = value[keep]
    out = _Evaluator(arrays, {it.name: concrete(it.extent) for it in spatial}, precise)
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


@dataclass(frozen=True, slots=True)
class _Evaluator:
    """Evaluates expressions over a domain; an axis in `fixed` has one value instead of a dimension's worth."""

    arrays: dict[str, Array]
    axes: dict[str, int]
    precise: bool
    fixed: Mapping[str, int] | None = None

    def fix(self, values: Mapping[str, int]) -> _Evaluator:
        """Return an evaluator for the slice of the domain where some axes have the given values."""
        return _Evaluator(self.arrays, self.axes, self.precise, {**(self.fixed or {}), **values})

    def size(self, axis: str) -> int:
        return 1 if self.fixed and axis in self.fixed else self.axes[axis]

    def value(self, e: Expr, used: Array | None = None) -> Array:
        """Evaluate; under a `Select`, `used` says where the value counts: elsewhere loads may point outside."""
        match e:
            case Const(value, dtype):
                return np.asarray(value, _compute_dtype(dtype, self.precise)).reshape((1,) * len(self.axes))
            case Load():
                return self.load(e, used)
            case Index(form):
                return self.form(form)
            case Unary(op, a):
                return np.asarray(UNARY[op](self.value(a, used)))
            case Binary(op, a, b):
                return np.asarray(BINARY[op](self.value(a, used), self.value(b, used)))
            case Cast(dtype, a):
                return convert(self.value(a, used), _compute_dtype(dtype, self.precise))
            case Select(conds, a, b):
                inside = self.mask(conds)
                chosen, other = (inside, ~inside) if used is None else (inside & used, ~inside & used)
                return np.where(inside, self.value(a, chosen), self.value(b, other))
            case Where(cond, a, b):
                return np.where(self.value(cond, used), self.value(a, used), self.value(b, used))
        assert_never(e)

    def mask(self, conds: tuple[Bound, ...]) -> Array:
        out = np.ones((1,) * len(self.axes), bool)
        for c in conds:
            at = self.form(c.form)
            out = out & (at >= concrete(c.lo)) & (at < concrete(c.hi))
        return out

    def form(self, form: Affine, picked: Mapping[str, Array] | None = None) -> Array:
        """Value of an index form as int64, one dimension per axis; `picked` has the values of free digits."""
        out = np.full((1,) * len(self.axes), concrete(form.const), np.int64)
        for digit, c in form.terms:
            if digit.free:
                assert picked is not None
                assert digit.extent is not None
                out = out + picked[digit.var] // concrete(digit.lower) % concrete(digit.extent) * concrete(c)
                continue
            position = list(self.axes).index(digit.var)
            shape = [1] * len(self.axes)
            shape[position] = self.size(digit.var)
            start = (self.fixed or {}).get(digit.var, 0)
            values = np.arange(start, start + shape[position]) // concrete(digit.lower)
            if digit.extent is not None:
                values = values % concrete(digit.extent)
            out = out + values.reshape(shape) * concrete(c)
        return out

    def view(self, load: Load) -> Array | None:
        """Strided view of an access whose indices are plain and stay inside, else None."""
        array = self.arrays[load.buffer]
        strides, offset = dict.fromkeys(self.axes, 0), 0
        for form, stride, extent in zip(load.index, array.strides, array.shape, strict=True):
            low = high = concrete(form.const)
            for digit, c in form.terms:
                if not digit.plain:
                    return None
                step, start = concrete(c), (self.fixed or {}).get(digit.var, 0)
                first, last = step * start, step * (start + self.size(digit.var) - 1)
                low, high = low + min(first, last), high + max(first, last)
                strides[digit.var] += step * stride
                offset += first * stride
            if low < 0 or high >= extent:
                return None
            offset += concrete(form.const) * stride
        used = {d.var for f in load.index for d, _ in f.terms}
        shape = [self.size(a) if a in used else 1 for a in self.axes]
        base = np.ndarray((1,), array.dtype, array, offset)
        return as_strided(base, shape, [strides[a] for a in self.axes])

    def load(self, load: Load, used: Array | None) -> Array:
        found = self.view(load)
        return self.gather(load, used) if found is None else found

    def gather(self, load: Load, used: Array | None) -> Array:
        """Read by index arrays; whole trailing dimensions are copied as slices."""
        array, names = self.arrays[load.buffer], list(self.axes)
        picked = {f"{FREE}{k}": self.picked(p, used) for k, p in enumerate(load.at)}
        picking = {v for p in load.at for form in all_index_forms(p.value) for v in form.vars}
        tail: list[str] = []
        for d in range(array.ndim - 1, -1, -1):
            var = load.index[d].single_var()
            others = {n for k, f in enumerate(load.index) if k != d for n in f.vars} | picking
            if var is None or var in others or var in (self.fixed or ()) or self.size(var) != array.shape[d]:
                break
            tail.insert(0, var)
        index = []
        kept = tuple(k for k, n in enumerate(names) if n in tail)
        for d, form in enumerate(load.index[: array.ndim - len(tail)]):
            at = self.form(form, picked)
            outside = (at < 0) | (at >= array.shape[d])
            if (outside if used is None else outside & used).any():
                raise RunError("reference.index", f"An access to {load.buffer!r} leaves dimension {d}.", (load.buffer,))
            index.append(np.clip(at, 0, array.shape[d] - 1).squeeze(kept))
        got: Array = array[tuple(index)]
        order = [n for n in names if n not in tail] + tail
        return got.transpose([order.index(n) for n in names])

    def picked(self, pick: Pick, used: Array | None) -> Array:
        """Numbers that the data give, cut to what there is."""
        value = self.value(pick.value, used)
        # Compared in their own type: the largest unsigned ones have no place among int64.
        low, high = value < 0, value >= concrete(pick.extent)
        return np.where(high, concrete(pick.extent) - 1, np.where(low, 0, value).astype(np.int64))

    def store(self, target: Load, value: Array) -> None:
        found = self.view(target)
        if found is not None:
            found[...] = value
            return
        array = self.arrays[target.buffer]
        index = tuple(self.form(f) for f in target.index)
        if any(at.min() < 0 or at.max() >= n for at, n in zip(index, array.shape, strict=True)):
            raise RunError("reference.index", f"A store leaves buffer {target.buffer!r}.", (target.buffer,))
        array[index] = value


def _reduce(ev: _Evaluator, op: str, term: Expr, reduced: list[Iter]) -> Array:
    """Reduce `term` over the reduction axes, which keep a dimension of size 1."""
    factors = _factors(term) if op == "add" else [term]
    if len(factors) > 1 and any(isinstance(x, Load) for f in factors for x in loads(f)):
        return _accumulate(ev, op, reduced, lambda e, rest: _contract(e, factors, rest), _largest(ev, factors))
    sizes = math.prod(ev.axes.values())
    return _accumulate(ev, op, reduced, lambda e, rest: _fold(e, op, term, rest), sizes, _SHORT)


def _accumulate(
    ev: _Evaluator,
    op: str,
    reduced: list[Iter],
    part: Callable[[_Evaluator, list[Iter]], Array],
    size: int,
    short: int = 1,
) -> Array:
    """Combine `part` over the leading reduction axes, as many as needed to keep intermediate arrays within bounds."""
    rest = list(reduced)
    loop: list[Iter] = []
    if math.prod(ev.axes[r.name] for r in rest) <= short:
        loop, rest = rest, []
    while rest and size > _BUDGET:
        loop.append(rest.pop(0))
        size //= max(ev.axes[loop[-1].name], 1)
    out: Array | None = None
    for values in _points(ev, loop):
        piece = part(ev.fix(values), rest)
        if out is None:
            out = piece
        elif out.shape == piece.shape and out.flags.writeable and out.base is None and out.dtype == piece.dtype:
            _REDUCE[op](out, piece, out=out)
        else:
            out = np.asarray(_REDUCE[op](out, piece))
    assert out is not None
    return out


def _points(ev: _Evaluator, loop: list[Iter]) -> Iterator[dict[str, int]]:
    names = [it.name for it in loop]
    for values in itertools.product(*(range(ev.axes[n]) for n in names)):
        yield dict(zip(names, values, strict=True))


def _fold(ev: _Evaluator, op: str, term: Expr, reduced: list[Iter]) -> Array:
    """Evaluate the term over space and `reduced`, then fold; an axis that it ignores counts once per point."""
    value = ev.value(term)
    full = list(value.shape)
    axes = [k for k, name in enumerate(ev.axes) if name in {r.name for r in reduced}]
    if not axes:
        return value
    for k in axes:
        full[k] = list(ev.axes.values())[k]
    return np.asarray(
        _REDUCE[op].reduce(np.broadcast_to(value, full), axis=tuple(axes), keepdims=True, dtype=value.dtype)
    )


def _factors(term: Expr) -> list[Expr]:
    if isinstance(term, Binary) and term.op == "mul":
        return _factors(term.a) + _factors(term.b)
    return [term]


def _largest(ev: _Evaluator, factors: list[Expr]) -> int:
    """Number of elements of the largest operand once it is laid out for the matrix product."""
    sizes = []
    for f in factors:
        used = {v for form in all_index_forms(f) for v in form.vars}
        sizes.append(math.prod(ev.size(a) for a in used))
    # Copies of operands are cheap beside the arithmetic, so they may be a few times larger than other intermediates.
    return max(sizes) // 4


def _contract(ev: _Evaluator, factors: list[Expr], reduced: list[Iter]) -> Array:
    """Sum of products over `reduced`, as one matrix product of two operands."""
    values = sorted((ev.value(f) for f in factors), key=lambda v: v.size)
    while len(values) > 2:
        values = sorted([values[0] * values[1], *values[2:]], key=lambda v: v.size)
    names = list(ev.axes)
    return sum_of_products(values[1], values[0], [names.index(r.name) for r in reduced], [ev.axes[n] for n in names])
