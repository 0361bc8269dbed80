"""Rules that replace one node at a time, declared in tables and applied in rounds.

In a round every node is looked at once, always in the graph as it was when the round began. A rule says by what else a
node's result can be had: by another tensor (`Site.forward` is a name), or by new nodes. Each such statement stays true
whatever else happens in the round, because the value of no tensor changes and only earlier tensors are named; so all of
them are carried out together at the end of it. Rounds follow each other until nothing fits any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from workbench.graph.graph import Array, AttrValue, Graph, Node, TensorType
from workbench.graph.graph_editor import GraphEditor, as_it_stands
from workbench.graph.operator_call import Call
from workbench.graph.passes.base import because
from workbench.graph.type_inference import make_call

#: What a rule gives: a tensor that has the node's value, nodes of which the last makes it, or nothing.
Found: TypeAlias = "str | list[Node] | None"

#: More rounds than any sensible chain of rules needs; a pair of rules that undo each other ends here.
_MOST_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Rule:
    """A declared rewriting rule.

    Attributes
    ----------
    name : str
    doc : str
        What equals what.
    ops : tuple of str
        Operators of the nodes that it is tried on; empty for all.
    find : callable
    """

    name: str
    doc: str
    ops: tuple[str, ...]
    find: Callable[[Site, Node], Found]


def declare(table: dict[str, Rule], *ops: str) -> Callable[[Callable[[Site, Node], Found]], Callable[..., Found]]:
    """Put a function into a table of rules; its name and the first line of its docstring become the rule's."""

    def wrap(fn: Callable[[Site, Node], Found]) -> Callable[[Site, Node], Found]:
        name = fn.__name__.strip("_")
        assert name not in table, name
        table[name] = Rule(name, (fn.__doc__ or "").strip().splitlines()[0], ops, fn)
        return fn

    return wrap


