"""Networks and tasks in a notebook."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from workbench import markup as m
from workbench.graph.graph import Graph, TensorType
from workbench.graph.kernel_description import describe
from workbench.graph.passes.explain import PassReport, Report
from workbench.graph.passes.fuse import is_view, kernel_count
from workbench.graph.passes.layout.record import LayoutReport
from workbench.graph.tasks import Task
from workbench.ir.text.printer import to_text
from workbench.schedule.html import interface, machine

#: Rows of a table that a notebook shows; the rest is counted. Chosen for a screen of text.
ROWS = 30
#: Kinds of operators that a notebook names, the most frequent first; chosen for two lines of text.
_OPERATORS = 12
#: Kernels of a task that a notebook names; chosen for one line of text.
_GROUPS = 6


@m.drawn.register(Graph)
def graph_html(graph: Graph) -> str:
    """Return what a notebook shows of a network."""
    held = graph.constants.values()
    parameters = sum(a.size for a in held if a.dtype.kind == "f")
    memory = sum(a.nbytes for a in held)
    weights = f"{m.compact(parameters)} parameters ({m.size(memory)})" if graph.constants else "no parameters"
    kernels = m.plural(kernel_count(graph), "kernel") if graph.groups else ""
    parts: list[object] = [
        m.heading("Network", graph.name, m.plural(len(graph.nodes), "node"), kernels, weights),
        m.label("inputs", _tensors(graph, graph.inputs)),
        m.label("outputs", _tensors(graph, graph.outputs)),
    ]
    if graph.nodes:
        parts += [m.label("operators", _operators(graph)), _kernels(graph) if graph.groups else _nodes(graph)]
    if graph.history:
        lines = [[k, m.text(done, 200)] for k, done in enumerate(graph.history, 1)]
        ran = m.table((m.Column("", number=True), m.Column("")), m.cut(lines, ROWS, "passes"))
        parts.append(m.fold(f"{m.plural(len(graph.history), 'pass', 'passes')} ran", ran))
    return m.page(*parts)


def _tensors(graph: Graph, names: Iterable[str], limit: int = 8) -> m.Html:
    every = list(names)
    shown = [m.join(m.mono(n, 50), " ", _type(graph.types[n])) for n in every[:limit]]
    return m.listed(shown, len(every)) if shown else m.faint("none")


def _type(kind: TensorType) -> m.Html:
    return m.join(m.shape(kind.shape), " ", m.faint(kind.dtype))


def _operators(graph: Graph) -> m.Html:
    counts = Counter(n.op for n in graph.nodes).most_common()
    shown = [m.join(m.text(op, 40), " ", m.faint(f"×{n}")) for op, n in counts[:_OPERATORS]]
    return m.listed(shown, len(counts))


def _kernels(graph: Graph) -> m.Html:
    by_name = {n.name: n for n in graph.nodes}
    rows = []
    for k, group in enumerate(graph.groups[:ROWS]):
        nodes = [by_name[name] for name in group.nodes]
        what = m.text(describe(graph, nodes), 90)
        if all(is_view(graph, n) for n in nodes):
            what = m.join(what, " ", m.chip("view"))
        made = next((o for o in nodes[-1].outputs if o), "")
        rows.append([k, what, _type(graph.types[made]) if made else "", m.text(" + ".join(n.op for n in nodes), 50)])
    columns = (m.Column("#", number=True), m.Column("Kernel"), m.Column("Output"), m.Column("Nodes"))
    return m.table(columns, m.cut(rows, ROWS, "kernels", len(graph.groups)))


def _nodes(graph: Graph) -> m.Html:
    """Nodes that depend on an input; those that only compute constants are counted."""
    live = set(graph.inputs)
    shown = []
    for node in graph.nodes:
        if not live.isdisjoint(node.inputs):
            live.update(o for o in node.outputs if o)
            shown.append(node)
    rows = []
    for k, node in enumerate(shown[:ROWS]):
        made = [_type(graph.types[o]) for o in node.outputs if o]
        rows.append([k, m.text(node.op, 40), m.mono(node.name, 50), m.Html(", ".join(made[:4]))])
    columns = (m.Column("#", number=True), m.Column("Operator"), m.Column("Node"), m.Column("Output"))
    drawn = m.table(columns, m.cut(rows, ROWS, "nodes", len(shown))) if shown else m.Html("")
    others = len(graph.nodes) - len(shown)
    words = f"{m.plural(others, 'node computes', 'nodes compute')} constants"
    return m.join(drawn, m.line(m.faint(words)) if others else "")


@m.drawn.register(Task)
def task_html(task: Task) -> str:
    """Return what a notebook shows of a task."""
    times = f"{m.counted(task.weight)} times in the model" if task.weight > 1 else ""
    parts: list[object] = [
        m.heading("Task", task.name, m.operations(task.flops), times),
        interface(task.func),
    ]
    moved = sum(b.nbytes for b in task.func.params if isinstance(b.size, int))
    if moved and task.flops:
        parts.append(m.label("memory", m.size(moved), m.faint(f", {m.digits(task.flops / moved)} FLOP per byte")))
    if task.target is not None:
        parts.append(m.label("target", machine(task.target)))
    if any(g != task.func.name for g in task.groups):
        names = [m.text(g, 40) for g in task.groups[:_GROUPS]]
        if len(task.groups) > _GROUPS:
            names.append(m.faint(f"… {len(task.groups) - _GROUPS} more"))
        parts.append(m.label("kernels", m.Html(", ".join(names))))
    return m.page(*parts, m.code(to_text(task.func)))


@m.drawn.register(Report)
def report_html(report: Report) -> str:
    """Return what a notebook shows of what the passes did."""
    before, after = len(report.before.nodes), len(report.graph.nodes)
    kernels = m.plural(kernel_count(report.graph), "kernel") if report.graph.groups else ""
    name = m.heading("Passes on", report.graph.name, f"{before} → {after} nodes", kernels)
    columns = [m.Column("Pass"), *(m.Column(head, number=True) for head in ("Nodes", "−", "+", "~", "Time"))]
    rows = [
        [
            m.titled(p.name, p.doc),
            f"{p.nodes_before} → {p.nodes_after}" if p.nodes_before != p.nodes_after else p.nodes_after,
            *(p.count(kind) or m.faint("0") for kind in ("removed", "added", "changed")),
            m.milliseconds(1e3 * p.seconds),
        ]
        for p in report.passes
    ]
    off = m.label("left out", m.chips(report.left_out)) if report.left_out else ""
    return m.page(name, m.table(columns, rows), off, *(_pass(p) for p in report.passes if p.changes or p.rules))


def _pass(report: PassReport) -> m.Html:
    signs = {"removed": "−", "added": "+", "changed": "~"}
    rows = [[signs[c.kind], m.text(c.op, 40), m.mono(c.node, 60), m.text(c.reason, 160)] for c in report.changes]
    columns = (m.Column(""), m.Column("Operator"), m.Column("Node"), m.Column("Why"))
    parts = [m.table(columns, m.cut(rows, ROWS, "nodes"))] if rows else []
    if report.rules:
        rules = [[m.text(rule, 200)] for rule in report.rules]
        parts.append(m.table((m.Column(""),), m.cut(rules, ROWS, "rules")))
    if report.detail is not None:
        parts.append(m.Html(m.drawn(report.detail)))
    return m.fold(m.join(report.name, " ", m.faint(m.shortened(report.doc, 160))), *parts)


@m.drawn.register(LayoutReport)
def layout_html(found: LayoutReport) -> m.Html:
    """Layouts of a network: what runs how and why, and what is transposed."""
    nodes = [(n.node, n.op, n.order, f"{n.cost_ns / 1e3:.1f}", n.reason) for n in found.nodes]
    moves = [(t.tensor, f"{t.source} → {t.target}", m.size(t.nbytes), t.reason) for t in found.moves]
    heads = [
        m.Column("node", code=True),
        m.Column("operator"),
        m.Column("order"),
        m.Column("µs", True),
        m.Column("why"),
    ]
    moved = [m.Column("tensor", code=True), m.Column("order"), m.Column("bytes", True), m.Column("why")]
    return m.join(
        m.line(found.summary),
        m.fold(m.plural(len(moves), "transposition"), m.table(moved, m.cut(moves, 200))) if moves else "",
        m.fold(m.plural(len(nodes), "node"), m.table(heads, m.cut(nodes, 500))),
    )
