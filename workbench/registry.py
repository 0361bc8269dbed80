"""Tables of what is declared under a name: searches, cost models, task schedulers, graph passes, commands.

What is declared once is in the table; options, command line, forms, documentation and tests take it from there, and an
unknown name is the same error wherever it is given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Generic, NoReturn, Protocol, TypeVar

from workbench.arguments import shown
from workbench.errors import UsageError, WorkbenchError, did_you_mean

T = TypeVar("T")

_LONGEST = 80
"""Characters of a name that an error repeats as it is; a longer one is shortened."""


class Registry(dict[str, T], Generic[T]):
    """What is declared under a name, in the order of declaration.

    Parameters
    ----------
    what, several : str
        What stands in the table, in words: one and several.
    code : str
        Error code for a name that is not there.
    error : type
        Class of that error.
    """

    def __init__(self, what: str, several: str, code: str, error: type[WorkbenchError] = UsageError) -> None:
        super().__init__()
        self.what, self.several, self.code, self.error = what, several, code, error

    def __missing__(self, name: object) -> NoReturn:
        hint = did_you_mean(name, self, self.several)
        where = name if isinstance(name, str) and len(name) <= _LONGEST else shown(name)
        raise self.error(self.code, f"There is no {self.what} {shown(name)}", (where,), hint)

    def __call__(self, name: str) -> Callable[[T], T]:
        """Declare under a name, as a decorator."""

        def declare(value: T) -> T:
            self[name] = value
            return value

        return declare

    def find(self, name: object) -> T:
        """Return what is declared under a name that may be anything; raises `code`."""
        return self[name] if isinstance(name, str) else self.__missing__(name)


class Named(Protocol):
    """What says its own name."""

    @property
    def name(self) -> str:
        """Its name."""


D = TypeVar("D", bound=Named)


class Declarations(Generic[D]):
    """A table of what says its own name, iterated in the order of declaration.

    Parameters
    ----------
    what, several, code, error
        As for `Registry`.
    home : str
        Package whose import declares what there is, at the first question; "" where that is imported anyway.
    """

    def __init__(
        self, what: str, several: str, code: str, error: type[WorkbenchError] = UsageError, home: str = ""
    ) -> None:
        self._declared: Registry[D] = Registry(what, several, code, error)
        self._home = home

    def add(self, one: D) -> None:
        """Declare."""
        assert one.name not in self._declared, one.name
        self._declared[one.name] = one

    @property
    def _table(self) -> Registry[D]:
        if self._home:
            import_module(self._home)
        return self._declared

    def __iter__(self) -> Iterator[D]:
        return iter(self._table.values())

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __getitem__(self, name: object) -> D:
        return self._table.find(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of declaration."""
        return tuple(self._table)


def summary(declared: Any) -> str:
    """Return the first line of the documentation of what is declared."""
    return next(iter((inspect.getdoc(declared) or "").splitlines()), "")
