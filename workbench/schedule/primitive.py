"""How a schedule primitive is declared: once, as a class whose annotated fields say everything.

::

    @primitive("unroll", category="annotation", codes={"unroll.limit": "..."})
    class Unroll(Primitive):
        \"\"\"Say what it does.\"\"\"
        loop: Annotated[str, LoopRef("loop to unroll")]

        def apply(self, func): ...
        @classmethod
        def candidates(cls, func, target=None, at=None): ...

From that one declaration follow, with no second edit: the method ``Schedule.unroll`` (signature and documentation), the
JSON form of a step and back, its Python text, the form that a widget shows (`Primitive.fields`), the moves that a menu
lists, and the contract tests, which walk over `registry`.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, cast, dataclass_transform

from workbench import forms
from workbench.arguments import shown
from workbench.errors import ScheduleError, UsageError
from workbench.forms import Choice, Flag, Form, Json, Kind
from workbench.ir import Func
from workbench.registry import Declarations
from workbench.schedule import legality, size_limits
from workbench.schedule.field_kinds import (
    AxisRef,
    BlockRef,
    BlockSize,
    BufferRef,
    Factors,
    LoopRef,
    LoopRefs,
    Number,
    decode,
    encode,
    source,
    with_numbers,
)
from workbench.schedule.holes import Hole
from workbench.schedule.legality import invariants

Applied: TypeAlias = tuple[Func, tuple[str, ...]]
Returns: TypeAlias = Literal["nothing", "name", "names"]
Category: TypeAlias = Literal["loop", "annotation", "placement", "memory", "layout", "algorithm"]


# ------------------------------------------------------------------------------------------------------------ primitive

#: Codes that any primitive may raise, besides its own.
COMMON_CODES: Mapping[str, str] = MappingProxyType(
    {
        "loop.unknown": "there is no loop of that name",
        "block.unknown": "there is no block of that name",
        "buffer.unknown": "there is no buffer of that name",
        "hole.unknown": "a factor names a hole that does not exist",
        "loop.mark": "a loop marked parallel or vectorised earlier could not keep its mark",
        "index.affine": "an index would not be affine any more",
        "buffer.scope": "a temporary could not keep the scope that it was given earlier",
        "unit.inside": "a loop or block inside a unit is named",
        "unit.cut": "the loops or blocks of a unit would not stay together",
        "nest.size": "a nest or a buffer would get larger than any machine can use",
        "nest.depth": "more loops inside each other than can be worked with",
    }
)


@dataclass(frozen=True, slots=True)
class Primitive(Form):
    """One step of a schedule. Subclasses are declared with `primitive`; see the module's documentation.

    A field that allows it may hold a `Hole` with choices in a trace; `variants` lists the closed steps, and only those
    can be checked and applied.
    """

    argument_code: ClassVar[str] = "primitive.argument"
    category: ClassVar[Category] = "loop"
    #: Error code -> when it is raised.
    codes: ClassVar[Mapping[str, str]] = MappingProxyType({})
    returns: ClassVar[Returns] = "nothing"
    #: What a menu says where there is no candidate, when a general sentence would not do.
    idle: ClassVar[str] = ""
    #: Whether a step may name what lies inside a unit (see `blockize`).
    inside_units: ClassVar[bool] = False

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

    def alike(self, func: Func) -> Hashable | None:
        """Say what this step has in common with others of its kind, where all of them are legal on `func` if one is;
        None when that cannot be told without trying (`workbench.schedule.legality_classes`).
        """
        return None

    def resolve(self, func: Func) -> Primitive:
        """Return the same step with a name for every hole that has none yet."""
        return self

    # ----- what follows from it

    def check(self, func: Func, target: object = None) -> None:
        """Raise `WorkbenchError` (code, sentence, where, hint) when the step is not legal on `func`.

        The question is answered by doing it: functions are values, so trying costs nothing but time, and the answer can
        never differ from what `Schedule.apply` does with a closed step that is resolved.
        """
        self.require(target)
        self.run(func)

    def require(self, target: object) -> None:
        """Raise `ScheduleError` when the target cannot do the step; without a target all steps are possible."""

    def run(self, func: Func) -> Applied:
        """`apply`, then make sure that indices are still affine, that the nest stays within limits, and that what
        earlier steps were promised still holds (marks of loops, scopes of temporaries, units).
        """
        if open_ := self.open_choices():
            text = f"{self.name} is open in {', '.join(open_)}, and only a closed step can be taken."
            raise UsageError("primitive.argument", text, (self.name, *open_), "take one of its variants()")
        if not self.inside_units:
            invariants.check_named(func, self.name, self._names())
        new, names = self.apply(func)
        size_limits.check(func, new, self.name)
        legality.check_affine(new)
        legality.check_marks(new, self.name)
        invariants.check(func, new, self.name)
        return new, names

    def _names(self) -> Iterator[str]:
        """Loops and blocks that the step names."""
        for f in self._fields:
            if f.kind.names in ("loop", "block", "nest"):
                value = getattr(self, f.name)
                yield from (value,) if isinstance(value, str) else value if isinstance(value, tuple) else ()

    @classmethod
    def _cleaned(cls, kind: Kind, value: object) -> object:
        """Take a `Hole` where the field may hold one: then each of its choices is checked."""
        if not (kind.open_choice and isinstance(value, Hole)):
            return kind.clean(value)
        if value.choices is None:
            raise ValueError("a hole needs choices here: Hole(choices=[...])")
        return Hole(value.name, tuple(kind.clean(c) for c in value.choices))

    def to_json(self) -> dict[str, Json]:
        """``{"primitive": name, "args": {...}}``; null is "the rest", a hole ``{"hole": name, "choices": [...]}``.

        Arguments that have their default are left out, so that a new one does not change what a log says.
        """
        return {"primitive": self.name, "args": {name: encode(v) for name, v in self.said().items()}}

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
        new = {f.name: with_numbers(getattr(self, f.name), values, f.kind.holds_holes) for f in self._fields}
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
        if hole.choices is None:
            text = f"{self.name}({name}): a hole needs choices here"
            raise UsageError("primitive.argument", f"{text}.", (self.name, name), "Hole(choices=[...])")
        for value in hole.choices:
            yield from dataclasses.replace(self, **{name: value}).variants()


P = TypeVar("P", bound=type[Primitive])


class Registry(Declarations[type[Primitive]]):
    """All primitives by name; iterating gives them in the order of declaration."""

    def __init__(self) -> None:
        super().__init__("primitive", "primitives", "primitive.unknown", ScheduleError)
        self._listeners: list[Callable[[type[Primitive]], None]] = []

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


@dataclass_transform(frozen_default=True)
def primitive(
    name: str, *, category: Category, codes: Mapping[str, str], returns: Returns = "nothing"
) -> Callable[[P], P]:
    """Declare a primitive: put it over a class derived from `Primitive`, which becomes a frozen slotted dataclass.

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
        if "__dataclass_fields__" not in vars(cls):
            cls = cast("P", dataclass(frozen=True, slots=True)(cls))
        cls.category, cls.codes, cls.returns = category, MappingProxyType(dict(codes)), returns
        cls.declare(name)
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
        raise ScheduleError(
            "trace.step",
            f"A step is {{'primitive': name, 'args': {{...}}}}, not {shown(data)}.",
            ("step",),
            "see Schedule.to_json()",
        )
    args = data.get("args", {})
    if not isinstance(args, Mapping) or not all(isinstance(k, str) for k in args):
        raise ScheduleError(
            "trace.step",
            f"The arguments of {data['primitive']!r} are not an object.",
            (data["primitive"],),
            "{field: value}",
        )
    return registry[data["primitive"]].make(**{k: decode(v) for k, v in args.items()})


