"""Open numbers as a template's function meets them: holes that can be calculated with, and that notice being looked at.

A template is an ordinary function, so an open number has to do for arithmetic (limits are written with it) and as an
argument of a step (then it is a hole). Whatever needs its value, ``if`` above all, raises `Closed`: the function is
then run again, once for each value that the knob may have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from workbench.errors import UsageError
from workbench.ir import Dim, Poly
from workbench.ir.poly import hole
from workbench.schedule.holes import Hole


class Closed(BaseException):
    """The value of a knob is needed. No `Exception`, so that a template that catches those does not stop it."""

    def __init__(self, knob: str) -> None:
        super().__init__(knob)
        self.knob = knob


@dataclass(slots=True)
class Run:
    """One run of a template's function; open numbers are good for as long as it lasts."""

    running: bool = True
    #: A knob whose value was asked for; still known where the function has caught what this raises.
    needed: str | None = None

    def close(self, knobs: Iterable[str]) -> NoReturn:
        """End the run because the values of these knobs are needed."""
        first = next(iter(knobs))
        if self.running:
            self.needed = self.needed or first
            raise Closed(first)
        text = f"An open number of knob {first!r} has no value, and the template that it belongs to has ended."
        raise UsageError("template.knob", text, (first,), "fill a row of the space to get numbers")


class Arithmetic:
    """What open numbers have in common: sums and products stay open, comparisons become conditions.

    Attributes
    ----------
    dim : int or polynomial
        The number over holes.
    knobs : tuple of str
        Names of the knobs that it depends on.
    run : Run
        The run that it belongs to.
    """

    __slots__ = ()
    dim: Dim
    knobs: tuple[str, ...]
    run: Run

    def __add__(self, other: object) -> Any:
        return _combined(self, other, lambda a, b: a + b)

    def __sub__(self, other: object) -> Any:
        return _combined(self, other, lambda a, b: a - b)

    def __rsub__(self, other: object) -> Any:
        return _combined(self, other, lambda a, b: b - a)

    def __mul__(self, other: object) -> Any:
        return _combined(self, other, lambda a, b: a * b)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Any:
        return self * -1

    def __le__(self, other: object) -> Any:
        return _condition(_combined(self, other, lambda a, b: b - a))

    def __ge__(self, other: object) -> Any:
        return _condition(_combined(self, other, lambda a, b: a - b))

    def __lt__(self, other: object) -> Any:
        return _condition(_combined(self, other, lambda a, b: b - a - 1))

    def __gt__(self, other: object) -> Any:
        return _condition(_combined(self, other, lambda a, b: a - b - 1))

    def _look(self, *_: object) -> NoReturn:
        self.run.close(self.knobs)

    __eq__ = __ne__ = __hash__ = __bool__ = __int__ = __index__ = __float__ = _look
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _look
    __abs__ = __round__ = __iter__ = __len__ = __getitem__ = __contains__ = _look
    __str__ = __format__ = __repr__ = _look  # what is printed, or quoted in an error, is the number


@dataclass(slots=True, eq=False, repr=False)
class Sum(Arithmetic):
    """Several open numbers taken together; good for limits."""

    dim: Dim
    knobs: tuple[str, ...]
    run: Run


class Open(Arithmetic, Hole):
    """An open number of a knob: a hole wherever a step takes one."""

    __slots__ = ("dim", "knobs", "run")

    def __init__(self, knob: str, run: Run, name: str, choices: tuple[int, ...] | None) -> None:
        Hole.__init__(self, name, choices)
        for slot, value in (("dim", hole(name)), ("knobs", (knob,)), ("run", run)):
            object.__setattr__(self, slot, value)


@dataclass(frozen=True, slots=True)
class Condition:
    """What open numbers have to fulfil: every polynomial is at least 0. Asked for its truth, it wants values."""

    dims: tuple[Dim, ...]
    knobs: tuple[str, ...]
    run: Run

    def __and__(self, other: object) -> Any:
        if isinstance(other, Condition):
            return Condition((*self.dims, *other.dims), (*self.knobs, *other.knobs), self.run)
        return self if other is True else other if other is False else NotImplemented

    __rand__ = __and__

    def __bool__(self) -> bool:
        self.run.close(self.knobs)


Number: TypeAlias = int | Open | Sum


def _combined(a: Arithmetic, other: object, op: Callable[[Any, Any], Any]) -> Any:
    if isinstance(other, Arithmetic):
        return Sum(op(a.dim, other.dim), tuple(dict.fromkeys((*a.knobs, *other.knobs))), a.run)
    if isinstance(other, int | np.integer) and not isinstance(other, bool):
        return Sum(op(a.dim, int(other)), a.knobs, a.run)
    if isinstance(other, Poly):  # the extent of a loop that holes of the schedule decide
        return Sum(op(a.dim, other), a.knobs, a.run)
    return NotImplemented


def _condition(total: Any) -> Any:
    return Condition((total.dim,), total.knobs, total.run) if isinstance(total, Sum) else NotImplemented
