"""What the fields of a primitive hold: kinds with their checks and what a form offers, and the JSON and Python forms of
values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from workbench.arguments import elements, shown
from workbench.errors import ScheduleError
from workbench.ir.func import Func
from workbench.ir.poly import EXTENT_LIMIT
from workbench.ir.stmt import blocks, loops
from workbench.schedule.holes import NUMBER_LIMIT, Hole, divisors

Json: TypeAlias = Any

#: Most parts that one step cuts a loop into; an extent below `NUMBER_LIMIT` has fewer prime factors.
MOST_FACTORS = 32
#: How deep lists lie in the arguments of a recorded step, at most.
DEEPEST = 4


@dataclass(frozen=True, slots=True)
class FieldKind:
    """What a field of a primitive holds: how a value is checked, and what a form offers."""

    label: str = ""
    widget: ClassVar[str] = "text"
    #: A variadic field takes the remaining positional arguments.
    variadic: ClassVar[bool] = False
    #: Whether the field may hold a `Hole` with choices, which makes variants of the schedule.
    open_choice: ClassVar[bool] = False
    #: Whether a plain string inside the value is the name of a hole.
    holds_holes: ClassVar[bool] = False

    def clean(self, value: object) -> object:
        """Bring what the user passed into the form that is kept, or raise ValueError with the reason."""
        return value

    def accept(self, value: object) -> object:
        """`clean`, also for a `Hole` where the field may hold one: then each of its choices."""
        if not (self.open_choice and isinstance(value, Hole)):
            return self.clean(value)
        if value.choices is None:
            raise ValueError("a hole needs choices here: Hole(choices=[...])")
        return Hole(value.name, tuple(self.clean(c) for c in value.choices))

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        """Values that a form may offer, given the function and the other fields."""
        return ()


@dataclass(frozen=True, slots=True)
class _Name(FieldKind):
    what: ClassVar[str] = "name"
    widget: ClassVar[str] = "select"
    open_choice: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        if not isinstance(value, str):
            raise ValueError(f"expected the name of a {self.what}, not {shown(value)}")
        return value


@dataclass(frozen=True, slots=True)
class LoopRef(_Name):
    """One loop, by name."""

    what: ClassVar[str] = "loop"

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return tuple(lp.name for lp, _ in loops(func.body))


@dataclass(frozen=True, slots=True)
class BlockRef(_Name):
    """One block, by name."""

    what: ClassVar[str] = "block"

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return tuple(b.name for b, _ in blocks(func.body))


@dataclass(frozen=True, slots=True)
class BufferRef(_Name):
    """One buffer, by name."""

    what: ClassVar[str] = "buffer"

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return tuple(b.name for b in func.buffers)


@dataclass(frozen=True, slots=True)
class NestRef(_Name):
    """One loop or block, by name."""

    what: ClassVar[str] = "loop or block"

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return (*(lp.name for lp, _ in loops(func.body)), *(b.name for b, _ in blocks(func.body)))


@dataclass(frozen=True, slots=True)
class AxisRef(_Name):
    """One axis of the block in the field `of`, by name."""

    of: str = "block"
    what: ClassVar[str] = "axis"

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        found = [b for b, _ in blocks(func.body) if args.get(self.of, b.name) == b.name]
        return tuple(dict.fromkeys(it.name for b in found for it in b.iters))


@dataclass(frozen=True, slots=True)
class LoopRefs(FieldKind):
    """Several loops, by name, in order; given as ``f("i", "j")`` or ``f(["i", "j"])``."""

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

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return tuple(lp.name for lp, _ in loops(func.body))


@dataclass(frozen=True, slots=True)
class Factors(FieldKind):
    """Factors of a loop's extent, outermost first: ints, `Hole`, names of holes, and one None for "the rest"."""

    of: str = "loop"
    widget: ClassVar[str] = "factors"
    holds_holes: ClassVar[bool] = True

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

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        try:
            extent = func.loop(str(args[self.of]))[0].extent
        except (KeyError, ScheduleError):
            return ()
        return divisors(extent) if isinstance(extent, int) and extent < EXTENT_LIMIT else ()


@dataclass(frozen=True, slots=True)
class BlockSize(FieldKind):
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

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return (4, 8, 16, 32, *(h.name for h in func.holes))


@dataclass(frozen=True, slots=True)
class Number(FieldKind):
    """An integer, such as a dimension; `words` is how some are said."""

    words: tuple[tuple[int, str], ...] = ()
    widget: ClassVar[str] = "number"

    def clean(self, value: object) -> object:
        return number(value, "the number", 1 - NUMBER_LIMIT)


@dataclass(frozen=True, slots=True)
class NoteKey(FieldKind):
    """Key of a note: any word; a form offers those that have an effect."""

    keys: tuple[str, ...] = ()
    widget: ClassVar[str] = "select"

    def clean(self, value: object) -> object:
        if not isinstance(value, str) or not value:
            raise ValueError(f"expected a word, not {shown(value)}")
        return value

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return self.keys


@dataclass(frozen=True, slots=True)
class NoteValue(Number):
    """Value of a note: an integer or a text; a form takes a number."""

    def clean(self, value: object) -> object:
        # An explicit base: dataclasses with slots are made twice, which `super()` does not survive.
        return value if isinstance(value, str) else Number.clean(self, value)


@dataclass(frozen=True, slots=True)
class Choice(FieldKind):
    """One of a few words."""

    values: tuple[str, ...] = ()
    widget: ClassVar[str] = "select"
    open_choice: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        if not isinstance(value, str) or value not in self.values:
            raise ValueError(f"expected one of {', '.join(self.values)}, not {shown(value)}")
        return value

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return self.values


@dataclass(frozen=True, slots=True)
class Flag(FieldKind):
    """Yes or no."""

    widget: ClassVar[str] = "checkbox"
    open_choice: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        if not isinstance(value, bool):
            raise ValueError(f"expected True or False, not {shown(value)}")
        return value

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return (False, True)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a primitive, as a form needs it."""

    name: str
    kind: FieldKind
    required: bool
    default: object

    def describe(self, func: Func | None = None, args: Mapping[str, object] | None = None) -> dict[str, Json]:
        """JSON description for a form; with `func` it lists the values on offer."""
        out: dict[str, Json] = {
            "name": self.name,
            "widget": self.kind.widget,
            "label": self.kind.label,
            "required": self.required,
            "variadic": self.kind.variadic,
            "may_be_open": self.kind.open_choice or isinstance(self.kind, Factors),
        }
        if not self.required:
            out["default"] = encode(self.default)
        if func is not None:
            out["options"] = [encode(v) for v in self.kind.options(func, args or {})]
        return out


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


def as_sequence(value: object) -> Sequence[Any]:
    """Tuple of a list's elements; ValueError for what is no list."""
    found = elements(value)
    if found is None:
        raise ValueError(f"expected a list, not {shown(value)}")
    return found


def number(value: object, what: str, least: int) -> int:
    """A whole number from `least` to below `NUMBER_LIMIT`; ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise ValueError(f"{what} is an integer, not {shown(value)}")
    if not least <= value < NUMBER_LIMIT:
        raise ValueError(f"{what} is {f'at least {least}' if value < least else 'below 2**31'}, not {shown(value)}")
    return int(value)
