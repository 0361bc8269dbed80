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
from workbench.ir.poly import Dim, Poly, hole
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
    """What open numbers have in common: sums and products stay open, comparisons become conditions."""

    __slots__ = ()

    @property
    def dim(self) -> Dim:
        """The number as a polynomial over holes."""
        raise NotImplementedError

    @property
    def knobs(self) -> tuple[str, ...]:
        """Names of the knobs that it depends on."""
        raise NotImplementedError

    @property
    def run(self) -> Run:
        """The run that it belongs to."""
        raise NotImplementedError

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


class Sum(Arithmetic):
    """Several open numbers taken together; good for limits."""

    __slots__ = ("_dim", "_knobs", "_run")

    def __init__(self, dim: Dim, knobs: tuple[str, ...], run: Run) -> None:
        self._dim, self._knobs, self._run = dim, knobs, run

    @property
    def dim(self) -> Dim:
        return self._dim

    @property
    def knobs(self) -> tuple[str, ...]:
        return self._knobs

    @property
    def run(self) -> Run:
        return self._run


class Open(Arithmetic, Hole):
    """An open number of a knob: a hole wherever a step takes one."""

    __slots__ = ("_run", "knob")
    knob: str
    _run: Run

    def __init__(self, knob: str, run: Run, name: str, choices: tuple[int, ...] | None) -> None:
        Hole.__init__(self, name, choices)
        object.__setattr__(self, "knob", knob)
        object.__setattr__(self, "_run", run)

    @property
    def dim(self) -> Dim:
        return hole(str(self.name))

    @property
    def knobs(self) -> tuple[str, ...]:
        return (self.knob,)

    @property
    def run(self) -> Run:
        return self._run


class Condition:
    """What open numbers have to fulfil: every polynomial is at least 0. Asked for its truth, it wants values."""

    __slots__ = ("dims", "knobs", "run")

    def __init__(self, dims: tuple[Dim, ...], knobs: tuple[str, ...], run: Run) -> None:
        self.dims, self.knobs, self.run = dims, knobs, run

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
