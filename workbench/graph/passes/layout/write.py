"""Writing a graph in the orders that were decided: tensors in memory, and what moves between their orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from workbench.graph.graph import Array, AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.passes.layout.carrier_base import Mode, Site
from workbench.graph.passes.layout.carriers import carrier
from workbench.graph.passes.layout.memory_order import PLAIN, Order, Perm, Shape, common_digits, last


@dataclass(frozen=True, slots=True)
class Moved:
    """A tensor that is transposed from one order to another."""

    tensor: str
    source: Order
    target: Order
    node: str


class Writer:
    """The new graph, node by node. A tensor of the model may lie in several orders, and be seen in several shapes."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.editor = graph, GraphEditor(graph)
        self.nodes: list[Node] = []
        self.moves: list[Moved] = []
        self.stored: dict[tuple[str, Order], list[tuple[str, Shape]]] = {}
        self.origin: dict[str, Order] = {}  # in which each tensor is made
        self._constants: dict[tuple[object, ...], str] = {}
        self._named: dict[str, str] = {}  # result of a view or transposition of the model -> that node's name
        self._used = set(graph.inputs)
        for x in graph.inputs:
            self._put(x, PLAIN, x, graph.types[x].shape)

    def finish(self) -> Graph:
        """The graph; its outputs have their names again."""
        names = {out: self.plain(out) for out in self.graph.outputs}
        self.editor.nodes = self.nodes
        first: dict[str, str] = {}  # the output that a tensor in memory is called after from now on
        for out, name in names.items():
            if name != out:
                self.editor.forward(out, first.get(name, name))
            if not any(name in n.outputs for n in self.editor.nodes) and name not in self.graph.inputs:
                first.setdefault(name, out)
        return self.editor.finish()

    # ---- reading ----

    def plain(self, x: str) -> str:
        """Name of a tensor as the model has it; absent inputs and constants are their own."""
        if not x or x in self.graph.constants:
            return x
        return self.read(x, PLAIN, self.graph.types[x].shape)

    def shapes(self, x: str, order: Order) -> list[Shape]:
        """Shapes in which a tensor exists in an order."""
        return [s for _, s in self.stored.get((x, order), [])]

    def likely(self, x: str, order: Order, perms: Sequence[Perm]) -> Perm:
        """The permutation, of several that mean the same, in which a tensor exists: without a reshape."""
        shape, have = self.graph.types[x].shape, self.shapes(x, order)
        return next((p for s in have for p in perms if tuple(shape[a] for a in p) == s), perms[0])

    def moved(self, site: Site, i: int, perm: Perm, suffix: str = "nhwc") -> str:
        """Name of an input with its axes permuted."""
        x = site.node.inputs[i]
        if not site.moving(i):
            return self.constant(x, perm, np.transpose(site.value(i), perm), suffix) if x else x
        shape = site.shape(i)
        return self.read(x, Order.of(shape, perm), tuple(shape[p] for p in perm))

    def constant(self, x: str, how: object, value: Array, suffix: str = "nhwc") -> str:
        """Name of a constant made from the constant `x`; made once for every way `how`."""
        key = (x, suffix, tuple(how) if isinstance(how, Sequence) else how, value.shape)
        if key not in self._constants:
            self._constants[key] = self.editor.constant(f"{x}.{suffix}", value)
        return self._constants[key]

    def read(self, x: str, order: Order, shape: Shape) -> str:
        """Name of a tensor in an order and a shape in memory; moved or reshaped when it does not exist so yet."""
        if (x, order) not in self.stored:
            self._move(x, self.origin[x], order, shape)
        have = self.stored[x, order]
        found = next((n for n, s in have if s == shape), None)
        if found is not None:
            return found
        name, exact = self._name(x, order, shape)
        node = self.editor.reshape(have[0][0], shape, name, exact)
        self._add(x, order, node, shape)
        return node.outputs[0]

    def _move(self, x: str, source: Order, target: Order, wish: Shape) -> None:
        shape = self.graph.types[x].shape

        def lies(perm: Perm) -> Shape:
            return tuple(shape[p] for p in perm)

        before, after = source.perms(shape), target.perms(shape)
        if before and after:
            first = self.likely(x, source, before)
            second = next((p for p in after if lies(p) == wish), after[0])
            self._transpose(x, source, target, lies(first), tuple(first.index(p) for p in second))
            return
        found = common_digits(source, target, self.graph.types[x].size)
        if found is None:
            self._move(x, source, PLAIN, shape)
            self._move(x, PLAIN, target, wish)
            return
        digits, first, second = found
        self._transpose(x, source, target, tuple(digits[d] for d in first), tuple(first.index(d) for d in second))

    def _transpose(self, x: str, source: Order, target: Order, shape: Shape, perm: Perm) -> None:
        start = self.read(x, source, shape)
        out = tuple(shape[p] for p in perm)
        name, exact = self._name(x, target, out)
        node = self.editor.make("Transpose", (start,), name, {"perm": perm}, exact)
        self._add(x, target, node, out)
        self.moves.append(Moved(x, source, target, self.nodes[-1].name))

    # ---- writing ----

    def keep(self, node: Node) -> None:
        """Write a node as the model has it."""
        inputs = tuple(self.plain(i) for i in node.inputs)
        self.nodes.append(node if inputs == node.inputs else replace(node, inputs=inputs))
        for o in node.outputs:
            if o:
                self._used.add(o)
                self._put(o, PLAIN, o, self.graph.types[o].shape)

    def rename(self, site: Site, source: Order, target: Order) -> None:
        """Let the result be what the first input is in memory."""
        x, out = site.node.inputs[0], site.node.outputs[0]
        self._named[out] = site.node.name
        if (x, source) not in self.stored:
            self.read(x, source, source.stored(self.graph.types[x].shape))
        for name, shape in self.stored[x, source]:
            self._put(out, target, name, shape)

    def emit(
        self,
        site: Site,
        inputs: Sequence[str],
        attrs: dict[str, AttrValue],
        order: Order,
        shape: Shape,
        version: int | None = None,
    ) -> None:
        """Write a node whose result has an order and a shape in memory."""
        name, exact = self._name(site.node.outputs[0], order, shape)
        out = name if exact else self.editor.fresh(name)
        new = replace(
            site.node, inputs=tuple(inputs), outputs=(out,), attrs=attrs, version=version or site.node.version
        )
        self._add(site.node.outputs[0], order, new, shape)

    def _name(self, x: str, order: Order, shape: Shape) -> tuple[str, bool]:
        """Name for a tensor in memory, and whether it has to be exactly this."""
        full = self.graph.types[x].shape
        if order.plain and shape == full and x not in self._used:
            return x, True
        channels_last = shape == tuple(full[p] for p in last(len(full)))
        return f"{x}.nhwc" if channels_last else f"{x}.moved", False

    def _add(self, x: str, order: Order, node: Node, shape: Shape) -> None:
        if node.outputs[0] == x and x in self._named:  # it does what a node of the model did
            node = replace(node, name=self._named[x])
        self.nodes.append(node)
        self._used.update(node.outputs)
        self._put(x, order, node.outputs[0], shape)

    def _put(self, x: str, order: Order, name: str, shape: Shape) -> None:
        self.origin.setdefault(x, order)
        self.stored.setdefault((x, order), []).append((name, shape))


def write(graph: Graph, chosen: Mapping[str, Mode]) -> tuple[Graph, list[Moved]]:
    """The graph in which every node runs in its chosen mode."""
    w = Writer(graph)
    for node in graph.nodes:
        site, mode = Site.of(graph, node), chosen[node.name]
        carrier(site).write(w, site, mode)
    return w.finish(), w.moves
