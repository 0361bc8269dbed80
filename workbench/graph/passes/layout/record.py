"""What was decided about layouts, node by node and move by move, to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workbench.graph.graph import Graph
from workbench.graph.passes.layout.carrier_base import Mode
from workbench.graph.passes.layout.layout_choice import Space
from workbench.graph.passes.layout.memory_order import Order, last
from workbench.graph.passes.layout.variable_elimination import Solution
from workbench.graph.passes.layout.write import Moved
from workbench.markup import Drawn
from workbench.safe_text import shown_legibly


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """How one node runs.

    Attributes
    ----------
    node, op : str
        Name and operator, as in the graph before.
    layout : str
        "model", "last" (channels last), "carried" or "named" (nothing runs).
    order : str
        Of its result, in words.
    cost_ns : float
        Estimated.
    reason : str
    """

    node: str
    op: str
    layout: str
    order: str
    cost_ns: float
    reason: str


@dataclass(frozen=True, slots=True)
class Transposition:
    """A tensor that is transposed.

    Attributes
    ----------
    node : str
        In the new graph.
    tensor : str
        What is moved, as the model calls it.
    source, target : str
        Orders, in words.
    nbytes : int
    cost_ns : float
        Estimated.
    reason : str
    """

    node: str
    tensor: str
    source: str
    target: str
    nbytes: int
    cost_ns: float
    reason: str


@dataclass(frozen=True, slots=True)
class LayoutReport(Drawn):
    """Layouts of a network.

    Attributes
    ----------
    nodes : tuple of NodeLayout
    moves : tuple of Transposition
    cost_ns, model_ns : float
        Estimated cost as decided, and with every operator as the model has it.
    bound_ns : float
        What no choice can be below; equal to `cost_ns` where the search was exact.
    """

    nodes: tuple[NodeLayout, ...]
    moves: tuple[Transposition, ...]
    cost_ns: float
    model_ns: float
    bound_ns: float

    @property
    def exact(self) -> bool:
        """Whether no choice of orders is cheaper by this estimate."""
        return self.cost_ns <= self.bound_ns * (1 + 1e-6)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)

    @shown_legibly
    def __str__(self) -> str:
        lines = [self.summary]
        lines += [f"  {n.node} ({n.op}): {n.order}; {n.reason}" for n in self.nodes]
        lines += [f"  {m.tensor}: {m.source} -> {m.target}, {m.nbytes} bytes; {m.reason}" for m in self.moves]
        return "\n".join(lines)

    @property
    def summary(self) -> str:
        """Counts and costs in one line."""
        first = sum(n.layout == "last" for n in self.nodes)
        moved = sum(n.layout == "carried" and n.order != "as the model has it" for n in self.nodes)
        how = "exact" if self.exact else f"at most {100 * (self.cost_ns / self.bound_ns - 1):.1f} % above the best"
        one = "transposition moves" if len(self.moves) == 1 else "transpositions move"
        return (
            f"{first} nodes channels last, {moved} more carried along; {len(self.moves)} {one} "
            f"{sum(m.nbytes for m in self.moves) / 1e6:.2f} MB; estimated {self.cost_ns / 1e3:.0f} µs, "
            f"{self.model_ns / 1e3:.0f} µs as the model has it ({how})"
        )


_SITUATIONS = {
    "alone": "a kernel of its own",
    "fused": "a kernel beside it takes it in",
    "inside": "parts what could be one kernel",
}


def report(found: Space, chosen: Mapping[str, Mode], solution: Solution, moves: list[Moved]) -> LayoutReport:
    """The record of a decision."""
    graph = found.graph
    nodes = []
    for n in graph.nodes:
        m = chosen[n.name]
        order = words(m.output, graph, n.outputs[0]) if n.outputs else "as the model has it"
        nodes.append(NodeLayout(n.name, n.op, m.layout, order, m.cost, m.why))
    done = [
        Transposition(
            m.node,
            m.tensor,
            words(m.source, graph, m.tensor),
            words(m.target, graph, m.tensor),
            graph.types[m.tensor].nbytes,
            found.move(m.tensor, m.source, m.target),
            _SITUATIONS[found.situations.get(m.tensor, "alone")],
        )
        for m in moves
    ]
    model = found.price(found.as_model())
    return LayoutReport(tuple(nodes), tuple(done), solution.cost, model, solution.bound)


def words(order: Order, graph: Graph, tensor: str) -> str:
    """An order of a tensor in words."""
    shape = graph.types[tensor].shape if tensor in graph.types else ()
    if order.plain:
        return "as the model has it"
    if len(shape) > 2 and order == Order.of(shape, last(len(shape))):
        return "channels last"
    perms = order.perms(shape)
    return f"axes {','.join(map(str, perms[0]))}" if perms else str(order)
