"""Dataclasses that are lines of the log: one declaration gives JSON both ways, checks and documentation.

A field is declared with `column`, which holds its meaning; its annotation says what JSON may stand there. Unknown keys
of a line are fields of a newer version: they are kept in the field `extra` and written back.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeAlias

from workbench.errors import LogError
from workbench.forms import Field, Flag, Kind, Many, Real, Table, Text, Whole, plain


def column(doc: str, *, positive: bool = False, gaps: bool = False, **kwargs: Any) -> Any:
    """Declare a field of a line.

    Parameters
    ----------
    doc : str
        Its meaning, with its unit.
    positive : bool
        Refuse numbers that are not above 0 and finite: a latency of 0 would rank before all real ones.
    gaps : bool
        Whether numbers of a list may be missing (null, read as NaN).
    """
    return field(metadata={"doc": doc, "positive": positive, "gaps": gaps}, **kwargs)


def unknown_fields() -> Any:
    """Declare the field that keeps what a newer version has added."""
    return field(default_factory=dict, metadata={"doc": "fields of a newer version, kept as they were"})


Check: TypeAlias = Callable[[Any], Any]
"""Brings what JSON has into the form that is kept, or raises one of `UNUSABLE`."""


class Line:
    """Base of the dataclasses that are one line of a log."""

    __slots__ = ()
    kind: ClassVar[str]
    extra: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of one line; `extra` is merged into the top level."""
        out: dict[str, Any] = {"kind": self.kind}
        for f in columns(type(self)):
            out[f.name] = plain(getattr(self, f.name))
        for name, value in self.extra.items():
            out.setdefault(name, plain(value))
        return out

    @classmethod
    def from_json(cls, data: Mapping[str, Any], where: str = "") -> Self:
        """Rebuild a line; unknown keys go to `extra`.

        Raises
        ------
        LogError
            ``log.corrupt`` when a required field is missing or a field has an unusable value.
        """
        return cls(**cls.checked(data, where))

    @classmethod
    def checked(cls, data: Mapping[str, Any], where: str = "") -> dict[str, Any]:
        """Return the fields that a line has, as `from_json` takes them."""
        known: dict[str, Any] = {}
        extra: dict[str, Any] = {}
        own, needed = checks(cls)
        if not data.keys() >= needed:
            raise corrupt(
                f"The {cls.kind} lacks {', '.join(name for name in own if name in needed - data.keys())}", where
            )
        for name, value in data.items():
            if name not in own:
                extra[name] = value
            elif value is not None or name in needed:  # null: not known
                try:
                    kind, clean = own[name]
                    plainly = type(value) is kind and (kind is str or 0 < value < PLAIN)
                    known[name] = value if plainly else clean(value)
                except UNUSABLE:
                    message = f"The field '{name}' of the {cls.kind} has an unusable value"
                    raise corrupt(message, where) from None
        extra.pop("kind", None)
        known["extra"] = extra
        return known


UNUSABLE = (TypeError, ValueError, OverflowError, AttributeError, KeyError)
"""What a check raises for a value that may not stand in a field."""


_KNOWN: dict[type[Line], tuple[Field, ...]] = {}
_CHECKS: dict[type[Line], tuple[dict[str, tuple[Any, Check]], frozenset[str]]] = {}

PLAIN = 2**53
"""A number between 0 and this is right in every field of its type, and exact in other languages."""

_TYPES: dict[str, type] = {"str": str, "int": int, "float": float}


def checks(cls: type[Line]) -> tuple[dict[str, tuple[Any, Check]], frozenset[str]]:
    """Return the type of each field of a line (of such a text, and of a number between 0 and `PLAIN`, nothing has to be
    checked) with its check, and the fields that are needed.
    """
    if cls not in _CHECKS:
        made = {}
        for f in columns(cls):
            annotation = str(cls.__annotations__[f.name]).removesuffix(" | None")
            made[f.name] = _TYPES.get(annotation), _quick(annotation, f.kind.clean)
        _CHECKS[cls] = made, frozenset(f.name for f in columns(cls) if f.required)
    return _CHECKS[cls]


def _quick(annotation: str, clean: Check) -> Check:
    """Return a check that leaves to `clean` what is not right at a glance."""
    right = _RIGHT.get(annotation)
    return clean if right is None else lambda value: tuple(value) if right(value) else clean(value)


_RIGHT: dict[str, Callable[[Any], bool]] = {
    "tuple[float, ...]": lambda v: set(map(type, v)) == {float} and min(v) > 0.0 and max(v) < math.inf,
    "tuple[Mapping[str, Any], ...]": lambda v: type(v) is list and set(map(type, v)) == {dict},
}
"""Lists that are right at a glance."""


def columns(cls: type[Line]) -> tuple[Field, ...]:
    """Return the fields of a line but `extra`."""
    if cls not in _KNOWN:
        declared = dataclasses.fields(cls)  # type: ignore[arg-type]
        _KNOWN[cls] = tuple(_field(f) for f in declared if f.name != "extra")
    return _KNOWN[cls]


def _field(declared: dataclasses.Field[Any]) -> Field:
    kind: Kind
    if declared.metadata["positive"]:
        kind = Above()
    elif declared.metadata["gaps"]:
        kind = Many(each=Sample())
    else:
        kind = VALUES[str(declared.type).removesuffix(" | None")]
    return Field.of(declared, replace(kind, label=declared.metadata["doc"]))


WITHOUT = "the line was changed by hand or the file is damaged; remove the line to go on without this trial"


def corrupt(message: str, where: str, hint: str = WITHOUT) -> LogError:
    """Return the error for a line that cannot be used."""
    return LogError("log.corrupt", message, [where] if where else [], hint)


@dataclass(frozen=True, slots=True)
class Above(Real):
    """A number above 0."""

    def clean(self, value: object) -> float:
        number = Real.clean(self, value)
        if number <= 0.0:
            raise self.refused(value)
        return number


@dataclass(frozen=True, slots=True)
class Sample(Real):
    """A number, or null where it is missing, which is read as NaN."""

    def clean(self, value: object) -> float:
        return math.nan if value is None else Real.clean(self, value)


@dataclass(frozen=True, slots=True)
class Names(Kind):
    """Keys and names of tasks."""

    words: ClassVar[str] = "list of objects with key and name"

    def clean(self, value: object) -> tuple[tuple[str, str], ...]:
        if not isinstance(value, list | tuple):
            raise self.refused(value)
        text = Text().clean
        return tuple((text(item["key"]), text(item.get("name", ""))) for item in value)


@dataclass(frozen=True, slots=True)
class Primitive(Kind):
    """A primitive of a schedule; whoever puts it together checks it."""

    words: ClassVar[str] = "primitive"


VALUES: dict[str, Kind] = {
    "str": Text(),
    "bool": Flag(),
    "int": Whole(),
    "float": Real(),
    "tuple[str, ...]": Many(each=Text()),
    "tuple[int, ...]": Many(each=Whole()),
    "tuple[Any, ...]": Many(each=Primitive()),
    "tuple[float, ...]": Many(each=Real()),
    "tuple[tuple[float, ...], ...]": Many(each=Many(each=Real())),
    "Mapping[str, int]": Table(each=Whole()),
    "Mapping[str, float]": Table(each=Real()),
    "Mapping[str, Any]": Table(),
    "tuple[Mapping[str, Any], ...]": Many(each=Table()),
    "tuple[tuple[str, str], ...]": Names(),
}
"""What a field may hold, by its annotation; ``| None`` allows null, too."""
