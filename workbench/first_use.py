"""Names of a package that are loaded when they are first used, so that importing the package stays cheap."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Mapping
from types import ModuleType

#: Times that an import is tried which another thread is in the way of, and seconds in between. Chosen: the largest room
#: takes a second.
_TRIES, _WAIT_S = 100, 0.05


def loaded_on_first_use(package: str, home: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package.

    Parameters
    ----------
    package : str
        Its full name.
    home : mapping
        Public name -> ``module:attribute`` below the package; ``module:`` alone means the module itself.
    """

    def find(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module_name, _, attribute = home[name].partition(":")
        module = sys.modules[package]
        # Room by room: of threads that import a room and a module of it at once, each would wait for the other.
        for part in module_name.split("."):
            module = imported(f"{module.__name__}.{part}")
        value = getattr(module, attribute) if attribute else module
        setattr(sys.modules[package], name, value)
        return value

    return find


def imported(name: str) -> ModuleType:
    """Import a module, also while other threads import what it needs.

    Where two threads wait for each other, Python ends one of the imports, or lets it see a module that is half made.
    What has failed so is not kept, and works once the other thread is through.
    """
    for _ in range(_TRIES):
        try:
            return importlib.import_module(name)
        except (ImportError, RuntimeError) as error:  # a deadlock is a RuntimeError of the import system
            if not _in_the_way(error):
                raise
            time.sleep(_WAIT_S)
    return importlib.import_module(name)


def _in_the_way(error: Exception) -> bool:
    """Whether an import failed for another thread's."""
    if isinstance(error, ImportError):  # a module that is not there stays away
        return (
            not isinstance(error, ModuleNotFoundError)
            and (error.name or "").partition(".")[0] == __name__.partition(".")[0]
        )
    return type(error).__name__ == "_DeadlockError"
