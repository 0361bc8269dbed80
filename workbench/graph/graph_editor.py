"""The scratch pad that passes work on: a graph that may change, turned back into a checked `Graph` at the end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from workbench.graph.graph import Array, AttrValue, Graph, Node


def _whole_view(value: Array) -> bool:
    """Whether an array is another one in another order: a view that keeps no more memory alive than it shows."""
    root, step = value, value.itemsize
    while isinstance(root.base, np.ndarray):
        root = root.base
    for stride, extent in sorted((abs(s), n) for s, n in zip(value.strides, value.shape, strict=True) if n > 1):
        if stride != step:  # elements that are shown twice or left out
            return False
        step *= extent
    return root is not value and root.nbytes == value.nbytes


def as_it_stands(shape: tuple[int, ...]) -> dict[str, AttrValue]:
    """Attributes of a Reshape to a shape in which 0 is no copy of the dimension that was there."""
    return {"allowzero": 1} if 0 in shape else {}


class GraphEditor:
    """Mutable copy of a graph. `finish` drops what no output needs, sorts, checks and infers types again."""

    def __init__(self, graph: Graph) -> None:
        self.source = graph
        self.nodes: list[Node] = list(graph.nodes)
        self.constants: dict[str, Array] = dict(graph.constants)
        self.outputs: list[str] = list(graph.outputs)
        self._taken = set(graph.types) | {n.name for n in graph.nodes}

    def fresh(self, base: str) -> str:
        """Return `base`, or `base` with a number, such that neither a tensor nor a node has that name."""
        name, k = base, 0
        while name in self._taken:
            k += 1
            name = f"{base}_{k}"
        self._taken.add(name)
        return name

    def constant(self, base: str, value: Array) -> str:
        """Add a constant; returns its name. All of another array in another order stays a view: nothing is copied."""
        name = self.fresh(base)
        self.constants[name] = value if _whole_view(value) else np.ascontiguousarray(value).reshape(value.shape)
        return name

    def make(
        self, op: str, inputs: Iterable[str], base: str, attrs: dict[str, AttrValue] | None = None, exact: bool = False
    ) -> Node:
        """Create a node with one output called after `base`, or exactly that (not inserted yet)."""
        out = base if exact else self.fresh(base)
        return Node(self.fresh(f"{out}.{op}"), op, tuple(inputs), (out,), attrs or {})

    def reshape(self, x: str, shape: tuple[int, ...], base: str, exact: bool = False) -> Node:
        """Create a Reshape node to a fixed shape (not inserted yet); names as for `make`."""
        target = self.constant(f"{base}.shape", np.array(shape, dtype=np.int64))
        return self.make("Reshape", (x, target), base, as_it_stands(shape), exact)

    def swap(self, old: Node, new: Iterable[Node]) -> None:
        """Put nodes in the place of another."""
        at = self.nodes.index(old)
        self.nodes[at : at + 1] = list(new)

    def forward(self, old: str, new: str) -> None:
        """Let everything that reads `old` read `new`; a graph output keeps its name."""

        def swapped(names: tuple[str, ...], a: str, b: str) -> tuple[str, ...]:
            return tuple(b if n == a else n for n in names)

        self.nodes = [replace(n, inputs=swapped(n.inputs, old, new)) if old in n.inputs else n for n in self.nodes]
        if old not in self.outputs:
            return
        maker = next((n for n in self.nodes if new in n.outputs), None)
        if maker is None or new in self.outputs:  # an input, a constant or another output: a copy has to make it
            self.nodes = [
                replace(n, outputs=tuple("" if o == old else o for o in n.outputs)) if old in n.outputs else n
                for n in self.nodes
            ]
            self.nodes = [n for n in self.nodes if any(n.outputs)]
            self.nodes.append(Node(self.fresh(f"{old}.copy"), "Identity", (new,), (old,)))
            return
        self.nodes = [n for n in self.nodes if old not in n.outputs]
        self.nodes = [
            replace(n, inputs=swapped(n.inputs, new, old), outputs=swapped(n.outputs, new, old))
            if new in n.inputs or new in n.outputs
            else n
            for n in self.nodes
        ]

    def finish(self, note: str = "") -> Graph:
        """Checked graph without dead nodes and constants; `note` goes to its history."""
        return self.source.rebuilt(self.nodes, self.constants, self.outputs, note)
