"""Tables of what is declared under a name: searches, cost models, task schedulers, graph passes, commands.

What is declared once is in the table; options, command line, forms, documentation and tests take it from there, and an
unknown name is the same error wherever it is given.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Generic, NoReturn, TypeVar

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


class Declarations(Generic[T]):
    """A table that is iterated by what is declared, in its order; `names` are the names."""

    def __init__(self, what: str, several: str, code: str, error: type[WorkbenchError] = UsageError) -> None:
        self._table: Registry[T] = Registry(what, several, code, error)

    def __iter__(self) -> Iterator[T]:
        return iter(self._table.values())

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, name: object) -> bool:
        return name in self._table

    def __getitem__(self, name: object) -> T:
        return self._table.find(name)

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order of declaration."""
        return tuple(self._table)


def summary(declared: Any) -> str:
    """Return the first line of the documentation of what is declared."""
    return next(iter((inspect.getdoc(declared) or "").splitlines()), "")
