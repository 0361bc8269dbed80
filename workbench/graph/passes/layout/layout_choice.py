"""The choice of orders as variables to eliminate: one for every node, and for every tensor with several readers.

A node's values are its modes. A tensor that one node reads costs what lies between the order in which it is made and
the one that is asked for. Where several nodes read a tensor (or it is an output), they share what is transposed: a
variable says in which orders the tensor exists, each of them is paid once, and a reader may ask for those alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from workbench.cooperative_yield import pause
from workbench.graph.graph import Graph, Node
from workbench.graph.opdef import opdef
from workbench.graph.passes.fuse import fuse, fusion_class, is_view
from workbench.graph.passes.layout.carrier_base import RESULT, Mode, Site
from workbench.graph.passes.layout.carriers import carrier
from workbench.graph.passes.layout.costs import PRICES
from workbench.graph.passes.layout.memory_order import PLAIN, Order, common_digits
from workbench.graph.passes.layout.variable_elimination import LIMIT, Factor, Solution, Table, solve

#: Orders of one tensor that are looked at, at most. Chosen, not measured: more take time and seldom gain.
MOST_ORDERS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """What can be chosen: the modes of every node and the orders of every tensor, plain first."""

    graph: Graph
    modes: Mapping[str, list[Mode]]
    orders: Mapping[str, list[Order]]
    situations: Mapping[str, str]

    def demands(self, node: Node, mode: Mode, tensor: str) -> set[Order]:
        """Orders of a tensor that a node reads."""
        return {o for i, o in zip(node.inputs, mode.inputs, strict=True) if i == tensor and o is not None}

    def made(self, mode: Mode, node: Node, tensor: str) -> Order:
        """Order in which a node makes a tensor."""
        return mode.output if tensor == node.outputs[0] else PLAIN

    def move(self, tensor: str, source: Order, target: Order) -> float:
        """Cost of another order of a tensor."""
        if source == target:
            return 0.0
        t = self.graph.types[tensor]
        simple = (source.perms(t.shape) and target.perms(t.shape)) or common_digits(source, target, t.size)
        return PRICES.move(t, self.situations.get(tensor, "alone")) * (1 if simple else 2)

    def price(self, chosen: Mapping[str, Mode]) -> float:
        """Cost of a choice of modes: every node, and every other order in which some tensor is read."""
        made = dict.fromkeys(self.graph.inputs, PLAIN)
        wanted: dict[str, set[Order]] = {o: {PLAIN} for o in self.graph.outputs}
        for n in self.graph.nodes:
            made.update({o: self.made(chosen[n.name], n, o) for o in n.outputs if o})
            for i in n.inputs:
                wanted.setdefault(i, set()).update(self.demands(n, chosen[n.name], i))
        moves = sum(self.move(t, made[t], o) for t, orders in wanted.items() if t in made for o in orders)
        return sum(chosen[n.name].cost for n in self.graph.nodes) + moves

    def as_model(self) -> dict[str, Mode]:
        """Every node as the model has it."""
        return {name: modes[0] for name, modes in self.modes.items()}


def space(graph: Graph) -> Space:
    """Everything that can be chosen in a graph, found by carrying each order from node to node."""
    sites = {n.name: Site.of(graph, n) for n in graph.nodes}
    producers, consumers = graph.producers(), graph.consumers()
    modes: dict[str, list[Mode]] = {n.name: [] for n in graph.nodes}
    orders: dict[str, list[Order]] = {t: [PLAIN] for t in graph.types}
    todo: list[tuple[str, Order]] = []

    def add(node: Node, mode: Mode) -> None:
        known = modes[node.name]
        named = [(i, o) for i, o in zip(node.inputs, mode.inputs, strict=True) if i and o is not None]
        named += [(node.outputs[0], mode.output)] if node.outputs and node.outputs[0] else []
        full = any(o not in orders[t] and len(orders[t]) >= MOST_ORDERS for t, o in named)
        if any(m.key == mode.key for m in known) or (full and known):
            return
        known.append(mode)
        for t, o in named:
            if o not in orders[t]:
                orders[t].append(o)
                todo.append((t, o))

    for n in graph.nodes:
        for mode in carrier(sites[n.name]).start(sites[n.name]):
            add(n, mode)
    while todo:
        pause()
        tensor, order = todo.pop(0)
        around = [producers[tensor]] if tensor in producers else []
        for n in [*around, *consumers.get(tensor, [])]:
            places = [i for i, x in enumerate(n.inputs) if x == tensor] + [RESULT] * (n.outputs[:1] == (tensor,))
            for at in places:
                for mode in carrier(sites[n.name]).modes(sites[n.name], at, order):
                    add(n, mode)
    return Space(graph, modes, orders, _situations(graph))


def cheapest(found: Space, limit: int = LIMIT) -> tuple[dict[str, Mode], Solution]:
    """The cheapest choice of modes, and what is known about it."""
    graph = found.graph
    nodes = [n for n in graph.nodes if len(found.modes[n.name]) > 1]
    index = {n.name: v for v, n in enumerate(nodes)}
    sizes = [len(found.modes[n.name]) for n in nodes]
    start = [0] * len(nodes)
    factors = [Factor((v,), np.array([m.cost for m in found.modes[n.name]])) for v, n in enumerate(nodes)]
    rest = sum(found.modes[n.name][0].cost for n in graph.nodes if n.name not in index)
    factors.append(Factor((), np.array(rest)))
    producers, consumers = graph.producers(), graph.consumers()
    for tensor, orders in found.orders.items():
        if len(orders) == 1 or tensor in graph.constants:
            continue
        pause()
        ends = _Ends(found, tensor, producers.get(tensor), consumers.get(tensor, []), index)
        if ends.shared:
            sizes.append(2 ** len(orders))
            start.append(2 ** len(orders) - 1)
        factors += ends.factors(len(sizes) - 1)
    solution = solve(sizes, factors, start, limit)
    chosen = {n.name: found.modes[n.name][0] for n in graph.nodes}
    chosen.update({n.name: found.modes[n.name][solution.values[v]] for v, n in enumerate(nodes)})
    return chosen, solution


class _Ends:
    """A tensor between what makes it and what reads it."""

    def __init__(
        self, found: Space, tensor: str, producer: Node | None, readers: Sequence[Node], index: Mapping[str, int]
    ) -> None:
        self.space, self.tensor, self.index = found, tensor, index
        self.producer, self.readers = producer, readers
        self.orders = found.orders[tensor]
        self.is_output = tensor in found.graph.outputs
        self.shared = len(readers) + self.is_output > 1

    def factors(self, own: int) -> list[Factor]:
        """Costs; `own` is the tensor's variable where it has one."""
        if not self.readers and not self.is_output:
            return []
        if not self.shared:
            wanted = self._wanted(self.readers[0]) if self.readers else [{PLAIN}]
            table = [[sum(self.space.move(self.tensor, a, b) for b in w) for w in wanted] for a in self._made()]
            ends = (self.producer, self.readers[0] if self.readers else None)
            return [self._factor([ends[0], ends[1]], np.array(table, np.float64))]
        sets = [{o for k, o in enumerate(self.orders) if s >> k & 1} for s in range(2 ** len(self.orders))]
        table = [[sum(self.space.move(self.tensor, a, b) for b in s) for s in sets] for a in self._made()]
        found = [self._factor([self.producer, own], np.array(table, np.float64))]
        wishes = [(r, self._wanted(r)) for r in self.readers]
        for reader, wanted in [*wishes, *([(None, [{PLAIN}])] if self.is_output else [])]:
            lacks = [[0.0 if w <= s else np.inf for s in sets] for w in wanted]
            found.append(self._factor([reader, own], np.array(lacks)))
        return found

    def _made(self) -> list[Order]:
        p = self.producer
        if p is None:
            return [PLAIN]
        return [self.space.made(m, p, self.tensor) for m in self.space.modes[p.name]]

    def _wanted(self, reader: Node) -> list[set[Order]]:
        return [self.space.demands(reader, m, self.tensor) for m in self.space.modes[reader.name]]

    def _factor(self, axes: Sequence[Node | int | None], table: Table) -> Factor:
        """Cost over variables; ends without a choice are no variables."""
        variables, where = list[int](), list[slice | int]()
        for a in axes:
            v = a if isinstance(a, int) else None if a is None else self.index.get(a.name)
            where.append(0 if v is None else slice(None))
            variables += [] if v is None else [v]
        return Factor(tuple(variables), np.asarray(table[tuple(where)]))


