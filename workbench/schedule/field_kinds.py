"""What the fields of a primitive hold: names of a nest, factors, sizes; and the JSON and Python forms of values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

import numpy as np

from workbench.arguments import shown
from workbench.errors import ScheduleError
from workbench.forms import Json, Kind, Text, as_sequence
from workbench.ir import Func, blocks, loops
from workbench.ir.size_limits import EXTENT_LIMIT
from workbench.schedule.holes import Hole, divisors
from workbench.schedule.size_limits import NUMBER_LIMIT

#: Parts that one step cuts a loop into; an extent below `NUMBER_LIMIT` has fewer prime factors.
MOST_FACTORS = 32
#: Lists inside each other in the arguments of a recorded step; steps need two. What is deeper is no step.
DEEPEST = 4


_NAMED: dict[str, Callable[[Func], Iterable[str]]] = {
    "loop": lambda func: (lp.name for lp, _ in loops(func.body)),
    "block": lambda func: (b.name for b, _ in blocks(func.body)),
    "buffer": lambda func: (b.name for b in func.buffers),
    "nest": lambda func: (*_NAMED["loop"](func), *_NAMED["block"](func)),
}
"""What a function has of the things that a field may name."""


@dataclass(frozen=True, slots=True)
class Ref(Text):
    """One of the things that `names` says, by its name; an axis is one of the block in the field `of`."""

    widget: ClassVar[str] = "select"
    open_choice: ClassVar[bool] = True

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"the name of a {'loop or block' if self.names == 'nest' else self.names}"

    def options(self, subject: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        if self.names in _NAMED:
            return tuple(_NAMED[self.names](subject))
        found = [b for b, _ in blocks(subject.body) if args.get(self.of, b.name) == b.name]
        return tuple(dict.fromkeys(it.name for b in found for it in b.iters))


LoopRef = partial(Ref, names="loop")
BlockRef = partial(Ref, names="block")
BufferRef = partial(Ref, names="buffer")
NestRef = partial(Ref, names="nest")
AxisRef = partial(Ref, names="axis", of="block")


@dataclass(frozen=True, slots=True)
class LoopRefs(Kind):
    """Several loops, by name, in order; given as ``f("i", "j")`` or ``f(["i", "j"])``."""

    names: str = field(default="loop", kw_only=True)
    widget: ClassVar[str] = "multiselect"
    variadic: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        names = as_sequence(value)
        if len(names) == 1 and not isinstance(names[0], str):
            names = as_sequence(names[0])
        bad = [n for n in names if not isinstance(n, str)]
        if bad:
            raise ValueError(f"expected names of loops, not {shown(bad[0])}")
        return tuple(names)

    def options(self, subject: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return tuple(_NAMED["loop"](subject))


@dataclass(frozen=True, slots=True)
class Factors(Kind):
    """Factors of a loop's extent, outermost first: ints, `Hole`, names of holes, and one None for "the rest"."""

    of: str = field(default="loop", kw_only=True)
    widget: ClassVar[str] = "factors"
    holds_holes: ClassVar[bool] = True

    @property
    def may_be_open(self) -> bool:
        return True

    def clean(self, value: object) -> object:
        if isinstance(value, int | np.integer | Hole | str) and not isinstance(value, bool):
            value = (None, value)
        factors = as_sequence(value)
        if len(factors) > MOST_FACTORS:
            raise ValueError(f"expected at most {MOST_FACTORS} factors, not {len(factors)}")
        return tuple(self._factor(f) for f in factors)

    def _factor(self, f: object) -> object:
        if isinstance(f, Hole):  # a plain one, whatever kind of hole was given
            choices = f.choices and tuple(number(c, "a choice of a factor", 1) for c in f.choices)
            return Hole(f.name, choices)
        if f is None or isinstance(f, str):
            return f
        if isinstance(f, bool) or not isinstance(f, int | np.integer):
            raise ValueError(f"a factor is an int, a Hole, the name of a hole or None, not {shown(f)}")
        return number(f, "a factor", 1)

    def options(self, subject: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        try:
            extent = subject.loop(str(args[self.of]))[0].extent
        except (KeyError, ScheduleError):
            return ()
        return divisors(extent) if isinstance(extent, int) and extent < EXTENT_LIMIT else ()


@dataclass(frozen=True, slots=True)
class BlockSize(Kind):
    """Size of a packed block: an int, the name of a hole, or several names for their product."""

    widget: ClassVar[str] = "size"
    holds_holes: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        if isinstance(value, Hole | str | int | np.integer):
            return self._part(value)
        parts = as_sequence(value)
        if not 0 < len(parts) <= MOST_FACTORS:
            raise ValueError(f"a block size has 1 to {MOST_FACTORS} factors, not {len(parts)}")
        return tuple(self._part(v) for v in parts)

    def _part(self, value: object) -> object:
        if isinstance(value, Hole):
            if value.name is None:
                raise ValueError("a block size is an existing hole; pass its name")
            return value.name
        return value if isinstance(value, str) else number(value, "a block size", 1)

    def options(self, subject: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return (4, 8, 16, 32, *(h.name for h in subject.holes))


@dataclass(frozen=True, slots=True)
class Number(Kind):
    """An integer, such as a dimension; `said` is how some are said."""

    said: tuple[tuple[int, str], ...] = ()
    widget: ClassVar[str] = "number"

    def clean(self, value: object) -> object:
        return number(value, "the number", 1 - NUMBER_LIMIT)


@dataclass(frozen=True, slots=True)
class NoteKey(Kind):
    """Key of a note: any word; a form offers those that have an effect."""

    keys: tuple[str, ...] = ()
    widget: ClassVar[str] = "select"
    free: ClassVar[bool] = True

    @property
    def choices(self) -> tuple[str, ...]:
        return self.keys

    def clean(self, value: object) -> object:
        if not isinstance(value, str) or not value:
            raise ValueError(f"expected a word, not {shown(value)}")
        return value


@dataclass(frozen=True, slots=True)
class NoteValue(Number):
    """Value of a note: an integer or a text; a form takes a number."""

    free: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        # An explicit base: dataclasses with slots are made twice, which `super()` does not survive.
        return value if isinstance(value, str) else Number.clean(self, value)


def encode(value: object) -> Json:
    """JSON form of a field's value."""
    match value:
        case Hole(name, None):
            return {"hole": name}
        case Hole(name, choices):
            return {"hole": name, "choices": list(choices or ())}
        case tuple():
            return [encode(v) for v in value]
        case _:
            return value


def decode(data: Json, deep: int = 0) -> object:
    """Inverse of `encode`."""
    if deep > DEEPEST:
        text = f"The arguments of a step are no lists in more than {DEEPEST} lists."
        raise ScheduleError("trace.step", text, ("step",), "one list of names or numbers")
    match data:
        case {"hole": name, **rest}:
            choices = rest.get("choices")
            if not isinstance(name, str | None) or not isinstance(choices, list | None):
                raise ScheduleError(
                    "trace.step",
                    f"A hole is {{'hole': name, 'choices': [...]}}, not {shown(data)}.",
                    ("hole",),
                    "null where there are no choices",
                )
            return Hole(name, None if choices is None else tuple(choices))
        case list():
            return tuple(decode(v, deep + 1) for v in data)
        case None | str() | int() | float() | bool():
            return data
        case _:
            raise ScheduleError(
                "trace.step",
                f"{shown(data)} cannot be an argument of a step.",
                ("step",),
                "names, numbers, true, false, null, holes, and lists of them",
            )


def source(value: object) -> str:
    """Python text of a field's value."""
    return "[" + ", ".join(source(v) for v in value) + "]" if isinstance(value, tuple) else repr(value)


def with_numbers(value: object, values: Mapping[str, int], names: bool) -> Any:
    """Replace holes by their numbers; with `names` also strings that name a hole."""
    match value:
        case Hole(str(name)) if name in values:
            return values[name]
        case str() if names and value in values:
            return values[value]
        case tuple():
            return tuple(with_numbers(v, values, names) for v in value)
        case _:
            return value


def number(value: object, what: str, least: int) -> int:
    """A whole number from `least` to below `NUMBER_LIMIT`; ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{what} is an integer, not {shown(value)}")
    if not least <= value < NUMBER_LIMIT:
        raise ValueError(f"{what} is {f'at least {least}' if value < least else 'below 2**31'}, not {shown(value)}")
    return int(value)
