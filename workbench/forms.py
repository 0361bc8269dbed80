"""Declared forms: a frozen dataclass whose annotated fields say what they hold.

::

    hole: Annotated[str, Text("the hole, by its name", names="hole")]
    more: Annotated[int | None, Whole("so many more trials")] = None

From such a declaration follow the check of arguments, the form that a front end shows, JSON, a signature and the
documentation. Primitives of a schedule, commands to a tuning run, options of a run and lines of the log are forms.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias, get_type_hints

from workbench.arguments import elements, index, shown
from workbench.errors import UsageError

Json: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Kind:
    """What a field holds: how a value is checked, and what a form offers.

    Parameters
    ----------
    label : str
        Its meaning, with its unit.
    names : str
        What a text or a number is the name of, for a form.
    of : str
        The field that this one is about.
    hidden : bool
        Whether the program fills it in, so that no form asks for it.
    """

    label: str = ""
    names: str = field(default="", kw_only=True)
    of: str = field(default="", kw_only=True)
    hidden: bool = field(default=False, kw_only=True)
    #: The input that a form has for it; "" for what nobody can write into a form.
    widget: ClassVar[str] = "text"
    #: What may stand there, in words.
    words: ClassVar[str] = "anything"
    #: A variadic field takes the remaining positional arguments.
    variadic: ClassVar[bool] = False
    #: Whether the field may be left open, with choices that make variants.
    open_choice: ClassVar[bool] = False
    #: Whether a plain string inside the value is the name of a hole.
    holds_holes: ClassVar[bool] = False
    #: Whether anything may be written beside what a form offers.
    free: ClassVar[bool] = False

    def clean(self, value: object) -> object:
        """Bring what the user passed into the form that is kept, or raise ValueError with the reason."""
        return value

    def refused(self, value: object) -> ValueError:
        """Return the error for a value that may not stand there."""
        return ValueError(f"expected: {self.words}; not {shown(value)}")

    @property
    def choices(self) -> tuple[str, ...]:
        """Words that a form offers."""
        return ()

    @property
    def may_be_open(self) -> bool:
        """Whether a form may leave it open."""
        return self.open_choice

    def options(self, subject: Any, args: Mapping[str, object]) -> tuple[object, ...]:
        """Values that a form may offer, given what the form is about and the other fields."""
        return self.choices


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """Any text."""

    words: ClassVar[str] = "text"

    def clean(self, value: object) -> str:
        if not isinstance(value, str):
            raise self.refused(value)
        return value


@dataclass(frozen=True, slots=True)
class Flag(Kind):
    """Yes or no."""

    widget: ClassVar[str] = "checkbox"
    words: ClassVar[str] = "true or false"
    open_choice: ClassVar[bool] = True

    def clean(self, value: object) -> bool:
        if not isinstance(value, bool):
            raise self.refused(value)
        return value

    def options(self, subject: Any, args: Mapping[str, object]) -> tuple[object, ...]:
        return (False, True)


@dataclass(frozen=True, slots=True)
class Whole(Kind):
    """A whole number that fits 64 bits; JSON may write it with a point."""

    widget: ClassVar[str] = "number"
    words: ClassVar[str] = "whole number"

    def clean(self, value: object) -> int:
        number = int(value) if isinstance(value, float) and value.is_integer() else index(value)
        if isinstance(value, bool) or number is None or not -(2**63) <= number < 2**63:
            raise self.refused(value)
        return number


@dataclass(frozen=True, slots=True)
class Real(Kind):
    """A finite number."""

    widget: ClassVar[str] = "real"
    words: ClassVar[str] = "number"

    def clean(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refused(value)
        try:
            number = float(value)
        except OverflowError:
            raise self.refused(value) from None
        if not math.isfinite(number):
            raise self.refused(value)
        return number


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of a few words."""

    values: tuple[str, ...] = ()
    widget: ClassVar[str] = "select"
    open_choice: ClassVar[bool] = True

    @property
    def choices(self) -> tuple[str, ...]:
        return self.values

    def clean(self, value: object) -> str:
        if not isinstance(value, str) or value not in self.values:
            raise ValueError(f"expected one of {', '.join(self.values)}, not {shown(value)}")
        return value


@dataclass(frozen=True, slots=True)
class Many(Kind):
    """A list; a single element stands for a list of one where `single` says so."""

    each: Kind = field(default_factory=Kind)
    single: bool = False

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"list of {_several(self.each.words)}"

    @property
    def widget(self) -> str:  # type: ignore[override]
        return "numbers" if isinstance(self.each, Whole) else "shown" if isinstance(self.each, Table) else ""

    def clean(self, value: object) -> tuple[Any, ...]:
        if isinstance(value, list | tuple):
            return tuple(map(self.each.clean, value))
        if not self.single:
            raise self.refused(value)
        return (self.each.clean(value),)


@dataclass(frozen=True, slots=True)
class Table(Kind):
    """An object: texts and what belongs to each."""

    each: Kind = field(default_factory=Kind)
    widget: ClassVar[str] = ""

    @property
    def words(self) -> str:  # type: ignore[override]
        return "object" if type(self.each) is Kind else f"object of {_several(self.each.words)}"

    def clean(self, value: object) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self.refused(value)
        return {str(k): self.each.clean(v) for k, v in value.items()}


