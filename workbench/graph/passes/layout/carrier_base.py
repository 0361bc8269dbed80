"""What is asked about every node: in which orders it can run, and how it is written then.

A `Carrier` answers for a node (`Site`): which ways of running (`Mode`) follow when one of its tensors has a certain
order, and how the node is written in one of them. `carriers` has one for each kind of operator.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.graph.graph import Array, Graph, Node, TensorType
from workbench.graph.opdef import OpDef, opdef
from workbench.graph.operator_call import Call
from workbench.graph.passes.layout.costs import PRICES
from workbench.graph.passes.layout.memory_order import PLAIN, Order, Perm, Shape
from workbench.graph.type_inference import make_call

if TYPE_CHECKING:
    from workbench.graph.passes.layout.write import Writer

#: Position of a node's result; its inputs are 0, 1, …
RESULT = -1


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A node with what is known about its tensors."""

    graph: Graph
    node: Node
    call: Call
    op: OpDef

    @staticmethod
    def of(graph: Graph, node: Node) -> Site:
        """Site of a node of a graph."""
        return Site(graph, node, make_call(node, graph.types, graph.constants), opdef(node))

    @property
    def out(self) -> TensorType:
        """Type of the first result."""
        return self.graph.types[self.node.outputs[0]]

    @property
    def alone(self) -> bool:
        """Whether the node has only one result."""
        return bool(self.node.outputs) and bool(self.node.outputs[0]) and not any(self.node.outputs[1:])

    @property
    def empty(self) -> bool:
        """Whether something that is computed has no elements."""
        moving = [t for i, t in enumerate(self.call.types) if t is not None and self.moving(i)]
        return not all(t.size for t in (*moving, self.out))

    def shape(self, at: int) -> Shape:
        """Shape of an input or of the result as the model has it."""
        return self.out.shape if at == RESULT else self.call.shape(at)

    def permuted(self, perm: Perm) -> Shape:
        """Shape of the result with its axes permuted."""
        return tuple(self.out.shape[p] for p in perm)

    def moving(self, i: int) -> bool:
        """Whether input `i` is given and computed at run time."""
        x = self.node.inputs[i] if i < len(self.node.inputs) else ""
        return bool(x) and x not in self.graph.constants

    def value(self, i: int) -> Array:
        """Constant input `i`."""
        return self.graph.constants[self.node.inputs[i]]


@dataclass(frozen=True, slots=True, eq=False)
class Mode:
    """A way of running a node.

    Attributes
    ----------
    layout : str
        "model" (as the model has it), "last" (channels last), "carried" (in the order of its neighbours) or "named"
        (nothing runs: the same memory under another name).
    inputs : tuple of Order or None
        What is read, for each input; None for constants and absent inputs.
    output : Order
        Of the result; further results are plain.
    cost : float
        Nanoseconds.
    perms : tuple of Perm
        Permutations of the axes that mean this mode; several where dimensions have one element.
    why : str
        Reason in words.
    """

    layout: str
    inputs: tuple[Order | None, ...]
    output: Order
    cost: float
    perms: tuple[Perm, ...] = ()
    why: str = ""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for modes that need not be told apart."""
        return (self.layout == "last", self.inputs, self.output)


class Carrier:
    """Base: a node that runs as the model has it."""

    def start(self, site: Site) -> list[Mode]:
        """Modes to start from: as the model has it, and those that the operator itself asks for."""
        return [self.model(site)]

    def model(self, site: Site, slower: bool = False) -> Mode:
        """The node as the model has it."""
        orders = tuple(PLAIN if site.moving(i) else None for i in range(len(site.node.inputs)))
        cost = PRICES.run(site.call, site.out, slower) if site.alone else 0.0
        whole = (tuple(range(site.out.rank)),) if site.alone else ()
        return Mode("model", orders, PLAIN, cost, whole, "as the model has it")

    def modes(self, site: Site, at: int, order: Order) -> Iterable[Mode]:
        """Modes in which the tensor at a position has an order."""
        return ()

    def write(self, w: Writer, site: Site, mode: Mode) -> None:
        """Write the node so."""
        w.keep(site.node)
