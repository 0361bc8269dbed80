"""How a schedule primitive is declared: once, as a frozen dataclass whose annotated fields say everything.

::

    @primitive("unroll", category="annotation", codes={"unroll.limit": "..."})
    @dataclass(frozen=True, slots=True)
    class Unroll(Primitive):
        \"\"\"Say what it does.\"\"\"
        loop: Annotated[str, LoopRef("loop to unroll")]

        def apply(self, func): ...
        @classmethod
        def candidates(cls, func, target=None, at=None): ...

From that one declaration follow, with no second edit: the method ``Schedule.unroll`` (signature and documentation), the JSON form
of a step and back, its Python text, the form that a widget shows (`Primitive.fields`), the moves that a menu lists, and the
contract tests, which walk over `registry`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, get_type_hints

import numpy as np

from ..errors import ScheduleError, UsageError, WorkbenchError, did_you_mean
from ..ir.func import Func
from ..ir.stmt import blocks, loops
from . import legality
from .holes import Hole, divisors

Json: TypeAlias = Any
Applied: TypeAlias = tuple[Func, tuple[str, ...]]
Returns: TypeAlias = Literal["nothing", "name", "names"]
Category: TypeAlias = Literal["loop", "annotation", "placement", "memory", "layout"]


# ------------------------------------------------------------------------------------------------------------- field kinds


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

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        """Values that a form may offer, given the function and the other fields."""
        return ()


@dataclass(frozen=True, slots=True)
class _Name(FieldKind):
    what: ClassVar[str] = "name"
    widget: ClassVar[str] = "select"
    open_choice: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        if isinstance(value, Hole):
            if value.choices is None:
                raise ValueError(f"a hole for a {self.what} needs choices: Hole(choices=[...])")
            return value
        if not isinstance(value, str):
            raise ValueError(f"expected the name of a {self.what}, not {value!r}")
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
class LoopRefs(FieldKind):
    """Several loops, by name, in order; given as ``f("i", "j")`` or ``f(["i", "j"])``."""

    widget: ClassVar[str] = "multiselect"
    variadic: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        names = _sequence(value)
        if len(names) == 1 and not isinstance(names[0], str):
            names = _sequence(names[0])
        bad = [n for n in names if not isinstance(n, str)]
        if bad:
            raise ValueError(f"expected names of loops, not {bad[0]!r}")
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
        return tuple(self._factor(f) for f in _sequence(value))

    def _factor(self, f: object) -> object:
        if isinstance(f, Hole):
            bad = [c for c in f.choices or () if not isinstance(c, int) or isinstance(c, bool) or c < 1]
            if bad:
                raise ValueError(f"the choices of a factor are positive integers, not {bad[0]!r}")
            return f
        if f is None or isinstance(f, str):
            return f
        if isinstance(f, bool) or not isinstance(f, int | np.integer):
            raise ValueError(f"a factor is an int, a Hole, the name of a hole or None, not {f!r}")
        if f < 1:
            raise ValueError(f"a factor is at least 1, not {f}")
        return int(f)

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        try:
            extent = func.loop(str(args[self.of]))[0].extent
        except (KeyError, ScheduleError):
            return ()
        return divisors(extent) if isinstance(extent, int) else ()


@dataclass(frozen=True, slots=True)
class BlockSize(FieldKind):
    """Size of a packed block: an int, the name of a hole, or several names for their product."""

    widget: ClassVar[str] = "size"
    holds_holes: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        if isinstance(value, Hole):
            if value.name is None:
                raise ValueError("a block size is an existing hole; pass its name")
            return value.name
        if isinstance(value, str):
            return value
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            if value < 1:
                raise ValueError(f"a block size is at least 1, not {value}")
            return int(value)
        parts = tuple(self.clean(v) for v in _sequence(value))
        if not parts:
            raise ValueError("a block size has at least one factor")
        return parts

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return (4, 8, 16, 32, *(h.name for h in func.holes))


@dataclass(frozen=True, slots=True)
class Number(FieldKind):
    """An integer, such as a dimension."""

    widget: ClassVar[str] = "number"

    def clean(self, value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"expected an integer, not {value!r}")
        return int(value)


@dataclass(frozen=True, slots=True)
class Choice(FieldKind):
    """One of a few words."""

    values: tuple[str, ...] = ()
    widget: ClassVar[str] = "select"
    open_choice: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        if not isinstance(value, Hole) and value not in self.values:
            raise ValueError(f"expected one of {', '.join(self.values)}, not {value!r}")
        return value

    def options(self, func: Func, args: Mapping[str, object]) -> tuple[object, ...]:
        return self.values


@dataclass(frozen=True, slots=True)
class Flag(FieldKind):
    """Yes or no."""

    widget: ClassVar[str] = "checkbox"
    open_choice: ClassVar[bool] = True

    def clean(self, value: object) -> object:
        if not isinstance(value, bool | Hole):
            raise ValueError(f"expected True or False, not {value!r}")
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
            "name": self.name, "widget": self.kind.widget, "label": self.kind.label, "required": self.required,
            "variadic": self.kind.variadic, "may_be_open": self.kind.open_choice or isinstance(self.kind, Factors),
        }
        if not self.required:
            out["default"] = encode(self.default)
        if func is not None:
            out["options"] = [encode(v) for v in self.kind.options(func, args or {})]
        return out


# --------------------------------------------------------------------------------------------------------------- primitive

#: Codes that any primitive may raise, besides its own.
COMMON_CODES: Mapping[str, str] = MappingProxyType({
    "loop.unknown": "there is no loop of that name",
    "block.unknown": "there is no block of that name",
    "buffer.unknown": "there is no buffer of that name",
    "hole.unknown": "a factor names a hole that does not exist",
    "loop.mark": "a loop marked parallel or vectorised earlier could not keep its mark",
    "index.affine": "an index would not be affine any more",
})


@dataclass(frozen=True, slots=True)
class Primitive:
    """One step of a schedule. Subclasses are declared with `primitive`; see the module's documentation.

    A field that allows it may hold a `Hole` with choices in a trace; `variants` lists the closed steps, and only those can be
    checked and applied.
    """

    name: ClassVar[str] = ""
    category: ClassVar[Category] = "loop"
    #: Error code -> when it is raised.
    codes: ClassVar[Mapping[str, str]] = MappingProxyType({})
    returns: ClassVar[Returns] = "nothing"
    _fields: ClassVar[tuple[Field, ...]] = ()

    # ----- what a declaration provides

    def apply(self, func: Func) -> Applied:
        """Return the new function and the names that the step made.

        Raises
        ------
        ScheduleError
            When the step is not legal here; nothing is changed then.
        """
        raise NotImplementedError

    @classmethod
    def candidates(cls, func: Func, target: object = None, at: str | None = None) -> Iterator[Primitive]:
        """Steps worth offering on `func`, legal or not; `at` restricts them to one loop, block or buffer."""
        raise NotImplementedError

    def resolve(self, func: Func) -> Primitive:
        """Return the same step with a name for every hole that has none yet."""
        return self

    # ----- what follows from it

    def check(self, func: Func, target: object = None) -> None:
        """Raise `ScheduleError` (code, sentence, where, hint) when the step is not legal on `func`.

        The question is answered by doing it: functions are values, so trying costs nothing but time, and the answer can never
        differ from what `apply` does.
        """
        self.run(func)

    def run(self, func: Func) -> Applied:
        """`apply`, then make sure that indices are still affine and that marked loops may still have their mark."""
        try:
            new, names = self.apply(func)
            legality.check_affine(new)
        except WorkbenchError:
            raise
        except ValueError as e:
            raise legality.Refusal("index.affine", f"After this {self.name}, an index would not be affine any more: {e}.",
                                   tuple(str(v) for v in self.args.values() if isinstance(v, str)),
                                   "a // or % in an index allows splits at its boundaries only") from None
        legality.check_marks(new, self.name)
        return new, names

    @classmethod
    def fields(cls) -> tuple[Field, ...]:
        """Fields in order, as a form needs them."""
        return cls._fields

    @classmethod
    def summary(cls) -> str:
        """First sentence of the documentation."""
        return (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " ")

    @classmethod
    def signature(cls) -> inspect.Signature:
        """Signature of the method that `Schedule` gets."""
        params = []
        for f in cls._fields:
            kind = inspect.Parameter.VAR_POSITIONAL if f.kind.variadic else inspect.Parameter.POSITIONAL_OR_KEYWORD
            default = inspect.Parameter.empty if f.required or f.kind.variadic else f.default
            params.append(inspect.Parameter(f.name, kind, default=default))
        return inspect.Signature(params)

    @classmethod
    def make(cls, *args: object, **kwargs: object) -> Primitive:
        """Build a step from the arguments of the method.

        Raises
        ------
        UsageError
            "primitive.argument" when arguments are missing, too many or of the wrong kind.
        """
        sig = cls.signature()
        variadic = next((f.name for f in cls._fields if f.kind.variadic), None)
        if variadic is not None and variadic in kwargs:
            args = (*args, kwargs.pop(variadic))
        try:
            bound = sig.bind(*args, **kwargs)
        except TypeError as e:
            raise UsageError("primitive.argument", f"{cls.name}: {e}.", (cls.name,), f"usage: {cls.name}{sig}") from None
        values: dict[str, Any] = {}
        for f in cls._fields:
            if f.name in bound.arguments:
                try:
                    values[f.name] = f.kind.clean(bound.arguments[f.name])
                except ValueError as e:
                    raise UsageError("primitive.argument", f"{cls.name}({f.name}): {e}.", (cls.name, f.name),
                                     f"usage: {cls.name}{sig}") from None
            elif f.kind.variadic:
                values[f.name] = ()
        return cls(**values)

    @property
    def args(self) -> dict[str, Any]:
        """Field name -> value."""
        return {f.name: getattr(self, f.name) for f in self._fields}

    def to_json(self) -> dict[str, Json]:
        """``{"primitive": name, "args": {...}}``; None is "the rest", a hole is ``{"hole": name, "choices": [...]}``."""
        return {"primitive": self.name, "args": {k: encode(v) for k, v in self.args.items()}}

    def to_python(self, schedule: str = "s") -> str:
        """Text of the method call that makes this step."""
        parts = []
        for f in self._fields:
            value = getattr(self, f.name)
            if f.kind.variadic:
                parts += [source(v) for v in value]
            elif f.required or value != f.default:
                parts.append(source(value) if f.required else f"{f.name}={source(value)}")
        return f"{schedule}.{self.name}({', '.join(parts)})"

    def __str__(self) -> str:
        return self.to_python("s")[2:]

    def fill(self, values: Mapping[str, int]) -> Primitive:
        """Replace holes, and names of holes, by their numbers."""
        new = {f.name: _fill(getattr(self, f.name), values, f.kind.holds_holes) for f in self._fields}
        return type(self)(**new)

    def open_choices(self) -> dict[str, Hole]:
        """Fields that hold a hole with choices which changes the structure of the nest."""
        return {f.name: v for f in self._fields if f.kind.open_choice and isinstance(v := getattr(self, f.name), Hole)}

    def variants(self) -> Iterator[Primitive]:
        """Every way to close the choices of this step, first choice first."""
        todo = self.open_choices()
        if not todo:
            yield self
            return
        name, hole = next(iter(todo.items()))
        for value in hole.choices or ():
            yield from dataclasses.replace(self, **{name: value}).variants()

    def mentions(self, name: str | None) -> bool:
        """Whether a field names `name` (always true for None)."""
        return name is None or any(v == name or (isinstance(v, tuple) and name in v) for v in self.args.values())


P = TypeVar("P", bound=type[Primitive])


class Registry:
    """All primitives by name; iterating gives them in the order of declaration."""

    def __init__(self) -> None:
        self._table: dict[str, type[Primitive]] = {}
        self._listeners: list[Callable[[type[Primitive]], None]] = []

    def __iter__(self) -> Iterator[type[Primitive]]:
        return iter(self._table.values())

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __getitem__(self, name: str) -> type[Primitive]:
        if name not in self._table:
            raise ScheduleError("primitive.unknown", f"There is no primitive {name!r}.", (str(name),),
                                did_you_mean(str(name), self._table, "primitives"))
        return self._table[name]

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of declaration."""
        return tuple(self._table)

    def add(self, cls: type[Primitive]) -> None:
        """Add a primitive and tell the listeners."""
        if cls.name in self._table:
            raise UsageError("primitive.taken", f"There is a primitive {cls.name!r} already.", (cls.name,))
        self._table[cls.name] = cls
        for listener in self._listeners:
            listener(cls)

    def listen(self, listener: Callable[[type[Primitive]], None]) -> None:
        """Call `listener` for every primitive, those to come included."""
        self._listeners.append(listener)
        for cls in self._table.values():
            listener(cls)