def _situations(graph: Graph) -> dict[str, str]:
    """What a transposition of each tensor would meet: see `Prices.move`. A slice is no kernel that could take it in."""
    producers, consumers = graph.producers(), graph.consumers()
    kinds = {n.name: "view" if is_view(graph, n) else fusion_class(graph, n) for n in graph.nodes}
    group = {name: g.nodes for g in fuse(graph).groups for name in g.nodes}
    anchored = {g: any(kinds[n] in ("complex", "opaque") for n in g) for g in group.values()}

    def reader(tensor: str) -> Node | None:
        """The only node that reads a tensor, looking through transpositions."""
        users = consumers.get(tensor, [])
        if len(users) != 1 or tensor in graph.outputs:
            return None
        return reader(users[0].outputs[0]) if opdef(users[0]).transposes else users[0]

    def maker(tensor: str) -> Node | None:
        """The node that makes a tensor, looking through transpositions."""
        node = producers.get(tensor)
        return maker(node.inputs[0]) if node is not None and opdef(node).transposes else node

    found = {}
    for t in graph.types:
        before, after = maker(t), reader(t)
        takes = [
            n is not None and not opdef(n).moves and kinds[n.name] in which and not anchored[group[n.name]]
            for n, which in ((before, ("injective",)), (after, ("injective", "reduction")))
        ]
        if any(n is not None and opdef(n).reads_through for n in (before, after)):
            found[t] = "fused" if after is not None else "alone"
        elif before is not None and after is not None and group[before.name] == group[after.name]:
            found[t] = "inside" if anchored[group[before.name]] else "fused"
        else:
            found[t] = "fused" if after is not None and any(takes) else "alone"
    return found
