"""Functions that a class calls and a module above it provides.

A method stands with its class even where its work is done higher up: `Graph.optimize` runs passes, and passes work on
graphs. The module of the class declares what it calls, the module above provides that when it is imported, and the
``__init__`` of the package imports both.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Provided(Generic[P, R]):
    """A function by its signature; calling it calls what was provided.

    Parameters
    ----------
    what : str
        What it does, for the message where nothing provides it.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._function: Callable[P, R] | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        assert self._function is not None, f"no module that provides {self.what} is imported"
        return self._function(*args, **kwargs)

    def provide(self, function: Callable[P, R]) -> None:
        """Say which function does it."""
        self._function = function


def import_modules(package: str, without: Collection[str] = ()) -> None:
    """Import what is in a package, so that each module registers what it declares; it is found by being there."""
    for found in pkgutil.walk_packages(sys.modules[package].__path__, f"{package}."):
        if found.name.rpartition(".")[2] not in without:
            import_module(found.name)
