"""What the package offers: the names in ``__all__`` of the package and of the modules that are among them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from typing import Any

import workbench
from workbench import labs


def public_modules() -> dict[str, types.ModuleType]:
    """Modules by the name under which they are reached, the package first.

    `labs` is imported by its own name: it is no part of the work on a model.
    """
    found: dict[str, types.ModuleType] = {"workbench": workbench, "workbench.labs": labs}
    todo = [*found]
    while todo:
        name = todo.pop(0)
        for attribute in names_of(found[name]):
            value = getattr(found[name], attribute)
            if isinstance(value, types.ModuleType) and (full := f"{name}.{attribute}") not in found:
                found[full] = value
                todo.append(full)
    return found


def names_of(module: types.ModuleType) -> list[str]:
    """Public names of a module; one that lists none offers the classes and functions that it defines."""
    listed: list[str] | None = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(listed, key=str.lower)
    own = (n for n, v in vars(module).items() if n[0] != "_" and getattr(v, "__module__", "") == module.__name__)
    return sorted(own, key=str.lower)


def members_of(cls: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties with documentation of their own, those of base classes in the package included."""
    seen = set()
    for base in cls.__mro__:
        if not base.__module__.startswith("workbench"):
            continue
        for name, value in vars(base).items():
            documented = inspect.getdoc(_function(value)) if _is_member(value) else None
            if name[0] != "_" and name not in seen and documented:
                yield name, value
            seen.add(name)


def _is_member(value: object) -> bool:
    return isinstance(value, property | classmethod | staticmethod | types.FunctionType)


def _function(value: Any) -> Any:
    return value.__func__ if isinstance(value, classmethod | staticmethod) else value


def signature_of(value: Any) -> str:
    """Return names and plain defaults of the parameters, without their types: those stand in the documentation."""
    try:
        signature = inspect.signature(_function(value))
    except (TypeError, ValueError):
        return "()"
    shown = []
    for parameter in signature.parameters.values():
        default = parameter.default
        if default is not parameter.empty and not isinstance(default, str | int | float | bool | None | tuple):
            default = ...
        shown.append(parameter.replace(annotation=parameter.empty, default=default))
    if shown and shown[0].name in ("self", "cls"):
        del shown[0]
    return str(signature.replace(parameters=shown, return_annotation=signature.empty)).replace("Ellipsis", "...")