registry = Registry()


def primitive(name: str, *, category: Category, codes: Mapping[str, str], returns: Returns = "nothing") -> Callable[[P], P]:
    """Declare a primitive: put it over a frozen slotted dataclass derived from `Primitive`.

    Parameters
    ----------
    name : str
        Name in traces and logs, and of the method on `Schedule`.
    category : str
        Where a menu shows it.
    codes : mapping
        Error code -> when it is raised; the contract tests reach every one.
    returns : {"nothing", "name", "names"}
        What the method gives back: the schedule itself, the one name that was made, or all of them.
    """

    def declare(cls: P) -> P:
        cls.name, cls.category, cls.codes, cls.returns = name, category, MappingProxyType(dict(codes)), returns
        hints = get_type_hints(cls, include_extras=True)
        cls._fields = tuple(_field(f, hints[f.name]) for f in dataclasses.fields(cls))
        registry.add(cls)
        return cls

    return declare


def from_json(data: object) -> Primitive:
    """Read a step from its JSON form; nothing in it is evaluated.

    Raises
    ------
    ScheduleError
        "trace.step" when it has not the form of a step, "primitive.unknown".
    UsageError
        "primitive.argument" when arguments do not fit.
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("primitive"), str):
        raise ScheduleError("trace.step", f"A step is {{'primitive': name, 'args': {{...}}}}, not {data!r}.")
    args = data.get("args", {})
    if not isinstance(args, Mapping) or not all(isinstance(k, str) for k in args):
        raise ScheduleError("trace.step", f"The arguments of {data['primitive']!r} are not an object.", (data["primitive"],))
    return registry[data["primitive"]].make(**{k: decode(v) for k, v in args.items()})


# ------------------------------------------------------------------------------------------------------------------- codec


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


def decode(data: Json) -> object:
    """Inverse of `encode`."""
    match data:
        case {"hole": name, **rest}:
            choices = rest.get("choices")
            if not isinstance(name, str | None) or not isinstance(choices, list | None):
                raise ScheduleError("trace.step", f"A hole is {{'hole': name, 'choices': [...]}}, not {data!r}.")
            return Hole(name, None if choices is None else tuple(choices))
        case list():
            return tuple(decode(v) for v in data)
        case None | str() | int() | float() | bool():
            return data
        case _:
            raise ScheduleError("trace.step", f"{data!r} cannot be an argument of a step.")


def source(value: object) -> str:
    """Python text of a field's value."""
    return "[" + ", ".join(source(v) for v in value) + "]" if isinstance(value, tuple) else repr(value)


def _fill(value: object, values: Mapping[str, int], names: bool) -> Any:
    match value:
        case Hole(str(name)) if name in values:
            return values[name]
        case str() if names and value in values:
            return values[value]
        case tuple():
            return tuple(_fill(v, values, names) for v in value)
        case _:
            return value


def _field(f: dataclasses.Field[Any], hint: Any) -> Field:
    kind = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, FieldKind)), None)
    assert kind is not None, f"field {f.name!r} of a primitive needs Annotated[..., a FieldKind]"
    required = f.default is dataclasses.MISSING
    return Field(f.name, kind, required, None if required else f.default)


def _sequence(value: object) -> Sequence[Any]:
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise ValueError(f"expected a list, not {value!r}")
    return tuple(value)
