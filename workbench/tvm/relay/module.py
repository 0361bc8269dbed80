"""What stands for a module of relay."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.graph.graph import Array


class Module:
    """A network without its weights, which TVM passes beside it.

    Attributes
    ----------
    graph : Graph
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @property
    def params(self) -> dict[str, Array]:
        """The weights."""
        return dict(self.graph.constants)

    def __getitem__(self, name: str) -> Module:
        """``mod["main"]`` is the network: there is one function."""
        if name != "main":
            raise UsageError("usage.function", f"A module has no function {name!r}", (name,), 'mod["main"]')
        return self

    def bound(self, params: Mapping[str, Array] | None) -> Graph:
        """The graph with these weights; one of them may be missing."""
        known = {n: a for n, a in (params or {}).items() if n in self.graph.constants}
        if all(self.graph.constants[n] is a for n, a in known.items()):
            return self.graph
        return self.graph.replace(constants={**self.graph.constants, **known})

    def __str__(self) -> str:
        return str(self.graph)
