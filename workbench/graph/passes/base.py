"""Passes: declared units that map a graph to a graph, run by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ...errors import UsageError, did_you_mean
from ..graph import Graph

Run: TypeAlias = Callable[[Graph], Graph]


@dataclass(frozen=True, slots=True)
class Pass:
    """Name, what it does in one sentence, and the function."""

    name: str
    doc: str
    run: Run


_PASSES: dict[str, Pass] = {}


def graph_pass(name: str) -> Callable[[Run], Run]:
    """Declare a function Graph -> Graph as the pass `name`; the first line of its docstring describes it."""

    def wrap(fn: Run) -> Run:
        _PASSES[name] = Pass(name, (fn.__doc__ or "").strip().splitlines()[0], fn)
        return fn

    return wrap


def passes() -> dict[str, Pass]:
    """All declared passes by name."""
    return dict(_PASSES)


def run_pass(graph: Graph, name: str) -> Graph:
    """Run one pass.

    Raises
    ------
    UsageError
        "usage.pass" when there is no pass of that name.
    """
    if name not in _PASSES:
        raise UsageError("usage.pass", f"There is no pass {name!r}.", (name,), did_you_mean(name, _PASSES, "passes"))
    return _PASSES[name].run(graph)
