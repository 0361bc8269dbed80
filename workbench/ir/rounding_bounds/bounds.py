"""How far rounding may carry each result of a function, whatever the order in which a kernel computes it.

The function is evaluated in double precision as it was before anything was scheduled, and beside every value stands a
bound on what kernels may make of it (`operations`). Sums are bounded by the sum of magnitudes, so the bound holds
for every order, for fused multiply-adds, and for stages that are computed again where they are read. Nothing here knows
how a kernel was made: an element that lies outside was computed wrongly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from workbench.ir.dtypes import is_float
from workbench.ir.expr import Binary, Cast, Const, Expr, Load, Select, Unary, loads, walk
from workbench.ir.expr_dtypes import dtype_of
from workbench.ir.func import Func, pack
from workbench.ir.numpy_reference.evaluate import block_of, factors_of, split_digits
from workbench.ir.poly import concrete
from workbench.ir.rounding_bounds.expressions import Box, Domain, Memory, boxes
from workbench.ir.rounding_bounds.operations import UNIT, Array, Near, Ulps, binary, rounded
from workbench.ir.rounding_bounds.sums import PIECE, Sums
from workbench.ir.stmt import Block
from workbench.ir.winograd_weights import WinogradStep

#: Standard deviations that a bound on a long sum allows. Errors of n additions add up like steps in random directions,
#: with the root of n; chosen wide: beyond four lies one of 16,000.
_STEPS = 4.0
#: Part of a term that may be lost when it is added to the sum of the others; above it each addition counts in full.
#: Chosen: sums in float16 that stop growing stay within their bound.
_LOST = 1 / 16
#: Values of an axis that may choose between expressions, as in Winograd's transforms (6 at most); longer axes are
#: borders. Decides the order in which boxes are cut, no result.
_FEW = 8


@dataclass(frozen=True, slots=True)
class Results:
    """What a function gives.

    Attributes
    ----------
    near : dict of str to Near
        One per output buffer. Floating-point values are float64, elements that no block writes NaN.
    cut : float
        Part of the conversions from floats to bytes that were cut to the ends of their range.
    """

    near: dict[str, Near]
    cut: float


def evaluate(func: Func, inputs: Mapping[str, Array], ulps: Ulps) -> Results:
    """Compute the outputs of a function that has not been scheduled, with bounds on the rounding of kernels.

    Parameters
    ----------
    func : Func
        Concrete, as `te.func` makes it.
    inputs : mapping of str to ndarray
        One array per input and constant buffer, in the buffer's shape before packing.
    ulps : callable
        Error of a function of the IR in units in the last place, by operator and dtype.

    Returns
    -------
    Results

    Raises
    ------
    InputError
        "reference.scheduled" when the function was scheduled.
    RunError
        "reference.index" when an access leaves its buffer.
    """
    state = _State(func, ulps)
    for buffer in func.buffers:
        floating = is_float(buffer.dtype)
        if buffer.name in inputs:
            array = np.asarray(inputs[buffer.name])
            if floating:  # those of single precision are widened where they are read: they may be large
                array = array.astype(
                    np.float64 if buffer.layout or array.dtype.itemsize == 8 else np.float32, copy=False
                )
            state.values[buffer.name] = pack(buffer, array) if buffer.layout else np.asarray(array, order="C")
            if floating and any(isinstance(step, WinogradStep) for step in buffer.layout):
                near = rounded(state.values[buffer.name], None, buffer.dtype)
                state.errors[buffer.name] = near.margin
        else:
            shape = [concrete(d) for d in buffer.shape]
            state.values[buffer.name] = np.full(shape, np.nan if floating else 0, None if floating else buffer.dtype)
    with np.errstate(all="ignore"):
        for stmt in func.body:
            state.run(split_digits(block_of(stmt)))
    outputs = {b.name: Near(state.values[b.name], state.errors.get(b.name)) for b in func.outputs}
    return Results(outputs, state.cut / max(1, state.converted))


def _chosen_first(space: dict[str, int], value: Expr) -> dict[str, int]:
    """The axes in an order in which boxes are cut along short ones that choose between values: one is computed then."""
    chosen = {v for e in walk(value) if isinstance(e, Select) for c in e.conds for v in c.form.vars}
    first = {n: e for n, e in space.items() if n in chosen and e <= _FEW}
    return first | space


class _State(Memory):
    """What runs the blocks of a function, one after the other."""

    def run(self, block: Block) -> None:
        """Compute what a block writes."""
        space = {it.name: concrete(it.extent) for it in block.iters if it.kind == "S"}
        reduced = {it.name: concrete(it.extent) for it in block.iters if it.kind == "R"}
        if block.init is None:
            if self._is_varied(block.value):
                self.varied.add(block.buffer)
            for box in boxes(_chosen_first(space, block.value), PIECE):
                self._store(block, space, box, self._element(block, Domain(self, space, box)))
            return
        names = {it.name: concrete(it.extent) for it in block.iters}
        op, term = block.update()
        factors = factors_of(term) if op == "add" else [term]
        product = len(factors) > 1 and any(isinstance(x, Load) for f in factors for x in loads(f))
        dtype = dtype_of(term, self.func)
        roundings = self._roundings(factors, math.prod(reduced.values()), UNIT.get(dtype, 0.0))
        sums = Sums(op, dtype, names, reduced, roundings)
        if op == "add" and is_float(sums.dtype):
            self.sums[block.buffer] = sums.roundings * UNIT[sums.dtype]
        whole = Domain(self, names, {})
        side = max(1, PIECE // max(1, sums.side))
        for box in sums.cuts(whole, factors, space) if product else boxes(space, side):
            domain = Domain(self, names, box)
            near = sums.contracted(domain, factors) if product else sums.folded(domain, term)
            assert block.init is not None
            if op != "add" or not isinstance(block.init, Const) or block.init.value != 0:
                near = binary(op, domain.near(block.init), near, sums.dtype, self.ulps)
            keep = tuple(0 if n in reduced else slice(None) for n in names)
            error = None if near.error is None else np.broadcast_to(near.error, near.value.shape)[keep]
            self._store(block, space, box, Near(near.value[keep], error))

    def _element(self, block: Block, domain: Domain) -> Near:
        """The value of an element-wise block; what is added to a sum may be the number that the sum starts from."""
        near = domain.near(block.value)
        if isinstance(block.value, Binary) and block.value.op == "add":
            for own, other in itertools.permutations((block.value.a, block.value.b)):
                if isinstance(own, Load) and own.buffer in self.sums:
                    self.sums[block.buffer] = unit = self.sums[own.buffer]
                    start = domain.near(other)
                    near = Near(near.value, near.margin + unit * (np.abs(start.value) + start.margin))
        return near

    def _roundings(self, factors: list[Expr], count: int, unit: float) -> float:
        """How many roundings of the sum of magnitudes a sum of `count` terms may be wrong by.

        As many as there are additions at most. Where terms have digits of inputs, errors are as often up as down, as
        long as the sum does not grow so large that most of a term is lost.
        """
        varied = count * unit < _LOST and any(self._is_varied(f) for f in factors)
        return min(count, _STEPS * math.sqrt(count)) + len(factors) if varied else count + len(factors)

    def _is_varied(self, e: Expr) -> bool:
        """Whether the last digits of a value are those of an input: nothing on the way makes many values equal."""
        match e:
            case Load(buffer):
                return buffer in self.varied
            case Unary(op, a):
                return op not in ("floor", "ceil", "round") and self._is_varied(a)
            case Binary(op, a, b):
                return op in ("add", "sub", "mul", "div") and (self._is_varied(a) or self._is_varied(b))
            case Cast(dtype, a):
                return is_float(dtype) and self._is_varied(a)
            case Select(_, a, b):
                return self._is_varied(a) or self._is_varied(b)
        return False

    def _store(self, block: Block, space: Mapping[str, int], box: Box, near: Near) -> None:
        """Write what was computed for a box."""
        name, target = block.buffer, block.own_load()
        out = Domain(self, space, box)
        stored = self.values[name]
        out.values.store(target, near.value.astype(stored.dtype, copy=False))
        if near.error is not None and name not in self.errors:
            self.errors[name] = np.zeros(stored.shape, bool if stored.dtype == bool else float)
        if name in self.errors:
            out.over(self.errors).store(target, near.margin)
