"""Element-wise expressions over sums as steps of the ALU."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from workbench.errors import BuildError
from workbench.ir import Binary, Cast, Const, Expr, Load

_OPS = {"add": "add", "max": "max", "min": "min", "mul": "mul"}
_MOST = 1 << 15


@dataclass(frozen=True, slots=True)
class Step:
    """``sum = sum op number``, or ``op`` what another buffer of sums holds."""

    op: str
    number: int | None = None
    other: Load | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """What an expression does to the element that it starts from, and the least value that it then has."""

    source: Load
    steps: tuple[Step, ...] = ()
    least: float = -math.inf

    def swapped(self) -> Steps | None:
        """Start from the other operand of the first step; None where that is a number."""
        if not self.steps or self.steps[0].other is None:
            return None
        first = Step(self.steps[0].op, other=self.source)  # add, max, min and mul all commute
        return replace(self, source=self.steps[0].other, steps=(first, *self.steps[1:]))


def steps_of(e: Expr, what: str) -> Steps:
    """Read an expression; bytes are cut off where it is stored, and nowhere before.

    Raises
    ------
    BuildError
        "vta.expression" for what the ALU cannot do.
    """
    return _sums(e.a if isinstance(e, Cast) and e.dtype == "int8" else e, what)


def _sums(e: Expr, what: str) -> Steps:
    if isinstance(e, Load) and not e.at:
        return Steps(e)
    if isinstance(e, Cast) and e.dtype == "int8":
        raise _cannot(what, "it goes on with bytes, and the ALU has sums of 32 bits", "cast(..., 'int8') at the end")
    if isinstance(e, Cast) and e.dtype == "int32":
        return _sums(e.a, what)
    if isinstance(e, Binary):
        a, b = (e.b, e.a) if isinstance(e.a, Const) and e.op in _OPS else (e.a, e.b)
        before = _sums(a, what)
        if isinstance(b, Const):
            return _with_number(before, e.op, int(b.value), what)
        if e.op in _OPS and isinstance(b, Load) and not b.at:
            return Steps(before.source, (*before.steps, Step(_OPS[e.op], other=b)))
    raise _cannot(what, "what it computes is no chain of add, mul, min, max and division by powers of two")


def _with_number(before: Steps, op: str, number: int, what: str) -> Steps:
    if op == "sub":
        op, number = "add", -number
    least = before.least
    if op == "div" and number > 0 and number & (number - 1) == 0:
        if least < 0:
            raise _cannot(what, f"{number} divides what may be negative, and a shift rounds that in another way")
        shift = number.bit_length() - 1
        return Steps(before.source, (*before.steps, Step("shr", shift)), least // number)
    if op not in _OPS or not -_MOST <= number < _MOST:
        raise _cannot(what, f"{op} by {number} is no instruction with a number of 16 bits")
    after = {"max": max(least, number), "min": min(least, number), "add": least + number}.get(op, -math.inf)
    return Steps(before.source, (*before.steps, Step(_OPS[op], number)), after)


def _cannot(
    what: str, why: str, hint: str = "maximum(x, 0) in front of a division; other stages belong to a CPU"
) -> BuildError:
    return BuildError("vta.expression", f"The accelerator cannot compute {what!r}: {why}.", (what,), hint)
