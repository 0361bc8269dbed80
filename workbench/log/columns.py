"""Dataclasses that are lines of the log: one declaration gives JSON both ways, checks and documentation.

A field is declared with `column`, which holds its meaning; its annotation says what JSON may stand there. Unknown keys
of a line are fields of a newer version: they are kept in the field `extra` and written back.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, TypeAlias

from workbench.errors import LogError


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


class Line:
    """Base of the dataclasses that are one line of a log."""

    __slots__ = ()
    kind: ClassVar[str]
    extra: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of one line; `extra` is merged into the top level."""
        out: dict[str, Any] = {"kind": self.kind}
        for name, _, _ in _columns(type(self)):
            out[name] = plain(getattr(self, name))
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
        known: dict[str, Any] = {}
        columns = _columns(cls)
        names = {name for name, _, _ in columns}
        missing = [name for name, _, required in columns if required and name not in data]
        if missing:
            raise corrupt(f"The {cls.kind} lacks {', '.join(missing)}", where)
        for name, convert, required in columns:
            if name in data and (required or data[name] is not None):  # null: not known
                try:
                    known[name] = convert(data[name])
                except (TypeError, ValueError, OverflowError, AttributeError, KeyError):
                    message = f"The field '{name}' of the {cls.kind} has an unusable value"
                    raise corrupt(message, where) from None
        rest = {name: value for name, value in data.items() if name not in names and name != "kind"}
        known["extra"] = rest
        return cls(**known)


def _columns(cls: type[Line]) -> _Columns:
    """Return name, reader and whether it has to be there, of every field but `extra`."""
    if cls not in _KNOWN:
        out = []
        for item in dataclasses.fields(cls):  # type: ignore[arg-type]
            if item.name != "extra":
                read = _many(_sample) if item.metadata["gaps"] else VALUES[str(item.type)].read
                required = item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING
                out.append((item.name, _above_zero(read) if item.metadata["positive"] else read, required))
        _KNOWN[cls] = tuple(out)
    return _KNOWN[cls]


_Columns: TypeAlias = tuple[tuple[str, Callable[[Any], Any], bool], ...]
_KNOWN: dict[type[Line], _Columns] = {}


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: no NaN or infinity, no scalars of NumPy, lists instead of tuples."""
    if isinstance(value, str | bool | int) or value is None:
        return value
    if isinstance(value, float):
        # A bare NaN would break every other reader.
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    return plain(value.item()) if hasattr(value, "item") else str(value)


def corrupt(message: str, where: str) -> LogError:
    """Return the error for a line that cannot be used."""
    hint = "the line was changed by hand or the file is damaged; remove the line to go on without this trial"
    return LogError("log.corrupt", message, [where] if where else [], hint)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    if isinstance(value, float) and not value.is_integer():
        raise ValueError
    if not -(2**63) <= value < 2**63:
        raise OverflowError
    return int(value)


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    if not math.isfinite(value) or abs(value) > sys.float_info.max:
        raise ValueError
    return float(value)


def _sample(value: Any) -> float:
    return math.nan if value is None else _real(value)


def _above_zero(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        found = read(value)
        if found is not None and found <= 0:
            raise ValueError
        return found

    return checked


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else read(value)


def _many(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def each(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise TypeError
        return tuple(read(v) for v in value)

    return each


def _mapping(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def each(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise TypeError
        return {str(k): read(v) for k, v in value.items()}

    return each


def _tasks(value: Any) -> tuple[tuple[str, str], ...]:
    return tuple((_text(item["key"]), _text(item.get("name", ""))) for item in value)


@dataclass(frozen=True, slots=True)
class Value:
    """What may stand in a field: in words, and its reader (`TypeError` or `ValueError` for what may not)."""

    words: str
    read: Callable[[Any], Any]


VALUES: dict[str, Value] = {
    "str": Value("text", _text),
    "str | None": Value("text or null", _optional(_text)),
    "bool": Value("true or false", _flag),
    "int": Value("whole number", _whole),
    "int | None": Value("whole number or null", _optional(_whole)),
    "float": Value("number", _real),
    "float | None": Value("number or null", _optional(_real)),
    "tuple[int, ...]": Value("list of whole numbers", _many(_whole)),
    "tuple[float, ...]": Value("list of numbers", _many(_real)),
    "tuple[tuple[float, ...], ...]": Value("list of lists of numbers", _many(_many(_real))),
    "Mapping[str, int]": Value("object of whole numbers", _mapping(_whole)),
    "Mapping[str, float]": Value("object of numbers", _mapping(_real)),
    "Mapping[str, Any]": Value("object", _mapping(lambda value: value)),
    "tuple[Mapping[str, Any], ...]": Value("list of objects", _many(_mapping(lambda value: value))),
    "tuple[tuple[str, str], ...]": Value("list of objects with key and name", _tasks),
}
"""What a field may hold, by its annotation."""