class Site:
    """The graph at the start of a round, and the means to write what shall stand in a node's place."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.editor = graph, GraphEditor(graph)
        self.types, self.constants = graph.types, graph.constants
        self._makers, self._readers = graph.producers(), graph.consumers()
        self._outputs = set(graph.outputs)

    # ---- looking ----

    def type(self, x: str) -> TensorType:
        """Type of a tensor."""
        return self.types[x]

    def maker(self, x: str, *ops: str) -> Node | None:
        """The node that makes a tensor, when it is one of these operators."""
        node = self._makers.get(x)
        return node if node is not None and (not ops or node.op in ops) else None

    def readers(self, x: str) -> list[Node]:
        """Nodes that read a tensor."""
        return self._readers.get(x, [])

    def only(self, x: str) -> bool:
        """Whether exactly one node reads a tensor and it is no output of the graph."""
        return len(self.readers(x)) == 1 and x not in self._outputs

    def is_output(self, x: str) -> bool:
        """Whether a tensor is an output of the graph."""
        return x in self._outputs

    def value(self, x: str) -> Array | None:
        """Value of a tensor that is constant."""
        return self.constants.get(x)

    def scalar(self, x: str) -> float | None:
        """Value of a constant whose elements are all the same."""
        v = self.constants.get(x)
        if v is None or not v.size or v.dtype.kind not in "fiub":
            return None
        first = v.reshape(-1)[0]
        return first.item() if v.size == 1 or bool((v == first).all()) else None

    def split(self, node: Node) -> tuple[str, str] | None:
        """Inputs of a commutative node as (computed, constant), when exactly one of two is constant."""
        if len(node.inputs) != 2:
            return None
        a, b = node.inputs
        if (a in self.constants) == (b in self.constants):
            return None
        return (b, a) if a in self.constants else (a, b)

    def call(self, node: Node) -> Call:
        """Call of a node, for its attributes."""
        return make_call(node, self.types, self.constants)

    # ---- writing ----

    def constant(self, base: str, value: Array) -> str:
        """Add a constant; returns its name."""
        return self.editor.constant(base, value)

    def new(self, op: str, inputs: Iterable[str], base: str, attrs: Mapping[str, AttrValue] | None = None) -> Node:
        """Node with a fresh name and a result called after `base`."""
        return self.editor.make(op, inputs, base, dict(attrs or {}))

    def instead(
        self,
        node: Node,
        op: str,
        inputs: Iterable[str],
        attrs: Mapping[str, AttrValue] | None = None,
        version: int = 18,
    ) -> Node:
        """Another node under the same name and with the same result."""
        return Node(node.name, op, tuple(inputs), node.outputs[:1], dict(attrs or {}), "", version)

    def reshape(self, node: Node, x: str, shape: tuple[int, ...]) -> Node:
        """Reshape in the place of a node."""
        target = self.constant(f"{node.outputs[0]}.shape", np.array(shape, np.int64))
        return self.instead(node, "Reshape", (x, target), as_it_stands(shape))

    def removable(self, node: Node, x: str) -> bool:
        """Whether the name `x` may take the place of the node's result.

        Not where an output would be an input, a constant or a second name of another output.
        """
        return node.outputs[0] not in self._outputs or (x in self._makers and x not in self._outputs)


def apply_rules(graph: Graph, rules: Iterable[Rule], name: str) -> Graph:
    """Apply rules in rounds until none fits; the history of the result says how often each did."""
    by_op: dict[str, list[Rule]] = {}
    general: list[Rule] = []
    for rule in rules:
        for op in rule.ops:
            by_op.setdefault(op, []).append(rule)
        if not rule.ops:
            general.append(rule)
    counts: Counter[str] = Counter()
    for _ in range(_MOST_ROUNDS):
        after = _round(graph, by_op, general, counts)
        if after is graph:
            break
        graph = after
    if not counts:
        return graph
    did = ", ".join(f"{rule} {n}" for rule, n in counts.items())
    return graph.replace(history=(*graph.history, f"{name}: {did}"))


def _round(graph: Graph, by_op: Mapping[str, list[Rule]], general: list[Rule], counts: Counter[str]) -> Graph:
    site = Site(graph)
    forward: dict[str, str] = {}
    new: dict[str, list[Node]] = {}
    for node in graph.nodes:
        if not node.outputs or not node.outputs[0] or any(_used(site, o) for o in node.outputs[1:]):
            continue
        for rule in (*by_op.get(node.op, ()), *general):
            found = rule.find(site, node)
            if found is None or (isinstance(found, str) and not site.removable(node, found)):
                continue
            counts[rule.name] += 1
            because(f"{rule.name}: {rule.doc}", node.name)
            if isinstance(found, str):
                forward[node.outputs[0]] = found
                new[node.name] = []
            else:
                because(f"{rule.name}: {rule.doc}", *(n.name for n in found))
                new[node.name] = found
            break
    return _carried_out(site, forward, new) if new else graph


def _used(site: Site, x: str) -> bool:
    return bool(x) and (bool(site.readers(x)) or site.is_output(x))


def _carried_out(site: Site, forward: dict[str, str], new: Mapping[str, list[Node]]) -> Graph:
    editor = site.editor
    nodes = [m for n in site.graph.nodes for m in new.get(n.name, [n])]
    made = {o for n in nodes for o in n.outputs if o}
    taken: dict[str, str] = {}  # tensor that gets an output's name -> that name
    for o in editor.outputs:
        if o in forward:
            last = _resolve(forward, o)
            if last in made and last not in editor.outputs and last not in taken:
                taken[last] = o
                del forward[o]
            else:
                nodes.append(Node(editor.fresh(f"{o}.copy"), "Identity", (last,), (o,)))
    forward.update(taken)
    to = {x: _resolve(forward, x) for x in forward}
    editor.nodes = [
        replace(
            n,
            inputs=tuple(to.get(i, i) for i in n.inputs),
            outputs=tuple(taken.get(o, o) for o in n.outputs),
        )
        if any(i in to for i in n.inputs) or any(o in taken for o in n.outputs)
        else n
        for n in nodes
    ]
    return editor.finish()


def _resolve(forward: Mapping[str, str], x: str) -> str:
    while x in forward:
        x = forward[x]
    return x
