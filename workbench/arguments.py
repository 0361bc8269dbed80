"""Checks of what a caller passes in, so that a wrong argument is told in one sentence where it was given."""

from __future__ import annotations

import dataclasses
import errno
import functools
import itertools
import math
import operator
import os
import reprlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from workbench.errors import UsageError, did_you_mean

T = TypeVar("T")

#: Most elements that a list in an argument may have; some iterators never end.
MOST_ELEMENTS = 1_000_000


class ArgumentTypeError(UsageError, TypeError):
    """An argument of the wrong type."""


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = _SHORT.maxlong = 80


def shown(value: object) -> str:
    """Return a short text for whatever was passed in: no value is too long, too deep or too large for a message."""
    try:
        return _SHORT.repr(value)
    except Exception:  # the value's own `__repr__`, or an int with more digits than Python prints
        return "a number with thousands of digits" if isinstance(value, int) else type(value).__name__


def whole(name: str, value: object, least: int | None = 1, code: str = "usage.number", word: bool = True) -> int:
    """Return `value` as an int of at least `least` that fits a machine word, unless the caller has a limit of its own.

    Raises
    ------
    UsageError
        `code`; also a TypeError when it is not a whole number at all (2.0 and "2" are not).
    """
    number = None if isinstance(value, bool) else index(value)
    if number is None:
        raise ArgumentTypeError(code, f"{name} has to be a whole number, not {shown(value)}", [name])
    if least is not None and number < least:
        raise UsageError(code, f"{name} has to be at least {least}, not {shown(number)}", [name])
    if word and abs(number) >= 1 << 63:
        raise UsageError(code, f"{name} has to fit 64 bits, which {shown(number)} does not", [name])
    return number


def index(value: object) -> int | None:
    """Return a whole number of Python or NumPy as an int; None for anything else."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:  # also an array, which looks like one
        return None


def real(name: str, value: object, above: float | None = None, code: str = "usage.number") -> float:
    """Return `value` as a finite float, larger than `above`; raises as `whole` does."""
    try:
        if isinstance(value, bool | str | bytes):
            raise TypeError
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise ArgumentTypeError(code, f"{name} has to be a number, not {shown(value)}", [name]) from None
    if not math.isfinite(number) or (above is not None and number <= above):
        limit = f" above {above:g}" if above is not None else ""
        raise UsageError(code, f"{name} has to be a finite number{limit}, not {number:g}", [name])
    return number


def share(name: str, value: object, code: str = "usage.number") -> float:
    """Return `value` as a number from 0 to 1; raises as `whole` does."""
    number = real(name, value, code=code)
    if not 0.0 <= number <= 1.0:
        raise UsageError(code, f"{name} has to be from 0 to 1, not {number:g}", [name])
    return number


def is_a(name: str, value: object, kind: type[T] | tuple[type[T], ...], hint: str = "", code: str = "usage.type") -> T:
    """Return `value`, which has to be a `kind` (or one of several); ``usage.type`` otherwise."""
    if not isinstance(value, kind):
        kinds = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        message = f"{name} has to be a {kinds}, not {type(value).__name__}"
        raise ArgumentTypeError(code, message, [name], hint)
    return value


def path(name: str, value: object) -> str:
    """Return a path as text.

    Raises
    ------
    UsageError
        ``usage.type`` for anything but str and PathLike, ``usage.path`` for what can name no file: too long for this
        system, or with a zero in it.
    """
    if not isinstance(value, str | os.PathLike):
        raise ArgumentTypeError("usage.type", f"{name} has to be a path, not {type(value).__name__}", [name])
    text = os.fsdecode(value)
    try:
        os.lstat(text)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            message = f"{name} is too long for a path: {len(text)} characters, {shown(text)}"
            raise UsageError("usage.path", message, [name]) from None
    except ValueError as error:
        raise UsageError("usage.path", f"{name} cannot be a path: {error}, {shown(text)}", [name]) from None
    return text


def known_options(given: Iterable[str], known: Iterable[str], whose: str) -> None:
    """Raise ``usage.option`` for the first option of those that were given that does not exist."""
    known = tuple(known)
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known, "options")
            raise UsageError("usage.option", f"{whose} has no option {shown(name)}", (name,), hint)


def told_options(cls: type[T]) -> type[T]:
    """Let a dataclass tell an option that it does not have as ``usage.option``, with the nearest name; a decorator."""
    init: Callable[..., None] = cls.__init__

    @functools.wraps(init)
    def checked(self: T, *args: Any, **given: Any) -> None:
        known_options(given, (f.name for f in dataclasses.fields(cls)), cls.__name__)  # type: ignore[arg-type]
        init(self, *args, **given)

    setattr(cls, "__init__", checked)  # noqa: B010  # a method cannot be assigned to, says mypy
    return cls


def elements(value: object) -> tuple[Any, ...] | None:
    """Return the elements of a list or the like; None for text, and for what has none, too many, or no end."""
    if isinstance(value, str | bytes):
        return None
    try:  # an array without dimensions looks like one that can be iterated
        values = tuple(itertools.islice(value, MOST_ELEMENTS + 1))  # type: ignore[call-overload]
    except TypeError:
        return None
    return values if len(values) <= MOST_ELEMENTS else None
