"""Before and after: what every pass did to a graph, node by node."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from workbench.graph.graph import Graph, Node, Origin, pass_explainer
from workbench.graph.passes.base import Journal, find_pass, journal, run_pass, select_passes
from workbench.graph.passes.fuse import kernel_count
from workbench.graph.passes.pipeline import ORDER, finished, order_of
from workbench.markup import Drawn
from workbench.safe_text import shown_legibly

Kind = Literal["removed", "added", "changed"]
#: Changes of a pass that its text lists; the rest is counted. Chosen for half a screen.
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Change:
    """One node that a pass removed, added or changed.

    Attributes
    ----------
    kind : str
        "removed", "added" or "changed".
    node, op : str
        Name and operator.
    before, after : str
        The node as text; empty where it was not there.
    reason : str
        One sentence.
    """

    kind: Kind
    node: str
    op: str
    before: str
    after: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """All attributes."""
        return asdict(self)

    @shown_legibly
    def __str__(self) -> str:
        sign = {"removed": "-", "added": "+", "changed": "~"}[self.kind]
        return f"{sign} {self.after or self.before}: {self.reason}"


@dataclass(frozen=True, slots=True)
class PassReport:
    """What one pass did.

    Attributes
    ----------
    name, doc : str
    seconds : float
        Wall-clock time.
    nodes_before, nodes_after : int
    changes : tuple of Change
        Removed, added and changed nodes, in the order of the graphs.
    notes : tuple of str
        What the pass itself wrote to the history.
    kernels : int
        Kernels and views, once the nodes are grouped; 0 before.
    rules : tuple of str
        Why nodes were grouped, a sentence for each edge.
    detail : object
        What else the pass decided (the `LayoutReport` of the pass `layout`); None for most.
    """

    name: str
    doc: str
    seconds: float
    nodes_before: int
    nodes_after: int
    changes: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    kernels: int = 0
    rules: tuple[str, ...] = ()
    detail: Any = None

    def count(self, kind: Kind) -> int:
        """How many nodes were removed, added or changed."""
        return sum(c.kind == kind for c in self.changes)

    def to_json(self) -> dict[str, Any]:
        """All attributes."""
        return asdict(self)

    @shown_legibly
    def __str__(self) -> str:
        counts = ", ".join(f"{n} {kind}" for kind in _KINDS if (n := self.count(kind)))
        counts = counts or ("nodes grouped" if self.rules else "nothing changed")
        head = f"{self.name}: {self.nodes_before} -> {self.nodes_after} nodes"
        head += f" in {self.kernels} kernels" if self.kernels else ""
        lines = [f"{head}, {counts} ({1e3 * self.seconds:.1f} ms)"]
        every = [*map(str, self.changes), *self.rules]
        lines += [f"  {line}" for line in every[:_SHOWN]]
        lines += [f"  … {len(every) - _SHOWN} more"] if len(every) > _SHOWN else []
        return "\n".join(lines)


_KINDS: tuple[Kind, ...] = ("removed", "added", "changed")


@dataclass(frozen=True, slots=True, eq=False)
class Report(Drawn):
    """What all passes did; `graph` is the result.

    Attributes
    ----------
    before, graph : Graph
        Before the first pass and after the last one.
    passes : tuple of PassReport
        One for each run of a pass, in order.
    left_out : tuple of str
        Passes that would have run and were left out.
    graphs : tuple of Graph
        After each pass.
    """

    before: Graph
    graph: Graph
    passes: tuple[PassReport, ...]
    left_out: tuple[str, ...] = field(default=())
    graphs: tuple[Graph, ...] = field(default=())

    def at(self, number: int, side: Literal["before", "after"] = "after") -> Graph:
        """Return the graph before or after a pass, given by its position."""
        if side == "after":
            return self.graphs[number]
        return self.graphs[number - 1] if number else self.before

    @property
    def seconds(self) -> float:
        """Wall-clock time of all passes."""
        return sum(p.seconds for p in self.passes)

    def to_json(self) -> dict[str, Any]:
        """Everything but the graphs themselves."""
        return {
            "graph": self.graph.name,
            "nodes_before": len(self.before.nodes),
            "nodes_after": len(self.graph.nodes),
            "kernels": kernel_count(self.graph),
            "seconds": self.seconds,
            "left_out": list(self.left_out),
            "passes": [p.to_json() for p in self.passes],
        }

    @shown_legibly
    def __str__(self) -> str:
        head = f"{self.graph.name}: {len(self.before.nodes)} -> {len(self.graph.nodes)} nodes"
        head += f" in {kernel_count(self.graph)} kernels" if self.graph.groups else ""
        off = f"left out: {', '.join(self.left_out)}" if self.left_out else ""
        return "\n".join(filter(None, [head, off, *map(str, self.passes)]))

    @shown_legibly
    def __repr__(self) -> str:
        sizes = f"{len(self.before.nodes)} -> {len(self.graph.nodes)} nodes"
        return f"<Report of {len(self.passes)} passes on {self.graph.name!r}: {sizes}>"


def explain(
    graph: Graph,
    passes: Sequence[str] | None = None,
    without: Iterable[str] | str = (),
    precision: str = "float32",
) -> Report:
    """Optimise a graph and keep what every pass did.

    Parameters
    ----------
    graph : Graph
    passes, without, precision
        As for `Graph.optimize`, and with the same errors.

    Returns
    -------
    Report
        Its `graph` is what `Graph.optimize` returns.
    """
    without = (without,) if isinstance(without, str) else tuple(without)
    wanted = order_of(precision) if passes is None else tuple(passes)
    order = select_passes(wanted, without)
    now, done, graphs = graph, list[PassReport](), list[Graph]()
    for name in order:
        began = time.perf_counter()
        with journal() as said:
            after = run_pass(now, name)
        done.append(_report(name, now, after, said, time.perf_counter() - began))
        now = after
        graphs.append(now)
    off = tuple(dict.fromkeys(n for n in ORDER if n not in order and (n in wanted or find_pass(n).default)))
    return Report(graph, finished(now, Origin(graph, wanted, without)), tuple(done), off, tuple(graphs))


pass_explainer.provide(explain)


def _report(name: str, before: Graph, after: Graph, said: Journal, seconds: float) -> PassReport:
    changes = () if before is after else tuple(_changes(before, after, said))
    notes = after.history[len(before.history) :]
    rules = () if after.groups == before.groups else tuple(r for g in after.groups for r in g.rules)
    sizes = len(before.nodes), len(after.nodes)
    return PassReport(
        name, find_pass(name).doc, seconds, *sizes, changes, notes, kernel_count(after), rules, said.detail
    )


def _changes(before: Graph, after: Graph, said: dict[str, str]) -> Iterable[Change]:
    old, new = {n.name: n for n in before.nodes}, {n.name: n for n in after.nodes}
    makers, constants = after.producers(), after.constants
    for n in before.nodes:
        if n.name not in new:
            yield Change("removed", n.name, n.op, str(n), "", said.get(n.name) or _why_gone(n, makers, constants))
    taken = {o: n for n in before.nodes for o in n.outputs if o}
    for n in after.nodes:
        was = old.get(n.name)
        if was is None:
            yield Change("added", n.name, n.op, "", str(n), said.get(n.name) or _why_new(n, taken))
        elif str(was) != str(n) or was.version != n.version:
            yield Change("changed", n.name, n.op, str(was), str(n), said.get(n.name) or _why_changed(was, n))


def _why_gone(node: Node, makers: dict[str, Node], constants: Any) -> str:
    for o in filter(None, node.outputs):
        if o in constants:
            return f"{o} is a constant now"
        if o in makers:
            return f"{makers[o].op} {makers[o].name} makes {o} now"
    return "nothing needs its result any more"


def _why_new(node: Node, taken: dict[str, Node]) -> str:
    for o in filter(None, node.outputs):
        if o in taken:
            return f"makes {o} in place of {taken[o].op} {taken[o].name}"
    return "what the changed nodes read"


def _why_changed(was: Node, now: Node) -> str:
    if was.op != now.op:
        return f"was {was.op}"
    if was.outputs != now.outputs:
        return f"makes {', '.join(filter(None, now.outputs))} and not {', '.join(filter(None, was.outputs))}"
    if was.inputs != now.inputs:
        new = [i or "nothing" for i in now.inputs if i not in was.inputs] or ["fewer tensors"]
        return f"reads {', '.join(new)}"
    return "other attributes"
