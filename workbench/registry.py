"""Tables of what is declared under a name: searches, cost models, task schedulers, graph passes, commands.

What is declared once is in the table; options, command line, forms, documentation and tests take it from there, and an
unknown name is the same error wherever it is given.
"""

from __future__ import annotations

import inspect
from typing import Any, Generic, NoReturn, TypeVar

from workbench.arguments import shown
from workbench.errors import UsageError, WorkbenchError, did_you_mean

T = TypeVar("T")


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
        raise self.error(self.code, f"There is no {self.what} {shown(name)}", (shown(name),), hint)

    def find(self, name: object) -> T:
        """Return what is declared under a name that may be anything; raises `code`."""
        return self[name] if isinstance(name, str) else self.__missing__(name)


def summary(declared: Any) -> str:
    """Return the first line of the documentation of what is declared."""
    return next(iter((inspect.getdoc(declared) or "").splitlines()), "")
