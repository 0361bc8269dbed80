"""Names of a package that are loaded when they are first used, so that importing the package stays cheap."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping


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
            module = importlib.import_module(f"{module.__name__}.{part}")
        value = getattr(module, attribute) if attribute else module
        setattr(sys.modules[package], name, value)
        return value

    return find