def method_of(cls: type[Primitive]) -> Callable[..., Any]:
    """Method of `Schedule` that takes a step of a primitive: signature, documentation, and what it gives back."""

    def method(self: Any, /, *args: Any, **kwargs: Any) -> Any:
        names = self.apply(cls.make(*args, **kwargs))
        if cls.returns == "nothing":
            return self
        return names[0] if cls.returns == "name" else names

    return forms.method_of(cls, "Schedule", method, _method_doc(cls))


def _method_doc(cls: type[Primitive]) -> str:
    """Documentation of the method that a primitive becomes, from its declaration."""
    lines = [inspect.getdoc(cls) or "", *forms.parameters(cls)]
    gives = {
        "nothing": ("Schedule", "itself"),
        "name": ("str", "the name that was made"),
        "names": ("tuple of str", "the names that were made"),
    }
    kind, text = gives[cls.returns]
    lines += ["", "Returns", "-------", kind, f"    {text.capitalize()}.", "", "Raises", "------", "ScheduleError"]
    lines += [f"    {code!r}: {text}." for code, text in cls.codes.items()]
    return "\n".join(lines)


__all__ = [
    "COMMON_CODES",
    "Applied",
    "AxisRef",
    "BlockRef",
    "BlockSize",
    "BufferRef",
    "Choice",
    "Factors",
    "Flag",
    "Json",
    "LoopRef",
    "LoopRefs",
    "Number",
    "Primitive",
    "decode",
    "encode",
    "from_json",
    "method_of",
    "primitive",
    "registry",
]
