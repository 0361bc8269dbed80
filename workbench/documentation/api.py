"""Pages on the public names: one for each public module, with an entry for every name."""

from __future__ import annotations

import inspect
import types
from collections.abc import Collection, Mapping
from typing import Any

from workbench.documentation.docstrings import Resolve, to_markdown
from workbench.documentation.public_names import members_of, names_of, public_modules, signature_of
from workbench.registry import summary

_MADE = "<!-- Made by `python -m workbench.documentation`; change the docstrings, not this text. -->"
_INDEX = f"""# Python API

{_MADE}

Everything that `import workbench as wb` offers. A name that is not here is not part of the interface.

| Module | What it has |
|---|---|
"""


def api_pages() -> dict[str, str]:
    """Return the pages by their place in ``docs/``."""
    modules = public_modules()
    anchors = _entries(modules)
    rows = [f"| [`{name}`]({name}.md) | {summary(module)} |" for name, module in modules.items()]
    tree = "\n".join(["", "", "```{toctree}", ":hidden:", "", *modules, "```", ""])
    pages = {"reference/api/index.md": _INDEX + "\n".join(rows) + tree}
    for name, module in modules.items():
        pages[f"reference/api/{name}.md"] = _module_page(name, module, anchors)
    return pages


def _entries(modules: Mapping[str, types.ModuleType]) -> frozenset[str]:
    """Full names of everything that gets an entry."""
    found = set(modules)
    for name, module in modules.items():
        for attribute in names_of(module):
            value = getattr(module, attribute)
            found.add(f"{name}.{attribute}")
            if inspect.isclass(value):
                found |= {f"{name}.{attribute}.{member}" for member, _ in members_of(value)}
    return frozenset(found)


def _module_page(name: str, module: types.ModuleType, entries: frozenset[str]) -> str:
    resolve = _resolver((name,), entries)
    parts = [
        f"# {name}\n\n{_MADE}",
        f"```{{py:module}} {name}\n```",
        to_markdown(inspect.getdoc(module) or "", resolve),
    ]
    if callable(module):
        # The package `tune` can be called; what it calls has the parameters.
        parts.append(_entry("function", "", name, module, _called_doc(module), resolve))
    for attribute in names_of(module):
        parts.append(_named(f"{name}.{attribute}", getattr(module, attribute), entries))
    return "\n\n".join(parts) + "\n"


def _called_doc(module: types.ModuleType) -> str:
    from workbench.tune.run.start import tune

    return inspect.getdoc(tune if module.__name__ == "workbench.tune" else module.__call__) or ""


def _named(full: str, value: Any, entries: frozenset[str]) -> str:
    """Entry of one public name, with its members where it is a class."""
    module = full.rpartition(".")[0]
    resolve = _resolver((full, module), entries)
    title = f"## {full.rpartition('.')[2]}\n\n"
    if isinstance(value, types.ModuleType):
        return f"{title}A module: [`{full}`]({full}.md). {summary(value)}"
    if inspect.isclass(value):
        kind = "exception" if issubclass(value, BaseException) else "class"
        parts = [title + _entry(kind, module, full, value, inspect.getdoc(value) or "", resolve)]
        parts += [_member(module, f"{full}.{name}", member, resolve) for name, member in members_of(value)]
        return "\n\n".join(parts)
    if callable(value):
        return title + _entry("function", module, full, value, inspect.getdoc(value) or "", resolve)
    return title + _entry("data", module, full, None, _data_doc(value), resolve)


def _data_doc(value: object) -> str:
    own = inspect.getdoc(value) if type(value).__module__.startswith("workbench") else ""
    if own:
        return own
    names = ", ".join(f"``{name}``" for name in value) if isinstance(value, Collection) else ""
    return f"{type(value).__name__}: {names}" if names else f"Value: ``{value}``"


def _member(module: str, full: str, value: Any, resolve: Resolve) -> str:
    if isinstance(value, property):
        return _entry("property", module, full, None, inspect.getdoc(value) or "", resolve)
    function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
    kind = {classmethod: "classmethod", staticmethod: "staticmethod"}.get(type(value), "method")
    return _entry(kind, module, full, value, inspect.getdoc(function) or "", resolve)


def _entry(kind: str, module: str, full: str, called: Any, text: str, resolve: Resolve) -> str:
    """One entry, by its name inside the module of the page; without one it has no anchor of its own."""
    name = full.removeprefix(f"{module}.") if module else full
    options = "" if module else ":no-index:\n"
    signature = signature_of(called) if called else ""
    return f"`````{{py:{kind}}} {name}{signature}\n{options}\n{to_markdown(text, resolve)}\n`````"


def _resolver(scopes: tuple[str, ...], entries: frozenset[str]) -> Resolve:
    """Look a name up in the scopes of an entry, then among the names of the package."""

    def resolve(name: str) -> str:
        for scope in (*scopes, "workbench"):
            if (full := f"{scope}.{name}") in entries:
                return full
        return name if name in entries else ""

    return resolve