def _several(words: str) -> str:
    head, of, rest = words.partition(" of ")
    return f"{head}s{of}{rest}"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form."""

    name: str
    kind: Kind
    required: bool
    default: Any = None

    @classmethod
    def of(cls, declared: dataclasses.Field[Any], kind: Kind) -> Field:
        """Return the field of a dataclass."""
        if declared.default_factory is not dataclasses.MISSING:
            return cls(declared.name, kind, False, declared.default_factory())
        required = declared.default is dataclasses.MISSING
        return cls(declared.name, kind, required, None if required else declared.default)

    @property
    def words(self) -> str:
        """What may stand there, in words."""
        return self.kind.words if self.required or self.default is not None else f"{self.kind.words} or null"

    def describe(self, subject: Any = None, args: Mapping[str, object] | None = None) -> dict[str, Json]:
        """Return what a front end needs for its input, as JSON.

        `names` says what its names are names of, `of` the field that it is about, `options` the values on offer (with a
        `subject` those that fit it), `free` that anything else may be written too.
        """
        kind = self.kind
        out: dict[str, Json] = {
            "name": self.name, "widget": kind.widget, "label": kind.label, "required": self.required,
            "variadic": kind.variadic, "may_be_open": kind.may_be_open,
        }  # fmt: skip
        if not self.required:
            out["default"] = plain(self.default)
        for name in ("names", "of", "free"):
            if value := getattr(kind, name):
                out[name] = value
        offered = kind.choices if subject is None else kind.options(subject, args or {})
        if offered or subject is not None:
            out["options"] = [plain(value) for value in offered]
        return out


@dataclass(frozen=True, slots=True)
class Form:
    """Base of what is declared as a form; a decorator calls `declare`."""

    name: ClassVar[str] = ""
    #: Error code for arguments that do not fit.
    argument_code: ClassVar[str] = "usage.argument"
    _fields: ClassVar[tuple[Field, ...]] = ()

    @classmethod
    def declare(cls, name: str) -> None:
        """Take the name, and read the declaration of the fields."""
        cls.name = name
        hints = get_type_hints(cls, include_extras=True)
        cls._fields = tuple(Field.of(f, kind_of(f.name, hints[f.name])) for f in dataclasses.fields(cls))

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
        """Signature of the method that it becomes."""
        params = []
        for f in cls._fields:
            if f.kind.hidden:
                continue
            kind = inspect.Parameter.VAR_POSITIONAL if f.kind.variadic else inspect.Parameter.POSITIONAL_OR_KEYWORD
            default = inspect.Parameter.empty if f.required or f.kind.variadic else f.default
            params.append(inspect.Parameter(f.name, kind, default=default))
        return inspect.Signature(params)

    @classmethod
    def make(cls, /, *args: object, **kwargs: object) -> Self:
        """Build one from the arguments of the method.

        Raises
        ------
        UsageError
            `argument_code` when arguments are missing, too many or of the wrong kind.
        """
        known = {f.name: f for f in cls._fields}
        values: dict[str, Any] = {n: kwargs.pop(n) for n in list(kwargs) if n in known and known[n].kind.hidden}
        variadic = next((f.name for f in cls._fields if f.kind.variadic), None)
        if variadic is not None and variadic in kwargs:
            args = (*args, kwargs.pop(variadic))
        values |= cls.bound(*args, **kwargs)
        for name, value in values.items():
            try:
                values[name] = cls._cleaned(known[name].kind, value)
            except ValueError as e:
                raise UsageError(
                    cls.argument_code, f"{cls.name}({name}): {e}.", (cls.name, name), cls._usage()
                ) from None
        if variadic is not None:
            values.setdefault(variadic, ())
        return cls(**values)

    @classmethod
    def bound(cls, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Return arguments by the names of their fields; raises `argument_code` where they do not fit the signature."""
        try:
            return cls.signature().bind(*args, **kwargs).arguments
        except TypeError as e:
            raise UsageError(cls.argument_code, f"{cls.name}: {e}.", (cls.name,), cls._usage()) from None

    @classmethod
    def _usage(cls) -> str:
        return f"usage: {cls.name}{cls.signature()}"

    @classmethod
    def _cleaned(cls, kind: Kind, value: object) -> object:
        return kind.clean(value)

    @property
    def args(self) -> dict[str, Any]:
        """Field name -> value."""
        return {f.name: getattr(self, f.name) for f in self._fields}

    def said(self) -> dict[str, Any]:
        """Return the arguments but for those that have their default."""
        return {f.name: v for f in self._fields if (v := getattr(self, f.name)) != f.default or f.required}


def method_of(form: type[Form], owner: str, act: Callable[..., Any], doc: str) -> Callable[..., Any]:
    """Return `act`, a function of an object and the arguments of a form, as a method of `owner`."""
    own, me = form.signature(), inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    act.__name__, act.__qualname__, act.__doc__ = form.name, f"{owner}.{form.name}", doc
    act.__signature__ = own.replace(parameters=[me, *own.parameters.values()])  # type: ignore[attr-defined]
    return act


def parameters(form: type[Form]) -> list[str]:
    """Return the section of a docstring that describes the arguments."""
    lines = ["", "Parameters", "----------"]
    for f in form.fields():
        if not f.kind.hidden:
            lines += [f"{'*' if f.kind.variadic else ''}{f.name}", f"    {f.kind.label[:1].upper()}{f.kind.label[1:]}."]
    return lines


def kind_of(name: str, hint: Any) -> Kind:
    """Return the kind in the annotation of a field."""
    kind = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Kind)), None)
    assert kind is not None, f"field {name!r} of a form needs Annotated[..., a Kind]"
    return kind


def plain(value: Any) -> Json:
    """Return a value as JSON can hold it: no NaN or infinity, no scalars of NumPy, lists instead of tuples."""
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, float):
        # A bare NaN would break every other reader.
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain(v) for v in value]
    return plain(value.item()) if hasattr(value, "item") else str(value)


def as_sequence(value: object) -> Sequence[Any]:
    """Tuple of a list's elements; ValueError for what is no list."""
    found = elements(value)
    if found is None:
        raise ValueError(f"expected a list, not {shown(value)}")
    return found
